use super::{Found, Rule};
use crate::{Moment, Question, address, allow};
use csis_values::plan::Action;

pub struct Destroy;

impl Rule for Destroy {
    fn id(&self) -> &'static str {
        "destroy"
    }

    fn sentence(&self) -> &'static str {
        "Nothing is destroyed unless a declared operation sanctions exactly that"
    }

    fn remedy(&self) -> &'static str {
        "put its declaration back, or say that it may go: `state: destroyed` on the storage, the instance or storage undeclared"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| c.action == Action::Delete && c.deposed.is_none()) {
            if allow::sanction(q, change).is_some() {
                continue;
            }
            let reason = match change.reason.as_deref() {
                Some("delete_because_no_resource_config" | "delete_because_no_module") => {
                    ": it is no longer in the configuration, and"
                }
                Some("delete_because_wrong_repetition" | "delete_because_count_index" | "delete_because_each_key") => {
                    ": it is no longer among its repetitions, and"
                }
                _ => ", and",
            };
            let draft = found
                .refuse(format!(
                    "{} would be destroyed{reason} no declared operation sanctions it",
                    address::object(q, change)
                ))
                .on(change);
            if q.moment == Moment::Script {
                draft.remedy(format!("if it may go, run the gate with `--allow-destroy '{}'`", change.address));
            }
        }
        for action in q.actions.iter().filter(|action| action.loses_data) {
            let because = &action.because;
            // What csis does itself is derived from a declared operation, and carries it; without one it has no leave.
            let sanctioned = ![&because.operation, &because.kind, &because.name].into_iter().any(String::is_empty);
            if !sanctioned {
                found
                    .refuse(format!(
                        "csis would {} {}, and no declared operation sanctions it",
                        action.action, action.object
                    ))
                    .at(because.at.as_ref());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::sanction::{Allowed, OwnAction};

    const VOLUME: &str = "module.storage_data.aws_ebs_volume.this";

    fn passes(address: &str, allowed: Allowed) -> bool {
        let plan = plan(vec![change(VOLUME, Action::Delete)]);
        let sanctions = [sanction(address, allowed)];
        let settings = Settings::default();
        !judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) }).is_refused()
    }

    #[test]
    fn a_destroy_needs_a_sanction_of_its_own_kind_at_or_above_it() {
        assert!(!judged(&plan(vec![change(VOLUME, Action::Update)])).is_refused());
        let unsanctioned = judged(&plan(vec![change(VOLUME, Action::Delete)]));
        assert!(said(&unsanctioned, "destroy")[0].contains("EBS volume of storage data would be destroyed"));
        assert!(passes(VOLUME, Allowed::Destroy) && passes("module.storage_data", Allowed::DestroyOrReplace));
        assert!(!passes("module.storage_dat", Allowed::Destroy));
        assert!(!passes("module.storage_data", Allowed::Replace) && !passes("module.storage_data", Allowed::Forget));
    }

    #[test]
    fn an_exact_sanction_covers_nothing_below_it() {
        let settings = Settings::default();
        let plan = plan(vec![change(VOLUME, Action::Delete)]);
        for (address, refused) in [(VOLUME, false), ("module.storage_data", true)] {
            let exact = [sanction(address, Allowed::DestroyOrReplace)];
            let verdict = judge(&Question { exact: &exact, ..Question::new(&plan, &settings) });
            assert_eq!(verdict.is_refused(), refused, "{address}");
        }
    }

    #[test]
    fn a_sanction_of_another_root_covers_nothing() {
        let settings = Settings::default();
        let root = storages(&[]);
        let mut other = sanction("module.storage_data", Allowed::Destroy);
        other.root = "storage/elsewhere".into();
        let plan = plan(vec![change(VOLUME, Action::Delete)]);
        let sanctions = [other];
        assert!(judge(&Question { sanctions: &sanctions, ..Question::of_root(&plan, &root, &settings) }).is_refused());
    }

    #[test]
    fn what_csis_destroys_itself_needs_a_sanction_too() {
        let settings = Settings::default();
        let plan = plan(vec![]);
        let mut because = sanction("module.storage_lake", Allowed::Destroy).because;
        let action = |because| OwnAction {
            root: "storage/buckets".into(),
            action: "wipe".into(),
            object: "s3://lake".into(),
            loses_data: true,
            because,
        };
        let sanctioned = [action(because.clone())];
        let question = Question { actions: &sanctioned, ..Question::new(&plan, &settings) };
        assert!(!judge(&question).is_refused());
        because.operation.clear();
        let stray = [action(because)];
        assert!(judge(&Question { actions: &stray, ..question }).is_refused());
    }
}
