use super::{Found, Rule};
use crate::Question;

pub struct Errored;

impl Rule for Errored {
    fn id(&self) -> &'static str {
        "errored"
    }

    fn sentence(&self) -> &'static str {
        "A plan that stopped at an error shows only a part of what would happen, and is refused"
    }

    fn remedy(&self) -> &'static str {
        "read the error of the plan step, put it right, and plan again"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if q.is_plan() && q.plan.errored {
            found.refuse("the plan is errored: the engine stopped before it had seen everything");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn an_errored_plan_is_refused() {
        let mut plan = plan(vec![]);
        plan.errored = true;
        assert!(said(&judged(&plan), "errored")[0].contains("errored"));
    }
}
