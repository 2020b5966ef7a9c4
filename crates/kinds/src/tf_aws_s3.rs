//! Buckets: reached by name from any machine, not mounted.

use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, StorageKind, StorageSite};
use crate::script::Script;
use csis_values::fields::{Field, Shape};
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostics};
use hcl::Expression;

pub struct TfAwsS3;

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

    fn arguments(&self, _site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        Vec::new()
    }

    fn check_storage(&self, _tree: &Tree, _builder: &Builder, _storage: &Storage, _found: &mut Diagnostics) {}

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_s3_bucket", "aws_s3_object", "aws_s3_bucket_policy", "aws_s3_bucket_lifecycle_configuration"]
    }

    fn data_types(&self) -> &'static [&'static str] {
        &["aws_s3_bucket"]
    }

    fn follower_types(&self) -> &'static [&'static str] {
        &["aws_s3_object", "aws_s3_bucket_policy", "aws_s3_bucket_lifecycle_configuration"]
    }

    fn mount_script(&self, _site: &MountSite<'_>, _script: &mut Script) {}
}
