//! The rules of the tree: what more than one entry, the records or a snapshot must agree on. One file per family of rules.
//!
//! [`check`] judges everything at once and stays silent where a rule lacks what it needs: a reference that leads nowhere or a value of the wrong shape was
//! reported when the tree was read. Each finding has the stable id of its rule, names the items and values it is about, says where they stand and what to
//! do.

mod aliases;
mod attachments;
mod bake_users;
mod base;
mod capabilities;
mod executables;
mod groups;
mod hostnames;
mod identifiers;
mod images;
mod in_use;
mod kinds;
mod labels;
mod launched;
mod mounts;
mod placement;
mod posix;
mod reality;
mod releases;
mod site;
mod state;
mod storages;
mod variables;
mod words;

use csis_values::Diagnostics;
use csis_values::records::Records;
use csis_values::request::Request;
use csis_values::snapshot::Snapshot;
use csis_values::tree::Tree;
use site::Site;

/// Judges a tree against itself, its records and, when there is one, a snapshot of its clouds. Findings come by place.
pub fn check(tree: &Tree, records: &Records, snapshot: Option<&Snapshot>, _request: &Request) -> Diagnostics {
    let site = Site::new(tree, records);
    let mut found = Diagnostics::default();
    let families: [fn(&Site<'_>, &mut Diagnostics); 21] = [
        kinds::check,
        identifiers::check,
        labels::check,
        executables::check,
        state::check,
        posix::check,
        groups::check,
        base::check,
        bake_users::check,
        images::check,
        variables::check,
        capabilities::check,
        storages::check,
        attachments::check,
        mounts::check,
        in_use::check,
        placement::check,
        hostnames::check,
        aliases::check,
        launched::check,
        releases::check,
    ];
    for family in families {
        family(&site, &mut found);
    }
    reality::check(&site, snapshot, &mut found);
    found.sort();
    found
}
