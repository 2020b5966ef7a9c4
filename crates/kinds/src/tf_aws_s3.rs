//! Buckets: reached by name from any machine, not mounted.

use crate::ast::{text, texts};
use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, Part, StorageKind, StorageSite};
use crate::head::{self, plain_object};
use crate::script::{Script, quote};
use crate::storages::{check_keys, storage_tags, whole};
use crate::vocabulary::{check_label, check_requirements, is_marker};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use hcl::Expression;
use std::collections::BTreeSet;

pub struct TfAwsS3;

const CLASSES: &[&str] = &["STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"];

const FIELDS: &[Field] = &[
    PROVIDERS,
    Field::new("bucket_name", Shape::Text, "The bucket of a storage that names none.").required(),
    Field::new(
        "variables",
        Shape::Object(&[
            Field::new("force_destroy", Shape::Bool, "Whether a bucket with objects in it may be destroyed."),
            Field::new("tags", Shape::TextMap, "Tags of every bucket, under a storage's own."),
        ]),
        "Inputs of the module that every bucket gets.",
    )
    .default("{}"),
];

impl Kind for TfAwsS3 {
    fn name(&self) -> &'static str {
        "tf-aws-s3"
    }

    fn class(&self) -> Class {
        Class::StorageBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        check_label(builder.class, &builder.name, &builder.at, found);
        check_requirements(builder, found);
    }

    fn default_executable(&self) -> Option<&'static str> {
        Some("tofu")
    }
}

impl StorageKind for TfAwsS3 {
    fn capability(&self) -> &'static str {
        "s3"
    }

    fn single_attach(&self) -> bool {
        false
    }

    fn posix(&self) -> bool {
        false
    }

    fn zonal(&self) -> bool {
        false
    }

    fn archives(&self) -> bool {
        false
    }

    fn attaches_device(&self) -> bool {
        false
    }

    fn module(&self) -> &'static str {
        "aws_storage_s3"
    }

    fn arguments(&self, site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        let StorageSite { root, storage, .. } = site;
        let mut arguments = head::variables(root.builder, &["force_destroy"]);
        arguments.push(("bucket_name".into(), text(bucket(root.builder, storage))));
        if let Some(lifecycle) = &storage.lifecycle {
            arguments.push(("lifecycle_rules".into(), Expression::Array(vec![rule(lifecycle)])));
        }
        let groups: BTreeSet<&str> = storage.groups.iter().map(|g| g.value.as_str()).collect();
        if !groups.is_empty() {
            arguments.push(("group_prefixes".into(), texts(groups)));
        }
        if storage.public_read {
            arguments.push(("public_read".into(), Expression::Bool(true)));
        }
        arguments.push(("tags".into(), storage_tags(root, storage)));
        arguments
    }

    fn shared_identity(&self, builder: &Builder, storage: &Storage) -> Option<String> {
        Some(bucket(builder, storage))
    }

    fn check_storage(&self, _tree: &Tree, builder: &Builder, storage: &Storage, found: &mut Diagnostics) {
        check_label(Class::Storage, &storage.name, &storage.at, found);
        let name = bucket(builder, storage);
        if !is_marker(&name) && !is_bucket(&name) {
            let at = storage.bucket_name.as_ref().map_or(&storage.at, |b| &b.at);
            found.push(
                Diagnostic::error(
                    "bucket-name",
                    format!("storage `{}` has the bucket name `{name}`, which S3 does not accept", storage.name),
                )
                .at(at)
                .help("use 3 to 63 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends"),
            );
        }
        if let Some(lifecycle) = &storage.lifecycle {
            check_lifecycle(storage, lifecycle, found);
        }
    }

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_s3_bucket", "aws_s3_object", "aws_s3_bucket_policy", "aws_s3_bucket_lifecycle_configuration"]
    }

    fn data_types(&self) -> &'static [&'static str] {
        &["aws_s3_bucket"]
    }

    fn followers(&self) -> &'static [(&'static str, &'static [Part])] {
        &[
            ("aws_s3_object", &[Part::Groups]),
            ("aws_s3_bucket_policy", &[Part::PublicRead]),
            ("aws_s3_bucket_lifecycle_configuration", &[Part::Lifecycle]),
        ]
    }

    fn mount_script(&self, site: &MountSite<'_>, script: &mut Script) {
        script
            .line(&format!("mkdir -p {}  # a bucket is reached by name, not mounted", quote(&site.mount.mount_point)));
    }
}

/// The storage's own bucket name, else its builder's, else its name.
fn bucket(builder: &Builder, storage: &Storage) -> String {
    let declared = storage.bucket_name.as_ref().map(|b| b.value.as_str()).filter(|b| !b.trim().is_empty());
    declared.or_else(|| builder.fields.text("bucket_name")).unwrap_or(&storage.name.safe).to_owned()
}

fn is_bucket(name: &str) -> bool {
    let end = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.first().copied().is_some_and(end)
        && bytes.last().copied().is_some_and(end)
        && bytes.iter().all(|b| end(*b) || matches!(b, b'-' | b'.'))
        && !name.contains("..")
}

/// Unset days are 0 and unset texts empty: the module's words for "not set".
fn rule(lifecycle: &Fields) -> Expression {
    let days = |key: &str| Expression::from(lifecycle.node(key).and_then(whole).unwrap_or(0));
    let words = |key: &str| text(lifecycle.text(key).unwrap_or_default());
    plain_object([
        ("id", text("csis")),
        ("prefix", words("prefix")),
        ("transition_days", days("transition_days")),
        ("storage_class", words("storage_class")),
        ("expire_days", days("expire_days")),
    ])
}

fn check_lifecycle(storage: &Storage, lifecycle: &Fields, found: &mut Diagnostics) {
    let name = &storage.name;
    let mut refuse = |message: String, key: &str, help: String| {
        found.push(Diagnostic::error("storage-lifecycle", message).at(lifecycle.place(key)).help(help));
    };
    for key in ["transition_days", "expire_days"] {
        let Some(node) = lifecycle.node(key) else { continue };
        if whole(node).is_none_or(|days| days <= 0) && !node.text().is_some_and(is_marker) {
            refuse(
                format!("storage `{name}` has `{key}: {}`, which is no number of days", node.to_json()),
                key,
                "write a whole number above 0".into(),
            );
        }
    }
    if let Some(node) = lifecycle.node("storage_class")
        && !node.text().is_some_and(|class| CLASSES.contains(&class) || is_marker(class))
    {
        refuse(
            format!(
                "storage `{name}` has the storage class `{}`, which is not among those offered",
                node.text().unwrap_or(node.describe())
            ),
            "storage_class",
            format!("use one of {}", CLASSES.join(", ")),
        );
    }
    let (days, class) = (lifecycle.node("transition_days").is_some(), lifecycle.node("storage_class").is_some());
    if class && !days {
        refuse(
            format!("storage `{name}` has a `storage_class` without `transition_days`"),
            "storage_class",
            "say after how many days, in `transition_days`".into(),
        );
    }
    if days && !class {
        refuse(
            format!("storage `{name}` has `transition_days` without a `storage_class`"),
            "transition_days",
            format!("say where to, in `storage_class`: {}", CLASSES.join(", ")),
        );
    }
    if !days && lifecycle.node("expire_days").is_none() {
        refuse(
            format!(
                "storage `{name}` has a `lifecycle` that does nothing: neither `transition_days` nor `expire_days`"
            ),
            "",
            "set `transition_days` or `expire_days`, or remove `lifecycle`".into(),
        );
    }
    check_keys(storage, lifecycle, &["transition_days", "storage_class", "expire_days", "prefix"], found);
}
