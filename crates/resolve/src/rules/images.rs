//! Images: each chains to a base, is baked where its parent is, and is owned by a group once a machine uses it.

use super::site::{Site, place};
use super::words::{list, nearest};
use csis_values::tree::Image;
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// The longest circle of images that is told step by step.
const SHOWN: usize = 10;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    sources(site, found);
    cycles(site, found);
    parents_baked(site, found);
    instances(site, found);
}

fn sources(site: &Site<'_>, found: &mut Diagnostics) {
    for image in &site.tree.images {
        let source = image.source.value.as_str();
        if source.is_empty() || site.images.contains_key(source) || site.os(source).is_some() {
            continue;
        }
        let bases: Vec<&str> = site.tree.builders_of(Class::OsBuilder).map(|b| b.name.safe.as_str()).collect();
        let known = list(bases.iter().chain(site.images.keys()).map(|name| format!("`{name}`")));
        let help = match nearest(source, bases.iter().copied().chain(site.images.keys().copied())) {
            Some(near) => format!("write `{near}`"),
            None => "name an OS builder or another image".into(),
        };
        let what = format!(
            "image `{}` is made from `{source}`, which is neither an OS builder nor an image (declared: {known})",
            image.name
        );
        found.push(Diagnostic::error("source-unknown", what).at(&image.source.at).help(help));
    }
}

fn cycles(site: &Site<'_>, found: &mut Diagnostics) {
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    for image in &site.tree.images {
        let mut path: Vec<&Image> = Vec::new();
        let mut current = image;
        loop {
            if settled.contains(current.name.safe.as_str()) {
                break;
            }
            if let Some(start) = path.iter().position(|i| i.name.safe == current.name.safe) {
                let ring = &path[start..];
                let named = |i: &&Image| format!("`{}`", i.name);
                let walk = match ring {
                    [first, .., last] if ring.len() > SHOWN => format!("{} … {}", named(first), named(last)),
                    _ => ring.iter().chain(ring.first()).map(named).collect::<Vec<_>>().join(" from "),
                };
                let mut error = Diagnostic::error(
                    "image-cycle",
                    format!("images are made from each other and end at no OS builder: {walk}"),
                )
                .at(&ring[0].source.at)
                .help("let one of them name an OS builder as its `source_image`");
                for other in ring[1..].iter().take(SHOWN) {
                    error = error.also(&other.source.at, format!("`{}` is made from `{}`", other.name, other.source));
                }
                found.push(error);
                break;
            }
            path.push(current);
            match site.images.get(current.source.value.as_str()) {
                Some(next) => current = next,
                None => break,
            }
        }
        settled.extend(path.iter().map(|i| i.name.safe.as_str()));
    }
}

fn parents_baked(site: &Site<'_>, found: &mut Diagnostics) {
    for image in &site.tree.images {
        let Some(parents) = site.baked_on(&image.source.value) else { continue };
        let mut told = BTreeSet::new();
        for entry in &image.runtimes {
            // A build of the parent that is recorded there serves, even when no new one is made.
            if parents.contains(entry.runtime.as_str())
                || site.head(&image.source.value, &entry.runtime).is_some()
                || !told.insert(&entry.runtime)
            {
                continue;
            }
            let what = format!(
                "image `{}` is baked on runtime `{}`, where its source `{}` is not (it is baked on {})",
                image.name,
                entry.runtime,
                image.source,
                list(parents.iter().map(|r| format!("`{r}`"))),
            );
            found.push(
                Diagnostic::error("source-not-baked", what)
                    .at(&entry.at)
                    .help(format!("bake `{}` there too, or take this entry out", image.source))
                    .also(&image.source.at, format!("made from `{}`", image.source)),
            );
        }
    }
}

fn instances(site: &Site<'_>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        if instance.image.is_none() && instance.fields.node("image").is_none() {
            found.push(
                Diagnostic::error(
                    "instance-without-image",
                    format!("instance `{}` names no image to boot from", instance.name),
                )
                .at(&instance.at)
                .help(format!("add `image:` with one of {}", list(site.images.keys().map(|name| format!("`{name}`"))))),
            );
            continue;
        }
        let Some(image) = site.image_of(instance) else { continue };
        let Some(named) = &instance.image else { continue };
        if image.group.is_none() && image.fields.node("group").is_none() {
            found.push(
                Diagnostic::error(
                    "image-without-group",
                    format!("instance `{}` boots from image `{}`, which no group owns", instance.name, image.name),
                )
                .at(&named.at)
                .help(format!("add `group:` to image `{}`: it owns every machine made from it", image.name))
                .also(&image.at, format!("image `{}`", image.name)),
            );
        }
        let runtime = instance.runtime.value.as_str();
        let has_build = site.head(&image.name.safe, runtime).is_some();
        if !image.runtimes.is_empty() && !has_build && image.runtimes.iter().all(|entry| entry.runtime != runtime) {
            let places = list(image.runtimes.iter().map(|entry| format!("`{}`", entry.runtime)));
            let what = format!(
                "instance `{}` runs on `{runtime}`, where its image `{}` is not baked (it is baked on {places})",
                instance.name, image.name
            );
            found.push(
                Diagnostic::error("image-not-baked", what)
                    .at(&named.at)
                    .help(format!("add an entry to `runtimes:` of image `{}` whose image builder works on `{runtime}`, or run the instance elsewhere", image.name))
                    .also(place(&image.fields, "runtimes", &image.at), format!("where `{}` is baked", image.name)),
            );
        }
    }
}
