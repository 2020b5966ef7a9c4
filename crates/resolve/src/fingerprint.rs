//! What a build is made from, as one hash.
//!
//! There is one shape and one function, for deciding and for recording. Hashed are the declarations: tests as data, modifications with the content of
//! their files. Not hashed: machine types, sessions, users, run ids, times, and what a vendor query finds today.

use csis_kinds::{StorageKind, registry};
use csis_values::fields::Fields;
use csis_values::records::Build;
use csis_values::tree::{Builder, Image, Tree};
use csis_values::{Class, sha256};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What a base image may log in with and mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub identity_types: Vec<String>,
    pub storage_types: Vec<String>,
}

impl Capabilities {
    /// As declared by the OS builder; storage types without a storage builder on the runtime do not count.
    pub(crate) fn declared(tree: &Tree, os: &Builder, runtime: &str) -> Capabilities {
        let served: Vec<&str> = tree
            .builders_of(Class::StorageBuilder)
            .filter(|b| b.runtime.as_ref().is_some_and(|r| r.value == runtime))
            .filter_map(|b| registry::storage(b).map(StorageKind::capability))
            .collect();
        let words = |key| sorted(os.fields.texts(key).iter().map(|t| t.trim().to_lowercase()).collect());
        Capabilities {
            identity_types: words("identity_types"),
            storage_types: words("storage_types").into_iter().filter(|t| served.contains(&t.as_str())).collect(),
        }
    }

    /// As recorded with a build; none when the build carries no stamp.
    pub(crate) fn stamped(build: &Build) -> Option<Capabilities> {
        build.stamped.then(|| Capabilities {
            identity_types: sorted(build.identity_types.clone()),
            storage_types: sorted(build.storage_types.clone()),
        })
    }
}

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words.dedup();
    words
}

/// A base image on a runtime.
pub(crate) fn base(tree: &Tree, os: &Builder, entry: &Fields, runtime: &Builder) -> String {
    let fields = &os.fields;
    let tests = entry.node("tests").or_else(|| fields.node("tests"));
    let keys: Vec<_> = match fields.node("admin_public_keys") {
        Some(_) => fields.texts("admin_public_keys").into_iter().map(|k| k.value).collect(),
        None => tree.config.admin_public_keys.iter().map(|k| k.value.clone()).collect(),
    };
    let disk = runtime
        .fields
        .node("default_disk_size")
        .or_else(|| entry.node("default_primary_disk_size"))
        .or_else(|| fields.node("default_primary_disk_size"));
    hash(&json!({
        "series": os.name.safe,
        "parent": "vendor",
        "capabilities": capabilities(&Capabilities::declared(tree, os, &runtime.name.safe)),
        "mods": [],
        "tests": tests.map(csis_values::Node::to_json),
        "disk_size": disk.map(csis_values::Node::to_json),
        "vendor": {
            "type": os.kind,
            "family": fields.text("family"),
            "family_version": fields.text("family_version"),
            "architecture": fields.text("architecture"),
            "query": fields.node("query").map(csis_values::Node::to_json),
            "runtime_source": {
                "image_id": entry.text("image_id"),
                "image_name": null,
                "query": entry.node("query").map(csis_values::Node::to_json),
            },
        },
        "admin_user": fields.text("admin_user"),
        "admin_public_keys": keys,
        "update": fields.node("update").map(csis_values::Node::to_json),
        "auto_update": [fields.flag("auto_update"), entry.flag("auto_update")],
    }))
}

/// An image on a runtime; `parent` is the parent's fingerprint.
pub(crate) fn image(
    tree: &Tree,
    image: &Image,
    runtime: Option<&Builder>,
    parent: &str,
    stamp: &Capabilities,
) -> String {
    let modifications: Vec<_> = image
        .modifications
        .iter()
        .map(|m| {
            let kind = tree.builder(Class::ModBuilder, &m.builder).and_then(registry::modification);
            json!({
                "name": m.name.safe,
                "type": m.kind,
                "idempotence": kind.map(|k| k.idempotence(&m.fields)),
                "content": kind.map(|k| k.content(&m.fields, &tree.files)),
                "config": m.fields.node("config").map(csis_values::Node::to_json),
            })
        })
        .collect();
    let disk = runtime.and_then(|r| r.fields.int("default_disk_size")).unwrap_or(image.primary_disk_size);
    hash(&json!({
        "series": image.name.safe,
        "parent": parent,
        "capabilities": capabilities(stamp),
        "mods": modifications,
        "tests": image.fields.node("tests").map(csis_values::Node::to_json),
        "disk_size": disk,
    }))
}

fn capabilities(of: &Capabilities) -> Value {
    json!({"identity_types": of.identity_types, "storage_types": of.storage_types})
}

/// SHA-256 of compact JSON with sorted keys, whatever order the map type keeps.
fn hash(value: &Value) -> String {
    let mut text = String::new();
    canonical(value, &mut text);
    sha256(text)
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => canonical_map(map, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

fn canonical_map(map: &Map<String, Value>, out: &mut String) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    out.push('{');
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", Value::from(key.as_str()));
        canonical(value, out);
    }
    out.push('}');
}

/// The first twelve characters, as reports show a fingerprint.
pub(crate) fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}
