//! Zones: a machine and the volumes it mounts are in one.

use super::site::{Site, place};
use super::words::list;
use csis_values::{Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let told = instances(site, found);
    for storage in &site.tree.storages {
        let Some(zone) = &storage.availability_zone else { continue };
        let Some((builder, kind)) = site.storage_kind(storage) else { continue };
        // A machine that mounts it told of the same disagreement.
        if !kind.zonal() || told.contains(storage.name.safe.as_str()) {
            continue;
        }
        let Some(runtime) = site.runtime_of(builder) else { continue };
        let Some(theirs) = runtime_zone(site, &runtime.name.safe).filter(|theirs| *theirs != zone.value) else {
            continue;
        };
        let what = format!(
            "storage `{}` is in zone `{zone}`, and machines of runtime `{}` are in `{theirs}`",
            storage.name, runtime.name
        );
        found.push(
            Diagnostic::error("zone-conflict", what)
                .at(&zone.at)
                .help(format!("leave `availability_zone` out, or write `{theirs}`"))
                .also(
                    place(&runtime.fields, "networking", &runtime.at),
                    format!("the zone of runtime `{}`", runtime.name),
                ),
        );
    }
}

fn runtime_zone(site: &Site<'_>, runtime: &str) -> Option<String> {
    let (builder, kind) = site.runtime_kind(runtime)?;
    kind.default_zone(builder)
}

/// Judges machines; returns the storages whose disagreement was told.
fn instances<'a>(site: &Site<'a>, found: &mut Diagnostics) -> BTreeSet<&'a str> {
    let mut told = BTreeSet::new();
    for instance in &site.tree.instances {
        // Zone → who asks for it, and where.
        let mut claims: BTreeMap<String, Vec<(String, Place)>> = BTreeMap::new();
        if let Some(zone) = &instance.availability_zone {
            claims
                .entry(zone.value.clone())
                .or_default()
                .push((format!("instance `{}` itself", instance.name), zone.at.clone()));
        }
        if let Some((runtime, kind)) = site.runtime_kind(&instance.runtime.value)
            && let Some(zone) = kind.default_zone(runtime)
        {
            let at = place(&runtime.fields, "networking", &runtime.at).clone();
            claims.entry(zone).or_default().push((format!("runtime `{}`", runtime.name), at));
        }
        let mut storages = BTreeSet::new();
        for mount in &instance.mounts {
            let Some(storage) = site.storages.get(mount.storage.value.as_str()) else { continue };
            let Some(zone) = &storage.availability_zone else { continue };
            if site.storage_kind(storage).is_some_and(|(_, kind)| kind.zonal())
                && storages.insert(storage.name.safe.as_str())
            {
                claims
                    .entry(zone.value.clone())
                    .or_default()
                    .push((format!("storage `{}`", storage.name), zone.at.clone()));
            }
        }
        if claims.len() < 2 {
            continue;
        }
        told.extend(storages);
        let asked =
            list(claims.iter().map(|(zone, who)| format!("`{zone}` ({})", list(who.iter().map(|(who, _)| who)))));
        let mut error = Diagnostic::error(
            "zone-conflict",
            format!("instance `{}` would have to be in several zones: {asked}", instance.name),
        )
        .at(instance.availability_zone.as_ref().map_or(&instance.at, |zone| &zone.at))
        .help("let all of them name one zone, or leave `availability_zone` out");
        for (zone, who) in &claims {
            for (who, at) in who {
                error = error.also(at, format!("{who}: `{zone}`"));
            }
        }
        found.push(error);
    }
    told
}
