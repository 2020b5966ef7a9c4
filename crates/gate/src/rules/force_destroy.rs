use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address};
use csis_values::plan::{Action, Change};
use csis_values::sanction::Allowed;

/// With `force_destroy` the next destroy empties the bucket by itself, and no report shows what was in it.
pub struct ForceDestroy;

impl Rule for ForceDestroy {
    fn id(&self) -> &'static str {
        "force-destroy"
    }

    fn sentence(&self) -> &'static str {
        "A standing bucket does not become destroyable with its content, unless its storage is declared destroyed in the same change"
    }

    fn remedy(&self) -> &'static str {
        "leave `force_destroy` false; csis empties the bucket of a storage that is declared destroyed"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|change| change.action == Action::Update) {
            let turned = attr::change_of(change, "force_destroy")
                .is_some_and(|a| !attr::is_true(&a.before) && !attr::is_false(&a.after));
            if turned && !is_declared_destroyed(q, change) {
                found
                    .refuse(format!(
                        "{} would be destroyed with its content by the next destroy",
                        address::object(q, change)
                    ))
                    .on(change);
            }
        }
    }
}

fn is_declared_destroyed(q: &Question<'_>, change: &Change) -> bool {
    q.sanctions.iter().any(|sanction| {
        matches!(sanction.action, Allowed::Destroy | Allowed::DestroyOrReplace)
            && sanction.deposed.is_none()
            && sanction.covers(&change.address)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Shown};
    use csis_values::sanction::Allowed;

    #[test]
    fn only_a_bucket_that_goes_may_be_forced() {
        let settings = Settings::default();
        let bucket = |before: &str, after| {
            with(
                change("module.storage_lake.aws_s3_bucket.this", Action::Update),
                "force_destroy",
                value(before),
                after,
            )
        };
        for (before, after, refused) in [
            ("false", value("true"), true),
            ("false", Shown::Unknown, true),
            ("true", value("false"), false),
            ("true", value("true"), false),
        ] {
            assert_eq!(judged(&plan(vec![bucket(before, after)])).is_refused(), refused);
        }
        let going = plan(vec![bucket("false", value("true"))]);
        let sanctions = [sanction("module.storage_lake", Allowed::Destroy)];
        assert!(!judge(&Question { sanctions: &sanctions, ..Question::new(&going, &settings) }).is_refused());
    }
}
