use super::{Found, Rule};
use crate::{Moment, Question};
use csis_values::plan::{ACTING_READS, Change};

/// Provisioners and external programs run with the apply's credentials and show nowhere among the changes.
pub struct CodeInPlan;

impl Rule for CodeInPlan {
    fn id(&self) -> &'static str {
        "code-in-plan"
    }

    fn sentence(&self) -> &'static str {
        "A plan runs nothing but its providers: provisioners and external programs are refused"
    }

    fn remedy(&self) -> &'static str {
        "take the block out of the module; what a machine needs belongs into its image or its launch script"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for code in &q.plan.code {
            found
                .refuse(format!("the configuration runs code of its own: {} in {}", code.what, code.address))
                .on_address(&code.address);
        }
        // A plan whose configuration was left out still lists what is read.
        let unnamed = |change: &&Change| {
            change.mode == "data"
                && ACTING_READS.contains(&change.kind.as_str())
                && !q.plan.code.iter().any(|code| change.address.starts_with(&code.address))
        };
        for change in q.plan.changes.iter().filter(unnamed) {
            found.refuse(format!("the plan runs code of its own: data {}", change.kind)).on(change);
        }
        if q.is_plan() && !q.plan.configured {
            let message =
                "the plan was given without its configuration, where provisioners and external programs stand";
            let found = if q.settings.strict || q.plan.ours || q.moment == Moment::Landing {
                found.refuse(message)
            } else {
                found.note(format!("code: not judged, {message}"))
            };
            found.remedy("give the whole of what `show -json` printed, or the plan file");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Code};
    use csis_values::verdict::Weight;

    #[test]
    fn a_provisioner_is_refused_although_no_change_shows_it() {
        let mut plan = plan(vec![]);
        plan.code =
            vec![Code { what: "provisioner local-exec".into(), address: "module.storage_a.null_resource.x".into() }];
        assert!(said(&judged(&plan), "code-in-plan")[0].contains("local-exec"));
    }

    #[test]
    fn an_external_program_is_refused_where_the_configuration_is_left_out() {
        for (kind, acts) in [("external", 1), ("http", 1), ("aws_lambda_invocation", 1), ("aws_ami", 0)] {
            let mut read = change(&format!("module.storage_a.data.{kind}.x"), Action::Read);
            (read.mode, read.kind) = ("data".into(), kind.into());
            assert_eq!(said(&judged(&plan(vec![read])), "code-in-plan").len(), acts, "{kind}");
        }
    }

    #[test]
    fn a_plan_without_its_configuration_is_not_judged_and_refused_where_that_is_no_answer() {
        let strict = Settings { strict: true, ..Settings::default() };
        for (ours, settings, weight) in [
            (false, &Settings::default(), Weight::Note),
            (false, &strict, Weight::Refuse),
            (true, &Settings::default(), Weight::Refuse),
        ] {
            let mut plan = plan(vec![]);
            (plan.configured, plan.ours, plan.complete) = (false, ours, Some(true));
            let verdict = judge(&Question::new(&plan, settings));
            assert_eq!(weights(&verdict, "code-in-plan"), [weight], "ours: {ours}");
        }
    }
}
