//! What a model may hold, and what an entry of the tree holds of it.
//!
//! A model is a table of [`Field`]s. One table serves the reader (types, unknown keys, required keys), the linker (references), the templates (which texts
//! are rendered), the JSON Schema and the format's documentation.

use crate::class::Class;
use crate::node::{Node, Value};
use crate::place::{Place, Spanned};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shape of a field's value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Text; a number is taken by its source text, a boolean is refused.
    Text,
    Bool,
    /// A whole number within the bounds; a digit string is accepted.
    Int {
        min: i64,
        max: i64,
    },
    /// One of the words.
    Word(&'static [&'static str]),
    /// A list of texts; neither a bare text nor a mapping.
    Texts,
    /// A mapping from text to text.
    TextMap,
    /// A mapping with values of any scalar type.
    ScalarMap,
    /// A duration: `<n>m`, `<n>h`, `<n>d`, at least one minute.
    Duration,
    /// A file mode: 3 or 4 octal digits as text, or a YAML octal integer.
    Mode,
    /// Anything: template data, or shapes the kind checks itself.
    Free,
    /// A mapping with the given fields.
    Object(&'static [Field]),
    /// A list of such mappings.
    Objects(&'static [Field]),
    /// The name or an alias of an entry of the class; `default` and absence mean the class's default entry.
    Ref(Class),
    /// A list of names or aliases; every one must exist.
    Refs(Class),
}

/// One field of a model.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    /// Whether texts in it are templates.
    pub templated: bool,
    /// One sentence for the schema and the documentation.
    pub doc: &'static str,
    /// The default as documentation shows it; empty when there is none.
    pub default: &'static str,
}

impl Field {
    pub const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Field { name, shape, required: false, templated: true, doc, default: "" }
    }

    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Texts in it are taken as written (script lines).
    #[must_use]
    pub const fn literal(mut self) -> Self {
        self.templated = false;
        self
    }
}

/// The fields an entry sets, read by its model: shapes hold, references are the canonical (safe) names, numbers given for texts are texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    pub at: Place,
    pub values: BTreeMap<String, Node>,
}

impl Fields {
    pub fn new(at: Place) -> Self {
        Fields { at, values: BTreeMap::new() }
    }

    /// The value unless absent or null.
    pub fn node(&self, key: &str) -> Option<&Node> {
        self.values.get(key).filter(|node| !node.is_null())
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.node(key)?.text()
    }

    pub fn spanned(&self, key: &str) -> Option<Spanned<String>> {
        let node = self.node(key)?;
        Some(Spanned::new(node.text()?.to_owned(), node.at.clone()))
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.node(key)?.value {
            Value::Bool(b) => Some(b),
            _ => None,
        }
    }

    pub fn int(&self, key: &str) -> Option<i64> {
        match self.node(key)?.value {
            Value::Int(i, _) => Some(i),
            _ => None,
        }
    }

    /// The texts of a list; empty when absent.
    pub fn texts(&self, key: &str) -> Vec<Spanned<String>> {
        let items = self.node(key).and_then(Node::list).unwrap_or_default();
        items.iter().filter_map(|n| Some(Spanned::new(n.text()?.to_owned(), n.at.clone()))).collect()
    }

    pub fn text_map(&self, key: &str) -> BTreeMap<String, String> {
        let entries = self.node(key).and_then(Node::map).unwrap_or_default();
        entries.iter().filter_map(|e| Some((e.key.clone(), e.value.text()?.to_owned()))).collect()
    }

    /// A nested object's fields.
    pub fn object(&self, key: &str) -> Option<Fields> {
        let node = self.node(key)?;
        node.map().map(|entries| Fields::from_entries(node.at.clone(), entries))
    }

    /// The fields of each mapping of a list.
    pub fn objects(&self, key: &str) -> Vec<Fields> {
        let items = self.node(key).and_then(Node::list).unwrap_or_default();
        items.iter().filter_map(|n| Some(Fields::from_entries(n.at.clone(), n.map()?))).collect()
    }

    /// Where the field is written, else where the entry is.
    pub fn place(&self, key: &str) -> &Place {
        self.values.get(key).map_or(&self.at, |node| &node.at)
    }

    fn from_entries(at: Place, entries: &[crate::node::Entry]) -> Self {
        Fields { at, values: entries.iter().map(|e| (e.key.clone(), e.value.clone())).collect() }
    }
}
