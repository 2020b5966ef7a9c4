use super::{Found, Rule};
use crate::{Moment, Question, allow};
use csis_values::sanction::{Allowed, Sanction};
use std::collections::BTreeSet;

/// Leave that nothing needs is a mistyped address, a decommission that plans nothing, or work that is already done.
pub struct UnusedSanction;

impl Rule for UnusedSanction {
    fn id(&self) -> &'static str {
        "unused-sanction"
    }

    fn sentence(&self) -> &'static str {
        "A sanction that no change needs is a warning"
    }

    fn remedy(&self) -> &'static str {
        "check that the declared operation is the one that is meant, and that its object still stands"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if !q.is_plan() || q.plan.errored {
            return;
        }
        let wide = q.sanctions.iter().map(|sanction| (sanction, allow::matches(q, sanction, false)));
        let exact = q.exact.iter().map(|sanction| (sanction, allow::matches(q, sanction, true)));
        let all: Vec<(&Sanction, bool)> = wide.chain(exact).collect();
        // One operation sanctions an object and what goes with it; it is in use when any part of it is.
        let in_use: BTreeSet<_> =
            all.iter().filter(|(s, used)| *used && !s.because.name.is_empty()).map(|(s, _)| &s.because).collect();
        let mut told = BTreeSet::new();
        for (sanction, _) in all.iter().filter(|(s, used)| !used && !s.because.is_standing()) {
            let because = &sanction.because;
            if in_use.contains(because) || (!because.name.is_empty() && !told.insert(because)) {
                continue;
            }
            let what = match sanction.action {
                Allowed::Destroy => "destroys nothing",
                Allowed::Replace => "replaces nothing",
                Allowed::Forget => "forgets nothing",
                Allowed::DestroyOrReplace => "destroys and replaces nothing",
            };
            let draft = found
                .warn(format!("{because} allows what the plan does not do: it {what} at {}", address(sanction)))
                .on_address(address(sanction))
                .at(because.at.as_ref());
            if q.moment == Moment::Script {
                draft.remedy("check the address that was given to the gate");
            }
        }
    }
}

fn address(sanction: &Sanction) -> String {
    match &sanction.deposed {
        Some(key) => format!("{} (deposed {key})", sanction.address),
        None => sanction.address.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::sanction::{Allowed, Because};
    use csis_values::verdict::Weight;

    #[test]
    fn leave_that_nothing_needs_is_a_warning() {
        let settings = Settings::default();
        let plan = plan(vec![change("module.instance_a.aws_instance.this", Action::Replace)]);
        let sanctions = [
            sanction("module.instance_a.aws_instance.this", Allowed::Replace),
            // Of the same operation: the machine has no attachment.
            sanction("module.instance_a.aws_volume_attachment.this", Allowed::Replace),
            sanction("module.storage_gone", Allowed::Destroy),
        ];
        let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
        assert_eq!(weights(&verdict, "unused-sanction"), [Weight::Warn]);
        assert!(said(&verdict, "unused-sanction")[0].contains("module.storage_gone"));
        assert_eq!(verdict.used, sanctions[..1]);
    }

    #[test]
    fn a_standing_sanction_may_match_nothing() {
        let settings = Settings::default();
        let plan = plan(vec![]);
        let mut standing = sanction("module.storage_a.aws_efs_access_point.group", Allowed::DestroyOrReplace);
        let changed = Because::follows_change_of(&["groups", "lifecycle"]);
        assert_eq!(changed, "groups, lifecycle changed");
        for operation in [Because::FOLLOWS, Because::LAST, &changed] {
            standing.because.operation = operation.into();
            let sanctions = [standing.clone()];
            let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
            assert!(said(&verdict, "unused-sanction").is_empty(), "{operation}");
        }
    }
}
