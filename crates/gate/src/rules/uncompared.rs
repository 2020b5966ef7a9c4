use super::{Found, Rule};
use crate::{Question, address, allow};
use csis_values::sanction::Because;

/// Without a base nobody knows whether the tree asks for what goes, or a hand did it outside.
pub struct Uncompared;

impl Rule for Uncompared {
    fn id(&self) -> &'static str {
        "uncompared"
    }

    fn sentence(&self) -> &'static str {
        "What goes because it follows a declaration is said where nothing tells that the declaration changed"
    }

    fn remedy(&self) -> &'static str {
        "compare with what landed last: `csis preview --base REF` allows it only where the declaration differs"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            let mut sanctions = allow::letting_pass(q, change).peekable();
            let Some(first) = sanctions.peek().copied() else { continue };
            if sanctions.all(|sanction| sanction.because.operation == Because::FOLLOWS) {
                let goes = if change.action.is_replace() { "replaced" } else { "destroyed" };
                found
                    .warn(format!(
                        "{} may be {goes} without knowing that the declaration of {} {} changed",
                        address::object(q, change),
                        first.because.kind,
                        first.because.name
                    ))
                    .on(change)
                    .at(first.because.at.as_ref());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::sanction::{Allowed, Because, Sanction};
    use csis_values::verdict::Weight;

    const POINT: &str = "module.storage_depot.aws_efs_access_point.group[\"crew\"]";

    fn told(sanctions: &[Sanction]) -> Vec<Weight> {
        let (plan, settings) = (plan(vec![change(POINT, Action::Replace)]), Settings::default());
        let verdict = judge(&Question { sanctions, ..Question::new(&plan, &settings) });
        assert!(!verdict.is_refused());
        weights(&verdict, "uncompared")
    }

    #[test]
    fn only_what_nothing_else_allows_is_told() {
        let mut follows = sanction("module.storage_depot.aws_efs_access_point", Allowed::DestroyOrReplace);
        follows.because.operation = Because::FOLLOWS.into();
        assert_eq!(told(std::slice::from_ref(&follows)), [Weight::Warn]);
        assert_eq!(told(&[follows.clone(), sanction("module.storage_depot", Allowed::Replace)]), []);
        follows.because.operation = Because::follows_change_of(&["groups"]);
        assert_eq!(told(&[follows]), []);
    }
}
