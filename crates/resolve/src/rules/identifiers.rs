//! Names that artifacts and look-ups share: OS builders, their runtime entries and images are told apart by name alone.

use super::site::Site;
use super::words::list;
use csis_values::name::safe_name;
use csis_values::{Class, Diagnostic, Diagnostics, Place, Spanned};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    unique_series(site, found);
    listed_twice(site, found);
}

fn unique_series(site: &Site<'_>, found: &mut Diagnostics) {
    // Name → what has it, first come first.
    let mut taken: BTreeMap<String, (String, &Place, Class)> = BTreeMap::new();
    let mut claims: Vec<(String, String, Place, Class)> = Vec::new();
    for os in site.tree.builders_of(Class::OsBuilder) {
        claims.push((os.name.safe.clone(), format!("OS builder `{}`", os.name), os.at.clone(), Class::OsBuilder));
        for entry in os.fields.objects("runtimes") {
            if let Some(name) = entry.spanned("name") {
                let what = format!("runtime entry `{}` of OS builder `{}`", name.value, os.name);
                claims.push((safe_name(&name), what, name.at, Class::Runtime));
            }
        }
    }
    for image in &site.tree.images {
        claims.push((image.name.safe.clone(), format!("image `{}`", image.name), image.at.clone(), Class::Image));
    }
    for (name, what, at, class) in &claims {
        match taken.get(name) {
            // Two entries of one list were refused when the list was read.
            Some((_, _, first)) if first == class && *class != Class::Runtime => {}
            Some((other, first, _)) => found.push(
                Diagnostic::error("name-not-unique", format!("{what} has the same name as {other}"))
                    .at(at)
                    .help("rename one of them: OS builders, their runtime entries and images share one set of names")
                    .also(first, format!("the {other}")),
            ),
            None => {
                taken.insert(name.clone(), (what.clone(), at, *class));
            }
        }
    }
}

fn listed_twice(site: &Site<'_>, found: &mut Diagnostics) {
    for group in &site.tree.groups {
        for (key, names) in [("members", &group.members), ("admins", &group.admins)] {
            repeated(&format!("group `{}`: `{key}`", group.name), names, found);
        }
    }
    for storage in &site.tree.storages {
        repeated(&format!("storage `{}`: `groups`", storage.name), &storage.groups, found);
    }
}

fn repeated(what: &str, names: &[Spanned<String>], found: &mut Diagnostics) {
    let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
    let twice: Vec<_> = names.iter().filter(|name| !seen.insert(&name.value) && told.insert(&name.value)).collect();
    if let Some(first) = twice.first() {
        let names = list(twice.iter().map(|name| format!("`{name}`")));
        found.push(
            Diagnostic::warning("listed-twice", format!("{what} lists {names} more than once"))
                .at(&first.at)
                .help("remove the repetition"),
        );
    }
}
