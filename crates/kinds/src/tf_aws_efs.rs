//! Shared file systems: many machines, in every zone.

use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, StorageKind, StorageSite};
use crate::script::Script;
use csis_values::fields::{Field, Shape};
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostics};
use hcl::Expression;

pub struct TfAwsEfs;

const FIELDS: &[Field] = &[
    PROVIDERS,
    Field::new(
        "variables",
        Shape::Object(&[
            Field::new("performance_mode", Shape::Text, "The performance mode, e.g. `generalPurpose`."),
            Field::new("encrypted", Shape::Bool, "Whether file systems are encrypted."),
            Field::new("tags", Shape::TextMap, "Tags of every file system, under a storage's own."),
        ]),
        "Inputs of the module that every file system gets.",
    )
    .default("{}"),
];

impl Kind for TfAwsEfs {
    fn name(&self) -> &'static str {
        "tf-aws-efs"
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

impl StorageKind for TfAwsEfs {
    fn capability(&self) -> &'static str {
        "efs"
    }

    fn single_attach(&self) -> bool {
        false
    }

    fn posix(&self) -> bool {
        true
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
        "aws_storage_efs"
    }

    fn arguments(&self, _site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        Vec::new()
    }

    fn check_storage(&self, _tree: &Tree, _builder: &Builder, _storage: &Storage, _found: &mut Diagnostics) {}

    fn resource_types(&self) -> &'static [&'static str] {
        &[
            "aws_efs_file_system",
            "aws_efs_access_point",
            "aws_efs_mount_target",
            "aws_security_group",
            "aws_security_group_rule",
        ]
    }

    fn data_types(&self) -> &'static [&'static str] {
        &["aws_efs_file_system"]
    }

    fn follower_types(&self) -> &'static [&'static str] {
        &["aws_efs_access_point", "aws_efs_mount_target", "aws_security_group", "aws_security_group_rule"]
    }

    fn mount_script(&self, _site: &MountSite<'_>, _script: &mut Script) {}
}
