//! Machines of EC2.

use crate::ast::{self, block, body, identifier, object, path, set, template_file, text};
use crate::aws::Network;
use crate::common::PROVIDERS;
use crate::family::{InstanceKind, Kind, MountSite, RootSite, StorageKind};
use crate::head::{self, plain_object};
use crate::registry::{self, REGISTRY, Registered};
use crate::script::{Script, quote};
use crate::vocabulary::{check_label, check_requirements};
use csis_values::fields::Field;
use csis_values::intent::{BuildRef, Content, InstanceIntent};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostics, Name};
use hcl::Expression;
use hcl::expr::Conditional;
use hcl::structure::Structure;
use std::collections::BTreeMap;

pub struct Tofu;

const FIELDS: &[Field] = &[PROVIDERS];

/// The security group of a root's machines, and the data block of their network.
const OWN: &str = "csis_instances";

impl Kind for Tofu {
    fn name(&self) -> &'static str {
        "tofu"
    }

    fn class(&self) -> Class {
        Class::InstanceBuilder
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

impl InstanceKind for Tofu {
    fn module(&self) -> &'static str {
        "aws_instance"
    }

    fn root_files(&self, site: &RootSite<'_>) -> BTreeMap<String, hcl::Body> {
        let instances = instances(site);
        let mut parts = head::requirements(site);
        parts.extend(variables(self, &instances));
        parts.extend(head::remote_states(site));
        if !instances.is_empty() {
            parts.extend(network(site));
        }
        BTreeMap::from([(format!("{}-{}.tf", site.builder.name.safe, site.root.phase), body(parts))])
    }

    fn image_variable(&self, instance: &Name) -> String {
        format!("{}_ami_id", identifier(&instance.label))
    }

    fn arguments(&self, site: &RootSite<'_>, instance: &InstanceIntent) -> Vec<(String, Expression)> {
        let mut arguments: Vec<(&str, Expression)> = Vec::new();
        if instance.ephemeral {
            let present = path("var", &["ephemeral_present"]);
            arguments.push(("count", Conditional::new(present, Expression::from(1), Expression::from(0)).into()));
        }
        arguments.push(("name", text(instance.name.safe.clone())));
        match &instance.build {
            BuildRef::Pinned { id } => arguments.push(("ami_id", text(id.clone()))),
            BuildRef::Deferred { pattern, .. } => {
                arguments.push(("ami_id", path("var", &[&self.image_variable(&instance.name)])));
                arguments.push(("ami_name_pattern", text(format!("{pattern}*"))));
            }
        }
        arguments.push(("instance_type", text(instance.machine_type.clone())));
        arguments.push(("associate_public_ip_address", Expression::Bool(false)));
        let network = Network::of(site.runtime);
        if let Some(network) = &network {
            let own = path("aws_security_group", &[OWN, "id"]);
            let groups = [own].into_iter().chain(network.additional_groups().into_iter().map(text));
            arguments.push(("vpc_security_group_ids", Expression::Array(groups.collect())));
        }
        if let Some(subnet) = network.and_then(|n| n.default_subnet_id()) {
            arguments.push(("subnet_id", text(subnet)));
        }
        if let Some(profile) = session_profile(site.runtime) {
            arguments.push(("iam_instance_profile", text(profile)));
        }
        arguments.push(("tags", head::tags(site.tree, &[&instance.tags])));
        let mut sections = sections(site, instance);
        let volumes = sections.get("ebs").cloned().filter(|entries| !entries.is_empty()).map(section);
        let mut variables: Vec<(String, Expression)> =
            sections.iter_mut().map(|(name, entries)| ((*name).to_owned(), section(std::mem::take(entries)))).collect();
        if let Some((_, gid)) = &instance.group {
            variables.push(("group_gid".into(), Expression::from(*gid)));
        }
        variables.push(("sft_enrollment_token".into(), text("")));
        variables.sort_by(|a, b| a.0.cmp(&b.0));
        arguments.push(("user_data", template_file(&self.script_name(&instance.name), object(variables))));
        if let Some(volumes) = volumes {
            arguments.push(("ebs_volumes", volumes));
        }
        arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn launch_script(&self, site: &RootSite<'_>, instance: &InstanceIntent) -> Script {
        let mut script = Script::new();
        let host = &instance.hostname;
        script.line("#!/usr/bin/env bash");
        script.line(&format!("# Launch script of {host}."));
        script.line("# It runs once, as root, when the machine first boots: host name, mounts, declared lines.");
        script.line("# Its last act writes /var/lib/csis/launch-applied; a machine without that file is not ready.");
        script.line("set -euo pipefail");
        script.line("");
        functions(site, instance, &mut script);
        script.line(&format!("hostnamectl set-hostname {} || true", quote(host)));
        if let Some((group, _)) = &instance.group {
            script.line("");
            script.line(&format!("# The owning group, {}", comment(group)));
            script.assign("GID", "group_gid");
            script.line("export GID");
        }
        for mount in &instance.mounts {
            let Some(builder) = site.tree.builder(Class::StorageBuilder, &mount.builder) else { continue };
            let Some(kind) = registry::storage(builder) else { continue };
            script.line("");
            script.line(&format!("# Storage {} ({})", comment(&mount.storage), kind.capability()));
            kind.mount_script(&MountSite { tree: site.tree, instance, mount, builder }, &mut script);
        }
        if !instance.userdata.trim().is_empty() {
            script.line("");
            script.line("# Declared lines");
            script.literal(&instance.userdata);
        }
        script.line("");
        script.line("mkdir -p /var/lib/csis");
        script.line("date -u +%FT%TZ > /var/lib/csis/launch-applied");
        script
    }

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_instance", "aws_volume_attachment", "aws_security_group"]
    }
}

fn instances<'a>(site: &RootSite<'a>) -> Vec<&'a InstanceIntent> {
    match &site.root.content {
        Content::Instances { instances } => instances.iter().collect(),
        Content::Storages { .. } => Vec::new(),
    }
}

/// The image of each machine; whether ephemeral machines stand; the operator's enrollment token.
fn variables(kind: &Tofu, instances: &[&InstanceIntent]) -> Vec<Structure> {
    let typed = |name: &str, of: &str, default: Expression, more: Vec<Structure>| {
        let kind = Expression::Variable(hcl::expr::Variable::from(hcl::Identifier::sanitized(of)));
        let mut settings = vec![set("type", kind), set("default", default)];
        settings.extend(more);
        Structure::from(block("variable", &[name], settings))
    };
    let mut all: Vec<Structure> =
        instances.iter().map(|i| typed(&kind.image_variable(&i.name), "string", text(""), Vec::new())).collect();
    if instances.iter().any(|i| i.ephemeral) {
        let about = set("description", text("Whether the ephemeral machines stand."));
        all.push(typed("ephemeral_present", "bool", Expression::Bool(true), vec![about]));
    }
    let about = set("description", text("Enrollment token that machines use instead of their group's own."));
    all.push(typed("sft_enrollment_token", "string", text(""), vec![about, set("sensitive", true)]));
    all
}

/// The machines' network and their security group: SSH from the declared groups alone, or from the network when there are none.
fn network(site: &RootSite<'_>) -> Vec<Structure> {
    let Some(network) = Network::of(site.runtime) else { return Vec::new() };
    let bound: Vec<Structure> =
        head::provider_reference(site).map(|provider| set("provider", provider)).into_iter().collect();
    let mut vpc = bound.clone();
    vpc.push(network.vpc().map_or_else(|| set("default", true), |id| set("id", text(id))));

    let from = network.ingress_groups();
    let source = if from.is_empty() {
        set("cidr_blocks", Expression::Array(vec![path("data", &["aws_vpc", OWN, "cidr_block"])]))
    } else {
        set("security_groups", ast::texts(from))
    };
    let about = |words: &str| set("description", text(words));
    let port = |number: i64| Expression::from(number);
    let ingress =
        vec![about("SSH"), set("from_port", port(22)), set("to_port", port(22)), set("protocol", text("tcp")), source];
    let everywhere = set("cidr_blocks", ast::texts(["0.0.0.0/0"]));
    let egress = vec![
        about("Everywhere"),
        set("from_port", port(0)),
        set("to_port", port(0)),
        set("protocol", text("-1")),
        everywhere,
    ];
    let mut group = bound;
    group.extend([
        set("name_prefix", text("csis-instances-")),
        about("Machines of this root: SSH from within, everything outwards"),
        set("vpc_id", path("data", &["aws_vpc", OWN, "id"])),
        block("ingress", &[], ingress).into(),
        block("egress", &[], egress).into(),
        set(
            "tags",
            plain_object([("Name", text("csis-instances")), ("csis_config", text(site.tree.config_tag.clone()))]),
        ),
        // Machines wear the group: one that is deleted first fails while they do.
        block("lifecycle", &[], vec![set("create_before_destroy", true)]).into(),
    ]);
    vec![block("data", &["aws_vpc", OWN], vpc).into(), block("resource", &["aws_security_group", OWN], group).into()]
}

/// The profile sessions need; without a session mechanism machines wear none.
fn session_profile(runtime: &Builder) -> Option<String> {
    registry::runtime(runtime)?.session(runtime)?;
    runtime.fields.text("session_instance_profile").map(str::to_owned)
}

type Entries = BTreeMap<String, Vec<(String, Expression)>>;

/// The template's variables for mounts: each section of every kind, filled for the mounts at hand.
fn sections(site: &RootSite<'_>, instance: &InstanceIntent) -> BTreeMap<&'static str, Entries> {
    let mut sections: BTreeMap<&'static str, Entries> = BTreeMap::new();
    for registered in REGISTRY {
        if let Registered::Storage(kind) = registered {
            sections.extend(kind.template_sections().iter().map(|name| (*name, Entries::new())));
        }
    }
    for mount in &instance.mounts {
        let Some(builder) = site.tree.builder(Class::StorageBuilder, &mount.builder) else { continue };
        let entry = registry::storage(builder)
            .and_then(|k| k.template_entry(&MountSite { tree: site.tree, instance, mount, builder }));
        if let Some((name, values)) = entry {
            sections.entry(name).or_default().insert(mount.storage.clone(), values);
        }
    }
    sections
}

fn section(entries: Entries) -> Expression {
    object(entries.into_iter().map(|(storage, values)| (storage, object(values))))
}

/// The shell functions that the mounts at hand call, each once.
fn functions(site: &RootSite<'_>, instance: &InstanceIntent, script: &mut Script) {
    let mut wanted: Vec<&'static str> = Vec::new();
    for mount in &instance.mounts {
        let kind = site.tree.builder(Class::StorageBuilder, &mount.builder).and_then(registry::storage);
        let Some(functions) = kind.map(StorageKind::mount_functions).filter(|f| !f.is_empty()) else { continue };
        if !wanted.contains(&functions) {
            wanted.push(functions);
        }
    }
    if !wanted.is_empty() {
        script.literal(include_str!("shell/mount.sh"));
        for functions in wanted {
            script.line("");
            script.literal(functions);
        }
        script.line("");
    }
}

/// A text in a comment: one line, whatever it holds.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
