use super::{Found, Rule};
use crate::rules::tainted;
use crate::{Moment, Question, address, allow};

pub struct Replace;

impl Rule for Replace {
    fn id(&self) -> &'static str {
        "replace"
    }

    fn sentence(&self) -> &'static str {
        "Nothing is replaced unless a declared operation sanctions a replacement; leave to destroy is none"
    }

    fn remedy(&self) -> &'static str {
        "take back the change that forces it, or declare the replacement: `csis upgrade instance NAME` for a machine, archive and restore for a storage"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| c.action.is_replace() && c.deposed.is_none() && !tainted::is_tainted(c)) {
            if allow::sanction(q, change).is_some() {
                continue;
            }
            let forced = if change.replace_paths.is_empty() {
                String::new()
            } else {
                format!(" because of {}", change.replace_paths.join(", "))
            };
            let draft = found
                .refuse(format!(
                    "{} would be replaced{forced}, and no declared operation sanctions it",
                    address::object(q, change)
                ))
                .on(change);
            if q.moment == Moment::Script {
                draft
                    .remedy(format!("if it may be replaced, run the gate with `--allow-replace '{}'`", change.address));
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

    const MACHINE: &str = "module.instance_a.aws_instance.this";

    #[test]
    fn both_orders_need_leave_to_replace() {
        let settings = Settings::default();
        for action in [Action::Replace, Action::ReplaceCreateFirst] {
            let mut machine = change(MACHINE, action);
            machine.replace_paths = vec!["availability_zone".into()];
            let plan = plan(vec![machine]);
            let found = judged(&plan);
            assert!(said(&found, "replace")[0].contains("because of availability_zone"));
            for (allowed, refused) in [
                (Allowed::Replace, false),
                (Allowed::DestroyOrReplace, false),
                (Allowed::Destroy, true),
                (Allowed::Forget, true),
            ] {
                let sanctions = [sanction(MACHINE, allowed)];
                let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
                assert_eq!(verdict.is_refused(), refused, "{allowed:?}");
                assert_eq!(verdict.used.len(), usize::from(!refused));
            }
        }
    }
}
