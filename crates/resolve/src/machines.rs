//! Instance roots: one per instance builder with instances, a decommission to come, or a state that is recorded.

use crate::bakes::Bakes;
use crate::site::{self, Scope};
use crate::{mounts, sanctions};
use csis_kinds::registry;
use csis_values::intent::{BuildRef, Content, InstanceIntent, LiveObject, Root};
use csis_values::name::Name;
use csis_values::records::{Launch, Records};
use csis_values::request::Lifecycle;
use csis_values::tree::{Builder, Image, Instance, Policy, Tree};
use csis_values::{Class, Diagnostics};
use std::collections::{BTreeMap, BTreeSet};

/// What a machine's build is replaced for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement {
    Upgrade,
    Follow,
}

pub(crate) fn root(
    tree: &Tree,
    records: &Records,
    scope: &Scope,
    bakes: &Bakes,
    builder: &Builder,
    found: &mut Diagnostics,
) -> Option<Root> {
    let runtime = site::runtime_of(tree, builder);
    let runtime_name = runtime.map(|r| r.name.safe.clone());
    if !scope.holds(runtime_name.as_deref()) {
        return None;
    }
    let kind = registry::instance(builder)?;
    let declared: Vec<&Instance> = tree.instances.iter().filter(|i| i.builder.value == builder.name.safe).collect();
    let decommissioned = decommissioned(tree, records, runtime_name.as_deref());
    let located =
        records.locations.contains_key(&builder.name.safe) || records.locations.contains_key(&builder.name.label);
    if declared.is_empty() && decommissioned.is_empty() && !located {
        return None;
    }
    let applies =
        site::applies("apply_instances", &tree.config.apply_instances, scope, builder, runtime_name.as_deref());
    let instances = declared.iter().map(|i| machine(tree, records, bakes, i, runtime, found)).collect();
    let mut types: BTreeSet<&str> = kind.resource_types().iter().copied().collect();
    let machine_type = kind.machine().split('.').next().unwrap_or_default();
    types.insert(machine_type);
    let mut root = Root {
        id: site::root_id(Lifecycle::InstanceImage, builder),
        lifecycle: Lifecycle::InstanceImage,
        phase: "instance-generation".to_owned(),
        builder: builder.name.clone(),
        engine: site::engine(tree, builder),
        state: site::state(tree, records, builder),
        runtime: runtime_name,
        variables: variables(&declared, records, applies.applies),
        applies,
        reads: site::reads(tree),
        content: Content::Instances { instances },
        sanctions: Vec::new(),
        obligations: Vec::new(),
        actions: Vec::new(),
        replace: Vec::new(),
        resource_types: types.into_iter().map(str::to_owned).collect(),
        data_types: vec![machine_type.to_owned()],
        live: Vec::new(),
    };
    for instance in &declared {
        let Some(launch) = launched(records, &instance.name.safe) else { continue };
        root.live.push(live(kind.machine(), &instance.name));
        sanctions::standing_machine(&mut root, tree, kind, instance, launch, replacement(records, instance));
    }
    for name in &decommissioned {
        root.live.push(live(kind.machine(), name));
        sanctions::decommissioned(&mut root, name);
    }
    if declared.is_empty() {
        sanctions::last_instance(&mut root, kind);
    }
    root.replace.sort();
    Some(root)
}

fn machine(
    tree: &Tree,
    records: &Records,
    bakes: &Bakes,
    instance: &Instance,
    runtime: Option<&Builder>,
    found: &mut Diagnostics,
) -> InstanceIntent {
    let image = instance.image.as_ref().and_then(|i| tree.image(&i.value));
    let group = image.and_then(|i| i.group.as_ref()).and_then(|g| tree.group(&g.value));
    let launch = launched(records, &instance.name.safe);
    let recorded = launch.map_or(&[][..], |l| &l.mounts);
    let default_type = || runtime.and_then(|r| registry::runtime(r)?.default_machine_type(r));
    let mut tags = instance.tags.clone();
    tags.insert("csis_config".to_owned(), tree.config_tag.clone());
    InstanceIntent {
        name: instance.name.clone(),
        hostname: hostname(records, instance, launch.filter(|_| replacement(records, instance).is_none())),
        machine_type: instance.machine_type.clone().filter(|t| !t.is_empty()).or_else(default_type).unwrap_or_default(),
        image: image.map_or_else(String::new, |i| i.name.safe.clone()),
        build: build(tree, records, bakes, instance, image, launch),
        group: group.and_then(|g| Some((g.name.safe.clone(), g.gid.as_ref()?.value))),
        ephemeral: instance.ephemeral,
        mounts: mounts::resolve(tree, records, instance, group.map(|g| g.name.safe.as_str()), recorded, found),
        tags,
        userdata: instance.userdata.clone(),
    }
}

/// The recorded name while the machine stands; else the next generation of its kind.
fn hostname(records: &Records, instance: &Instance, standing: Option<&Launch>) -> String {
    if let Some(name) = standing.and_then(|l| l.hostname.clone()) {
        return name;
    }
    let generations = records.generations.get(&instance.name.safe);
    let last = generations.map_or(0, |g| if instance.ephemeral { g.ephemeral } else { g.durable });
    format!("{}-{:03}", instance.name.written.trim(), u64::from(last) + 1)
}

fn build(
    tree: &Tree,
    records: &Records,
    bakes: &Bakes,
    instance: &Instance,
    image: Option<&Image>,
    launch: Option<&Launch>,
) -> BuildRef {
    let runtime = instance.runtime.value.as_str();
    let series = image.map_or("", |i| i.name.safe.as_str());
    let head = records.head(series, runtime);
    let pin = records.pins.instances.get(&instance.name.safe).cloned();
    let of_launch = || launch.and_then(|l| l.build.clone()).filter(|b| b != "unbound");
    let bound = match instance.image_policy {
        Policy::Follow => head.map(|h| h.build_id.clone()).or(pin).or_else(of_launch),
        // Without a pin the first binding is to the head, unless a newer build is about to be made.
        Policy::Pinned => pin
            .or_else(of_launch)
            .or_else(|| head.filter(|_| !bakes.is_due(series, runtime)).map(|h| h.build_id.clone())),
    };
    if let Some(id) = bound {
        return BuildRef::Pinned { id };
    }
    BuildRef::Deferred {
        pattern: image.map_or_else(String::new, |i| pattern(tree, i, runtime)),
        series: series.to_owned(),
        runtime: runtime.to_owned(),
    }
}

/// The name of an image's artifacts on a runtime, without the time stamp.
fn pattern(tree: &Tree, image: &Image, runtime: &str) -> String {
    let Some(entry) = image.runtimes.iter().rev().find(|r| r.runtime == runtime) else { return String::new() };
    let kind = tree.builder(Class::ImageBuilder, &entry.image_builder.value).and_then(registry::image);
    kind.map_or_else(String::new, |k| k.instance_pattern(&image.name.written, &entry.image_builder_written))
}

/// A record of a machine that stands; one that was only prepared counts for nothing.
pub(crate) fn launched<'a>(records: &'a Records, name: &str) -> Option<&'a Launch> {
    records.launches.get(name).filter(|l| l.launched)
}

/// Why the standing machine is replaced: an upgrade waits, or its image has a newer build that it follows.
pub(crate) fn replacement(records: &Records, instance: &Instance) -> Option<Replacement> {
    let launch = launched(records, &instance.name.safe)?;
    if records.pins.pending_replacements.contains_key(&instance.name.safe) {
        return Some(Replacement::Upgrade);
    }
    if instance.image_policy != Policy::Follow {
        return None;
    }
    let runs = records.pins.instances.get(&instance.name.safe).or(launch.build.as_ref())?;
    let head = records.head(&instance.image.as_ref()?.value, &instance.runtime.value)?;
    (head.build_id != *runs).then_some(Replacement::Follow)
}

/// Machines that stand on this runtime and are declared no more. One whose build is unknown belongs to every runtime, so that it can go at all.
fn decommissioned(tree: &Tree, records: &Records, runtime: Option<&str>) -> Vec<Name> {
    let stands_here = |name: &str, launch: &Launch| {
        let build = records.pins.instances.get(name).or(launch.build.as_ref()).and_then(|id| records.build(id));
        build.is_none_or(|b| Some(b.runtime.as_str()) == runtime)
    };
    records
        .launches
        .iter()
        .filter(|(name, launch)| launch.launched && tree.instance(name).is_none() && stands_here(name, launch))
        .map(|(name, _)| Name::new(name))
        .collect()
}

/// Ephemeral machines are left out of a plan that may not launch them, unless one stands.
fn variables(declared: &[&Instance], records: &Records, applies: bool) -> BTreeMap<String, String> {
    let mut ephemeral = declared.iter().filter(|i| i.ephemeral).peekable();
    let any = ephemeral.peek().is_some();
    if !any || applies || ephemeral.any(|i| launched(records, &i.name.safe).is_some()) {
        return BTreeMap::new();
    }
    BTreeMap::from([("ephemeral_present".to_owned(), "false".to_owned())])
}

fn live(machine: &str, name: &Name) -> LiveObject {
    LiveObject {
        address: format!("{}.{machine}", sanctions::instance_module(name)),
        kind: "instance".to_owned(),
        name: name.safe.clone(),
    }
}
