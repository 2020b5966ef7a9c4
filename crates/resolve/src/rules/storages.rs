//! Storages: what is asked of each is a legal step from what the records know, and no two are one thing in the cloud.

use super::site::Site;
use super::words::list;
use csis_values::tree::{Storage, StorageState};
use csis_values::{Class, Diagnostic, Diagnostics, Place};
use std::collections::BTreeMap;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for storage in &site.tree.storages {
        transition(site, storage, found);
        moved(site, storage, found);
    }
    undeclared(site, found);
    shared(site, found);
}

fn transition(site: &Site<'_>, storage: &Storage, found: &mut Diagnostics) {
    let name = &storage.name;
    let requested = storage.state.value;
    let current = site.records.storages.get(&name.safe).and_then(|record| record.state.as_deref());
    let kind = site.storage_kind(storage).map(|(builder, kind)| (builder, kind.archives()));
    if requested == StorageState::Archived
        && let Some((builder, false)) = kind
    {
        let what = format!(
            "storage `{name}` is declared archived, and storage builder `{}` of type `{}` cannot archive",
            builder.name, builder.kind
        );
        found.push(
            Diagnostic::error("storage-archive-unsupported", what)
                .at(&storage.state.at)
                .help("keep it `active`, or remove the entry to destroy it"),
        );
        return;
    }
    match (current, requested) {
        (None, StorageState::Archived | StorageState::Destroyed) => {
            let what =
                format!("storage `{name}` is new and declared {}; a new storage starts active", requested.name());
            let help = "declare it `active` and land that first, or remove the entry";
            found.push(Diagnostic::error("storage-transition", what).at(&storage.state.at).help(help));
            return;
        }
        (Some("destroyed"), StorageState::Archived) => {
            let what =
                format!("storage `{name}` was destroyed and is declared archived; there is nothing left to archive");
            let help = "declare it `active` for a new storage of the name, or leave it `destroyed`";
            found.push(Diagnostic::error("storage-transition", what).at(&storage.state.at).help(help));
            return;
        }
        _ => {}
    }
    let Some(mounts) = site.mounted.get(name.safe.as_str()).filter(|_| requested != StorageState::Active) else {
        return;
    };
    let mut machines: Vec<&str> = mounts.iter().map(|(instance, _)| instance.name.written.as_str()).collect();
    machines.dedup();
    let what = format!(
        "storage `{name}` is declared {} while {} mount{} it",
        requested.name(),
        list(machines.iter().map(|m| format!("instance `{m}`"))),
        if machines.len() == 1 { "s" } else { "" }
    );
    let mut error = Diagnostic::error("storage-attached", what)
        .at(&storage.state.at)
        .help("take it out of the machines' `storages:` and land that first");
    for (instance, mount) in mounts {
        error = error.also(&mount.at, format!("instance `{}` mounts it", instance.name));
    }
    found.push(error);
}

/// A live storage belongs to the root that made it.
fn moved(site: &Site<'_>, storage: &Storage, found: &mut Diagnostics) {
    let Some(record) = site.records.storages.get(&storage.name.safe).filter(|record| record.is_live()) else { return };
    let Some(owner) = record.builder.as_deref().filter(|owner| *owner != storage.builder.value) else { return };
    if site.builder(Class::StorageBuilder, &storage.builder.value).is_none_or(|b| b.aliases.iter().any(|a| a == owner))
    {
        return;
    }
    let what = format!(
        "storage `{}` stands in the root of storage builder `{owner}` and is declared under `{}`; moving it would destroy it there and make an empty one here",
        storage.name, storage.builder
    );
    found.push(
        Diagnostic::error("storage-moved", what)
            .at(&storage.builder.at)
            .help(format!("set `type: {owner}` again, or declare a new storage under another name and copy the data")),
    );
}

fn undeclared(site: &Site<'_>, found: &mut Diagnostics) {
    for (name, record) in site
        .records
        .storages
        .iter()
        .filter(|(name, record)| record.is_live() && !site.storages.contains_key(name.as_str()))
    {
        let state = record.state.as_deref().unwrap_or_default();
        let why = match record.builder.as_deref() {
            None => "its record names no builder, so nobody knows which root holds it".to_owned(),
            Some(builder) if site.builder(Class::StorageBuilder, builder).is_none() => {
                format!("its storage builder `{builder}` is gone too, so nobody can take it down")
            }
            Some(_) => continue,
        };
        found.push(
            Diagnostic::error(
                "storage-orphaned",
                format!("storage `{name}` is recorded as {state} and no longer declared; {why}"),
            )
            .at(&Place::head("meta-state/storage-state.yaml"))
            .help(format!(
                "declare `{name}` again under the builder that made it, or import it with `csis state import`"
            )),
        );
    }
}

/// Two storages on one bucket would wipe each other.
fn shared(site: &Site<'_>, found: &mut Diagnostics) {
    let mut by_identity: BTreeMap<(String, String), Vec<&Storage>> = BTreeMap::new();
    for storage in &site.tree.storages {
        if let Some((builder, kind)) = site.storage_kind(storage)
            && let Some(identity) = kind.shared_identity(builder, storage)
        {
            by_identity.entry((kind.capability().to_owned(), identity)).or_default().push(storage);
        }
    }
    let place = |storage: &Storage| storage.bucket_name.as_ref().map_or(&storage.at, |b| &b.at).clone();
    for ((capability, identity), storages) in &by_identity {
        if let [first, others @ ..] = storages.as_slice()
            && let Some(second) = others.first()
        {
            let names = list(storages.iter().map(|s| format!("`{}`", s.name)));
            let what = format!(
                "storages {names} are one and the same thing in the cloud, `{identity}`; destroying one would destroy the others' data"
            );
            let mut error = Diagnostic::error("storage-shared", what)
                .at(&place(second))
                .help("give each a `bucket_name:` of its own");
            error = error.also(&place(first), format!("storage `{}`", first.name));
            for other in &others[1..] {
                error = error.also(&place(other), format!("storage `{}`", other.name));
            }
            found.push(error);
        }
        // What is about to be wiped because its declaration is gone must not be what a declaration is about to use.
        for (name, record) in &site.records.storages {
            let leaving = record.is_live()
                && !site.storages.contains_key(name.as_str())
                && record.kind.as_deref().is_none_or(|k| k == capability);
            if leaving && record.bucket_name.as_deref() == Some(identity) {
                let what = format!(
                    "storage `{}` uses `{identity}`, which storage `{name}` still holds and which goes with it, since `{name}` is no longer declared",
                    storages[0].name
                );
                found.push(
                    Diagnostic::error("storage-shared", what)
                        .at(&place(storages[0]))
                        .help(format!("keep the name `{name}`, or give the new storage another `bucket_name:`")),
                );
            }
        }
    }
}
