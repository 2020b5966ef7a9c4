//! A base prepares its images for the identity and storage types it declares, and only those are used downstream. A pinned build has what was stamped on
//! it when it was baked; the tree speaks for builds to come.

use super::site::{Site, place};
use super::words::list;
use csis_values::records::Build;
use csis_values::tree::{Builder, Image, Policy};
use csis_values::{Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};

/// What a series or a build is prepared for, and who says so.
struct Capabilities<'a> {
    base: &'a Builder,
    stamp: Option<&'a Build>,
}

#[derive(Clone, Copy)]
enum Axis {
    Identity,
    Storage,
}

impl Axis {
    fn key(self) -> &'static str {
        match self {
            Axis::Identity => "identity_types",
            Axis::Storage => "storage_types",
        }
    }
}

impl Capabilities<'_> {
    fn types(&self, axis: Axis) -> Vec<String> {
        let texts = match (self.stamp, axis) {
            (Some(build), Axis::Identity) => build.identity_types.clone(),
            (Some(build), Axis::Storage) => build.storage_types.clone(),
            (None, _) => self.base.fields.texts(axis.key()).into_iter().map(|t| t.value).collect(),
        };
        texts.iter().map(|t| t.trim().to_lowercase()).collect()
    }

    /// Where the list was read from.
    fn source(&self) -> String {
        match self.stamp {
            Some(build) => format!("recorded on build `{}`, `meta-state/lineage.yaml`", build.build_id),
            None => format!("declared by OS builder `{}`", self.base.name),
        }
    }

    fn refusal(&self, axis: Axis, what: &str, at: &Place) -> Diagnostic {
        let base = &self.base.name;
        let declared = list(self.types(axis).iter().map(|t| format!("`{t}`")));
        let error = Diagnostic::error(
            "capability-undeclared",
            format!("{what}, which base `{base}` is not prepared for ({}: {declared}; {})", axis.key(), self.source()),
        )
        .at(at)
        .also(place(&self.base.fields, axis.key(), &self.base.at), format!("`{}` of OS builder `{base}`", axis.key()));
        match self.stamp {
            Some(_) => error
                .help("bake a build that has it and move the pin onto it with `csis upgrade`, or use another image"),
            None => {
                error.help(format!("add the type to `{}` of OS builder `{base}`, or use another image", axis.key()))
            }
        }
    }

    fn lacks(&self, axis: Axis, wanted: &str) -> bool {
        !self.types(axis).iter().any(|t| t == wanted)
    }
}

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let mut to_come = ToCome::default();
    let refused = images(site, &mut to_come, found);
    instances(site, &mut to_come, &refused, found);
}

/// What builds to come of a series have on a runtime, each step of a chain walked once.
#[derive(Default)]
struct ToCome<'a> {
    stamps: BTreeMap<(&'a str, &'a str), Option<&'a Build>>,
}

impl<'a> ToCome<'a> {
    /// The stamp of the build the chain is pinned to, else what its base declares.
    fn of(&mut self, site: &Site<'a>, series: &'a str, runtime: &'a str) -> Option<Capabilities<'a>> {
        let base = site.base_of(series)?;
        let mut walked = Vec::new();
        let mut current = series;
        let stamp = loop {
            if let Some(known) = self.stamps.get(&(current, runtime)) {
                break *known;
            }
            walked.push(current);
            let Some(image) = site.images.get(current) else { break None };
            if let Some(build) = pinned_parent(site, image, runtime) {
                break Some(build);
            }
            current = &image.source.value;
        };
        self.stamps.extend(walked.into_iter().map(|series| ((series, runtime), stamp)));
        Some(Capabilities { base, stamp })
    }
}

/// The stamped build that an image keeps as its parent.
fn pinned_parent<'a>(site: &Site<'a>, image: &Image, runtime: &str) -> Option<&'a Build> {
    if image.parent_policy == Policy::Follow {
        return None;
    }
    let parent = site.records.pins.images.get(&format!("{}@{runtime}", image.name.safe))?;
    site.build(parent).filter(|build| build.stamped)
}

fn images<'a>(site: &Site<'a>, to_come: &mut ToCome<'a>, found: &mut Diagnostics) -> BTreeSet<(&'a str, &'a str)> {
    let mut refused = BTreeSet::new();
    for image in &site.tree.images {
        let Some((named, identity)) = identity_of(site, image) else { continue };
        let mut told = false;
        // One runtime after the other says the same unless the pins differ; the first is enough.
        for entry in &image.runtimes {
            let Some(capabilities) = to_come.of(site, &image.name.safe, &entry.runtime) else { continue };
            if capabilities.lacks(Axis::Identity, identity) {
                if !std::mem::replace(&mut told, true) {
                    let what =
                        format!("image `{}` belongs to group `{}` of identity type `{identity}`", image.name, named.0);
                    found.push(capabilities.refusal(Axis::Identity, &what, named.1));
                }
                refused.insert((image.name.safe.as_str(), entry.runtime.as_str()));
            }
        }
    }
    refused
}

/// The group that owns an image, where it is named, and its identity type.
fn identity_of<'a>(site: &Site<'a>, image: &'a Image) -> Option<((&'a str, &'a Place), &'static str)> {
    let named = image.group.as_ref()?;
    let group = site.groups.get(named.value.as_str())?;
    Some(((group.name.written.as_str(), &named.at), site.group_kind(group)?.identity_type()))
}

fn instances<'a>(site: &Site<'a>, to_come: &mut ToCome<'a>, refused: &BTreeSet<(&str, &str)>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        let (Some(image), Some(named)) = (site.image_of(instance), &instance.image) else { continue };
        let runtime = instance.runtime.value.as_str();
        let Some(unpinned) = to_come.of(site, &image.name.safe, runtime) else { continue };
        let pinned =
            site.records.pins.instances.get(&instance.name.safe).filter(|_| instance.image_policy == Policy::Pinned);
        let stamp =
            pinned.and_then(|pin| site.build(pin)).filter(|build| build.stamped && build.series == image.name.safe);
        let capabilities = Capabilities { stamp: stamp.or(unpinned.stamp), ..unpinned };
        if let Some((group, identity)) = identity_of(site, image)
            && capabilities.lacks(Axis::Identity, identity)
            && !refused.contains(&(image.name.safe.as_str(), runtime))
        {
            let what =
                format!("instance `{}` belongs to group `{}` of identity type `{identity}`", instance.name, group.0);
            found.push(capabilities.refusal(Axis::Identity, &what, &named.at));
        }
        let mut told = BTreeSet::new();
        for mount in &instance.mounts {
            let Some(storage) = site.storages.get(mount.storage.value.as_str()) else { continue };
            let Some((_, kind)) = site.storage_kind(storage) else { continue };
            if capabilities.lacks(Axis::Storage, kind.capability()) && told.insert(&storage.name.safe) {
                let what = format!(
                    "instance `{}` mounts storage `{}` of type `{}`",
                    instance.name,
                    storage.name,
                    kind.capability()
                );
                found.push(capabilities.refusal(Axis::Storage, &what, &mount.storage.at));
            }
        }
    }
}
