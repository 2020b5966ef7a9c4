use super::{Found, Rule};
use crate::loss::{self, How};
use crate::{Question, allow};

/// That a destroy is sanctioned does not mean that somebody saw it: a deleted file and a revert sanction as well as a decision does.
pub struct DataLoss;

impl Rule for DataLoss {
    fn id(&self) -> &'static str {
        "data-loss"
    }

    fn sentence(&self) -> &'static str {
        "What loses data for good, even where it is sanctioned, needs a confirmation, and only a few losses fit into one landing"
    }

    fn remedy(&self) -> &'static str {
        "make sure that the data may go; a second person then confirms the digest of the report"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            let Some(sanction) = allow::sanction(q, change) else { continue };
            let Some(loss) = loss::of_change(q, change) else { continue };
            let size = loss.size.map(|gib| format!(" ({})", loss::say_size(gib))).unwrap_or_default();
            let how = match loss.how {
                How::Replaced => "is replaced by a new, empty one",
                _ => "is destroyed",
            };
            tell(
                q,
                found,
                format!("{}{size} {how}, and what it holds is lost; because of {}", loss.what, sanction.because),
            )
            .on(change)
            .at(sanction.because.at.as_ref());
        }
        let losses = loss::losses(q);
        for wiped in losses.iter().filter(|loss| loss.how == How::Wiped) {
            let because = q.actions.iter().find(|action| action.object == wiped.address).map(|action| &action.because);
            tell(q, found, format!("csis empties {}, and what it holds is lost", wiped.what))
                .at(because.and_then(|because| because.at.as_ref()));
        }
        let all = losses.len() as u64 + q.losses_elsewhere;
        let limit = q.settings.max_data_losses;
        if q.settings.confirm_data_loss && !losses.is_empty() && all > limit {
            let elsewhere = match q.losses_elsewhere {
                0 => String::new(),
                n => format!(" and {n} in other roots"),
            };
            found
                .refuse(format!(
                    "one landing would lose the data of {all} objects, and {limit} is the most: {}{elsewhere}",
                    loss::say(&losses)
                ))
                .remedy("split the change, so that each landing loses little enough to be looked at; or raise `max_data_losses` in a change of its own");
        }
    }
}

/// A confirmation where the settings ask for one, a warning elsewhere.
pub(super) fn tell<'a>(q: &Question<'_>, found: &'a mut Found<'_>, message: String) -> super::Draft<'a> {
    if q.settings.confirm_data_loss { found.confirm(message) } else { found.warn(message) }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Change};
    use csis_values::sanction::{Allowed, Obligation, OwnAction};
    use csis_values::verdict::Weight;

    fn volume(name: &str) -> Change {
        let gone = change(&format!("module.storage_{name}.aws_ebs_volume.this"), Action::Delete);
        knowing(gone, "size", value("100"))
    }

    #[test]
    fn a_sanctioned_loss_asks_for_a_confirmation_or_warns() {
        let plan = plan(vec![volume("data")]);
        let sanctions = [sanction("module.storage_data", Allowed::Destroy)];
        for (confirm_data_loss, weight) in [(true, Weight::Confirm), (false, Weight::Warn)] {
            let settings = Settings { confirm_data_loss, ..Settings::default() };
            let verdict = judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) });
            assert_eq!(weights(&verdict, "data-loss"), [weight]);
            assert!(said(&verdict, "data-loss")[0].contains("EBS volume of storage data (100 GiB) is destroyed"));
            assert_eq!(verdict.needs_confirmation(), confirm_data_loss);
        }
    }

    #[test]
    fn more_losses_than_the_limit_are_refused_over_all_roots() {
        let names = ["a", "b", "c", "d"];
        let sanctions: Vec<_> =
            names.iter().map(|n| sanction(&format!("module.storage_{n}"), Allowed::Destroy)).collect();
        let refused = |count: usize, losses_elsewhere, settings: &Settings| {
            let plan = plan(names[..count].iter().map(|n| volume(n)).collect());
            judge(&Question { sanctions: &sanctions, losses_elsewhere, ..Question::new(&plan, settings) }).is_refused()
        };
        let settings = Settings::default();
        assert!(!refused(3, 0, &settings) && refused(4, 0, &settings));
        assert!(refused(1, 3, &settings) && !refused(0, 9, &settings));
        assert!(!refused(4, 0, &Settings { confirm_data_loss: false, ..Settings::default() }));
        assert!(!refused(4, 0, &Settings { max_data_losses: 4, ..Settings::default() }));
    }

    #[test]
    fn the_root_disk_of_a_durable_machine_counts_and_of_an_ephemeral_one_does_not() {
        let settings = Settings::default();
        let plan = plan(vec![
            change("module.instance_kept.aws_instance.this", Action::Replace),
            change("module.instance_brief.aws_instance.this", Action::Delete),
        ]);
        let mut root = machines(&[("kept", false), ("brief", true)]);
        root.data_types = vec!["aws_instance".into()];
        root.sanctions = vec![
            sanction("module.instance_kept", Allowed::Replace),
            sanction("module.instance_brief", Allowed::Destroy),
        ];
        let told = said(&judge(&Question::of_root(&plan, &root, &settings)), "data-loss");
        assert!(told.len() == 1 && told[0].contains("root disk of instance kept"), "{told:?}");
    }

    #[test]
    fn an_archived_storage_is_kept_in_its_snapshot() {
        let settings = Settings::default();
        let plan = plan(vec![volume("data")]);
        let sanctions = [sanction("module.storage_data", Allowed::Destroy)];
        let question = Question { sanctions: &sanctions, ..Question::new(&plan, &settings) };
        let archive = |storage: &str| [Obligation::Snapshot { storage: storage.into(), archive: "x".into() }];
        assert!(said(&judge(&Question { obligations: &archive("data"), ..question.clone() }), "data-loss").is_empty());
        assert_eq!(said(&judge(&Question { obligations: &archive("other"), ..question }), "data-loss").len(), 1);
    }

    #[test]
    fn a_wiped_and_destroyed_bucket_is_one_loss() {
        let settings = Settings { max_data_losses: 1, ..Settings::default() };
        let plan = plan(vec![change("module.storage_lake.aws_s3_bucket.this", Action::Delete)]);
        let sanctions = [sanction("module.storage_lake", Allowed::Destroy)];
        let wipe = OwnAction {
            root: "storage/buckets".into(),
            action: "wipe".into(),
            object: "s3://lake".into(),
            loses_data: true,
            because: sanctions[0].because.clone(),
        };
        let actions = [wipe];
        let verdict = judge(&Question { sanctions: &sanctions, actions: &actions, ..Question::new(&plan, &settings) });
        assert!(!verdict.is_refused());
        let empty = csis_values::plan::Plan { changes: vec![], ..plan.clone() };
        let alone = judge(&Question { sanctions: &sanctions, actions: &actions, ..Question::new(&empty, &settings) });
        assert!(said(&alone, "data-loss")[0].contains("s3://lake"));
    }
}
