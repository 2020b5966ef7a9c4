//! Values by their fields: shapes, unknown keys, required keys, references.
//!
//! A value of the wrong shape is reported and kept as it is written, so that a rule can tell "there, and wrong" from "absent".

use crate::arena::Table;
use crate::hygiene::REMOVED;
use crate::names::Names;
use crate::secrets::is_marker;
use crate::words::{list, quote};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::name::is_reserved;
use csis_values::node::Entry;
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Value};
use std::collections::HashSet;

pub(crate) struct Reader<'a> {
    pub names: &'a Names,
    /// Texts whose template failed; they were reported and are not judged.
    pub broken: &'a HashSet<Place>,
    pub found: &'a mut Diagnostics,
}

/// A field that is being read: whose it is, and its path within.
struct Site<'a> {
    what: &'a str,
    path: String,
}

impl Site<'_> {
    fn within(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The words that stand for a boolean in quotes.
pub(crate) fn bool_word(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

impl Reader<'_> {
    /// The fields of an entry; `what` names it in messages, e.g. ``storage `depot` ``. `refused` are keys with an explanation of their own.
    pub fn entry(&mut self, what: &str, node: &Node, table: Table, refused: &[(&str, &str)]) -> Fields {
        let entries = self.mapping(&Site { what, path: String::new() }, node, table, refused);
        Fields { at: node.at.clone(), values: entries.into_iter().map(|e| (e.key, e.value)).collect() }
    }

    fn mapping(&mut self, site: &Site<'_>, node: &Node, table: Table, refused: &[(&str, &str)]) -> Vec<Entry> {
        let given = node.map().unwrap_or_default();
        let mut entries = Vec::with_capacity(given.len() + 2);
        for entry in given {
            match table.find(&entry.key) {
                Some(field) => {
                    if let Some(value) =
                        self.value(&Site { what: site.what, path: site.within(&entry.key) }, field, &entry.value)
                    {
                        entries.push(Entry { key: entry.key.clone(), at: entry.at.clone(), value });
                    }
                }
                None => self.unknown(site, entry, table, refused),
            }
        }
        for field in table.fields() {
            let there = given.iter().find(|e| e.key == field.name);
            if there.is_some_and(|e| !e.value.is_null()) {
                continue;
            }
            if field.required {
                let message = format!("{}: `{}` is missing", site.what, site.within(field.name));
                let help = format!("add `{}:`{}", field.name, example(field));
                self.found.push(
                    Diagnostic::error("missing-field", message).at(there.map_or(&node.at, |e| &e.value.at)).help(help),
                );
            } else if let Shape::Ref(class) = field.shape
                && let Some(name) = self.absent(site, field, class, &node.at)
            {
                entries.retain(|e| e.key != field.name);
                entries.push(Entry {
                    key: field.name.to_owned(),
                    at: node.at.clone(),
                    value: Node::new(Value::Text(name), node.at.clone()),
                });
            }
        }
        entries
    }

    fn unknown(&mut self, site: &Site<'_>, entry: &Entry, table: Table, refused: &[(&str, &str)]) {
        let what = if site.path.is_empty() { site.what.to_owned() } else { format!("{}: `{}`", site.what, site.path) };
        if let Some((_, advice)) = refused.iter().find(|(key, _)| *key == entry.key) {
            let message = format!("{what} has {}, which is refused here", quote(&entry.key));
            return self.found.push(Diagnostic::error("refused-key", message).at(&entry.at).help(*advice));
        }
        let names = || table.fields().map(|f| f.name);
        let help = match self.names.nearest(&entry.key, names()) {
            Some(near) => format!("write `{near}`"),
            None => format!("remove it; the fields are {}", list(names())),
        };
        self.found.push(
            Diagnostic::error("unknown-key", format!("{what} has no field {}", quote(&entry.key)))
                .at(&entry.at)
                .help(help),
        );
    }

    /// What a reference that is left out means.
    fn absent(&mut self, site: &Site<'_>, field: &Field, class: Class, at: &Place) -> Option<String> {
        // Items have no defaults; a root's backend has a chain of its own, which ends at the default backend.
        if class == Class::StateBackend || !Class::BUILDERS.contains(&class) || field.default != "default" {
            return None;
        }
        match self.names.canonical(class, "default") {
            Some(name) => Some(name.to_owned()),
            None => {
                // A list without a single default was reported once, for itself.
                if self.names.declared(class).next().is_none() && site.path.is_empty() {
                    self.names.report(class, site.what, field.name, "default", at, self.found);
                }
                None
            }
        }
    }

    /// A field's value in its shape; as written when the shape is wrong; none when null stands for absence.
    fn value(&mut self, site: &Site<'_>, field: &Field, node: &Node) -> Option<Node> {
        if node.is_null() {
            return None;
        }
        if self.is_broken(node) {
            return Some(node.clone());
        }
        let read = match field.shape {
            Shape::Free => Some(node.value.clone()),
            Shape::Text => self.text(site, node),
            Shape::Bool => self.boolean(site, node),
            Shape::Int { min, max } => self.integer(site, node, min, max),
            Shape::Word(words) => self.word(site, node, words),
            Shape::Texts => self.texts(site, node),
            Shape::TextMap => self.map_of(site, node, false),
            Shape::ScalarMap => self.map_of(site, node, true),
            Shape::Duration => self.duration(site, node),
            Shape::Mode => self.mode(site, node),
            Shape::Object(fields) => self.object(site, node, fields),
            Shape::Objects(fields) => self.objects(site, node, fields),
            Shape::Ref(class) => return self.reference(site, class, node),
            Shape::Refs(class) => self.references(site, class, node),
        };
        Some(Node::new(read.unwrap_or_else(|| node.value.clone()), node.at.clone()))
    }

    fn is_broken(&self, node: &Node) -> bool {
        (!self.broken.is_empty() && self.broken.contains(&node.at)) || node.text() == Some(REMOVED)
    }

    fn wrong<T>(&mut self, site: &Site<'_>, node: &Node, wanted: &str, help: impl Into<String>) -> Option<T> {
        let is = match &node.value {
            Value::Text(text) if !is_marker(text) => quote(text),
            Value::Int(_, text) | Value::Float(_, text) => quote(text),
            Value::Bool(b) => format!("the boolean {b}"),
            _ => node.describe().to_owned(),
        };
        let message = format!("{}: `{}` is {is} where {wanted} belongs", site.what, site.path);
        self.found.push(Diagnostic::error("wrong-type", message).at(&node.at).help(help));
        None
    }

    /// A value that decides something cannot be read from a marker.
    fn in_clear(&mut self, site: &Site<'_>, node: &Node) -> bool {
        if !node.text().is_some_and(is_marker) {
            return true;
        }
        let message = format!("{}: `{}` is encrypted, and only texts can be", site.what, site.path);
        self.found.push(Diagnostic::error("marker-place", message).at(&node.at).help("write the value in clear"));
        false
    }

    fn text(&mut self, site: &Site<'_>, node: &Node) -> Option<Value> {
        match &node.value {
            Value::Text(text) | Value::Int(_, text) => Some(Value::Text(text.clone())),
            Value::Float(_, text) => {
                if text.contains('.') && text.ends_with('0') {
                    let message = format!(
                        "{}: `{}` is the number {text}, whose last zero other readers drop",
                        site.what, site.path
                    );
                    self.found.push(
                        Diagnostic::warning("number-as-text", message)
                            .at(&node.at)
                            .help(format!("write \"{text}\", in quotes")),
                    );
                }
                Some(Value::Text(text.clone()))
            }
            Value::Bool(_) => self.wrong(
                site,
                node,
                "a text",
                "put it in quotes: without them, yes, no, on, off, true and false are booleans",
            ),
            _ => self.wrong(site, node, "a text", "write one text"),
        }
    }

    fn boolean(&mut self, site: &Site<'_>, node: &Node) -> Option<Value> {
        if !self.in_clear(site, node) {
            return None;
        }
        let read = match &node.value {
            Value::Bool(b) => Some(*b),
            Value::Text(text) => bool_word(text),
            Value::Int(0, _) => Some(false),
            Value::Int(1, _) => Some(true),
            _ => None,
        };
        match read {
            Some(b) => Some(Value::Bool(b)),
            None => self.wrong(site, node, "true or false", "write `true` or `false`"),
        }
    }

    fn integer(&mut self, site: &Site<'_>, node: &Node, min: i64, max: i64) -> Option<Value> {
        if !self.in_clear(site, node) {
            return None;
        }
        let (number, text) = match &node.value {
            Value::Int(number, text) => (Some(*number), text),
            Value::Text(text) if text.trim().trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) => {
                (text.trim().parse().ok(), text)
            }
            _ => return self.wrong(site, node, "a whole number", "write a whole number"),
        };
        match number {
            Some(number) if (min..=max).contains(&number) => Some(Value::Int(number, text.clone())),
            _ => {
                let bounds = match (min, max) {
                    (i64::MIN, i64::MAX) => "a whole number that fits 64 bits".to_owned(),
                    (min, i64::MAX) => format!("a whole number from {min}"),
                    (min, max) => format!("a whole number from {min} to {max}"),
                };
                self.wrong(site, node, &bounds, format!("write {bounds}"))
            }
        }
    }

    fn word(&mut self, site: &Site<'_>, node: &Node, words: &[&str]) -> Option<Value> {
        if !self.in_clear(site, node) {
            return None;
        }
        if let Value::Text(text) | Value::Int(_, text) = &node.value
            && words.contains(&text.as_str())
        {
            return Some(Value::Text(text.clone()));
        }
        let near = node.text().and_then(|text| self.names.nearest(text, words.iter().copied()));
        let help = near.map_or_else(|| "write one of them".to_owned(), |near| format!("write `{near}`"));
        self.wrong(site, node, &format!("one of {}", list(words.iter().copied())), help)
    }

    fn texts(&mut self, site: &Site<'_>, node: &Node) -> Option<Value> {
        let items = self.list(site, node, "texts")?;
        Some(Value::List(self.each(site, items, Reader::text)))
    }

    fn list<'n>(&mut self, site: &Site<'_>, node: &'n Node, of: &str) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            Value::Text(text) if text.chars().count() <= 40 && !is_marker(text) => {
                self.wrong(site, node, &format!("a list of {of}"), format!("write `[{text}]`"))
            }
            _ => self.wrong(site, node, &format!("a list of {of}"), "begin each element with `- `"),
        }
    }

    fn each(
        &mut self,
        site: &Site<'_>,
        items: &[Node],
        read: impl Fn(&mut Self, &Site<'_>, &Node) -> Option<Value>,
    ) -> Vec<Node> {
        let mut values = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let site = Site { what: site.what, path: format!("{}[{number}]", site.path) };
            let value = if self.is_broken(item) { None } else { read(self, &site, item) };
            values.push(Node::new(value.unwrap_or_else(|| item.value.clone()), item.at.clone()));
        }
        values
    }

    fn map_of(&mut self, site: &Site<'_>, node: &Node, scalars: bool) -> Option<Value> {
        let Some(entries) = node.map() else {
            return self.wrong(site, node, "a mapping", "write `key: value` lines below it");
        };
        let mut read = Vec::with_capacity(entries.len());
        for entry in entries {
            let site = Site { what: site.what, path: site.within(&entry.key) };
            let value = match &entry.value.value {
                _ if self.is_broken(&entry.value) => None,
                Value::Bool(_) | Value::Int(..) | Value::Float(..) | Value::Text(_) if scalars => None,
                _ => self.text(&site, &entry.value),
            };
            let value = Node::new(value.unwrap_or_else(|| entry.value.value.clone()), entry.value.at.clone());
            read.push(Entry { key: entry.key.clone(), at: entry.at.clone(), value });
        }
        Some(Value::Map(read))
    }

    fn duration(&mut self, site: &Site<'_>, node: &Node) -> Option<Value> {
        if !self.in_clear(site, node) {
            return None;
        }
        let valid = node.text().is_some_and(|text| {
            let number = text.strip_suffix(['m', 'h', 'd']).unwrap_or_default();
            !number.is_empty()
                && number.len() <= 6
                && number.bytes().all(|b| b.is_ascii_digit())
                && number.bytes().any(|b| b != b'0')
        });
        if valid {
            return Some(node.value.clone());
        }
        self.wrong(site, node, "a duration of at least one minute", "write a number and `m`, `h` or `d`, e.g. `45m`")
    }

    fn mode(&mut self, site: &Site<'_>, node: &Node) -> Option<Value> {
        if !self.in_clear(site, node) {
            return None;
        }
        match &node.value {
            Value::Int(number, _) if (0..=0o777).contains(number) => Some(Value::Text(format!("{number:04o}"))),
            Value::Text(text) if matches!(text.len(), 3 | 4) && text.bytes().all(|b| (b'0'..=b'7').contains(&b)) => {
                Some(Value::Text(format!("{text:0>4}")))
            }
            _ => self.wrong(site, node, "a file mode", "write three or four octal digits in quotes, e.g. \"0644\""),
        }
    }

    fn object(&mut self, site: &Site<'_>, node: &Node, fields: &'static [Field]) -> Option<Value> {
        if node.map().is_none() {
            return self.wrong(
                site,
                node,
                "a mapping",
                format!("write its fields below it: {}", list(fields.iter().map(|f| f.name))),
            );
        }
        Some(Value::Map(self.mapping(site, node, Table::new(fields), &[])))
    }

    fn objects(&mut self, site: &Site<'_>, node: &Node, fields: &'static [Field]) -> Option<Value> {
        let items = self.list(site, node, "mappings")?;
        Some(Value::List(self.each(site, items, |reader, site, item| reader.object(site, item, fields))))
    }

    fn reference(&mut self, site: &Site<'_>, class: Class, node: &Node) -> Option<Node> {
        if !self.in_clear(site, node) {
            return Some(node.clone());
        }
        let (Value::Text(text) | Value::Int(_, text) | Value::Float(_, text)) = &node.value else {
            self.wrong::<()>(site, node, &format!("the name of one {}", class.noun()), "write one name");
            return Some(node.clone());
        };
        if class == Class::StateBackend && text.trim().eq_ignore_ascii_case("default") {
            return None;
        }
        if let Some(name) = self.names.canonical(class, text) {
            return Some(Node::new(Value::Text(name.to_owned()), node.at.clone()));
        }
        let default = text.trim().eq_ignore_ascii_case("default");
        // A list without a single default was reported once, for itself.
        let told = default && Class::BUILDERS.contains(&class) && self.names.declared(class).next().is_some();
        if !told {
            self.names.report(class, site.what, &site.path, text, &node.at, self.found);
        }
        if default { None } else { Some(Node::new(Value::Text(csis_values::name::safe_name(text)), node.at.clone())) }
    }

    fn references(&mut self, site: &Site<'_>, class: Class, node: &Node) -> Option<Value> {
        let items = self.list(site, node, "names")?;
        let mut values = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            // Blank elements name nobody.
            if item.is_null() || item.text().is_some_and(|t| t.trim().is_empty()) || self.is_broken(item) {
                continue;
            }
            let site = Site { what: site.what, path: format!("{}[{number}]", site.path) };
            if item.text().is_some_and(|t| is_reserved(t) && t.trim().eq_ignore_ascii_case("default")) {
                self.names.report(class, site.what, &site.path, "none", &item.at, self.found);
                continue;
            }
            values.extend(self.reference(&site, class, item));
        }
        Some(Value::List(values))
    }
}

/// What to write behind a missing key.
fn example(field: &Field) -> String {
    match field.shape {
        Shape::Text | Shape::Ref(_) => " and a text".to_owned(),
        Shape::Bool => " and `true` or `false`".to_owned(),
        Shape::Int { .. } => " and a number".to_owned(),
        Shape::Word(words) => format!(" and one of {}", list(words.iter().copied())),
        Shape::Texts | Shape::Refs(_) | Shape::Objects(_) => " and a list".to_owned(),
        Shape::TextMap | Shape::ScalarMap | Shape::Object(_) => " and a mapping".to_owned(),
        Shape::Duration => " and a duration such as `45m`".to_owned(),
        Shape::Mode => " and a mode such as \"0644\"".to_owned(),
        Shape::Free => String::new(),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
