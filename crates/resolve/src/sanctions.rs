//! Which objects a declared operation lets go, by exact address; what must happen before, and what csis does itself.

use crate::machines::Replacement;
use crate::storages::{archive_name, is_archived};
use csis_kinds::{InstanceKind, Part, StorageKind, registry};
use csis_values::Class;
use csis_values::intent::{Intent, Root};
use csis_values::name::Name;
use csis_values::place::Place;
use csis_values::records::{Launch, LaunchMount, StorageRecord};
use csis_values::sanction::{Allowed, Because, Obligation, OwnAction, Sanction};
use csis_values::tree::{Builder, Instance, Storage, StorageState, Tree};
use std::collections::BTreeSet;

pub(crate) fn storage_module(name: &Name) -> String {
    format!("module.storage_{}", name.label)
}

pub(crate) fn instance_module(name: &Name) -> String {
    format!("module.instance_{}", name.label)
}

fn follower_of(storage: &Name, resource_type: &str) -> String {
    format!("{}.{resource_type}", storage_module(storage))
}

fn because(operation: &str, kind: &str, name: &Name, at: Option<&Place>) -> Because {
    Because { operation: operation.to_owned(), kind: kind.to_owned(), name: name.safe.clone(), at: at.cloned() }
}

fn sanction(root: &mut Root, address: String, action: Allowed, because: &Because) {
    root.sanctions.push(Sanction { root: root.id.clone(), address, deposed: None, action, because: because.clone() });
}

fn act(root: &mut Root, action: &str, object: String, loses_data: bool, because: &Because) {
    root.actions.push(OwnAction {
        root: root.id.clone(),
        action: action.to_owned(),
        object,
        loses_data,
        because: because.clone(),
    });
}

pub(crate) fn declared_storage(
    root: &mut Root,
    builder: &Builder,
    kind: &dyn StorageKind,
    storage: &Storage,
    record: Option<&StorageRecord>,
) {
    let stands = record.is_some_and(StorageRecord::is_live);
    let reason = |operation: &str| because(operation, "storage", &storage.name, Some(&storage.state.at));
    match storage.state.value {
        StorageState::Destroyed => {
            if let (true, Some(record)) = (stands, record) {
                let bucket = record.bucket_name.clone().or_else(|| kind.shared_identity(builder, storage));
                destroyed(root, kind, &storage.name, record, bucket, &reason("destroyed"));
            }
        }
        StorageState::Archived if kind.archives() => {
            if stands && !is_archived(record) {
                let why = reason("archived");
                let archive = archive_name(&storage.name, record);
                root.obligations.push(Obligation::Snapshot { storage: storage.name.safe.clone(), archive });
                act(root, "snapshot", storage.name.safe.clone(), false, &why);
                sanction(root, storage_module(&storage.name), Allowed::Destroy, &why);
            }
        }
        StorageState::Active | StorageState::Archived => {
            if kind.archives() && is_archived(record) {
                act(root, "delete-snapshot", archive_name(&storage.name, record), false, &reason("restored"));
            }
            let why = because(Because::FOLLOWS, "storage", &storage.name, Some(&storage.at));
            for (follower, _) in kind.followers() {
                sanction(root, follower_of(&storage.name, follower), Allowed::DestroyOrReplace, &why);
            }
        }
    }
}

pub(crate) fn undeclared_storage(root: &mut Root, kind: &dyn StorageKind, name: &Name, record: &StorageRecord) {
    destroyed(root, kind, name, record, record.bucket_name.clone(), &because("undeclared", "storage", name, None));
}

fn destroyed(
    root: &mut Root,
    kind: &dyn StorageKind,
    name: &Name,
    record: &StorageRecord,
    bucket: Option<String>,
    why: &Because,
) {
    // An archived storage has no object in the state any more, only its snapshot.
    if kind.archives() && is_archived(Some(record)) {
        return act(root, "delete-snapshot", archive_name(name, Some(record)), true, why);
    }
    if let Some(bucket) = bucket {
        act(root, "wipe", format!("s3://{bucket}"), true, why);
        root.obligations.push(Obligation::Emptied { storage: name.safe.clone(), bucket });
    }
    sanction(root, storage_module(name), Allowed::Destroy, why);
}

/// A launched machine that is still declared: what it detaches, and what goes with its replacement.
pub(crate) fn standing_machine(
    root: &mut Root,
    tree: &Tree,
    kind: &dyn InstanceKind,
    instance: &Instance,
    launch: &Launch,
    replacement: Option<Replacement>,
) {
    let module = instance_module(&instance.name);
    let attachment = |storage: &str| kind.attachments().map(|a| format!("{module}.{a}[{}]", key(storage)));
    let (kept, dropped): (Vec<&LaunchMount>, Vec<&LaunchMount>) = launch
        .mounts
        .iter()
        .filter(|m| attaches_device(tree, m))
        .partition(|m| instance.mounts.iter().any(|d| d.storage.value == m.storage));
    let detach = because("detach", "instance", &instance.name, Some(&instance.at));
    for mount in dropped {
        if let Some(address) = attachment(&mount.storage) {
            sanction(root, address, Allowed::Destroy, &detach);
        }
        // A machine that goes takes its mounts with it.
        if replacement.is_none() {
            root.obligations.push(Obligation::Unmounted {
                instance: instance.name.safe.clone(),
                storage: mount.storage.clone(),
                mount_point: mount.mount_point.clone(),
            });
        }
    }
    let Some(replacement) = replacement else { return };
    let operation = match replacement {
        Replacement::Upgrade => "upgrade",
        Replacement::Follow => "follow",
    };
    let why = because(operation, "instance", &instance.name, Some(&instance.at));
    let machine = format!("{module}.{}", kind.machine());
    sanction(root, machine.clone(), Allowed::Replace, &why);
    root.replace.push(machine);
    for mount in kept {
        if let Some(address) = attachment(&mount.storage) {
            sanction(root, address, Allowed::Replace, &why);
        }
    }
}

pub(crate) fn decommissioned(root: &mut Root, name: &Name) {
    let why = because("undeclared", "instance", name, None);
    sanction(root, instance_module(name), Allowed::Destroy, &why);
}

pub(crate) fn last_instance(root: &mut Root, kind: &dyn InstanceKind) {
    let why = because(Because::LAST, "instance builder", &root.builder.clone(), None);
    for address in kind.shared() {
        sanction(root, (*address).to_owned(), Allowed::Destroy, &why);
    }
}

/// A recorded device says it; else the kind of its builder.
fn attaches_device(tree: &Tree, mount: &LaunchMount) -> bool {
    let by_builder = || {
        let builder = tree.builder(Class::StorageBuilder, mount.builder.as_deref()?)?;
        registry::storage(builder).map(StorageKind::attaches_device)
    };
    mount.device.is_some() || by_builder().unwrap_or(false)
}

/// An instance key as addresses spell it.
fn key(text: &str) -> String {
    let mut out = String::from("\"");
    for (i, c) in text.char_indices() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '$' | '%' if text[i + 1..].starts_with('{') => out.extend([c, c]),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Narrows what lets followers go to those whose part of their storage's declaration differs from `base`'s, and says which part. Without a base every
/// declared storage keeps it, since followers hold no data; its reason then says that nothing was compared, and the gate warns of what only it allows.
pub fn follow_changes(base: &Tree, head: &Tree, intent: &mut Intent) {
    for root in &mut intent.roots {
        root.sanctions.retain_mut(|s| {
            if s.because.operation != Because::FOLLOWS {
                return true;
            }
            let changed = match (head.storage(&s.because.name), base.storage(&s.because.name)) {
                (Some(now), Some(before)) => {
                    let follows = follows(head, now, &s.address);
                    differences(before, now, base, head)
                        .into_iter()
                        .filter(|p| follows.contains(p))
                        .map(Part::name)
                        .collect()
                }
                // It came with this change, or goes with it.
                _ => vec!["declaration"],
            };
            if !changed.is_empty() {
                s.because.operation = Because::follows_change_of(&changed);
            }
            !changed.is_empty()
        });
    }
}

/// The parts of the declaration that the follower at an address follows.
fn follows(tree: &Tree, storage: &Storage, address: &str) -> &'static [Part] {
    let kind = tree.builder(Class::StorageBuilder, &storage.builder.value).and_then(registry::storage);
    let mut followers = kind.map(StorageKind::followers).unwrap_or_default().iter();
    followers.find(|(follower, _)| follower_of(&storage.name, follower) == address).map_or(&[], |(_, parts)| parts)
}

fn differences(before: &Storage, now: &Storage, base: &Tree, head: &Tree) -> Vec<Part> {
    let groups = |s: &Storage, tree: &Tree| -> BTreeSet<(String, Option<i64>)> {
        s.groups
            .iter()
            .map(|g| (g.value.clone(), tree.group(&g.value).and_then(|g| g.gid.as_ref().map(|gid| gid.value))))
            .collect()
    };
    let network = |s: &Storage, tree: &Tree| {
        let builder = tree.builder(Class::StorageBuilder, &s.builder.value)?;
        Some(crate::site::runtime_of(tree, builder)?.fields.node("networking")?.to_json())
    };
    let lifecycle = |s: &Storage| {
        s.lifecycle.as_ref().map(|l| l.values.iter().map(|(k, v)| (k.clone(), v.to_json())).collect::<Vec<_>>())
    };
    let mut changed = Vec::new();
    if groups(before, base) != groups(now, head) || before.share_mode != now.share_mode {
        changed.push(Part::Groups);
    }
    if before.public_read != now.public_read {
        changed.push(Part::PublicRead);
    }
    if lifecycle(before) != lifecycle(now) {
        changed.push(Part::Lifecycle);
    }
    if network(before, base) != network(now, head) {
        changed.push(Part::Networking);
    }
    changed
}
