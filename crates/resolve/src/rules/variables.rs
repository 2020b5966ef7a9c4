//! Variables of images: all images of one image builder share one set of them, so one name has one value, and none is a name that the emission uses.

use super::site::Site;
use csis_values::node::Entry;
use csis_values::tree::Image;
use csis_values::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// Variables that every image builder's emission declares itself.
const OURS: &[&str] = &["release", "base_image_version"];

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    // Image builder and name → who first gave it a value.
    let mut given: BTreeMap<(&str, &str), (&Image, &Entry)> = BTreeMap::new();
    for image in &site.tree.images {
        for entry in image.fields.node("variables").and_then(|node| node.map()).unwrap_or_default() {
            if !names(image, entry, found) {
                continue;
            }
            for runtime in &image.runtimes {
                let (first, theirs) = *given.entry((&runtime.image_builder, &entry.key)).or_insert((image, entry));
                if theirs.value.to_json() == entry.value.to_json() {
                    continue;
                }
                let what = format!(
                    "images `{}` and `{}` give the variable `{}` of image builder `{}` different values",
                    image.name, first.name, entry.key, runtime.image_builder
                );
                found.push(
                    Diagnostic::error("variable-clash", what)
                        .at(&entry.at)
                        .also(&theirs.at, format!("image `{}` gives it here", first.name))
                        .help("give both the same value, or rename one"),
                );
            }
        }
    }
}

/// Whether a variable's name can stand in the emission.
fn names(image: &Image, entry: &Entry, found: &mut Diagnostics) -> bool {
    let name = entry.key.as_str();
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_word = name.starts_with(starts) && name.chars().all(|c| starts(c) || c.is_ascii_digit() || c == '-');
    let (why, help) = if !is_word {
        ("is no name for one", "begin it with a letter or `_`, and use letters, digits, `_` and `-`")
    } else if OURS.contains(&name) {
        ("is declared by the emission itself", "rename it")
    } else {
        return true;
    };
    let what = format!("image `{}` has a variable `{name}`, which {why}", image.name);
    found.push(Diagnostic::error("variable-name", what).at(&entry.at).help(help));
    false
}
