//! `csis schema`: JSON Schema for editors and for readers of the report.

use crate::outcome::{Exit, Outcome};
use csis_values::Diagnostic;
use serde_json::{Map, Value, json};

pub fn run(name: Option<&str>) -> Outcome {
    let all = all();
    let chosen = match name {
        None => Value::Object(all),
        Some(name) => {
            let Some(schema) = all.get(name) else {
                let names: Vec<&str> = all.keys().map(String::as_str).collect();
                return Outcome::usage(
                    Diagnostic::error("unknown-schema", format!("there is no schema `{name}`"))
                        .help(format!("name one of: {}", names.join(", "))),
                );
            };
            schema.clone()
        }
    };
    Outcome::new(Exit::Done).stdout(serde_json::to_string_pretty(&chosen).unwrap_or_default() + "\n")
}

/// By name: the models of the tree, and `report`.
fn all() -> Map<String, Value> {
    let mut schemas = Map::new();
    for (name, schema) in csis_tree::schemas() {
        schemas.insert(name, schema);
    }
    schemas.insert("report".into(), serde_json::from_str(csis_report::PLAN_SCHEMA).unwrap_or_else(|_| json!({})));
    schemas
}
