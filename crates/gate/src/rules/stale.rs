use super::{Found, Rule};
use crate::{Moment, Question};
use csis_values::plan::Freshness;

pub struct Stale;

impl Rule for Stale {
    fn id(&self) -> &'static str {
        "stale"
    }

    fn sentence(&self) -> &'static str {
        "A plan whose inputs changed since it was made is refused"
    }

    fn remedy(&self) -> &'static str {
        "plan the root again; the plan step failed or was skipped after its files changed"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if !q.is_plan() {
            return;
        }
        match &q.plan.freshness {
            Freshness::Fresh => {}
            Freshness::Stale(changed) => {
                found.refuse(format!("the plan is stale: {}", changed.join("; ")));
            }
            Freshness::NotJudged if q.settings.strict || q.moment == Moment::Landing => {
                found.refuse(
                    "whether the plan is fresh cannot be told: it does not come with the inputs it was made from",
                );
            }
            Freshness::NotJudged => {
                found
                    .note("freshness: not judged, the plan does not come with the inputs it was made from")
                    .remedy("hand the gate the plan file itself (`--planfile tfplan`), in the folder it was made in");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings;
    use crate::testing::*;
    use csis_values::plan::Freshness;
    use csis_values::verdict::Weight;

    #[test]
    fn a_stale_plan_is_refused_with_what_changed() {
        let mut plan = plan(vec![]);
        plan.freshness = Freshness::Stale(vec!["main.tf differs".into()]);
        assert!(said(&judged(&plan), "stale")[0].contains("main.tf"));
    }

    #[test]
    fn what_cannot_be_told_is_said_and_refused_when_strict() {
        let mut plan = plan(vec![]);
        plan.freshness = Freshness::NotJudged;
        assert_eq!(weights(&judged(&plan), "stale"), [Weight::Note]);
        let settings = Settings { strict: true, ..Settings::default() };
        assert_eq!(weights(&crate::judge(&crate::Question::new(&plan, &settings)), "stale"), [Weight::Refuse]);
    }
}
