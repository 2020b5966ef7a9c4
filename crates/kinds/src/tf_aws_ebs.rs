//! Block volumes of EC2: one machine at a time, in one zone.

use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, StorageKind, StorageSite};
use crate::script::Script;
use csis_values::fields::{Field, Shape};
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostics};
use hcl::Expression;

pub struct TfAwsEbs;

const FIELDS: &[Field] = &[
    PROVIDERS,
    Field::new("size", Shape::Int { min: 1, max: 65_536 }, "The size of its volumes in GB.").default("100"),
    Field::new(
        "variables",
        Shape::Object(&[
            Field::new("volume_type", Shape::Text, "The volume type, e.g. `gp3`."),
            Field::new("encrypted", Shape::Bool, "Whether volumes are encrypted."),
            Field::new("tags", Shape::TextMap, "Tags of every volume, under a storage's own."),
        ]),
        "Inputs of the module that every volume gets.",
    )
    .default("{}"),
];

impl Kind for TfAwsEbs {
    fn name(&self) -> &'static str {
        "tf-aws-ebs"
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

impl StorageKind for TfAwsEbs {
    fn capability(&self) -> &'static str {
        "ebs"
    }

    fn single_attach(&self) -> bool {
        true
    }

    fn posix(&self) -> bool {
        true
    }

    fn zonal(&self) -> bool {
        true
    }

    fn archives(&self) -> bool {
        true
    }

    fn attaches_device(&self) -> bool {
        true
    }

    fn module(&self) -> &'static str {
        "aws_storage_ebs"
    }

    fn arguments(&self, _site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        Vec::new()
    }

    fn check_storage(&self, _tree: &Tree, _builder: &Builder, _storage: &Storage, _found: &mut Diagnostics) {}

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_ebs_volume"]
    }

    fn data_types(&self) -> &'static [&'static str] {
        &["aws_ebs_volume"]
    }

    fn follower_types(&self) -> &'static [&'static str] {
        &[]
    }

    fn mount_script(&self, _site: &MountSite<'_>, _script: &mut Script) {}
}
