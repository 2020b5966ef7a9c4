use super::{Found, Rule};
use crate::{Moment, Question};

/// The plans of `tofu` do not say whether they are complete; only who built the argument vector knows.
pub struct Targeted;

impl Rule for Targeted {
    fn id(&self) -> &'static str {
        "targeted"
    }

    fn sentence(&self) -> &'static str {
        "A plan that may leave objects out is not taken for the whole"
    }

    fn remedy(&self) -> &'static str {
        "let csis plan the root (`csis plan`), or plan it whole with an engine that says `complete`"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if !q.is_plan() || q.plan.ours || q.plan.complete.is_some() {
            return;
        }
        let message = "the plan does not say whether it is complete, so a targeted one cannot be told from a whole one";
        if q.settings.strict || q.moment == Moment::Landing {
            found.refuse(message);
        } else {
            found.note(format!("completeness: not judged, {message}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::verdict::Weight;

    #[test]
    fn an_absent_complete_is_a_note_unless_strict_or_ours() {
        let mut plan = plan(vec![]);
        plan.complete = None;
        plan.ours = false;
        assert_eq!(weights(&judged(&plan), "targeted"), [Weight::Note]);
        let settings = Settings { strict: true, ..Settings::default() };
        assert!(judge(&Question::new(&plan, &settings)).is_refused());
        plan.ours = true;
        assert!(!judge(&Question::new(&plan, &settings)).is_refused());
    }
}
