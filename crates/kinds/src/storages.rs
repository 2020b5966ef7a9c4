//! What the storage builders share.

use crate::family::RootSite;
use crate::head;
use csis_values::fields::Fields;
use csis_values::tree::Storage;
use csis_values::{Diagnostic, Diagnostics, Node, Value};
use hcl::Expression;

/// The builder's tags, the storage's over them, and the tree's mark.
pub(crate) fn storage_tags(root: &RootSite<'_>, storage: &Storage) -> Expression {
    let builder = root.builder.fields.object("variables").map(|v| v.text_map("tags")).unwrap_or_default();
    head::tags(root.tree, &[&builder, &storage.tags])
}

/// A whole number, written as one or as its digits.
pub(crate) fn whole(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Int(number, _) => Some(*number),
        Value::Text(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Refuses lifecycle keys that the kind does not have.
pub(crate) fn check_keys(storage: &Storage, lifecycle: &Fields, allowed: &[&str], found: &mut Diagnostics) {
    for (key, node) in &lifecycle.values {
        if allowed.contains(&key.as_str()) {
            continue;
        }
        let near = allowed.iter().find(|a| strsim::damerau_levenshtein(a, key) <= 3);
        let hint = near.map_or_else(
            || format!("The keys are {}.", allowed.join(", ")),
            |near| format!("Did you mean `{near}`? The keys are {}.", allowed.join(", ")),
        );
        found.push(
            Diagnostic::error(
                "storage-lifecycle",
                format!("storage `{}` has the unknown key `{key}` in its `lifecycle`", storage.name),
            )
            .at(&node.at)
            .help(hint),
        );
    }
}

/// A bucket name on what is no bucket is a mistake that would be silent.
pub(crate) fn refuse_bucket_name(storage: &Storage, found: &mut Diagnostics) {
    if let Some(bucket) = &storage.bucket_name {
        found.push(
            Diagnostic::warning(
                "unused-bucket-name",
                format!("storage `{}` has the bucket name `{bucket}` and is no bucket", storage.name),
            )
            .at(&bucket.at)
            .help("remove `bucket_name`, or give the storage the type of an S3 builder"),
        );
    }
}
