//! What the modification builders share: the content that a fingerprint hashes.

use csis_values::Spanned;
use csis_values::fields::Fields;
use csis_values::tree::TreeFile;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The type and the declared data of an item.
pub(crate) fn content_of(kind: &str, item: &Fields) -> Map<String, Value> {
    let mut content = Map::new();
    content.insert("type".into(), kind.into());
    if let Some(config) = item.node("config") {
        content.insert("config".into(), config.to_json());
    }
    content
}

/// Each file by its path with what it holds; a file that is not there has no content.
pub(crate) fn file_contents(named: &[Spanned<String>], files: &BTreeMap<String, TreeFile>) -> Value {
    named
        .iter()
        .map(|path| json!({ "path": path.value, "sha256": files.get(&path.value).map(|f| &f.sha256) }))
        .collect()
}
