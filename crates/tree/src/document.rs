//! `cfg/`: many files, one document.

use crate::collections::folder_of;
use crate::error::LoadError;
use crate::files::{FileError, Files};
use crate::words::{list, nearest, quote};
use crate::{hygiene, secrets, yaml};
use csis_values::node::Entry;
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Top-level keys that are not lists of entries.
const SETTINGS: &[&str] = &[
    "id",
    "working_directory",
    "generation_directory",
    "dateformat",
    "gitignore",
    "sleep_before_finalization",
    "encryption",
    "public_safe",
    "config",
];

/// Lists that no built-in type reads.
const RESERVED_LISTS: &[&str] = &["base_plugins", "other_builders"];

/// The class of a list of `cfg/`, by its key.
pub(crate) fn class_of(key: &str) -> Option<Class> {
    std::iter::once(&Class::Executable).chain(Class::BUILDERS).copied().find(|c| c.key() == key)
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    let lists = std::iter::once(&Class::Executable).chain(Class::BUILDERS).map(|c| c.key());
    SETTINGS.iter().copied().chain(lists).chain(RESERVED_LISTS.iter().copied())
}

pub(crate) fn is_yaml(path: &str) -> bool {
    let suffix =
        path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, suffix)| suffix.to_ascii_lowercase());
    matches!(suffix.as_deref(), Some("yml" | "yaml"))
}

/// A file that exists and is not read, as a refusal.
pub(crate) fn unreadable(path: &str, error: &FileError) -> Diagnostic {
    let help = match error {
        FileError::Outside => "copy the file into the tree; links that leave it are not followed",
        FileError::Cycle | FileError::Loop | FileError::TooDeep => "remove the link",
        FileError::Name => "rename it",
        FileError::Missing => "remove the link, or create what it points to",
        _ => "make it a readable file, or remove it",
    };
    Diagnostic::error("unreadable-file", format!("{} cannot be read: {error}", quote(path)))
        .at(&Place::head(path))
        .help(help)
}

/// The merged document of `cfg/`; `whole` is false when a file of it could not be read.
pub(crate) struct Document {
    pub entries: Vec<Entry>,
    pub whole: bool,
    /// Classes whose entries stand where they are not read.
    pub partial: BTreeSet<Class>,
    /// Something stands under a key that says nothing: it may be what seems to be missing.
    unplaced: bool,
}

impl Document {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    /// Everything in it was read for what it is.
    pub fn is_whole(&self) -> bool {
        self.whole && !(self.unplaced && self.get("config").is_none())
    }

    /// The classes of which entries may be missing.
    pub fn lacking(&self) -> BTreeSet<Class> {
        let listed = std::iter::once(&Class::Executable).chain(Class::BUILDERS).copied();
        let absent = listed.filter(|class| !self.whole || self.unplaced && self.get(class.key()).is_none());
        absent.chain(self.partial.iter().copied()).collect()
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.value)
    }
}

/// None when there is no document at all (told in `found`).
pub(crate) fn read(files: &dyn Files, found: &mut Diagnostics) -> Result<Option<Document>, LoadError> {
    let listing = files.list("cfg", false).map_err(|error| {
        let message = match error {
            FileError::Missing => "there is no folder `cfg`, so this is no configuration tree".to_owned(),
            other => format!("the folder `cfg` cannot be read: {other}"),
        };
        let help = "name the folder that holds `cfg` with --root";
        LoadError::NotATree(Box::new(Diagnostic::error("no-tree", message).help(help)))
    })?;
    let mut document = Document { entries: Vec::new(), whole: true, partial: BTreeSet::new(), unplaced: false };
    let mut any = false;
    for (path, error) in listing.problems.iter().filter(|(path, _)| is_yaml(path)) {
        found.push(unreadable(path, error));
        document.whole = false;
    }
    for path in listing.files.iter().filter(|path| is_yaml(path)) {
        any = true;
        let file: Arc<str> = Arc::from(path.as_str());
        let bytes = match files.read(path) {
            Ok(file) => file.bytes,
            Err(error) => {
                found.push(unreadable(path, &error));
                document.whole = false;
                continue;
            }
        };
        let Some(mut node) = yaml::parse(&file, &bytes, found) else {
            document.whole = false;
            continue;
        };
        hygiene::purge_private_keys(&mut node, found);
        secrets::check_places(&node, true, found);
        hygiene::check_names(&node, found);
        merge(&mut document, node, found);
    }
    if !any && document.whole {
        let message = "the folder `cfg` holds no YAML file, so there is no document";
        found.push(
            Diagnostic::error("no-document", message)
                .at(&Place::head("cfg"))
                .help("add `cfg/_config.yml` with at least an `id:`"),
        );
    }
    Ok((any || !document.whole).then_some(document))
}

fn merge(document: &mut Document, node: Node, found: &mut Diagnostics) {
    let file = node.at.file.clone();
    let entries = match node.value {
        Value::Map(entries) => entries,
        Value::Null => {
            let message = format!("{} is empty", quote(&file));
            return found.push(
                Diagnostic::warning("empty-file", message).at(&node.at).help("remove it, or write what it is for"),
            );
        }
        _ => {
            document.unplaced = true;
            let message =
                format!("{} holds {} where a mapping of top-level keys belongs", quote(&file), node.describe());
            return found.push(
                Diagnostic::error("not-a-mapping", message)
                    .at(&node.at)
                    .help("put it under its key, e.g. `executables:`"),
            );
        }
    };
    for mut entry in entries {
        if !known_keys().any(|key| key == entry.key) && !meant(document, &mut entry, found) {
            continue;
        }
        if entry.key == "config" {
            merge_config(document, entry, found);
        } else if SETTINGS.contains(&entry.key.as_str()) {
            merge_setting(document, entry, found);
        } else {
            merge_list(document, entry, found);
        }
    }
}

/// Reports a key that has no meaning. One that is nearly a known key is read as that one, so that nothing is said to be missing because of it.
fn meant(document: &mut Document, entry: &mut Entry, found: &mut Diagnostics) -> bool {
    let message = format!("{} has no meaning at the top of a file of `cfg/`", quote(&entry.key));
    let collection = Class::COLLECTIONS.iter().copied().find(|class| class.key() == entry.key);
    let near = nearest(&entry.key, known_keys());
    let help = match (collection, near) {
        (Some(class), _) => format!("move it to a file of `{}/`", folder_of(class)),
        (None, Some(near)) => format!("write `{near}`"),
        (None, None) => format!("the keys are {}", list(known_keys())),
    };
    found.push(Diagnostic::error("unknown-key", message).at(&entry.at).help(help));
    match (collection, near) {
        (Some(class), _) => {
            document.partial.insert(class);
        }
        // Of a setting that is also written properly, the proper one counts.
        (None, Some(near)) if near == "config" || !SETTINGS.contains(&near) || document.get(near).is_none() => {
            near.clone_into(&mut entry.key);
            return true;
        }
        (None, Some(_)) => {}
        (None, None) => {
            document.unplaced |=
                entry.value.list().is_some_and(|items| !items.is_empty()) || entry.value.map().is_some();
        }
    }
    false
}

fn merge_list(document: &mut Document, entry: Entry, found: &mut Diagnostics) {
    match entry.value.value {
        Value::Null => {}
        Value::List(items) => match document.get_mut(&entry.key) {
            Some(Node { value: Value::List(known), .. }) => known.extend(items),
            _ => {
                let value = Node::new(Value::List(items), entry.value.at);
                document.entries.push(Entry { key: entry.key, at: entry.at, value });
            }
        },
        _ => {
            document.partial.extend(class_of(&entry.key));
            let message =
                format!("{} holds {} where a list of entries belongs", quote(&entry.key), entry.value.describe());
            found.push(Diagnostic::error("wrong-type", message).at(&entry.value.at).help("begin each entry with `- `"));
        }
    }
}

fn merge_setting(document: &mut Document, entry: Entry, found: &mut Diagnostics) {
    let list = entry.key == "gitignore";
    let Some(known) = document.entries.iter_mut().find(|e| e.key == entry.key) else {
        return document.entries.push(entry);
    };
    match (&mut known.value.value, &entry.value.value) {
        (Value::List(items), Value::List(more)) if list => items.extend(more.iter().cloned()),
        _ => {
            let message = format!("{} is set in two files; the later one counts", quote(&entry.key));
            let finding = Diagnostic::warning("setting-twice", message)
                .at(&entry.at)
                .help("keep one of them")
                .also(&known.at, "set here first");
            found.push(finding);
            *known = entry;
        }
    }
}

fn merge_config(document: &mut Document, entry: Entry, found: &mut Diagnostics) {
    hygiene::check_config_keys(&entry.value, found);
    let more = match entry.value.value {
        Value::Map(entries) => entries,
        Value::Null => return,
        _ => {
            let message = format!("`config` holds {} where a mapping belongs", entry.value.describe());
            return found.push(
                Diagnostic::error("wrong-type", message)
                    .at(&entry.value.at)
                    .help("write `key: value` lines under `config:`"),
            );
        }
    };
    let Some(Node { value: Value::Map(known), .. }) = document.get_mut("config") else {
        return document.entries.push(Entry { value: Node::new(Value::Map(more), entry.value.at), ..entry });
    };
    let index: HashMap<String, usize> = known.iter().enumerate().map(|(at, e)| (e.key.clone(), at)).collect();
    for new in more {
        match index.get(&new.key).and_then(|at| known.get(*at)) {
            Some(first) => {
                let message = format!(
                    "the `config:` key {} is set in two files, {} and {}",
                    quote(&new.key),
                    quote(&first.at.file),
                    quote(&new.at.file)
                );
                found.push(
                    Diagnostic::error("config-key-twice", message)
                        .at(&new.at)
                        .help("keep one of them")
                        .also(&first.at, "set here first"),
                );
            }
            None => known.push(new),
        }
    }
}
