//! Who may attach what: the machine's group is on the storage's list, the storage is active and lives where the machine does, and a volume has one machine.

use super::site::Site;
use super::words::list;
use csis_kinds::registry;
use csis_values::name::safe_name;
use csis_values::tree::{Builder, Instance, Mount, Storage};
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// Device letters `f` to `z` of `/dev/xvd?`.
const DEVICES: usize = 21;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for mount in &instance.mounts {
            let Some(storage) = site.storages.get(mount.storage.value.as_str()) else {
                undeclared(site, instance, mount, found);
                continue;
            };
            if !seen.insert(&storage.name.safe) {
                twice(site, instance, mount, found);
                continue;
            }
            allowed(site, instance, mount, storage, found);
            near(site, instance, mount, storage, found);
        }
        runtime(site, instance, found);
        devices(site, instance, found);
    }
    single(site, found);
}

/// What the invocation takes away is told here; any other unknown storage was told when the reference was read.
fn undeclared(site: &Site<'_>, instance: &Instance, mount: &Mount, found: &mut Diagnostics) {
    let name = safe_name(&mount.storage);
    let label = format!("{}:{name}", Class::Storage.noun());
    if site.tree.undeclared.contains(&label) {
        let what = format!("instance `{}` mounts storage `{name}`, which this invocation undeclares", instance.name);
        let help = "take the mount out first, or keep the storage";
        found.push(Diagnostic::error("storage-undeclared", what).at(&mount.storage.at).help(help));
    }
}

fn twice(site: &Site<'_>, instance: &Instance, mount: &Mount, found: &mut Diagnostics) {
    let name = &mount.storage.value;
    let what = format!("instance `{}` mounts storage `{name}` more than once", instance.name);
    let mut error =
        Diagnostic::error("storage-mounted-twice", what).at(&mount.storage.at).help("keep one of the mounts");
    if let Some((_, first)) =
        site.mounted.get(name.as_str()).into_iter().flatten().find(|(i, _)| i.name.safe == instance.name.safe)
    {
        error = error.also(&first.at, "the first mount of it".to_owned());
    }
    found.push(error);
}

fn allowed(site: &Site<'_>, instance: &Instance, mount: &Mount, storage: &Storage, found: &mut Diagnostics) {
    if storage.public_read {
        return;
    }
    // An image without a group is refused as such.
    let (Some(group), Some(image)) = (site.group_of(instance), site.image_of(instance)) else { return };
    if storage.groups.iter().any(|g| g.value == group.name.safe) {
        return;
    }
    let names = list(storage.groups.iter().map(|g| format!("`{g}`")));
    let what = format!(
        "instance `{}` may not mount storage `{}`: its image `{}` belongs to group `{}`, and the storage is for {names}",
        instance.name, storage.name, image.name, group.name
    );
    found.push(
        Diagnostic::error("attach-not-allowed", what)
            .at(&mount.storage.at)
            .help(format!(
                "add `{}` to `groups:` of storage `{}`, or set `public_read: true` on it to let everyone read",
                group.name.safe, storage.name
            ))
            .also(
                super::site::place(&storage.fields, "groups", &storage.at),
                format!("who may attach storage `{}`", storage.name),
            ),
    );
}

fn near(site: &Site<'_>, instance: &Instance, mount: &Mount, storage: &Storage, found: &mut Diagnostics) {
    let Some(runtime) = site.builder(Class::StorageBuilder, &storage.builder.value).and_then(|b| site.runtime_of(b))
    else {
        return;
    };
    if runtime.name.safe != instance.runtime.value {
        let what = format!(
            "instance `{}` runs on `{}` and mounts storage `{}`, which lives on `{}`",
            instance.name, instance.runtime, storage.name, runtime.name
        );
        found.push(
            Diagnostic::error("attach-elsewhere", what)
                .at(&mount.storage.at)
                .help(format!("mount a storage whose builder is on `{}`", instance.runtime))
                .also(&storage.at, format!("storage `{}`, realised by `{}`", storage.name, storage.builder)),
        );
    }
}

fn runtime(site: &Site<'_>, instance: &Instance, found: &mut Diagnostics) {
    let Some(builder) = site.builder(Class::InstanceBuilder, &instance.builder.value) else { return };
    let Some(runtime) = site.runtime_of(builder) else { return };
    if runtime.name.safe != instance.runtime.value {
        let what = format!(
            "instance `{}` is declared on runtime `{}`, and its instance builder `{}` works on `{}`",
            instance.name, instance.runtime, builder.name, runtime.name
        );
        found.push(
            Diagnostic::error("instance-elsewhere", what)
                .at(&instance.runtime.at)
                .help("give it a `type:` whose builder works on that runtime, or set `runtime:` to the builder's")
                .also(&builder.at, format!("instance builder `{}`", builder.name)),
        );
    }
}

fn devices(site: &Site<'_>, instance: &Instance, found: &mut Diagnostics) {
    let block = |mount: &&Mount| {
        let storage = site.storages.get(mount.storage.value.as_str());
        storage.and_then(|s| site.storage_kind(s)).is_some_and(|(_, kind)| kind.attaches_device())
    };
    let mounts: Vec<&Mount> = instance.mounts.iter().filter(block).collect();
    if let Some(over) = mounts.get(DEVICES) {
        let what = format!(
            "instance `{}` mounts {} volumes, and a machine has device letters for {DEVICES}",
            instance.name,
            mounts.len()
        );
        found.push(
            Diagnostic::error("too-many-devices", what)
                .at(&over.at)
                .help("spread the volumes over several machines, or use a file system that many share"),
        );
    }
}

fn single(site: &Site<'_>, found: &mut Diagnostics) {
    for storage in &site.tree.storages {
        let Some((builder, kind)) = site.storage_kind(storage) else { continue };
        let Some(mounts) = site.mounted.get(storage.name.safe.as_str()).filter(|_| kind.single_attach()) else {
            continue;
        };
        let mut machines: Vec<(&Instance, &Mount)> = Vec::new();
        for (instance, mount) in mounts {
            if machines.iter().all(|(i, _)| i.name.safe != instance.name.safe) {
                machines.push((instance, mount));
            }
        }
        if machines.len() < 2 {
            continue;
        }
        let names = list(machines.iter().map(|(i, _)| format!("`{}`", i.name)));
        let what = format!(
            "storage `{}` of builder `{}` ({}) is mounted by instances {names}, and it attaches to one machine at a time",
            storage.name,
            builder.name,
            kind.capability()
        );
        let shared = several(site, builder);
        let help = match shared.as_slice() {
            [] => "let one instance mount it".to_owned(),
            _ => format!(
                "let one instance mount it, or use a storage of a builder that several machines share: {}",
                list(shared.iter().map(|b| format!("`{}`", b.name)))
            ),
        };
        let mut error = Diagnostic::error("single-attach", what).at(&machines[1].1.storage.at).help(help);
        for (instance, mount) in machines.iter().enumerate().filter(|(index, _)| *index != 1).map(|(_, m)| m) {
            error = error.also(&mount.storage.at, format!("instance `{}` mounts it", instance.name));
        }
        found.push(error);
    }
}

/// The builders of the same runtime whose storages several machines mount at once.
fn several<'a>(site: &Site<'a>, like: &Builder) -> Vec<&'a Builder> {
    let runtime = like.runtime.as_ref().map(|r| r.value.as_str());
    let builders = site
        .tree
        .builders_of(Class::StorageBuilder)
        .filter(|b| b.runtime.as_ref().map(|r| r.value.as_str()) == runtime);
    builders.filter(|b| registry::storage(b).is_some_and(|kind| !kind.single_attach())).collect()
}
