//! Block volumes of EC2: one machine at a time, in one zone.

use crate::ast::{attr, text};
use crate::aws::Network;
use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, StorageKind, StorageSite};
use crate::head;
use crate::script::{self, Script, fstab_field, quote};
use crate::storages::{refuse_bucket_name, storage_tags};
use crate::vocabulary::{check_label, check_requirements};
use csis_values::fields::{Field, Shape};
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use hcl::Expression;

pub struct TfAwsEbs;

const DEFAULT_SIZE: i64 = 100;

/// A volume is formatted only when it is new and its first MiB reads as zeros; a read that fails, and `blkid` ending with anything but "nothing
/// found", prove nothing.
const FUNCTIONS: &str = include_str!("shell/volume.sh");

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        check_label(builder.class, &builder.name, &builder.at, found);
        check_requirements(builder, found);
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

    fn arguments(&self, site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        let StorageSite { root, storage, intent } = site;
        let mut arguments = head::variables(root.builder, &["volume_type", "encrypted"]);
        arguments.push(("name".into(), text(storage.name.safe.clone())));
        arguments.push(("size".into(), Expression::from(root.builder.fields.int("size").unwrap_or(DEFAULT_SIZE))));
        if let Some(snapshot) = &intent.restore_from {
            arguments.push(("snapshot_name".into(), text(snapshot.clone())));
        }
        let network = Network::of(root.runtime);
        let zone = storage.availability_zone.as_ref().map(|z| z.value.clone());
        if let Some(zone) = zone.or_else(|| network.as_ref()?.listed_zone()) {
            arguments.push(("availability_zone".into(), text(zone)));
        } else if let Some(subnet) = network.and_then(|n| n.default_subnet_id()) {
            arguments.push(("subnet_id".into(), text(subnet)));
        }
        arguments.push(("tags".into(), storage_tags(root, storage)));
        arguments
    }

    fn check_storage(&self, _tree: &Tree, _builder: &Builder, storage: &Storage, found: &mut Diagnostics) {
        check_label(Class::Storage, &storage.name, &storage.at, found);
        if let Some(lifecycle) = &storage.lifecycle {
            found.push(
                Diagnostic::error(
                    "storage-lifecycle",
                    format!("storage `{}` has a `lifecycle`, which block volumes do not have", storage.name),
                )
                .at(&lifecycle.at)
                .help("remove `lifecycle`; EFS and S3 storages have one"),
            );
        }
        refuse_bucket_name(storage, found);
    }

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_ebs_volume"]
    }

    fn data_types(&self) -> &'static [&'static str] {
        &["aws_ebs_volume"]
    }

    fn template_entry(&self, site: &MountSite<'_>) -> Option<(&'static str, Vec<(String, Expression)>)> {
        let volume = attr(head::storage_outputs(site.tree, site.builder, &site.mount.storage), "volume_id");
        let device = text(site.mount.device.clone().unwrap_or_default());
        Some(("ebs", vec![("device_name".into(), device), ("volume_id".into(), volume)]))
    }

    fn template_sections(&self) -> &'static [&'static str] {
        &["ebs"]
    }

    fn mount_functions(&self) -> &'static str {
        FUNCTIONS
    }

    fn mount_script(&self, site: &MountSite<'_>, script: &mut Script) {
        let MountSite { instance, mount, .. } = site;
        let (point, options) = (&mount.mount_point, if mount.read_only { "ro,nofail" } else { "defaults,nofail" });
        script.assign("VOL", &script::index("ebs", &mount.storage, "volume_id"));
        let may = if mount.may_format { "yes" } else { "no" };
        let device = quote(mount.device.as_deref().unwrap_or_default());
        script.line(&format!(
            "csis_volume {} {} {device} \"$VOL\" {may} {options}",
            quote(point),
            quote(&fstab_field(point))
        ));
        if let (Some((group, mode)), Some(_), false) = (&mount.subtree, &instance.group, mount.read_only) {
            script.line(&format!("csis_subtree {} {} {}", quote(point), quote(group), quote(mode)));
        }
    }
}
