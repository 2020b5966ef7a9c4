//! What a machine was launched with stays as it is while the machine stands. Its type may change, a mount may go, mounts may be listed in another order; all
//! else takes a new machine.

use super::site::{Site, place};
use super::words::list;
use csis_kinds::GroupKind;
use csis_values::records::Launch;
use csis_values::tree::{Instance, Storage};
use csis_values::{Diagnostic, Diagnostics, Place};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        let Some(launch) = site.records.launches.get(&instance.name.safe).filter(|launch| launch.launched) else {
            continue;
        };
        if site.is_replaced(instance) {
            continue;
        }
        let changes = changes(site, instance, launch);
        let Some(first) = changes.first() else { continue };
        let run = launch.launched_run.as_ref().map_or_else(String::new, |run| format!(" in run `{run}`"));
        let what = format!(
            "instance `{}` was launched{run} and stands; this would change what it was launched with: {}",
            instance.name,
            list(changes.iter().map(|c| &c.what))
        );
        let name = &instance.name.safe;
        let mut error = Diagnostic::error("launch-parameters", what).at(first.at).help(format!(
            "undo the change, or have the machine replaced: `csis upgrade instance {name}` moves it onto the newest build of its image, `image_policy: follow` replaces it with every new build"
        ));
        for change in &changes[1..] {
            error = error.also(change.at, change.what.clone());
        }
        found.push(error);
    }
}

struct Change<'a> {
    what: String,
    at: &'a Place,
}

fn changes<'a>(site: &Site<'a>, instance: &'a Instance, launch: &Launch) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    let at = |key: &str| place(&instance.fields, key, &instance.at);
    // A value the record lacks was not recorded; it cannot be compared.
    let mut compare = |key: &str, recorded: Option<&str>, now: Option<&str>, at: &'a Place| {
        if let (Some(recorded), Some(now)) = (recorded, now)
            && recorded != now
        {
            changes.push(Change { what: format!("`{key}` (`{recorded}` to `{now}`)"), at });
        }
    };
    compare("image", launch.image.as_deref(), instance.image.as_ref().map(|i| i.value.as_str()), at("image"));
    let image = site.image_of(instance);
    let group = site.group_of(instance);
    let group_at = image.and_then(|i| i.group.as_ref()).map_or(&instance.at, |g| &g.at);
    compare("group", launch.group.as_deref(), group.map(|g| g.name.safe.as_str()), group_at);
    let identity = group.and_then(|g| site.group_kind(g)).map(GroupKind::identity_type);
    compare("identity_type", launch.identity_type.as_deref(), identity, group.map_or(&instance.at, |g| &g.builder.at));
    if let Some((runtime, kind)) = site.runtime_kind(&instance.runtime.value) {
        let session = kind.session(runtime).unwrap_or_else(|| "none".into());
        compare(
            "session",
            launch.session.as_deref(),
            Some(&session),
            place(&runtime.fields, "session_mechanism", &runtime.at),
        );
    }
    if launch.ephemeral != instance.ephemeral {
        changes.push(Change {
            what: format!("`ephemeral` ({} to {})", launch.ephemeral, instance.ephemeral),
            at: at("ephemeral"),
        });
    }
    if launch.userdata.as_deref().unwrap_or_default().trim_end() != instance.userdata.trim_end() {
        changes.push(Change { what: "`userdata`".into(), at: at("userdata") });
    }
    mounts(site, instance, launch, &mut changes);
    changes
}

fn mounts<'a>(site: &Site<'a>, instance: &'a Instance, launch: &Launch, changes: &mut Vec<Change<'a>>) {
    for mount in &instance.mounts {
        let name = &mount.storage.value;
        let Some(storage) = site.storages.get(name.as_str()) else { continue };
        let Some(recorded) = launch.mounts.iter().find(|m| m.storage == *name) else {
            changes.push(Change { what: format!("`mounts` (storage `{name}` is added)"), at: &mount.at });
            continue;
        };
        if recorded.mount_point != mount.mount_point.value {
            let what =
                format!("`mounts` (storage `{name}` from `{}` to `{}`)", recorded.mount_point, mount.mount_point);
            changes.push(Change { what, at: &mount.mount_point.at });
        } else if let Some(was) = recorded.kind.as_deref().filter(|was| is_other(site, storage, was)) {
            changes.push(Change { what: format!("`mounts` (storage `{name}` was of type `{was}`)"), at: &mount.at });
        }
    }
}

fn is_other(site: &Site<'_>, storage: &Storage, was: &str) -> bool {
    site.storage_kind(storage).is_some_and(|(_, kind)| kind.capability() != was)
}
