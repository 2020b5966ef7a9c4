//! What the apply of a root makes true, as events for the records.

use crate::storages::archive_name;
use csis_kinds::registry;
use csis_values::Class;
use csis_values::event::What;
use csis_values::intent::{Content, Root, Standing};
use csis_values::records::Records;
use csis_values::tree::{Builder, Storage, StorageState, Tree};
use std::collections::BTreeMap;

/// The transitions of a root's storages that its apply brought about. `root` is the one that was applied, resolved from just this tree and these records.
pub fn moved_storages(tree: &Tree, records: &Records, root: &Root) -> Vec<What> {
    let Content::Storages { storages } = &root.content else { return Vec::new() };
    let Some(builder) = tree.builder(Class::StorageBuilder, &root.builder.safe) else { return Vec::new() };
    let recorded = |name: &str| records.storages.get(name).and_then(|record| record.state.as_deref());
    let mut moved = Vec::new();
    for intent in storages {
        let Some(storage) = tree.storage(&intent.name.safe) else { continue };
        let to = match intent.stands {
            Standing::Live => StorageState::Active,
            Standing::Archived => StorageState::Archived,
            Standing::Destroyed => StorageState::Destroyed,
        };
        // What never stood cannot go; a tombstone that was never more is none.
        let was = recorded(&intent.name.safe);
        if was == Some(to.name()) || (was.is_none() && to == StorageState::Destroyed) {
            continue;
        }
        let facts = facts(builder, storage);
        moved.push(What::StorageMoved { storage: intent.name.safe.clone(), to, facts, undeclared: false });
    }
    let gone = records.storages.iter().filter(|(name, record)| {
        record.is_live() && record.builder.as_deref() == Some(&builder.name.safe) && tree.storage(name).is_none()
    });
    moved.extend(gone.map(|(name, _)| What::StorageMoved {
        storage: name.clone(),
        to: StorageState::Destroyed,
        facts: BTreeMap::new(),
        undeclared: true,
    }));
    moved
}

/// What csis must know of a storage when nothing declares it any more.
fn facts(builder: &Builder, storage: &Storage) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("builder".to_owned(), builder.name.safe.clone())]);
    let Some(kind) = registry::storage(builder) else { return facts };
    facts.insert("type".into(), kind.capability().to_owned());
    if kind.archives() {
        facts.insert("archive".into(), archive_name(&storage.name, None));
    }
    if let Some(bucket) = kind.shared_identity(builder, storage) {
        facts.insert("bucket_name".into(), bucket);
    }
    facts
}
