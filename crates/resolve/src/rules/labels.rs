//! Names that differ in YAML and are one label in the emission: their modules, variables and provider aliases would be one.

use super::site::Site;
use csis_values::{Class, Diagnostic, Diagnostics, Name, Place};
use std::collections::BTreeMap;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let tree = site.tree;
    for class in Class::BUILDERS {
        collide(*class, tree.builders_of(*class).map(|b| (&b.name, &b.at)), found);
    }
    collide(Class::Group, tree.groups.iter().map(|g| (&g.name, &g.at)), found);
    collide(Class::Storage, tree.storages.iter().map(|s| (&s.name, &s.at)), found);
    collide(Class::Image, tree.images.iter().map(|i| (&i.name, &i.at)), found);
    collide(Class::Instance, tree.instances.iter().map(|i| (&i.name, &i.at)), found);
}

fn collide<'a>(class: Class, items: impl Iterator<Item = (&'a Name, &'a Place)>, found: &mut Diagnostics) {
    let mut taken: BTreeMap<&str, (&Name, &Place)> = BTreeMap::new();
    for (name, at) in items {
        match taken.get(name.label.as_str()) {
            None => {
                taken.insert(&name.label, (name, at));
            }
            // The same name twice was refused when the list was read.
            Some((first, _)) if first.safe == name.safe => {}
            Some((first, there)) => {
                let what = format!(
                    "{class}s `{first}` and `{name}` have one label, `{}`, in everything that is generated",
                    name.label
                );
                found.push(
                    Diagnostic::error("label-collision", what)
                        .at(at)
                        .help(format!("rename one of them so that they differ in more than spaces and the characters . - / : + @; `{first}` came first"))
                        .also(there, format!("{class} `{first}`")),
                );
            }
        }
    }
}
