use super::{Found, Rule};
use crate::{Moment, Question, address, allow};
use csis_values::plan::Action;

/// A replacement that made its new object first and failed to remove the old one leaves the old one deposed, under the same address.
pub struct Deposed;

impl Rule for Deposed {
    fn id(&self) -> &'static str {
        "deposed"
    }

    fn sentence(&self) -> &'static str {
        "What an unfinished replacement left behind is destroyed only when it is sanctioned by its own key"
    }

    fn remedy(&self) -> &'static str {
        "make sure that nothing uses the leftover, then allow it by its key: `--allow-destroy 'ADDRESS (deposed KEY)'`"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| c.deposed.is_some()) {
            let what = match change.action {
                Action::NoOp | Action::Read | Action::Forget | Action::ForgetThenCreate | Action::Unknown(_) => {
                    continue;
                }
                Action::Delete if allow::sanction(q, change).is_some() => continue,
                Action::Delete => "would be destroyed, and no sanction names its key",
                _ => "has an action that makes no sense for a leftover",
            };
            let draft = found
                .refuse(format!(
                    "the deposed {}, left by an unfinished replacement, {what}",
                    address::object(q, change)
                ))
                .on(change);
            if q.moment == Moment::Script && change.action == Action::Delete {
                draft.remedy(format!(
                    "make sure that nothing uses the leftover, then run the gate with `--allow-destroy '{}'`",
                    address::shown(change)
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::sanction::Allowed;

    #[test]
    fn a_leftover_needs_its_own_key() {
        let settings = Settings::default();
        let address = "module.instance_a.aws_instance.this";
        let mut leftover = change(address, Action::Delete);
        leftover.deposed = Some("1a2b3c4d".into());
        let plan = plan(vec![leftover]);
        for (at, key, refused) in [
            (address, None, true),
            ("module.instance_a", None, true),
            ("module.instance_a", Some("1a2b3c4d"), true),
            (address, Some("99999999"), true),
            (address, Some("1a2b3c4d"), false),
        ] {
            let mut allowed = sanction(at, Allowed::DestroyOrReplace);
            allowed.deposed = key.map(str::to_owned);
            let sanctions = [allowed];
            let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
            assert_eq!(verdict.is_refused(), refused, "{at} {key:?}");
            if refused {
                assert!(
                    verdict
                        .findings
                        .iter()
                        .any(|f| f.address.as_deref() == Some(&format!("{address} (deposed 1a2b3c4d)")))
                );
            }
        }
    }

    #[test]
    fn the_key_of_a_leftover_is_no_leave_for_the_object_itself() {
        let settings = Settings::default();
        let address = "module.instance_a.aws_instance.this";
        let plan = plan(vec![change(address, Action::Delete)]);
        let mut allowed = sanction(address, Allowed::Destroy);
        allowed.deposed = Some("1a2b3c4d".into());
        let sanctions = [allowed];
        assert!(judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) }).is_refused());
    }
}
