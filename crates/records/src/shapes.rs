//! Reading a document of records by shape: a value is there and right, absent, or an error with its place.

use csis_values::node::{Entry, Node, Value};
use csis_values::{Diagnostic, Diagnostics, Place};

/// Collects what is wrong while one file is read.
pub(crate) struct Shapes<'f> {
    pub file: &'f str,
    pub found: &'f mut Diagnostics,
}

impl Shapes<'_> {
    pub fn wrong(&mut self, at: &Place, what: &str) {
        let file = self.file;
        let error = Diagnostic::error("record-shape", format!("the record `{file}` cannot be trusted: {what}")).at(at);
        self.found.push(
            error.help(format!(
                "restore `{file}` from the last commit that landed; records are written by landings alone"
            )),
        );
    }

    fn expected(&mut self, node: &Node, path: &str, wanted: &str) {
        self.wrong(&node.at, &format!("`{path}` is {}, where {wanted} belongs", node.describe()));
    }

    /// The entries of a mapping; none when absent or null.
    pub fn map<'n>(&mut self, node: Option<&'n Node>, path: &str) -> &'n [Entry] {
        match node {
            Some(node) if !node.is_null() => node.map().unwrap_or_else(|| {
                self.expected(node, path, "a mapping");
                &[]
            }),
            _ => &[],
        }
    }

    /// The mapping's entries whose values are mappings themselves, each with its path.
    pub fn entries<'n>(&mut self, node: Option<&'n Node>, path: &str) -> Vec<(&'n str, &'n Node, String)> {
        let mut entries = Vec::new();
        for entry in self.map(node, path) {
            let path = format!("{path}.{}", entry.key);
            if entry.value.map().is_some() {
                entries.push((entry.key.as_str(), &entry.value, path));
            } else {
                self.expected(&entry.value, &path, "a mapping");
            }
        }
        entries
    }

    /// The items of a list of mappings, each with its path.
    pub fn items<'n>(&mut self, node: Option<&'n Node>, path: &str) -> Vec<(&'n Node, String)> {
        let mut items = Vec::new();
        for (index, item) in self.list(node, path).iter().enumerate() {
            let path = format!("{path}[{index}]");
            if item.map().is_some() {
                items.push((item, path));
            } else {
                self.expected(item, &path, "a mapping");
            }
        }
        items
    }

    pub fn list<'n>(&mut self, node: Option<&'n Node>, path: &str) -> &'n [Node] {
        match node {
            Some(node) if !node.is_null() => node.list().unwrap_or_else(|| {
                self.expected(node, path, "a list");
                &[]
            }),
            _ => &[],
        }
    }

    /// A text; a number counts by its source text.
    fn as_text(&mut self, node: &Node, path: &str) -> Option<String> {
        match &node.value {
            Value::Text(text) | Value::Int(_, text) | Value::Float(_, text) => Some(text.clone()),
            _ => {
                self.expected(node, path, "a text");
                None
            }
        }
    }

    pub fn text(&mut self, of: &Node, key: &str, path: &str) -> Option<String> {
        let node = of.get(key).filter(|node| !node.is_null())?;
        self.as_text(node, &format!("{path}.{key}"))
    }

    /// A text that a record without it makes no sense.
    pub fn required(&mut self, of: &Node, key: &str, path: &str) -> Option<String> {
        if of.get(key).is_none_or(Node::is_null) {
            self.wrong(&of.at, &format!("`{path}` has no `{key}`"));
            return None;
        }
        self.text(of, key, path).and_then(|text| {
            if text.trim().is_empty() {
                self.wrong(&of.at, &format!("`{path}.{key}` is blank"));
                return None;
            }
            Some(text)
        })
    }

    pub fn texts(&mut self, of: &Node, key: &str, path: &str) -> Vec<String> {
        let path = format!("{path}.{key}");
        self.list(of.get(key), &path).iter().filter_map(|node| self.as_text(node, &path)).collect()
    }

    /// A mapping from names to texts; null values count as absent.
    pub fn text_map<'n>(&mut self, node: Option<&'n Node>, path: &str) -> Vec<(&'n str, String)> {
        let mut texts = Vec::new();
        for entry in self.map(node, path).iter().filter(|entry| !entry.value.is_null()) {
            if let Some(text) = self.as_text(&entry.value, &format!("{path}.{}", entry.key)) {
                texts.push((entry.key.as_str(), text));
            }
        }
        texts
    }

    pub fn flag(&mut self, of: &Node, key: &str, path: &str) -> Option<bool> {
        let node = of.get(key).filter(|node| !node.is_null())?;
        if let Value::Bool(flag) = node.value {
            return Some(flag);
        }
        self.expected(node, &format!("{path}.{key}"), "`true` or `false`");
        None
    }

    pub fn count<N: TryFrom<i64>>(&mut self, of: &Node, key: &str, path: &str) -> Option<N> {
        let node = of.get(key).filter(|node| !node.is_null())?;
        if let Value::Int(number, _) = node.value
            && let Ok(number) = N::try_from(number)
        {
            return Some(number);
        }
        self.expected(node, &format!("{path}.{key}"), "a whole number from 0");
        None
    }
}
