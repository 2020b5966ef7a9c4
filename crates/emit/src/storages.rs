//! The files of a storage root.

use crate::files::Files;
use crate::fmt;
use csis_kinds::{RootSite, StorageSite, head, registry};
use csis_values::Diagnostics;
use csis_values::intent::{Standing, StorageIntent};
use csis_values::tree::Storage;
use hcl::Body;

pub(crate) fn write(
    site: &RootSite<'_>,
    storages: &[StorageIntent],
    directory: &str,
    stem: &str,
    files: &mut Files,
    found: &mut Diagnostics,
) {
    let builder = site.builder;
    let Some(kind) = registry::storage(builder) else { return };
    let title = format!(
        "Storages of {} ({}) on {}: providers, backend and the state they read",
        builder.name, builder.kind, site.runtime.name
    );
    files.add(directory, &format!("{stem}.tf"), fmt::file(&[title], &head::storage_root(site)), &builder.at, found);
    for intent in storages {
        let Some(storage) = site.tree.storage(&intent.name.safe) else { continue };
        let (comments, body) = match intent.stands {
            Standing::Live => {
                let label = format!("storage_{}", storage.name.label);
                let arguments = kind.arguments(&StorageSite { root: site, storage, intent });
                let call = head::module_call(site, &label, kind.module(), arguments);
                (about(storage), Body::from_iter([call, head::storage_output(&label, &storage.name.written)]))
            }
            Standing::Archived => {
                let archive = intent.restore_from.as_deref().unwrap_or("of its name");
                (
                    vec![format!("Storage {} is archived: its content is in the snapshot {archive}", storage.name)],
                    Body::default(),
                )
            }
            Standing::Destroyed => (
                vec![format!("Storage {} is destroyed; its name is kept as a tombstone", storage.name)],
                Body::default(),
            ),
        };
        files.add(
            directory,
            &format!("{stem}-storage-{}.tf", storage.name.label),
            fmt::file(&comments, &body),
            &storage.at,
            found,
        );
    }
}

fn about(storage: &Storage) -> Vec<String> {
    let mut lines = vec![format!("Storage {}", storage.name)];
    if !storage.groups.is_empty() {
        let groups: Vec<_> = storage.groups.iter().map(|g| g.value.as_str()).collect();
        let public = if storage.public_read { ", readable by every machine" } else { "" };
        lines.push(format!("for the groups {}{public}; {}", groups.join(", "), storage.state.value.name()));
    }
    lines
}
