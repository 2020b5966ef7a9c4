//! With `require_released_builds`, machines stand on released builds, or on the newest one while it proves itself.

use super::site::{Site, place};
use csis_values::node::Value;
use csis_values::{Diagnostic, Diagnostics, Node};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    if !site.tree.config.require_released_builds {
        return;
    }
    for instance in &site.tree.instances {
        let name = instance.name.safe.as_str();
        let (Some(pin), Some(image)) = (site.records.pins.instances.get(name), &instance.image) else { continue };
        if site.records.released.contains(pin) || in_grace(site, name, pin, &image.value, &instance.runtime.value) {
            continue;
        }
        let what = format!(
            "instance `{}` is pinned to build `{pin}` of image `{image}`, which is not released, and `config.require_released_builds` is on",
            instance.name
        );
        found.push(
            Diagnostic::error("build-not-released", what)
                .at(place(&instance.fields, "image", &instance.at))
                .help(format!("release the build with `csis release {image}`, or move the machine onto a released one with `csis upgrade instance {name}`"))
                .also(flag(site), "where it is required".to_owned()),
        );
    }
}

/// The newest build may be stood on before its release: by a machine that is about to be replaced onto it, or that stands on it, and as long as its tests
/// after the bake did not fail.
fn in_grace(site: &Site<'_>, instance: &str, pin: &str, series: &str, runtime: &str) -> bool {
    let newest = site.head(series, runtime).is_some_and(|head| head.build_id == pin);
    let failed = site.records.image_tests.get(pin) == Some(&false);
    let pending = site.records.pins.pending_replacements.contains_key(instance);
    let stands = site
        .records
        .launches
        .get(instance)
        .is_some_and(|launch| launch.launched && launch.build.as_deref().is_none_or(|build| build == pin));
    newest && (pending || (stands && !failed))
}

fn flag<'a>(site: &Site<'a>) -> &'a csis_values::Place {
    let config: &Node = &site.tree.config.all;
    match &config.value {
        Value::Map(entries) => {
            entries.iter().find(|e| e.key == "require_released_builds").map_or(&config.at, |e| &e.at)
        }
        _ => &config.at,
    }
}
