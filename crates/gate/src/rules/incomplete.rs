use super::{Found, Rule};
use crate::Question;

pub struct Incomplete;

impl Rule for Incomplete {
    fn id(&self) -> &'static str {
        "incomplete"
    }

    fn sentence(&self) -> &'static str {
        "A plan that says itself that it is not complete is refused"
    }

    fn remedy(&self) -> &'static str {
        "plan the whole root, without `-target` and `-exclude`; where the engine deferred changes, apply what it waits for first"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if q.is_plan() && q.plan.complete == Some(false) {
            found.refuse("the plan is not complete: it was targeted, or the engine deferred a part of it");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn incomplete_is_refused_and_absent_is_not() {
        let mut plan = plan(vec![]);
        plan.complete = Some(false);
        assert_eq!(said(&judged(&plan), "incomplete").len(), 1);
        plan.complete = None;
        assert!(said(&judged(&plan), "incomplete").is_empty());
    }
}
