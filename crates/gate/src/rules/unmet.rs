use super::{Found, Rule};
use crate::{Moment, Question};
use csis_values::sanction::Obligation;

pub struct Unmet;

impl Rule for Unmet {
    fn id(&self) -> &'static str {
        "unmet"
    }

    fn sentence(&self) -> &'static str {
        "What must be done before an apply, a snapshot completed or a bucket emptied, is proven done before it"
    }

    fn remedy(&self) -> &'static str {
        "do it first, or land the change with csis, which does it and proves it"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if q.moment == Moment::Review {
            return;
        }
        for obligation in q.obligations.iter().filter(|obligation| !q.met.contains(obligation)) {
            let what = match obligation {
                Obligation::Unmounted { .. } => continue,
                Obligation::Snapshot { storage, archive } => {
                    format!(
                        "no complete snapshot `{archive}` of storage {storage}, begun after its last detach, is proven"
                    )
                }
                Obligation::Emptied { storage, bucket } => {
                    format!("the bucket {bucket} of storage {storage} is not proven empty")
                }
            };
            found.refuse(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Moment, Question, Settings, judge};
    use csis_values::sanction::Obligation;

    #[test]
    fn an_archive_needs_its_snapshot_before_the_volume_goes() {
        let settings = Settings::default();
        let plan = plan(vec![]);
        let must = [Obligation::Snapshot { storage: "data".into(), archive: "data-archive".into() }];
        let question = Question { obligations: &must, ..Question::new(&plan, &settings) };
        assert!(!judge(&question).is_refused());
        let landing = Question { moment: Moment::Landing, ..question };
        assert!(said(&judge(&landing), "unmet")[0].contains("data-archive"));
        assert!(!judge(&Question { met: &must, ..landing }).is_refused());
    }
}
