//! JSON Schema of every file of a tree, for editors.

use crate::models::{CONFIG, DOCUMENT, FORGET, UPGRADE};
use csis_kinds::schema;
use csis_values::Class;
use serde_json::{Map, Value, json};

/// The schemas by name: `cfg` for any file of `cfg/`, one for the files of each collection folder, and `overlay`.
pub fn schemas() -> Vec<(String, Value)> {
    let mut schemas = vec![("cfg".to_owned(), schema::document("A file of cfg/", cfg()))];
    for (folder, classes) in crate::collections::FOLDERS {
        let title = format!("A file of {folder}/");
        schemas.push(((*folder).to_owned(), schema::document(&title, file(classes))));
    }
    schemas.push(("operations".to_owned(), schema::document("A file of operations/", operation())));
    schemas.push(("overlay".to_owned(), schema::document("An overlay", overlay())));
    schemas
}

fn config() -> Value {
    let mut config = schema::object(CONFIG);
    config["additionalProperties"] = true.into();
    for flag in ["apply_identity", "apply_storage", "apply_instances"] {
        let doc = config["properties"][flag]["description"].clone();
        let names = json!({ "type": "array", "items": { "type": "string" } });
        config["properties"][flag] =
            json!({ "anyOf": [{ "type": "boolean" }, { "type": "string" }, names], "description": doc });
    }
    config
}

fn cfg() -> Value {
    let mut document = schema::object(DOCUMENT);
    // Any file may hold any part of the document.
    if let Some(fields) = document.as_object_mut() {
        fields.remove("required");
    }
    document["properties"]["config"] = config();
    for class in std::iter::once(&Class::Executable).chain(Class::BUILDERS) {
        document["properties"][class.key()] = schema::list(*class);
    }
    document
}

fn file(classes: &[Class]) -> Value {
    let lists: Map<String, Value> =
        classes.iter().map(|class| (class.key().to_owned(), schema::list(*class))).collect();
    json!({ "type": "object", "properties": lists, "patternProperties": { r"^(x-|\.)": {} }, "additionalProperties": false })
}

fn operation() -> Value {
    let one = |key: &str, fields| json!({ "properties": { key: schema::object(fields) }, "required": [key] });
    let properties = json!({ "upgrade": {}, "forget": {} });
    json!({ "type": "object", "properties": properties, "oneOf": [one("upgrade", UPGRADE), one("forget", FORGET)],
        "patternProperties": { r"^(x-|\.)": {} }, "additionalProperties": false })
}

fn overlay() -> Value {
    let entries = json!({ "type": "array", "items": { "type": "object", "required": ["name"] } });
    let mut lists: Map<String, Value> =
        Class::COLLECTIONS.iter().map(|class| (class.key().to_owned(), entries.clone())).collect();
    lists.insert("config".into(), config());
    lists.insert("base_images".into(), json!({}));
    json!({ "type": "object", "properties": lists, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_tree_has_one() {
        let schemas = schemas();
        let names: Vec<&str> = schemas.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cfg", "groups", "storages", "images", "instances", "operations", "overlay"]);
        let cfg = &schemas[0].1["properties"];
        assert!(cfg["storage_builders"]["items"]["oneOf"].as_array().is_some_and(|kinds| kinds.len() >= 3));
        assert_eq!(cfg["config"]["additionalProperties"], true);
        assert!(schemas[1].1["properties"]["users"].is_object() && schemas[1].1["properties"]["groups"].is_object());
    }
}
