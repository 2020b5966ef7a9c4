//! What a consumer reads instead of its producer's state: an override beside its files and a small state with the producer's planned outputs.
//!
//! Both stand in the private working copy alone; the emission does not change.

use crate::materialise::{MaterialiseError, write_if_changed};
use crate::pending::Tokens;
use crate::plan::Outputs;
use crate::plan::json::{Json, quote};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Read by the engine after every other file of the folder.
const OVERRIDE: &str = "zz_csis_override.tf";

/// One producer's planned outputs as a consumer will find them: name to value, cty type and whether it is sensitive, all as JSON.
pub struct Stub {
    outputs: BTreeMap<String, StubOutput>,
}

struct StubOutput {
    value: String,
    kind: String,
    sensitive: bool,
}

impl Stub {
    /// A producer without a state, and without anything that this run will make.
    pub fn empty() -> Stub {
        Stub { outputs: BTreeMap::new() }
    }

    /// The planned outputs: what is known as it is, what only the apply will know as tokens.
    pub fn planned(producer: &str, outputs: &Outputs, tokens: &Tokens) -> Result<Stub, &'static str> {
        let mut stub = Stub::empty();
        for (name, output) in &outputs.0 {
            if output.action.iter().any(|action| action == "delete") && output.action.len() == 1 {
                continue;
            }
            let (after, unknown) = (output.after()?, output.after_unknown()?);
            let mut merge = Merge { producer, tokens, path: name.clone() };
            let value = merge.step(after.unwrap_or(Json::Null), unknown.as_ref());
            let sensitive = output.after_sensitive()?.is_some_and(|mark| mark.marks_any());
            let mut kind = String::new();
            type_of(&value, &mut kind);
            stub.outputs.insert(name.clone(), StubOutput { value: value.compact(), kind, sensitive });
        }
        Ok(stub)
    }

    fn state(&self) -> String {
        let mut text = String::from(
            "{\"version\":4,\"terraform_version\":\"1.6.0\",\"serial\":1,\"lineage\":\"csis-pending\",\"outputs\":{",
        );
        for (index, (name, output)) in self.outputs.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            quote(&mut text, name);
            let _ = write!(
                text,
                ":{{\"value\":{},\"type\":{},\"sensitive\":{}}}",
                output.value, output.kind, output.sensitive
            );
        }
        text.push_str("},\"resources\":[],\"check_results\":null}\n");
        text
    }
}

/// Lays the stubs of a root, by the label of its remote-state block.
pub fn lay(directory: &Path, stubs: &BTreeMap<String, Stub>) -> Result<(), MaterialiseError> {
    if stubs.is_empty() {
        return Ok(());
    }
    let mut body = hcl::Body::builder();
    for (label, stub) in stubs {
        let file = format!("csis-pending-{}.tfstate", csis_values::name::label(label));
        write_if_changed(&directory.join(&file), stub.state().as_bytes())?;
        let config = hcl::Expression::Object(hcl::expr::Object::from_iter([(
            hcl::ObjectKey::from("path"),
            hcl::Expression::from(file),
        )]));
        body = body.add_block(
            hcl::Block::builder("data")
                .add_labels(["terraform_remote_state", label.as_str()])
                .add_attribute(("backend", "local"))
                .add_attribute(("config", config))
                .build(),
        );
    }
    let text = hcl::to_string(&body.build()).unwrap_or_default();
    write_if_changed(&directory.join(OVERRIDE), text.as_bytes())
}

struct Merge<'a> {
    producer: &'a str,
    tokens: &'a Tokens,
    path: String,
}

impl Merge<'_> {
    fn step<'o>(&mut self, value: Json<'o>, unknown: Option<&Json<'o>>) -> Json<'o> {
        match (value, unknown) {
            (_, Some(Json::Bool(true))) => match self.tokens.for_output(self.producer, &self.path) {
                crate::pending::Token::Text(text) => Json::Text(text.into()),
                crate::pending::Token::Number(number) => Json::Number(number.to_string().into()),
            },
            (Json::Map(mut entries), Some(Json::Map(marks))) => {
                for (key, mark) in marks {
                    let length = self.path.len();
                    crate::plan::push_key(&mut self.path, key);
                    let at = entries.binary_search_by(|(name, _)| name.cmp(key));
                    let old = at.map_or(Json::Null, |at| std::mem::replace(&mut entries[at].1, Json::Null));
                    if at.is_ok() || mark.marks_any() {
                        let new = self.step(old, Some(mark));
                        match at {
                            Ok(at) => entries[at].1 = new,
                            Err(at) => entries.insert(at, (key.clone(), new)),
                        }
                    }
                    self.path.truncate(length);
                }
                Json::Map(entries)
            }
            (Json::List(items), Some(Json::List(marks))) => {
                let length = self.path.len();
                let count = items.len().max(marks.len());
                let mut items = items.into_iter();
                let merged = (0..count).map(|index| {
                    let _ = write!(self.path, "[{index}]");
                    let item = self.step(items.next().unwrap_or(Json::Null), marks.get(index));
                    self.path.truncate(length);
                    item
                });
                Json::List(merged.collect())
            }
            // The engine leaves out collections of which nothing is known yet.
            (Json::Null, Some(marks @ Json::Map(_))) if marks.marks_any() => {
                self.step(Json::Map(Vec::new()), Some(marks))
            }
            (Json::Null, Some(marks @ Json::List(_))) if marks.marks_any() => {
                self.step(Json::List(Vec::new()), Some(marks))
            }
            (value, _) => value,
        }
    }
}

/// The type that a state file names beside a value.
fn type_of(value: &Json<'_>, out: &mut String) {
    match value {
        Json::Null => out.push_str("\"dynamic\""),
        Json::Bool(_) => out.push_str("\"bool\""),
        Json::Number(_) => out.push_str("\"number\""),
        Json::Text(_) => out.push_str("\"string\""),
        Json::List(items) => {
            out.push_str("[\"tuple\",[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                type_of(item, out);
            }
            out.push_str("]]");
        }
        Json::Map(entries) => {
            out.push_str("[\"object\",{");
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(out, key);
                out.push(':');
                type_of(value, out);
            }
            out.push_str("}]");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Reading, Redactor, read};

    #[test]
    fn known_parts_stay_and_unknown_parts_become_tokens() {
        let text = r#"{"resource_changes":[],"output_changes":{
            "storage_data":{"actions":["update"],"before":null,"after":{"keys":{},"l":[null,"x"],"n":null,"size":12345678901234567890123},"after_unknown":{"keys":{"a b":true},"l":[true,false],"volume_id":true},"after_sensitive":false},
            "s":{"actions":["no-op"],"before":"hush","after":"hush","after_unknown":false,"after_sensitive":true},
            "w":{"actions":["create"],"before":null,"after":null,"after_unknown":true,"after_sensitive":false},
            "gone":{"actions":["delete"],"before":"x","after":null,"after_unknown":false}}}"#;
        let tokens = Tokens::new("e");
        let redactor = Redactor::default();
        let (_, outputs) =
            read(text.as_bytes(), Reading { source: "p", redactor: &redactor, tokens: None, ours: true });
        let stub = Stub::planned("storage/volumes", &outputs, &tokens).unwrap();
        let token = |path: &str| tokens.for_output("storage/volumes", path).to_string();
        let data = format!(
            "{{\"keys\":{{\"a b\":\"{}\"}},\"l\":[\"{}\",\"x\"],\"n\":null,\"size\":12345678901234567890123,\"volume_id\":\"{}\"}}",
            token("storage_data.keys[\"a b\"]"),
            token("storage_data.l[0]"),
            token("storage_data.volume_id"),
        );
        assert_eq!(stub.outputs["storage_data"].value, data);
        assert_eq!(stub.outputs["w"].value, format!("\"{}\"", token("w")));
        assert_eq!(
            stub.outputs["storage_data"].kind,
            r#"["object",{"keys":["object",{"a b":"string"}],"l":["tuple",["string","string"]],"n":"dynamic","size":"number","volume_id":"string"}]"#
        );
        assert!(stub.outputs["s"].sensitive && !stub.outputs.contains_key("gone"));
        assert!(serde_json::from_str::<serde_json::Value>(&stub.state()).is_ok());
    }

    #[test]
    fn the_override_points_each_label_at_its_stub() {
        let folder = tempfile::tempdir().unwrap();
        lay(folder.path(), &BTreeMap::from([("volumes".to_owned(), Stub::empty())])).unwrap();
        let text = std::fs::read_to_string(folder.path().join(OVERRIDE)).unwrap();
        assert!(
            text.contains("data \"terraform_remote_state\" \"volumes\"") && text.contains("backend = \"local\""),
            "{text}"
        );
        assert!(
            text.contains("csis-pending-volumes.tfstate")
                && folder.path().join("csis-pending-volumes.tfstate").is_file()
        );
    }
}
