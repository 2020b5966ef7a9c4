//! YAML with positions: what a file says before anything is read into types.

use crate::place::Place;
use serde::{Deserialize, Serialize};

/// A value of a YAML document and where it stands.
///
/// An encrypted value (`ENC[age:…]`) stays its marker text here and in everything made from it: the emission shows the ciphertext, and a plaintext never
/// enters the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub value: Value,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Null,
    Bool(bool),
    /// The number and its source text (`24.10`, `0644`), which is what a text field takes.
    Int(i64, String),
    Float(f64, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping, where it stands, and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub key: String,
    pub at: Place,
    pub value: Node,
}

impl Node {
    pub fn new(value: Value, at: Place) -> Self {
        Node { value, at }
    }

    /// "a list", "a text": for messages.
    pub fn describe(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Int(..) => "an integer",
            Value::Float(..) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.map()?.iter().find(|entry| entry.key == key)
    }

    /// The value without positions, for hashing and templates; keys in document order.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => (*b).into(),
            Value::Int(i, _) => (*i).into(),
            Value::Float(f, _) => {
                serde_json::Number::from_f64(*f).map_or(serde_json::Value::Null, serde_json::Value::Number)
            }
            Value::Text(s) => s.clone().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => {
                entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect::<serde_json::Map<_, _>>().into()
            }
        }
    }
}
