//! Groups that are managed do not vanish.

use super::site::Site;
use csis_values::{Diagnostic, Diagnostics, Place};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for (name, record) in &site.records.groups {
        if record.managed && !site.groups.contains_key(name.as_str()) {
            let builder = record.builder.as_ref().map_or_else(String::new, |b| format!(" by group builder `{b}`"));
            let what =
                format!("group `{name}` is managed{builder} and is gone from the tree; groups are never destroyed");
            found.push(
                Diagnostic::error("group-vanished", what)
                    .at(&Place::head("meta-state/identity.yaml"))
                    .help(format!("declare `{name}` again; with `unmanaged: true` it stays as it is and leaves management, and a new name makes a new group")),
            );
        }
    }
}
