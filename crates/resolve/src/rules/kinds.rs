//! What a builder type alone knows to be wrong with its builders and items.

use super::site::Site;
use csis_kinds::registry;
use csis_values::{Class, Diagnostics};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for builder in &site.tree.builders {
        if let Some(registered) = registry::find(builder.class, &builder.kind) {
            registered.kind().check(builder, found);
        }
    }
    for storage in &site.tree.storages {
        if let Some((builder, kind)) = site.storage_kind(storage) {
            kind.check_storage(site.tree, builder, storage, found);
        }
    }
    for image in &site.tree.images {
        for item in &image.modifications {
            if let Some(kind) = site.builder(Class::ModBuilder, &item.builder).and_then(registry::modification) {
                kind.check_item(&item.name.written, &item.fields, found);
            }
        }
    }
}
