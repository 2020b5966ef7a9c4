use super::{Found, Rule};
use crate::{Moment, Question, address, allow};

/// An object that leaves management silently stands and costs for ever, and the next plan makes a second one.
pub struct Forget;

impl Rule for Forget {
    fn id(&self) -> &'static str {
        "forget"
    }

    fn sentence(&self) -> &'static str {
        "Nothing leaves management while it stands unless that is sanctioned"
    }

    fn remedy(&self) -> &'static str {
        "take the `removed` block out, or remove the object with its declaration"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| c.action.is_forget()) {
            if allow::sanction(q, change).is_some() {
                continue;
            }
            let draft = found
                .refuse(format!(
                    "the engine would forget {}: it stays where it is, and nobody manages it any more",
                    address::object(q, change)
                ))
                .on(change);
            if q.moment == Moment::Script {
                draft.remedy(format!(
                    "if it may leave management, run the gate with `--allow-forget '{}'`",
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
    fn forgetting_needs_leave_to_forget() {
        let settings = Settings::default();
        for action in [Action::Forget, Action::ForgetThenCreate] {
            let plan = plan(vec![change("module.instance_a.aws_instance.this", action)]);
            assert!(said(&judged(&plan), "forget")[0].contains("forget"));
            for (allowed, refused) in [(Allowed::Forget, false), (Allowed::DestroyOrReplace, true)] {
                let sanctions = [sanction("module.instance_a", allowed)];
                let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
                assert_eq!(verdict.is_refused(), refused, "{allowed:?}");
            }
        }
    }
}
