//! The record files as documents, for changing them. What csis does not know in a file stays as it is.

use crate::FOLDER;
use crate::files::Files;
use crate::print;
use csis_values::Diagnostics;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Record files with the changes of events in them. Reads as [`Files`] do, so that the records after an event come from [`crate::read`] as any others.
pub struct Documents<'f> {
    beneath: &'f dyn Files,
    opened: BTreeMap<&'static str, Opened>,
}

struct Opened {
    was: Value,
    now: Value,
}

/// Why an event does not fit the records it meets.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("the record `{FOLDER}/{file}` cannot be read: {why}")]
    Unreadable { file: String, why: String },
    #[error("the record `{FOLDER}/{file}` cannot be changed: `{path}` is no {wanted}")]
    Shape { file: String, path: String, wanted: &'static str },
}

impl<'f> Documents<'f> {
    pub fn of(beneath: &'f dyn Files) -> Documents<'f> {
        Documents { beneath, opened: BTreeMap::new() }
    }

    /// The files that differ from what lies beneath, by name, as they are to be written.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.opened
            .iter()
            .filter(|(_, file)| file.now != file.was)
            .map(|(name, file)| (*name, print::document(&file.now)))
    }

    /// A file's top, opened for change; an empty mapping when there is no such file.
    pub(crate) fn open(&mut self, file: &'static str) -> Result<Part<'_>, Misfit> {
        if !self.opened.contains_key(file) {
            let unreadable = |why: String| Misfit::Unreadable { file: file.to_owned(), why };
            let was = match self.beneath.read(file).map_err(|error| unreadable(error.to_string()))? {
                Some(bytes) => parsed(file, &bytes).map_err(unreadable)?,
                None => Value::Null,
            };
            self.opened.insert(file, Opened { now: was.clone(), was });
        }
        let opened = self.opened.get_mut(file).map(|opened| &mut opened.now);
        let wrong = || Misfit::Shape { file: file.to_owned(), path: "the top".into(), wanted: "mapping" };
        let map = opened.and_then(as_mapping).ok_or_else(wrong)?;
        Ok(Part { file, path: String::new(), map })
    }
}

impl Files for Documents<'_> {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self.opened.get(name) {
            Some(file) if file.now != file.was => Ok(Some(print::document(&file.now).into_bytes())),
            _ => self.beneath.read(name),
        }
    }
}

/// A file's value; an error is told by its first problem.
pub(crate) fn parsed(name: &str, bytes: &[u8]) -> Result<Value, String> {
    let mut found = Diagnostics::default();
    let node = csis_tree::yaml::parse(&Arc::from(name), bytes, &mut found);
    match node {
        Some(node) if !found.is_refused() => Ok(node.to_json()),
        _ => Err(found.iter().next().map_or_else(|| "it is not YAML".into(), |first| first.message.clone())),
    }
}

/// A mapping; what is null or absent becomes an empty one.
fn as_mapping(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// A mapping within a file, with its path for messages.
pub(crate) struct Part<'d> {
    file: &'static str,
    path: String,
    pub map: &'d mut Map<String, Value>,
}

impl Part<'_> {
    fn shape(&self, key: &str, wanted: &'static str) -> Misfit {
        Misfit::Shape { file: self.file.to_owned(), path: self.below(key), wanted }
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The mapping at a key, made when there is none.
    pub fn part(&mut self, key: &str) -> Result<Part<'_>, Misfit> {
        let (wrong, path) = (self.shape(key, "mapping"), self.below(key));
        let value = self.map.entry(key).or_insert(Value::Null);
        Ok(Part { file: self.file, path, map: as_mapping(value).ok_or(wrong)? })
    }

    /// The mapping at a key, when there is one.
    pub fn existing(&mut self, key: &str) -> Result<Option<Part<'_>>, Misfit> {
        if self.map.get(key).is_none_or(Value::is_null) { Ok(None) } else { self.part(key).map(Some) }
    }

    /// The list at a key, made when there is none.
    pub fn list(&mut self, key: &str) -> Result<&mut Vec<Value>, Misfit> {
        let wrong = self.shape(key, "list");
        let value = self.map.entry(key).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Array(Vec::new());
        }
        value.as_array_mut().ok_or(wrong)
    }
}
