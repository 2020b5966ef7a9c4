//! JSON Schema (draft 2020-12) from the tables of fields, for editors.
//!
//! A schema is a help while writing; the judge is csis. Where a value may be a template or an encrypted marker the schema lets the text pass.

use crate::registry::{self, REGISTRY, Registered};
use csis_values::Class;
use csis_values::fields::{Field, Shape};
use serde_json::{Map, Value, json};

/// A whole schema for one model.
pub fn model(title: &str, fields: &[Field]) -> Value {
    document(title, object(fields))
}

/// A schema with its head.
pub fn document(title: &str, schema: Value) -> Value {
    let mut head = Map::new();
    head.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    head.insert("title".into(), title.into());
    if let Value::Object(rest) = schema {
        head.extend(rest);
    }
    Value::Object(head)
}

/// The schema of one entry of a class: its common fields with those of its type, for each type.
pub fn entry(class: Class) -> Value {
    let common = registry::common_fields(class);
    let kinds: Vec<Value> = REGISTRY
        .iter()
        .map(Registered::kind)
        .filter(|k| k.class() == class)
        .map(|kind| typed(common, kind.name(), kind.fields()))
        .collect();
    match (class, kinds.len()) {
        (Class::Image, _) => image(common),
        (_, 0) => object(common),
        _ => json!({ "oneOf": kinds }),
    }
}

/// The schema of a class's list.
pub fn list(class: Class) -> Value {
    json!({ "type": "array", "items": entry(class) })
}

fn typed(common: &[Field], word: &str, own: &[Field]) -> Value {
    let mut schema = object(&[common, own].concat());
    schema["properties"]["type"] = json!({ "const": word });
    schema
}

/// An image, whose modifications are of any registered type.
fn image(fields: &[Field]) -> Value {
    let mut schema = object(fields);
    let common = registry::modification_fields();
    let items: Vec<Value> = REGISTRY
        .iter()
        .filter_map(|registered| match registered {
            Registered::Modification(kind) => Some(object(&[common, kind.item_fields()].concat())),
            _ => None,
        })
        .collect();
    schema["properties"]["modifications"]["items"] = json!({ "anyOf": items });
    schema["properties"]["modifications"]["type"] = "array".into();
    schema
}

/// A mapping with the given fields and no others.
pub fn object(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<&str> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn property(field: &Field) -> Value {
    let value = shape(&field.shape);
    let mut schema = if field.required { value } else { or_null(value) };
    schema["description"] = field.doc.into();
    if let Some(default) = default(field) {
        schema["default"] = default;
    }
    schema
}

fn or_null(schema: Value) -> Value {
    if schema == json!({}) {
        return schema;
    }
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A text that another stage makes a value of: a template, or a marker.
fn later() -> Value {
    json!({ "type": "string", "pattern": r"\{\{|\{%|^ENC\[" })
}

fn or_later(schema: &Value) -> Value {
    json!({ "anyOf": [schema, later()] })
}

fn shape(shape: &Shape) -> Value {
    let text = || json!({ "type": ["string", "number"] });
    match shape {
        Shape::Text | Shape::Ref(_) => text(),
        Shape::Bool => or_later(&json!({ "type": "boolean" })),
        Shape::Int { min, max } => {
            let mut number = json!({ "type": "integer", "minimum": min });
            if *max != i64::MAX {
                number["maximum"] = (*max).into();
            }
            json!({ "anyOf": [number, { "type": "string", "pattern": "^[0-9]+$" }, later()] })
        }
        Shape::Word(words) => {
            let numbers: Vec<Value> = words.iter().filter_map(|w| w.parse::<i64>().ok()).map(Value::from).collect();
            let all: Vec<Value> = words.iter().map(|w| Value::from(*w)).chain(numbers).collect();
            or_later(&json!({ "enum": all }))
        }
        Shape::Texts | Shape::Refs(_) => json!({ "type": "array", "items": text() }),
        Shape::TextMap => json!({ "type": "object", "additionalProperties": text() }),
        Shape::ScalarMap => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
        }
        Shape::Duration => or_later(&json!({ "type": "string", "pattern": "^[1-9][0-9]*[mhd]$" })),
        Shape::Mode => json!({ "anyOf": [{ "type": "string", "pattern": "^[0-7]{3,4}$" }, { "type": "integer" }] }),
        Shape::Free => json!({}),
        Shape::Object(fields) => object(fields),
        Shape::Objects(fields) => json!({ "type": "array", "items": object(fields) }),
    }
}

/// The default as a value; what the documentation says in words has none.
fn default(field: &Field) -> Option<Value> {
    let written = field.default;
    match (&field.shape, written) {
        (_, "") | (Shape::Ref(_), _) => None,
        (_, "{}") => Some(json!({})),
        (_, "[]") => Some(json!([])),
        (Shape::Bool, _) => Some(Value::Bool(written == "true")),
        (Shape::Int { .. }, _) => written.parse::<i64>().ok().map(Value::from),
        (Shape::Text | Shape::Word(_) | Shape::Mode | Shape::Duration, _) => Some(written.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::new("name", Shape::Text, "The name.").required(),
        Field::new("mode", Shape::Word(&["2770", "2775"]), "The mode.").default("2770"),
        Field::new("days", Shape::Int { min: 1, max: 9 }, "Days."),
        Field::new("inner", Shape::Objects(&[Field::new("flag", Shape::Bool, "A flag.").default("true")]), "More."),
    ];

    #[test]
    fn a_table_becomes_a_schema() {
        let schema = model("Thing", FIELDS);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["required"], json!(["name"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["name"], json!({ "type": ["string", "number"], "description": "The name." }));
        assert_eq!(schema["properties"]["mode"]["anyOf"][0]["anyOf"][0]["enum"], json!(["2770", "2775", 2770, 2775]));
        assert_eq!(
            schema["properties"]["days"]["anyOf"][0]["anyOf"][0],
            json!({ "type": "integer", "minimum": 1, "maximum": 9 })
        );
        let flag = &schema["properties"]["inner"]["anyOf"][0]["items"]["properties"]["flag"];
        assert_eq!((&flag["default"], &flag["description"]), (&json!(true), &json!("A flag.")));
    }

    #[test]
    fn every_class_has_a_schema_and_every_type_is_in_it() {
        for class in Class::BUILDERS {
            let schema = list(*class).to_string();
            for name in registry::names(*class) {
                assert!(schema.contains(&format!("{{\"const\":\"{name}\"}}")), "{class}: {name}");
            }
        }
        for class in Class::COLLECTIONS {
            assert_eq!(list(*class)["items"]["required"][0], "name", "{class}");
        }
        assert!(list(Class::Image).to_string().contains("playbooks"));
    }

    #[test]
    fn no_table_has_a_field_twice_and_every_field_is_explained() {
        fn judge(model: &str, fields: &[Field]) {
            for (position, field) in fields.iter().enumerate() {
                let whole = format!("{model}.{}", field.name);
                assert!(fields[..position].iter().all(|f| f.name != field.name), "{whole} is there twice");
                assert!(field.doc.ends_with('.') && field.doc.len() > 8, "{whole}: {}", field.doc);
                if let Shape::Object(inner) | Shape::Objects(inner) = field.shape {
                    judge(&whole, inner);
                }
            }
        }
        for class in Class::COLLECTIONS.iter().chain([&Class::Executable]) {
            judge(class.key(), registry::common_fields(*class));
        }
        for kind in REGISTRY.iter().map(Registered::kind) {
            judge(kind.name(), &[registry::common_fields(kind.class()), kind.fields()].concat());
        }
        for registered in REGISTRY {
            if let Registered::Modification(kind) = registered {
                judge(kind.name(), &[registry::modification_fields(), kind.item_fields()].concat());
            }
        }
    }
}
