use super::{Found, Rule};
use crate::attributes::{self as attr, Leaf};
use crate::{Question, address};
use csis_values::plan::{Action, Change};

/// What keeps data from a mistake: versions, locks, backups, the block on public access.
pub struct BucketProtection;

/// Types that are nothing but a protection: without them it is gone.
const PROTECTIONS: &[&str] = &[
    "aws_backup_plan",
    "aws_backup_selection",
    "aws_efs_backup_policy",
    "aws_s3_bucket_object_lock_configuration",
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_versioning",
];

impl Rule for BucketProtection {
    fn id(&self) -> &'static str {
        "bucket-protection"
    }

    fn sentence(&self) -> &'static str {
        "What protects stored data is not weakened: versioning, delete protection, object lock, the block on public access, backups"
    }

    fn remedy(&self) -> &'static str {
        "leave the protection on while the storage stands; it goes with the storage that is declared destroyed"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            if let Some(what) = weakened(q, change) {
                found.refuse(format!("{} would lose a protection: {what}", address::object(q, change))).on(change);
            }
        }
    }
}

fn weakened(q: &Question<'_>, change: &Change) -> Option<String> {
    match change.action {
        Action::Delete if PROTECTIONS.contains(&change.kind.as_str()) => {
            // It may go where the thing that it protects goes.
            let with_its_storage = q.managed().any(|other| {
                other.action == Action::Delete
                    && crate::loss::holds_data(q, &other.kind)
                    && address::owner(&other.address)
                        .is_some_and(|owner| Some(owner) == address::owner(&change.address))
            });
            (!with_its_storage).then(|| "it is removed".to_owned())
        }
        Action::Update | Action::Replace | Action::ReplaceCreateFirst => turned_off(change).or_else(|| opened(change)),
        Action::Create | Action::ForgetThenCreate => opened(change),
        _ => None,
    }
}

/// A block on public access that blocks less than a bucket has by itself.
fn opened(change: &Change) -> Option<String> {
    if change.kind != "aws_s3_bucket_public_access_block" {
        return None;
    }
    let set = change.attributes.iter().flat_map(|attribute| attr::leaves(&attribute.path, &attribute.after));
    let open = set.into_iter().find(|leaf| is_watched(&change.kind, leaf) && !is_on(leaf))?;
    Some(format!("{} is not on", open.path))
}

fn turned_off(change: &Change) -> Option<String> {
    change.attributes.iter().find_map(|attribute| {
        let before = attr::leaves(&attribute.path, &attribute.before);
        let after = attr::leaves(&attribute.path, &attribute.after);
        let lost = before.iter().any(|was| {
            let mut now = after.iter().filter(|leaf| leaf.path == was.path);
            if was.name() == "delete_on_termination" {
                return !is_on(was) && now.any(is_on);
            }
            if is_retention(&was.path) {
                // Each rule that was must stay at least as strict.
                !now.any(|now| keeps(was, now))
            } else {
                is_watched(&change.kind, was) && is_on(was) && !now.any(is_on)
            }
        });
        // A copy that was kept for ever has no such line.
        let lost =
            lost || after.iter().any(|now| is_copy_age(&change.kind, now) && !before.iter().any(|was| lasts(was, now)));
        let path = attr::plain(&attribute.path);
        lost.then(|| format!("{path} from {} to {}", attr::say(&attribute.before), attr::say(&attribute.after)))
    })
}

/// The services write the same word in their own cases.
fn is_on(leaf: &Leaf) -> bool {
    leaf.value.as_deref().is_some_and(|value| value == "true" || value.eq_ignore_ascii_case("enabled"))
}

fn is_watched(kind: &str, leaf: &Leaf) -> bool {
    let name = leaf.name();
    match kind {
        "aws_s3_bucket_versioning" => matches!(name, "status" | "mfa_delete"),
        "aws_s3_bucket_public_access_block" => {
            matches!(
                name,
                "block_public_acls" | "block_public_policy" | "ignore_public_acls" | "restrict_public_buckets"
            )
        }
        "aws_s3_bucket" => {
            name == "object_lock_enabled"
                || matches!(leaf.path.as_str(), "versioning.enabled" | "versioning.mfa_delete")
        }
        "aws_s3_bucket_object_lock_configuration" => name == "object_lock_enabled",
        "aws_efs_backup_policy" => name == "status",
        "aws_efs_file_system" => leaf.path.starts_with("protection"),
        _ => name == "deletion_protection" || name == "disable_api_termination",
    }
}

/// After how many days a backup is deleted.
fn is_copy_age(kind: &str, leaf: &Leaf) -> bool {
    kind == "aws_backup_plan" && leaf.name() == "delete_after"
}

/// Whether backups are kept as long as they were.
fn lasts(was: &Leaf, now: &Leaf) -> bool {
    let days =
        |leaf: &Leaf| leaf.value.as_deref().and_then(|value| value.parse::<f64>().ok()).filter(|days| *days > 0.0);
    was.path == now.path
        && match (days(was), days(now)) {
            (Some(was), Some(now)) => now >= was,
            // Zero is for ever.
            _ => now.value.as_deref() == Some("0"),
        }
}

/// How long, and how strictly, objects are locked.
fn is_retention(path: &str) -> bool {
    path.contains("default_retention") && matches!(path.rsplit('.').next(), Some("mode" | "days" | "years"))
}

fn keeps(was: &Leaf, now: &Leaf) -> bool {
    match (was.value.as_deref(), now.value.as_deref()) {
        (Some(was), Some(now)) if was == now => true,
        (Some("GOVERNANCE"), Some("COMPLIANCE")) => true,
        // What is not set is zero.
        (Some(was), Some(now)) => {
            matches!((was.parse::<f64>(), now.parse::<f64>()), (Ok(was), Ok(now)) if now >= was)
        }
        (Some("0") | None, _) => true,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::{Action, Shown};

    #[test]
    fn protections_stay_while_the_storage_stands() {
        let versions = "module.storage_lake.aws_s3_bucket_versioning.this";
        let off = with(
            change(versions, Action::Update),
            "versioning_configuration[0].status",
            value("Enabled"),
            value("Suspended"),
        );
        assert!(said(&judged(&plan(vec![off])), "bucket-protection")[0].contains("Suspended"));
        let on = with(
            change(versions, Action::Update),
            "versioning_configuration[0].status",
            value("Suspended"),
            value("Enabled"),
        );
        assert!(said(&judged(&plan(vec![on])), "bucket-protection").is_empty());
        let open = with(
            change("module.storage_lake.aws_s3_bucket_public_access_block.this", Action::Update),
            "block_public_acls",
            value("true"),
            Shown::Unknown,
        );
        assert_eq!(said(&judged(&plan(vec![open])), "bucket-protection").len(), 1);
        let block = |shown| {
            with(
                change("module.storage_lake.aws_s3_bucket_public_access_block.this", Action::Create),
                "block_public_policy",
                Shown::Absent,
                shown,
            )
        };
        for (shown, refused) in [(value("true"), 0), (value("false"), 1), (Shown::Unknown, 1)] {
            assert_eq!(said(&judged(&plan(vec![block(shown)])), "bucket-protection").len(), refused);
        }
        let gone = change(versions, Action::Delete);
        assert_eq!(said(&judged(&plan(vec![gone.clone()])), "bucket-protection").len(), 1);
        let with_its_bucket = plan(vec![gone, change("module.storage_lake.aws_s3_bucket.this", Action::Delete)]);
        assert!(said(&judged(&with_its_bucket), "bucket-protection").is_empty());
    }

    #[test]
    fn every_protection_is_watched_however_it_is_written() {
        let bucket = "module.storage_lake.aws_s3_bucket.this";
        let lock = "module.storage_lake.aws_s3_bucket_object_lock_configuration.this";
        let share = "module.storage_share.aws_efs_file_system.this[0]";
        let disk = "module.instance_a.aws_instance.this";
        let copies = "module.storage_share.aws_backup_plan.this";
        let backup = "module.storage_share.aws_efs_backup_policy.this";
        let locked =
            r#"[{"object_lock_enabled":"Enabled","rule":[{"default_retention":[{"mode":"COMPLIANCE","days":100}]}]}]"#;
        for (address, path, before, after, weakens) in [
            (bucket, "object_lock_configuration", value(locked), value("[]"), true),
            (bucket, "object_lock_configuration[0]", value(&locked[1..locked.len() - 1]), Shown::Absent, true),
            (bucket, "object_lock_enabled", value("true"), value("false"), true),
            (lock, "rule", value(r#"[{"default_retention":[{"mode":"COMPLIANCE","days":100}]}]"#), value("[]"), true),
            (lock, "rule[0].default_retention[0].days", value("100"), value("30"), true),
            (lock, "rule[0].default_retention[0].days", value("30"), value("100"), false),
            (lock, "rule[0].default_retention[0].mode", value("COMPLIANCE"), value("GOVERNANCE"), true),
            (lock, "rule[0].default_retention[0].mode", value("GOVERNANCE"), value("COMPLIANCE"), false),
            (lock, "rule", value("[]"), value(r#"[{"default_retention":[{"mode":"COMPLIANCE","days":1}]}]"#), false),
            (backup, "backup_policy[0].status", value("ENABLED"), value("DISABLED"), true),
            (backup, "backup_policy[0].status", value("DISABLED"), value("ENABLED"), false),
            (share, "protection[0].replication_overwrite", value("ENABLED"), value("DISABLED"), true),
            (disk, "ebs_block_device[0].delete_on_termination", value("false"), value("true"), true),
            (disk, "ebs_block_device[0].delete_on_termination", value("true"), value("false"), false),
            (copies, "rule[0].lifecycle[0].delete_after", value("90"), value("7"), true),
            (copies, "rule[0].lifecycle[0].delete_after", Shown::Absent, value("7"), true),
            (copies, "rule[0].lifecycle[0].delete_after", value("0"), value("7"), true),
            (copies, "rule[0].lifecycle[0].delete_after", value("7"), value("90"), false),
            (copies, "rule[0].lifecycle[0].delete_after", value("7"), Shown::Absent, false),
            (share, "protection", value(r#"[{"replication_overwrite":"ENABLED"}]"#), Shown::Absent, true),
        ] {
            let plan = plan(vec![with(change(address, Action::Update), path, before.clone(), after.clone())]);
            let told = said(&judged(&plan), "bucket-protection").len();
            assert_eq!(told, usize::from(weakens), "{address} {path}: {before:?} to {after:?}");
        }
    }
}
