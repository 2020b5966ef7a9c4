//! Shared file systems: many machines, in every zone.

use crate::ast::{attr, block, index, object, path, set, text, texts};
use crate::aws::Network;
use crate::common::PROVIDERS;
use crate::family::{Kind, MountSite, Part, RootSite, StorageKind, StorageSite};
use crate::head::{self, plain_object};
use crate::script::{self, Script, fstab_field, quote};
use crate::storages::{check_keys, refuse_bucket_name, storage_tags, whole};
use crate::vocabulary::{check_label, check_requirements, is_marker};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::intent::StorageIntent;
use csis_values::tree::{Builder, Storage, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use hcl::Expression;
use hcl::structure::Structure;

pub struct TfAwsEfs;

const IA_DAYS: &[i64] = &[1, 7, 14, 30, 60, 90, 180, 270, 365];
const ARCHIVE_DAYS: &[i64] = &[90, 180, 270, 365];

/// The data block for the account's default VPC, where the runtime names no other.
const DEFAULT_VPC: &str = "csis_network";

const FUNCTIONS: &str = include_str!("shell/share.sh");

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        check_label(builder.class, &builder.name, &builder.at, found);
        check_requirements(builder, found);
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

    fn arguments(&self, site: &StorageSite<'_>) -> Vec<(String, Expression)> {
        let StorageSite { root, storage, intent } = site;
        let mut arguments = head::variables(root.builder, &["performance_mode", "encrypted"]);
        arguments.push(("name".into(), text(storage.name.safe.clone())));
        if let Some(adopted) = adopted(storage) {
            arguments.push(("existing_file_system_id".into(), text(adopted)));
        }
        for (key, argument) in [("ia_days", "transition_to_ia"), ("archive_days", "transition_to_archive")] {
            if let Some(days) = storage.lifecycle.as_ref().and_then(|l| whole(l.node(key)?)) {
                arguments.push((argument.into(), text(transition(days))));
            }
        }
        if !intent.access.is_empty() {
            arguments.push(("access_points".into(), access_points(intent)));
        }
        if storage.public_read {
            arguments.push(("public_read".into(), Expression::Bool(true)));
        }
        if let Some(network) = Network::of(root.runtime) {
            let (subnets, clients) = (network.private_subnets(), network.additional_groups());
            if !subnets.is_empty() && !clients.is_empty() {
                let vpc = network.vpc().map_or_else(|| path("data", &["aws_vpc", DEFAULT_VPC, "id"]), text);
                arguments.push(("vpc_id".into(), vpc));
                arguments.push(("mount_target_subnet_ids".into(), texts(subnets)));
                arguments.push(("client_security_group_ids".into(), texts(clients)));
            }
        }
        arguments.push(("tags".into(), storage_tags(root, storage)));
        arguments
    }

    fn root_blocks(&self, site: &RootSite<'_>) -> Vec<Structure> {
        let Some(network) = Network::of(site.runtime) else { return Vec::new() };
        if network.vpc().is_some() || network.private_subnets().is_empty() || network.additional_groups().is_empty() {
            return Vec::new();
        }
        let mut settings: Vec<Structure> =
            head::provider_reference(site).map(|provider| set("provider", provider)).into_iter().collect();
        settings.push(set("default", true));
        vec![block("data", &["aws_vpc", DEFAULT_VPC], settings).into()]
    }

    fn check_storage(&self, tree: &Tree, builder: &Builder, storage: &Storage, found: &mut Diagnostics) {
        check_label(Class::Storage, &storage.name, &storage.at, found);
        refuse_bucket_name(storage, found);
        if let Some(lifecycle) = &storage.lifecycle {
            check_keys(storage, lifecycle, &["ia_days", "archive_days"], found);
            check_days(storage, lifecycle, "ia_days", IA_DAYS, found);
            check_days(storage, lifecycle, "archive_days", ARCHIVE_DAYS, found);
        }
        check_reachable(tree, builder, storage, found);
    }

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

    fn followers(&self) -> &'static [(&'static str, &'static [Part])] {
        // Mount targets stand in the runtime's network, and their group in its VPC.
        &[
            ("aws_efs_access_point", &[Part::Groups, Part::PublicRead]),
            ("aws_efs_mount_target", &[Part::Networking]),
            ("aws_security_group", &[Part::Networking]),
            ("aws_security_group_rule", &[Part::Networking]),
        ]
    }

    fn template_entry(&self, site: &MountSite<'_>) -> Option<(&'static str, Vec<(String, Expression)>)> {
        let outputs = head::storage_outputs(site.tree, site.builder, &site.mount.storage);
        let point = match &site.instance.group {
            Some((group, _)) if site.mount.allowed => index(attr(outputs.clone(), "access_point_ids"), group),
            _ => attr(outputs.clone(), "public_read_access_point_id"),
        };
        Some((
            "efs",
            vec![("access_point_id".into(), point), ("file_system_id".into(), attr(outputs, "file_system_id"))],
        ))
    }

    fn template_sections(&self) -> &'static [&'static str] {
        &["efs"]
    }

    fn mount_functions(&self) -> &'static str {
        FUNCTIONS
    }

    /// The access point of a group opens that group's directory, so no directory is made below the mount point.
    fn mount_script(&self, site: &MountSite<'_>, script: &mut Script) {
        let mount = site.mount;
        let own = mount.allowed && site.instance.group.is_some();
        script.assign("EFS_ID", &script::index("efs", &mount.storage, "file_system_id"));
        script.assign("EFS_AP", &script::index("efs", &mount.storage, "access_point_id"));
        let read_only = if mount.read_only || !own { ",ro" } else { "" };
        let (point, field) = (quote(&mount.mount_point), quote(&fstab_field(&mount.mount_point)));
        script.line(&format!(
            "csis_share {point} {field} \"$EFS_ID\" \"_netdev,tls,accesspoint=$EFS_AP,nofail{read_only}\""
        ));
    }
}

/// The existing file system a storage uses instead of making one.
fn adopted(storage: &Storage) -> Option<String> {
    storage.fields.object("config")?.text("file_system_id").filter(|id| !id.trim().is_empty()).map(str::to_owned)
}

fn transition(days: i64) -> String {
    if days == 1 { "AFTER_1_DAY".into() } else { format!("AFTER_{days}_DAYS") }
}

fn access_points(intent: &StorageIntent) -> Expression {
    let points = intent.access.iter().map(|access| {
        let point = [
            ("gid", Expression::from(access.gid)),
            ("path", text(format!("/{}", access.group))),
            ("permissions", text(access.mode.clone())),
        ];
        (access.group.clone(), plain_object(point))
    });
    object(points)
}

fn check_days(storage: &Storage, lifecycle: &Fields, key: &str, allowed: &[i64], found: &mut Diagnostics) {
    let Some(node) = lifecycle.node(key) else { return };
    if whole(node).is_some_and(|days| allowed.contains(&days)) || node.text().is_some_and(is_marker) {
        return;
    }
    let words: Vec<String> = allowed.iter().map(i64::to_string).collect();
    let value = node.to_json();
    found.push(
        Diagnostic::error(
            "storage-lifecycle",
            format!("storage `{}` has `{key}: {value}`, which EFS does not offer", storage.name),
        )
        .at(&node.at)
        .help(format!("use one of {}", words.join(", "))),
    );
}

/// Without a private subnet and a client group the file system gets no mount targets.
fn check_reachable(tree: &Tree, builder: &Builder, storage: &Storage, found: &mut Diagnostics) {
    let Some(runtime) = builder.runtime.as_ref().and_then(|r| tree.builder(Class::Runtime, r)) else { return };
    let Some(network) = Network::of(runtime) else { return };
    let missing = match (network.private_subnets().is_empty(), network.additional_groups().is_empty()) {
        (true, _) => "a subnet that is not public",
        (_, true) => "an entry in `addl_security_groups`",
        _ => return,
    };
    if adopted(storage).is_none() {
        found.push(
            Diagnostic::warning(
                "no-mount-targets",
                format!(
                    "storage `{}` gets no mount targets: runtime `{}` has no {}",
                    storage.name,
                    runtime.name,
                    missing.trim_start_matches("an ").trim_start_matches("a ")
                ),
            )
            .at(&storage.at)
            .help(format!("give the runtime's networking {missing}")),
        );
    }
}
