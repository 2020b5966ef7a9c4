//! The folders of items: users and groups, storages, images, instances.

use crate::document::{is_yaml, unreadable};
use crate::files::{FileError, Files};
use crate::words::{list, nearest, quote};
use crate::{hygiene, secrets, yaml};
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The folders and what their files hold, in the order they are read.
pub(crate) const FOLDERS: &[(&str, &[Class])] = &[
    ("groups", &[Class::User, Class::Group]),
    ("storages", &[Class::Storage]),
    ("images", &[Class::Image]),
    ("instances", &[Class::Instance]),
];

/// The folder that the items of a class stand in.
pub(crate) fn folder_of(class: Class) -> &'static str {
    FOLDERS.iter().find(|(_, classes)| classes.contains(&class)).map_or("cfg", |(folder, _)| folder)
}

#[derive(Default)]
pub(crate) struct Collections {
    pub items: BTreeMap<Class, Vec<Node>>,
    /// Classes of which a file could not be read, so that a missing name proves nothing.
    pub partial: BTreeSet<Class>,
}

pub(crate) fn read(files: &dyn Files, found: &mut Diagnostics) -> Collections {
    let mut collections = Collections::default();
    for (folder, classes) in FOLDERS {
        let listing = match files.list(folder, true) {
            Ok(listing) => listing,
            Err(error) => {
                collections.partial.extend(classes.iter());
                let (message, help) = match error {
                    FileError::Missing => (
                        format!("the folder `{folder}` does not exist"),
                        format!("create it; with nothing to declare, keep it with an empty `{folder}/.keep`"),
                    ),
                    other => (
                        format!("the folder `{folder}` cannot be read: {other}"),
                        "make it a readable folder".to_owned(),
                    ),
                };
                found.push(Diagnostic::error("missing-folder", message).at(&Place::head(*folder)).help(help));
                continue;
            }
        };
        for (path, error) in &listing.problems {
            collections.partial.extend(classes.iter());
            found.push(unreadable(path, error));
        }
        for path in listing.files.iter().filter(|path| is_yaml(path)) {
            let node = match files.read(path) {
                Ok(file) => yaml::parse(&Arc::from(path.as_str()), &file.bytes, found),
                Err(error) => {
                    found.push(unreadable(path, &error));
                    None
                }
            };
            match node {
                Some(mut node) => {
                    hygiene::purge_private_keys(&mut node, found);
                    secrets::check_places(&node, false, found);
                    hygiene::check_names(&node, found);
                    collections.take(node, classes, found);
                }
                None => collections.partial.extend(classes.iter()),
            }
        }
    }
    collections
}

fn wanted(classes: &[Class]) -> String {
    classes.iter().map(|c| format!("`{}`", c.key())).collect::<Vec<_>>().join(" or ")
}

/// Keys that are nobody's: anchors and notes.
pub(crate) fn is_free(key: &str) -> bool {
    key.starts_with("x-") || key.starts_with('.')
}

impl Collections {
    fn take(&mut self, node: Node, classes: &[Class], found: &mut Diagnostics) {
        let at = node.at.clone();
        let mut entries = match node.value {
            Value::Map(entries) => entries,
            Value::Null => return,
            _ => {
                self.partial.extend(classes);
                let message = format!(
                    "{} holds {} where a mapping with the key {} belongs",
                    quote(&at.file),
                    node.describe(),
                    wanted(classes)
                );
                return found.push(
                    Diagnostic::error("not-a-mapping", message)
                        .at(&at)
                        .help(format!("put the entries under {}", wanted(classes))),
                );
            }
        };
        let known = |key: &str| classes.iter().copied().find(|c| c.key() == key);
        let any = entries.iter().any(|e| known(&e.key).is_some());
        if !any && !entries.is_empty() && entries.iter().all(|e| !is_free(&e.key)) {
            let keys = list(entries.iter().map(|e| e.key.as_str()));
            let meant =
                entries.iter_mut().find_map(|e| nearest(&e.key, classes.iter().map(|c| c.key())).map(|near| (e, near)));
            let (at, help) = match meant {
                // Read as what was meant, so that nothing is said to be missing because of it.
                Some((entry, near)) => {
                    near.clone_into(&mut entry.key);
                    (entry.at.clone(), format!("write `{near}`"))
                }
                None => {
                    self.partial.extend(classes);
                    (entries[0].at.clone(), format!("put the entries under {}", wanted(classes)))
                }
            };
            let message = format!(
                "{} has the top-level key {keys} and not {}, so nothing of it would be read",
                quote(&at.file),
                wanted(classes)
            );
            found.push(Diagnostic::error("collection-key", message).at(&at).help(help));
            entries.retain(|e| known(&e.key).is_some());
        }
        for entry in entries {
            let Some(class) = known(&entry.key) else {
                if !is_free(&entry.key) {
                    let message = format!("the top-level key {} of {} is not read", quote(&entry.key), quote(&at.file));
                    let help = format!("remove it, write {}, or begin it with `x-` when it is yours", wanted(classes));
                    found.push(Diagnostic::warning("collection-key", message).at(&entry.at).help(help));
                }
                continue;
            };
            match entry.value.value {
                Value::Null => {}
                Value::List(items) => self.items.entry(class).or_default().extend(items),
                _ => {
                    self.partial.insert(class);
                    let message = format!(
                        "{} of {} holds {} where a list of entries belongs",
                        quote(&entry.key),
                        quote(&at.file),
                        entry.value.describe()
                    );
                    found.push(
                        Diagnostic::error("wrong-type", message).at(&entry.value.at).help("begin each entry with `- `"),
                    );
                }
            }
        }
    }
}
