use super::{Found, Rule};
use crate::Question;
use csis_values::plan::Document;

/// Anything that is no plan document has nothing to be judged, and so passes nothing.
pub struct NotAPlan;

impl Rule for NotAPlan {
    fn id(&self) -> &'static str {
        "not-a-plan"
    }

    fn sentence(&self) -> &'static str {
        "Only a plan is judged; any other document, or none, is refused"
    }

    fn remedy(&self) -> &'static str {
        "plan the root again, and hand over what `show -json` prints for the plan file"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        let source = &q.plan.source;
        match &q.plan.document {
            Document::Plan => {}
            Document::NotAPlan(why) => {
                found.refuse(format!("{source} is not a plan: {why}"));
            }
            Document::Missing => {
                found
                    .refuse(format!("the plan {source} is not there: the plan step did not produce it"))
                    .remedy("run the plan step again and read why it failed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::{Document, Plan};

    #[test]
    fn a_state_document_and_a_missing_plan_are_refused() {
        for document in [Document::NotAPlan("it is a state document".into()), Document::Missing] {
            let plan = Plan { source: "p.json".into(), document, ..Plan::default() };
            let verdict = judged(&plan);
            assert!(verdict.is_refused() && said(&verdict, "not-a-plan")[0].contains("p.json"));
        }
        assert!(!judged(&plan(vec![])).is_refused());
    }
}
