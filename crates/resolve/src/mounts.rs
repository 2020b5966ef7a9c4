//! What a machine mounts, and by which device.

use csis_kinds::registry;
use csis_values::intent::MountIntent;
use csis_values::records::{LaunchMount, Records};
use csis_values::tree::{Instance, Storage, StorageState, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// The devices that attached volumes get, in order.
fn devices() -> impl Iterator<Item = String> {
    ('f'..='z').map(|letter| format!("/dev/xvd{letter}"))
}

/// The mounts of an instance in order of declaration. `recorded` are those of the machine that stands: a mount keeps its device, and a device of the
/// standing machine is free only once its landing recorded the detach.
pub(crate) fn resolve(
    tree: &Tree,
    records: &Records,
    instance: &Instance,
    group: Option<&str>,
    recorded: &[LaunchMount],
    found: &mut Diagnostics,
) -> Vec<MountIntent> {
    let mut taken: BTreeSet<String> = recorded.iter().filter_map(|m| m.device.clone()).collect();
    let mut mounts = Vec::new();
    for mount in &instance.mounts {
        let Some(storage) = tree.storage(&mount.storage.value) else { continue };
        let Some(builder) = tree.builder(Class::StorageBuilder, &storage.builder.value) else { continue };
        let Some(kind) = registry::storage(builder) else { continue };
        let device = if kind.attaches_device() {
            let kept = recorded.iter().find(|m| m.storage == storage.name.safe).and_then(|m| m.device.clone());
            let Some(device) = kept.or_else(|| devices().find(|d| !taken.contains(d))) else {
                found.push(
                    Diagnostic::error(
                        "no-device-left",
                        format!(
                            "instance {}: no device letter is left for the volume of storage {}",
                            instance.name, storage.name
                        ),
                    )
                    .at(&mount.at)
                    .help("Mount at most 21 volumes on one machine: /dev/xvdf to /dev/xvdz"),
                );
                continue;
            };
            taken.insert(device.clone());
            Some(device)
        } else {
            None
        };
        let allowed = group.is_some_and(|g| storage.groups.iter().any(|s| s.value == g));
        let may_format = device.is_some() && is_new(storage, records);
        mounts.push(MountIntent {
            storage: storage.name.safe.clone(),
            builder: builder.name.safe.clone(),
            kind: builder.kind.clone(),
            mount_point: mount.mount_point.value.clone(),
            device,
            subtree: group.filter(|_| allowed && kind.posix()).map(|g| (g.to_owned(), storage.share_mode.clone())),
            read_only: storage.public_read && !allowed,
            allowed,
            may_format,
        });
    }
    mounts
}

/// Whether csis makes or made the volume of the present generation, without a snapshot, and nothing can have written to it. What the records do not tell
/// counts as no.
fn is_new(storage: &Storage, records: &Records) -> bool {
    let name = storage.name.safe.as_str();
    if storage.state.value != StorageState::Active {
        return false;
    }
    let Some(record) = records.storages.get(name) else { return !records.was_mounted(name, None) };
    match record.state.as_deref() {
        // A new generation: what stood before is gone.
        None | Some("destroyed") => true,
        Some("active") => {
            let text =
                |event: &serde_json::Value, key: &str| event.get(key).and_then(|v| v.as_str().map(str::to_owned));
            let latest = record.history.iter().rev().find(|event| text(event, "to").as_deref() == Some("active"));
            latest.is_some_and(|event| {
                matches!(text(event, "from").as_deref(), None | Some("destroyed"))
                    && matches!(text(event, "action").as_deref(), None | Some("regenerate"))
                    && !records.was_mounted(name, text(event, "run").as_deref())
            })
        }
        Some(_) => false,
    }
}
