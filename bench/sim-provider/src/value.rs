//! Reading and writing the untyped values that the engine sends.

use std::collections::{BTreeMap, BTreeSet};

pub use tf_provider::value::ValueAny as Value;

/// The attributes and nested blocks of one object. A nested block is a list of objects under its name.
pub type Attrs = BTreeMap<String, Value>;

static NO_ITEMS: &[Value] = &[];

pub fn attrs(value: Value) -> Attrs {
    match value {
        Value::Map(map) => map,
        _ => Attrs::new(),
    }
}

pub fn object(value: &Value) -> Option<&Attrs> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

/// A known string that is not empty.
pub fn text<'a>(from: &'a Attrs, key: &str) -> Option<&'a str> {
    match from.get(key) {
        Some(Value::String(found)) if !found.is_empty() => Some(found),
        _ => None,
    }
}

pub fn text_or_empty(from: &Attrs, key: &str) -> String {
    text(from, key).unwrap_or_default().to_owned()
}

pub fn number(from: &Attrs, key: &str) -> Option<i64> {
    match from.get(key) {
        Some(Value::Number(found)) => Some(*found),
        _ => None,
    }
}

pub fn flag(from: &Attrs, key: &str) -> bool {
    matches!(from.get(key), Some(Value::Bool(true)))
}

pub fn items<'a>(from: &'a Attrs, key: &str) -> &'a [Value] {
    match from.get(key) {
        Some(Value::List(list)) => list,
        _ => NO_ITEMS,
    }
}

/// The one object of a block that appears at most once.
pub fn block<'a>(from: &'a Attrs, key: &str) -> Option<&'a Attrs> {
    items(from, key).first().and_then(object)
}

pub fn texts(from: &Attrs, key: &str) -> BTreeSet<String> {
    items(from, key)
        .iter()
        .filter_map(|item| match item {
            Value::String(found) => Some(found.clone()),
            _ => None,
        })
        .collect()
}

pub fn text_map(from: &Attrs, key: &str) -> BTreeMap<String, String> {
    let Some(Value::Map(map)) = from.get(key) else { return BTreeMap::new() };
    map.iter()
        .filter_map(|(key, value)| match value {
            Value::String(found) => Some((key.clone(), found.clone())),
            _ => None,
        })
        .collect()
}

pub fn string(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

pub fn strings<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Value {
    Value::List(values.into_iter().map(string).collect())
}

pub fn string_map(values: &BTreeMap<String, String>) -> Value {
    Value::Map(values.iter().map(|(key, value)| (key.clone(), string(value))).collect())
}

pub fn put(into: &mut Attrs, key: &str, value: Value) {
    into.insert(key.to_owned(), value);
}

pub fn put_text(into: &mut Attrs, key: &str, value: impl Into<String>) {
    into.insert(key.to_owned(), string(value));
}

/// Writes the text when there is one, null otherwise.
pub fn put_optional(into: &mut Attrs, key: &str, value: Option<String>) {
    into.insert(key.to_owned(), value.map_or(Value::Null, Value::String));
}

pub fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::List(list)) => list.is_empty(),
        Some(Value::Map(map)) => map.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

pub fn is_null(value: Option<&Value>) -> bool {
    matches!(value, None | Some(Value::Null))
}

pub fn is_unknown(from: &Attrs, key: &str) -> bool {
    matches!(from.get(key), Some(Value::Unknown))
}

pub fn has_unknown(value: &Value) -> bool {
    match value {
        Value::Unknown => true,
        Value::List(list) => list.iter().any(has_unknown),
        Value::Map(map) => map.values().any(has_unknown),
        _ => false,
    }
}

/// Turns what is still unknown after an apply into null: an applied object may hold no unknown.
pub fn settle(value: &mut Value) {
    match value {
        Value::Unknown => *value = Value::Null,
        Value::List(list) => list.iter_mut().for_each(settle),
        Value::Map(map) => map.values_mut().for_each(settle),
        _ => {}
    }
}

/// Equality that overlooks the order of lists: sets arrive as lists.
pub fn same(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::List(left)), Some(Value::List(right))) => {
            left.len() == right.len()
                && left.iter().all(|item| right.iter().any(|other| same(Some(item), Some(other))))
                && right.iter().all(|item| left.iter().any(|other| same(Some(item), Some(other))))
        }
        (Some(Value::Map(left)), Some(Value::Map(right))) => {
            left.len() == right.len() && left.iter().all(|(key, item)| same(Some(item), right.get(key)))
        }
        (left, right) => (is_null(left) && is_null(right)) || left == right,
    }
}

/// A short stable number of a text, for ids that the real provider derives by hashing.
pub fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_equal_in_any_order_and_counted() {
        let a = strings(["x", "y"]);
        assert!(same(Some(&a), Some(&strings(["y", "x"]))));
        assert!(!same(Some(&a), Some(&strings(["y"]))));
        assert!(!same(Some(&a), Some(&strings(["x", "x"]))));
    }

    #[test]
    fn an_absent_value_is_a_null() {
        assert!(same(None, Some(&Value::Null)));
        assert!(!same(None, Some(&Value::Unknown)));
    }
}
