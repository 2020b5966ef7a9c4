//! Declarations, records and snapshot become the intent of every root.
//!
//! **Invariant:** pure. No clock, no file, no network; the time is [`Request::now`].

mod accounts;
mod applied;
mod bakes;
mod fingerprint;
mod machines;
mod mounts;
mod operations;
pub mod rules;
mod sanctions;
mod site;
mod storages;
mod time;

use csis_values::intent::Intent;
use csis_values::records::Records;
use csis_values::request::{Lifecycle, Request};
use csis_values::snapshot::Snapshot;
use csis_values::tree::Tree;
use csis_values::{Class, Diagnostics};

pub use accounts::account_changes;
pub use applied::moved_storages;
pub use operations::operations;
pub use sanctions::follow_changes;
pub use site::runtimes_in_scope;

/// What each root of the tree holds, which bakes are due and why, and which destroys a declared operation sanctions.
///
/// Roots come storages first, then instances, each by builder name; those out of scope (`--only-runtime`, lifecycles not asked for) are left out. Bakes
/// are told for every series and runtime. A tree that the rules refuse still gets an intent: what cannot be resolved is left out of it.
///
/// Nothing that a root holds depends on the snapshot yet; it is part of the signature so that the emission of images can use it.
pub fn intent(
    tree: &Tree,
    records: &Records,
    _snapshot: Option<&Snapshot>,
    request: &Request,
) -> (Intent, Diagnostics) {
    let mut found = Diagnostics::default();
    let scope = site::Scope::new(tree, request, &mut found);
    let bakes = bakes::Bakes::decide(tree, records, request, &scope, &mut found);
    let mut roots = Vec::new();
    if request.wants(Lifecycle::Storage) {
        for builder in by_name(tree, Class::StorageBuilder) {
            roots.extend(storages::root(tree, records, &scope, builder));
        }
    }
    if request.wants(Lifecycle::InstanceImage) {
        for builder in by_name(tree, Class::InstanceBuilder) {
            roots.extend(machines::root(tree, records, &scope, &bakes, builder, &mut found));
        }
    }
    let lineage = bakes.edges(tree);
    (Intent { roots, bakes: bakes.into_list(), lineage }, found)
}

fn by_name(tree: &Tree, class: Class) -> Vec<&csis_values::tree::Builder> {
    let mut builders: Vec<_> = tree.builders_of(class).collect();
    builders.sort_by(|a, b| a.name.safe.cmp(&b.name.safe));
    builders
}
