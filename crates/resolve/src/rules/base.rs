//! Base images: what they prepare is configured, and somebody can get in to repair one.

use super::site::{Site, place};
use super::words::{list, nearest};
use csis_kinds::{GroupKind, StorageKind, registry};
use csis_values::node::Node;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let tree = site.tree;
    let identities: BTreeSet<&str> =
        tree.builders_of(Class::GroupBuilder).filter_map(registry::group).map(GroupKind::identity_type).collect();
    let storages: BTreeSet<&str> =
        tree.builders_of(Class::StorageBuilder).filter_map(registry::storage).map(StorageKind::capability).collect();
    for os in tree.builders_of(Class::OsBuilder) {
        unconfigured(os, "identity_types", "group builder", &identities, found);
        unconfigured(os, "storage_types", "storage builder", &storages, found);
        way_in(site, os, found);
    }
}

fn unconfigured(os: &Builder, key: &str, builder: &str, known: &BTreeSet<&str>, found: &mut Diagnostics) {
    for word in os.fields.texts(key) {
        let wanted = word.trim().to_lowercase();
        if known.contains(wanted.as_str()) {
            continue;
        }
        let configured = list(known.iter().map(|k| format!("`{k}`")));
        let help = match nearest(&wanted, known.iter().copied()) {
            Some(near) => format!("write `{near}`, or declare a {builder} of that type"),
            None => format!("declare a {builder} of that type, or take the word out of `{key}`"),
        };
        let what = format!(
            "OS builder `{}` prepares for `{word}` in `{key}`, and no {builder} is of that type (configured: {configured})",
            os.name
        );
        found.push(Diagnostic::error("type-unconfigured", what).at(&word.at).help(help));
    }
}

fn way_in(site: &Site<'_>, os: &Builder, found: &mut Diagnostics) {
    // A list of its own counts even when it is empty; whether its keys are keys is judged where they stand.
    let own = os.fields.node("admin_public_keys").and_then(Node::list);
    let has_keys = own.map_or(!site.tree.config.admin_public_keys.is_empty(), |keys| !keys.is_empty());
    if has_keys {
        return;
    }
    let mut told = BTreeSet::new();
    for at in site.base_runtimes(os) {
        let runtime = &at.name;
        let session = registry::runtime(at).is_some_and(|kind| kind.session(at).is_some());
        if !session && told.insert(&runtime.safe) {
            let what = format!(
                "nobody could get into the base image `{}` on runtime `{runtime}`: it has no admin key, and the runtime has no session mechanism",
                os.name
            );
            found.push(
                Diagnostic::error("base-dead-end", what)
                    .at(place(&os.fields, "admin_public_keys", &os.at))
                    .help("list a public key in `config.admin_public_keys` or the OS builder's, or set `session_mechanism:` on the runtime")
                    .also(&at.at, format!("runtime `{runtime}`")),
            );
        }
    }
}
