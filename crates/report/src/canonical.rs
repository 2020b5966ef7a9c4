//! JSON with one spelling: keys sorted, whatever order the values were built in.

use serde_json::Value;

/// Compact JSON with the keys of every object sorted by their bytes. Equal values give equal bytes.
pub fn compact(value: &Value) -> String {
    sorted(value).to_string()
}

/// The same, indented by two spaces and ended by a newline.
pub fn pretty(value: &Value) -> String {
    let mut text = format!("{:#}", sorted(value));
    text.push('\n');
    text
}

/// `serde_json` keeps insertion order when another crate of the build asks for it, so the order is made here.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        assert_eq!(compact(&json!({"b": [{"z": 1, "a": 2}], "a": null})), r#"{"a":null,"b":[{"a":2,"z":1}]}"#);
    }
}
