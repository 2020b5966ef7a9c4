//! Storage roots: one per storage builder that has storages, declared or still recorded.

use crate::sanctions;
use crate::site::{self, Scope};
use csis_kinds::{StorageKind, registry};
use csis_values::intent::{Access, Content, LiveObject, Root, Standing, StorageIntent};
use csis_values::name::Name;
use csis_values::records::{Records, StorageRecord};
use csis_values::request::Lifecycle;
use csis_values::tree::{Builder, Storage, StorageState, Tree};
use std::collections::BTreeMap;

pub(crate) fn root(tree: &Tree, records: &Records, scope: &Scope, builder: &Builder) -> Option<Root> {
    let runtime = site::runtime_of(tree, builder).map(|r| r.name.safe.clone());
    if !scope.holds(runtime.as_deref()) {
        return None;
    }
    let kind = registry::storage(builder)?;
    let declared: Vec<&Storage> = tree.storages.iter().filter(|s| s.builder.value == builder.name.safe).collect();
    let undeclared: Vec<(Name, &StorageRecord)> = records
        .storages
        .iter()
        .filter(|(name, record)| {
            record.is_live() && record.builder.as_deref() == Some(&builder.name.safe) && tree.storage(name).is_none()
        })
        .map(|(name, record)| (Name::new(name), record))
        .collect();
    let live = live(records, builder);
    // What stands here and is declared elsewhere keeps the root too: its plan shows the destroy, which nothing sanctions.
    if declared.is_empty() && undeclared.is_empty() && live.is_empty() {
        return None;
    }
    let mut root = Root {
        id: site::root_id(Lifecycle::Storage, builder),
        lifecycle: Lifecycle::Storage,
        phase: "storage-generation".to_owned(),
        builder: builder.name.clone(),
        engine: site::engine(tree, builder),
        state: site::state(tree, records, builder),
        applies: site::applies("apply_storage", &tree.config.apply_storage, scope, builder, runtime.as_deref()),
        runtime,
        reads: Vec::new(),
        content: Content::Storages { storages: declared.iter().map(|s| storage(tree, records, kind, s)).collect() },
        sanctions: Vec::new(),
        obligations: Vec::new(),
        actions: Vec::new(),
        replace: Vec::new(),
        resource_types: kind.resource_types().iter().map(|t| (*t).to_owned()).collect(),
        data_types: kind.data_types().iter().map(|t| (*t).to_owned()).collect(),
        live,
        variables: BTreeMap::new(),
    };
    for storage in declared {
        sanctions::declared_storage(&mut root, builder, kind, storage, records.storages.get(&storage.name.safe));
    }
    for (name, record) in undeclared {
        sanctions::undeclared_storage(&mut root, kind, &name, record);
    }
    Some(root)
}

fn storage(tree: &Tree, records: &Records, kind: &dyn StorageKind, storage: &Storage) -> StorageIntent {
    let record = records.storages.get(&storage.name.safe);
    let stands = match storage.state.value {
        StorageState::Destroyed => Standing::Destroyed,
        StorageState::Archived if kind.archives() => Standing::Archived,
        StorageState::Archived | StorageState::Active => Standing::Live,
    };
    StorageIntent {
        name: storage.name.clone(),
        stands,
        restore_from: (stands == Standing::Archived
            || (stands == Standing::Live && kind.archives() && is_archived(record)))
        .then(|| archive_name(&storage.name, record)),
        access: if kind.posix() { access(tree, storage) } else { Vec::new() },
    }
}

/// One entry per allowed group with a gid, by name.
fn access(tree: &Tree, storage: &Storage) -> Vec<Access> {
    let mut access: Vec<_> = storage
        .groups
        .iter()
        .filter_map(|g| tree.group(&g.value))
        .filter_map(|g| {
            Some(Access { group: g.name.safe.clone(), gid: g.gid.as_ref()?.value, mode: storage.share_mode.clone() })
        })
        .collect();
    access.sort_by(|a, b| a.group.cmp(&b.group));
    access.dedup();
    access
}

pub(crate) fn is_archived(record: Option<&StorageRecord>) -> bool {
    record.is_some_and(|r| r.state.as_deref() == Some("archived"))
}

/// The recorded archive, else the name archives are given.
pub(crate) fn archive_name(name: &Name, record: Option<&StorageRecord>) -> String {
    record.and_then(|r| r.archive.clone()).unwrap_or_else(|| format!("csis-{}-archive", name.label.replace('_', "-")))
}

fn live(records: &Records, builder: &Builder) -> Vec<LiveObject> {
    records
        .storages
        .iter()
        .filter(|(_, r)| r.state.as_deref() == Some("active") && r.builder.as_deref() == Some(&builder.name.safe))
        .map(|(name, _)| LiveObject {
            address: sanctions::storage_module(&Name::new(name)),
            kind: "storage".to_owned(),
            name: name.clone(),
        })
        .collect()
}
