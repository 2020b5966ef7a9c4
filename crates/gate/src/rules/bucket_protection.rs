use super::{Found, Rule};
use crate::attributes as attr;
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
        Action::Update | Action::Replace | Action::ReplaceCreateFirst => turned_off(change),
        _ => None,
    }
}

fn turned_off(change: &Change) -> Option<String> {
    change.attributes.iter().find_map(|attribute| {
        let path = attr::plain(&attribute.path);
        let name = path.rsplit('.').next().unwrap_or(&path);
        let on = |shown| attr::is_true(shown) || attr::text(shown) == Some("Enabled");
        let watched = match change.kind.as_str() {
            "aws_s3_bucket_versioning" => matches!(name, "status" | "mfa_delete"),
            "aws_s3_bucket_public_access_block" => {
                matches!(
                    name,
                    "block_public_acls" | "block_public_policy" | "ignore_public_acls" | "restrict_public_buckets"
                )
            }
            "aws_s3_bucket_object_lock_configuration" => name == "object_lock_enabled",
            "aws_s3_bucket" => {
                matches!(path.as_str(), "versioning.enabled" | "versioning.mfa_delete" | "object_lock_enabled")
            }
            "aws_efs_backup_policy" => name == "status",
            _ => name == "deletion_protection" || name == "disable_api_termination",
        };
        let lost = watched && on(&attribute.before) && !on(&attribute.after);
        lost.then(|| format!("{path} from {} to {}", attr::say(&attribute.before), attr::say(&attribute.after)))
    })
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
        let gone = change(versions, Action::Delete);
        assert_eq!(said(&judged(&plan(vec![gone.clone()])), "bucket-protection").len(), 1);
        let with_its_bucket = plan(vec![gone, change("module.storage_lake.aws_s3_bucket.this", Action::Delete)]);
        assert!(said(&judged(&with_its_bucket), "bucket-protection").is_empty());
    }
}
