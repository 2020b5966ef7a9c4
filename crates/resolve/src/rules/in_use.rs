//! A storage goes only after the machines that hold it have let go of it: roots of storages are applied before those of machines.

use super::site::Site;
use csis_values::tree::StorageState;
use csis_values::{Diagnostic, Diagnostics, Place};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for (machine, launch) in site.records.launches.iter().filter(|(_, launch)| launch.launched) {
        for mount in &launch.mounts {
            let name = mount.storage.as_str();
            let stands =
                site.records.storages.get(name).is_some_and(|record| record.state.as_deref() == Some("active"));
            // One that is declared to be mounted is refused as such.
            let declared =
                site.mounted.get(name).into_iter().flatten().any(|(instance, _)| instance.name.safe == *machine);
            if !stands || declared {
                continue;
            }
            let storage = site.storages.get(name);
            let goes = match storage.map(|storage| storage.state.value) {
                Some(StorageState::Destroyed) => "destroyed",
                Some(StorageState::Archived) => "archived",
                Some(StorageState::Active) => continue,
                None => "no longer declared",
            };
            let what = format!(
                "storage `{name}` is {goes}, and by the records instance `{machine}` still has it on `{}`",
                mount.mount_point
            );
            let instance = site.instances.get(machine.as_str());
            let at = storage.map(|storage| &storage.state.at).or(instance.map(|instance| &instance.at));
            let mut error = Diagnostic::error("storage-in-use", what).help(format!(
                "keep the storage as it is in this change; once the landing has taken it from `{machine}`, let it go in the next"
            ));
            error.at = Some(at.cloned().unwrap_or_else(|| Place::head("meta-state/launch-params.yaml")));
            found.push(error);
        }
    }
}
