//! What one invocation adds to a tree and takes away from it: overlay files and `--undeclare`.

use crate::collections::Collections;
use crate::document::Document;
use crate::error::LoadError;
use crate::files::{FileError, Files};
use crate::names::written;
use crate::words::{list, nearest, quote};
use crate::{hygiene, secrets, yaml};
use csis_values::name::safe_name;
use csis_values::node::Entry;
use csis_values::request::Request;
use csis_values::{Class, Diagnostic, Diagnostics, Node, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// `base_images` is accepted for the format's sake: base images are made from OS builders and none is ever written by hand.
const BASE_IMAGES: &str = "base_images";

#[derive(Default)]
pub(crate) struct Changes {
    /// Safe names of entries that only an overlay declares.
    pub transient: BTreeSet<(Class, String)>,
    /// Safe names taken away, and by what.
    pub undeclared: BTreeMap<(Class, String), String>,
}

fn allowed() -> impl Iterator<Item = &'static str> {
    std::iter::once("config").chain(Class::COLLECTIONS.iter().map(|c| c.key())).chain([BASE_IMAGES])
}

pub(crate) fn apply(
    files: &dyn Files,
    request: &Request,
    document: &mut Document,
    collections: &mut Collections,
    found: &mut Diagnostics,
) -> Result<Changes, LoadError> {
    let mut overlays = Overlays { index: HashMap::new(), changes: Changes::default(), document, collections, found };
    for path in &request.overlays {
        overlays.file(files, path)?;
    }
    for spec in &request.undeclare {
        overlays.undeclare(spec)?;
    }
    Ok(overlays.changes)
}

struct Overlays<'a> {
    /// Name → position, per class, built when first needed.
    index: HashMap<Class, HashMap<String, usize>>,
    changes: Changes,
    document: &'a mut Document,
    collections: &'a mut Collections,
    found: &'a mut Diagnostics,
}

impl Overlays<'_> {
    fn file(&mut self, files: &dyn Files, path: &str) -> Result<(), LoadError> {
        let file = files.read(path).map_err(|error| {
            let message = format!("the overlay {} cannot be read: {error}", quote(path));
            let help = match error {
                FileError::Outside => "put it into the tree, e.g. below `overlays/`",
                _ => "name a file of the tree by its path from the tree's root, or from the present folder",
            };
            LoadError::Overlay(Box::new(Diagnostic::error("overlay-missing", message).help(help)))
        })?;
        let Some(mut node) = yaml::parse(&Arc::from(path), &file.bytes, self.found) else { return Ok(()) };
        hygiene::purge_private_keys(&mut node, self.found);
        secrets::check_places(&node, false, self.found);
        hygiene::check_names(&node, self.found);
        let at = node.at.clone();
        let entries = match node.value {
            Value::Map(entries) => entries,
            Value::Null => return Ok(()),
            _ => {
                let message = format!("the overlay {} holds {} where a mapping belongs", quote(path), node.describe());
                self.found.push(
                    Diagnostic::error("not-a-mapping", message)
                        .at(&at)
                        .help("begin with `config:` or a collection's key"),
                );
                return Ok(());
            }
        };
        for entry in entries {
            let meant = allowed().find(|key| *key == entry.key).or_else(|| self.unknown_key(&entry));
            match meant {
                Some("config") => self.config(entry),
                Some(key) => {
                    if let Some(class) = Class::COLLECTIONS.iter().copied().find(|c| c.key() == key) {
                        self.collection(class, entry, path);
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Reports a key that an overlay cannot have, and gives the one it was surely meant to be.
    fn unknown_key(&mut self, entry: &Entry) -> Option<&'static str> {
        let message = format!("{} has no meaning in an overlay (allowed: {})", quote(&entry.key), list(allowed()));
        let near = nearest(&entry.key, allowed());
        let help = near.map_or_else(|| "remove it".to_owned(), |near| format!("write `{near}`"));
        self.found.push(Diagnostic::error("overlay-key", message).at(&entry.at).help(help));
        near
    }

    fn config(&mut self, entry: Entry) {
        hygiene::check_config_keys(&entry.value, self.found);
        let more = match entry.value.value {
            Value::Map(entries) => entries,
            Value::Null => return,
            _ => {
                let message =
                    format!("`config` of an overlay holds {} where a mapping belongs", entry.value.describe());
                return self.found.push(
                    Diagnostic::error("wrong-type", message)
                        .at(&entry.value.at)
                        .help("write `key: value` lines under `config:`"),
                );
            }
        };
        match self.document.get_mut("config") {
            Some(Node { value: Value::Map(known), .. }) => update(known, more),
            _ => self.document.entries.push(Entry { value: Node::new(Value::Map(more), entry.value.at), ..entry }),
        }
    }

    fn position(&mut self, class: Class, safe: &str) -> Option<usize> {
        let items = self.collections.items.entry(class).or_default();
        let index = self.index.entry(class).or_insert_with(|| {
            items
                .iter()
                .enumerate()
                .rev()
                .filter_map(|(position, item)| Some((safe_name(written(item)?.0), position)))
                .collect()
        });
        index.get(safe).copied()
    }

    fn collection(&mut self, class: Class, entry: Entry, path: &str) {
        let items = match entry.value.value {
            Value::List(items) => items,
            Value::Null => return,
            _ => {
                let message = format!(
                    "`{}` of an overlay holds {} where a list of entries belongs",
                    class.key(),
                    entry.value.describe()
                );
                return self.found.push(
                    Diagnostic::error("wrong-type", message).at(&entry.value.at).help("begin each entry with `- `"),
                );
            }
        };
        for item in items {
            let Some((name, at)) = written(&item).map(|(name, at)| (name.to_owned(), at.clone())) else {
                let message = format!("an entry of `{}` in an overlay has no `name`", class.key());
                self.found.push(
                    Diagnostic::error("missing-field", message)
                        .at(&item.at)
                        .help("name the entry that it changes or adds"),
                );
                continue;
            };
            let Node { value: Value::Map(mut fields), at: place } = item else { continue };
            let removed = fields
                .iter()
                .position(|f| f.key == "undeclare")
                .map(|at| fields.swap_remove(at))
                .is_some_and(|f| self.wants_removal(&f, &name));
            let safe = safe_name(&name);
            let position = self.position(class, &safe);
            match (removed, position) {
                (true, Some(_)) => self.remove(class, safe, &format!("the overlay {}", quote(path))),
                (true, None) => {
                    let message =
                        format!("the overlay takes away the {} {}, which is not declared", class.noun(), quote(&name));
                    let help = nearest(&name, self.names(class))
                        .map_or_else(|| "remove the line".to_owned(), |near| format!("write `{near}`"));
                    self.found.push(Diagnostic::warning("undeclare-absent", message).at(&at).help(help));
                }
                (false, Some(position)) => {
                    if let Some(Node { value: Value::Map(known), .. }) =
                        self.collections.items.get_mut(&class).and_then(|items| items.get_mut(position))
                    {
                        fields.retain(|f| f.key != "name");
                        update(known, fields);
                    }
                }
                (false, None) => {
                    let items = self.collections.items.entry(class).or_default();
                    if let Some(index) = self.index.get_mut(&class) {
                        index.insert(safe.clone(), items.len());
                    }
                    items.push(Node::new(Value::Map(fields), place));
                    self.changes.transient.insert((class, safe));
                }
            }
        }
    }

    fn wants_removal(&mut self, field: &Entry, name: &str) -> bool {
        if let Value::Bool(wanted) = field.value.value {
            return wanted;
        }
        let message =
            format!("`undeclare` of {} is {} where true or false belongs", quote(name), field.value.describe());
        self.found.push(Diagnostic::error("wrong-type", message).at(&field.value.at).help("write `undeclare: true`"));
        false
    }

    /// The safe name of the entry that an alias leads to.
    fn called(&self, class: Class, alias: &str) -> Option<String> {
        self.collections.items.get(&class)?.iter().find_map(|item| {
            let aliases = item.get("aliases").and_then(Node::list).unwrap_or_default();
            let is_it = aliases.iter().filter_map(Node::text).any(|text| safe_name(text) == alias);
            is_it.then(|| written(item).map(|(name, _)| safe_name(name))).flatten()
        })
    }

    fn names(&self, class: Class) -> impl Iterator<Item = &str> {
        self.collections.items.get(&class).into_iter().flatten().filter_map(|item| Some(written(item)?.0))
    }

    fn remove(&mut self, class: Class, safe: String, by: &str) {
        if let Some(items) = self.collections.items.get_mut(&class) {
            items.retain(|item| written(item).is_none_or(|(name, _)| safe_name(name) != safe));
        }
        self.index.remove(&class);
        self.changes.transient.remove(&(class, safe.clone()));
        self.changes.undeclared.insert((class, safe), by.to_owned());
    }

    fn undeclare(&mut self, spec: &str) -> Result<(), LoadError> {
        let refuse = |message: String, help: String| {
            LoadError::Undeclare(Box::new(
                Diagnostic::error("undeclare", format!("--undeclare {}: {message}", quote(spec))).help(help),
            ))
        };
        let kinds = || Class::COLLECTIONS.iter().map(|c| c.noun());
        let Some((kind, name)) =
            spec.split_once(':').filter(|(kind, name)| !kind.is_empty() && !name.trim().is_empty())
        else {
            return Err(refuse(
                "this is not of the form KIND:NAME".into(),
                format!("write e.g. `--undeclare storage:NAME`; the kinds are {}", list(kinds())),
            ));
        };
        let Some(class) = Class::COLLECTIONS.iter().copied().find(|c| c.noun() == kind || c.key() == kind) else {
            let help = nearest(kind, kinds()).map_or_else(String::new, |near| format!("write `{near}:{name}`; "));
            return Err(refuse(
                format!("there is no kind {}", quote(kind)),
                format!("{help}the kinds are {}", list(kinds())),
            ));
        };
        let safe = safe_name(name);
        let safe = self.called(class, &safe).unwrap_or(safe);
        if self.position(class, &safe).is_none() {
            let declared = list(self.names(class));
            let help = nearest(name, self.names(class))
                .map_or_else(|| "name a declared one".to_owned(), |near| format!("write `{kind}:{near}`"));
            return Err(refuse(
                format!("no {} {} is declared (declared: {declared})", class.noun(), quote(name)),
                help,
            ));
        }
        self.remove(class, safe, &format!("`--undeclare {spec}`"));
        Ok(())
    }
}

/// Sets the given keys, keeps the others.
fn update(known: &mut Vec<Entry>, more: Vec<Entry>) {
    let index: HashMap<String, usize> = known.iter().enumerate().map(|(at, e)| (e.key.clone(), at)).collect();
    for new in more {
        match index.get(&new.key).and_then(|at| known.get_mut(*at)) {
            Some(old) => *old = new,
            None => known.push(new),
        }
    }
}

/// What was taken away, as `kind:name`.
pub(crate) fn labels(changes: &Changes) -> Vec<String> {
    changes.undeclared.keys().map(|(class, name)| format!("{}:{name}", class.noun())).collect()
}
