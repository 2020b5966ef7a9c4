//! Where roots keep their state: every root has a place of its own, and it does not move under what stands.

use super::site::Site;
use super::words::list;
use csis_kinds::registry;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};

/// A root that keeps state, by its builder.
struct Workspace<'a> {
    builder: &'a Builder,
    location: String,
    /// Where the backend was chosen.
    chosen_at: &'a Place,
    backend: &'a Builder,
}

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    if site.tree.config.use_state_backends {
        let workspaces = workspaces(site, found);
        collisions(&workspaces, found);
        moves(site, &workspaces, found);
    } else {
        needed(site, found);
    }
}

/// The builders that have a root: something is declared under them, or recorded.
fn rooted<'a>(site: &Site<'a>) -> Vec<&'a Builder> {
    let tree = site.tree;
    let mut used: BTreeSet<(Class, &str)> = BTreeSet::new();
    used.extend(tree.storages.iter().map(|s| (Class::StorageBuilder, s.builder.value.as_str())));
    used.extend(tree.instances.iter().map(|i| (Class::InstanceBuilder, i.builder.value.as_str())));
    used.extend(site.records.storages.values().filter_map(|s| Some((Class::StorageBuilder, s.builder.as_deref()?))));
    let recorded = |b: &Builder| site.records.locations.contains_key(&b.name.safe);
    let classes = |b: &&Builder| matches!(b.class, Class::StorageBuilder | Class::InstanceBuilder);
    tree.builders
        .iter()
        .filter(classes)
        .filter(|b| used.contains(&(b.class, b.name.safe.as_str())) || recorded(b))
        .collect()
}

fn workspaces<'a>(site: &Site<'a>, found: &mut Diagnostics) -> Vec<Workspace<'a>> {
    let (mut workspaces, mut homeless) = (Vec::new(), Vec::new());
    let fallback = site.default_builder(Class::StateBackend);
    for builder in rooted(site) {
        let chosen =
            builder.state_configuration.as_ref().or_else(|| site.runtime_of(builder)?.state_configuration.as_ref());
        // An unknown name was told when the reference was read.
        let (backend, chosen_at) = if let Some(name) = chosen {
            (site.builder(Class::StateBackend, &name.value), &name.at)
        } else {
            homeless.extend(fallback.is_none().then_some(builder));
            (fallback, &builder.at)
        };
        let Some(backend) = backend else { continue };
        if let Some(kind) = registry::state(backend) {
            workspaces.push(Workspace {
                location: kind.location(backend, &builder.name.label),
                builder,
                chosen_at,
                backend,
            });
        }
    }
    // Several backends without a default were told for themselves.
    if let Some(first) = homeless.first().filter(|_| site.tree.builders_of(Class::StateBackend).next().is_none()) {
        let names = list(homeless.iter().map(|b| format!("`{}`", b.name)));
        let what = format!("`config.use_state_backends` is on, and there is no state backend for the roots of {names}");
        found.push(
            Diagnostic::error("state-backend-missing", what)
                .at(&first.at)
                .help("declare a backend with `is_default: true` under `state_backends:`"),
        );
    }
    workspaces
}

fn collisions(workspaces: &[Workspace<'_>], found: &mut Diagnostics) {
    let mut by_location: BTreeMap<&str, Vec<&Workspace<'_>>> = BTreeMap::new();
    for workspace in workspaces {
        by_location.entry(&workspace.location).or_default().push(workspace);
    }
    for (location, sharing) in by_location {
        let [first, others @ ..] = sharing.as_slice() else { continue };
        // Builders of one class with one label were refused as such.
        if others
            .iter()
            .all(|w| w.builder.class == first.builder.class && w.builder.name.label == first.builder.name.label)
        {
            continue;
        }
        let names = list(sharing.iter().map(|w| format!("{} `{}`", w.builder.class, w.builder.name)));
        let mut error = Diagnostic::error(
            "state-location-shared",
            format!("the roots of {names} would keep their state in one object, `{location}`"),
        )
        .at(&others[0].builder.at)
        .help("rename one of the builders, or give it another backend with `state_configuration:`");
        for (_, workspace) in sharing.iter().enumerate().filter(|(index, _)| *index != 1) {
            error =
                error.also(&workspace.builder.at, format!("{} `{}`", workspace.builder.class, workspace.builder.name));
        }
        found.push(error);
    }
}

fn moves(site: &Site<'_>, workspaces: &[Workspace<'_>], found: &mut Diagnostics) {
    for workspace in workspaces {
        let name = &workspace.builder.name;
        let Some(recorded) = site.records.locations.get(&name.safe) else { continue };
        if recorded.location == workspace.location {
            continue;
        }
        let stands = standing(site, workspace.builder);
        if stands.is_empty() {
            let what = format!(
                "the state of `{name}` moves from `{}` to `{}`; nothing stands in it",
                recorded.location, workspace.location
            );
            found.push(Diagnostic::note("state-location-moves", what).at(workspace.chosen_at));
        } else {
            let what = format!(
                "the state of `{name}` is recorded at `{}` and would now be looked for at `{}`, while {} there",
                recorded.location,
                workspace.location,
                if stands.len() == 1 { format!("{} stands", stands[0]) } else { format!("{} stand", list(&stands)) },
            );
            found.push(
                Diagnostic::error("state-location-moved", what)
                    .at(workspace.chosen_at)
                    .help(format!(
                        "restore the old location, or move the state on purpose with `--migrate-state {}`",
                        name.safe
                    ))
                    .also(&workspace.backend.at, format!("the backend now chosen, `{}`", workspace.backend.name)),
            );
        }
    }
}

/// What the records know to stand in a builder's root.
fn standing(site: &Site<'_>, builder: &Builder) -> Vec<String> {
    let name = builder.name.safe.as_str();
    if builder.class == Class::StorageBuilder {
        let live = site.records.storages.iter().filter(|(_, record)| record.is_live());
        return live
            .filter(|(storage, record)| {
                let owner = record
                    .builder
                    .as_deref()
                    .or_else(|| site.storages.get(storage.as_str()).map(|s| s.builder.value.as_str()));
                owner == Some(name)
            })
            .map(|(storage, _)| format!("storage `{storage}`"))
            .collect();
    }
    let launched =
        site.records.launches.iter().filter(|(_, launch)| launch.launched).map(|(instance, _)| instance.as_str());
    let machines: BTreeSet<&str> = launched.chain(site.records.pins.instances.keys().map(String::as_str)).collect();
    // The record of a machine does not name its root: one that is no longer declared may stand in any.
    machines
        .into_iter()
        .filter(|machine| site.instances.get(machine).is_none_or(|instance| instance.builder.value == name))
        .map(|machine| format!("instance `{machine}`"))
        .collect()
}

/// Without backends no root can read another's outputs.
fn needed(site: &Site<'_>, found: &mut Diagnostics) {
    let mut reads: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in &site.tree.instances {
        for storage in instance.mounts.iter().filter_map(|m| site.storages.get(m.storage.value.as_str())) {
            reads.entry(&instance.builder.value).or_default().insert(&storage.builder.value);
        }
    }
    for (consumer, producers) in reads {
        let Some(builder) = site.builder(Class::InstanceBuilder, consumer) else { continue };
        let names = list(producers.iter().map(|p| format!("`{p}`")));
        let (roots, have) = if producers.len() == 1 { ("root", "has") } else { ("roots", "have") };
        let what = format!(
            "the root of instance builder `{}` reads the outputs of the storage {roots} {names}, which {have} no state backend",
            builder.name
        );
        found.push(
            Diagnostic::error("state-backends-needed", what)
                .at(&builder.at)
                .help("set `config.use_state_backends: true`"),
        );
    }
}
