//! What of a change widens its *reach*: code, places and identities that its plans would use, beside what it declares.
//!
//! Such a change is planned without credentials until a code owner allows that very commit, since planning it already runs what it names.

use csis_kinds::head::plugin_source;
use csis_values::tree::{Builder, Tree};
use csis_values::{Class, Diagnostic, Severity};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// What of a runtime says where calls go and who makes them.
const OF_RUNTIMES: &[&str] =
    &["account_id", "region", "credentials", "endpoint", "endpoints", "profile_name", "allowed_account_ids", "proxy"];
/// What of any builder says how its code is run.
const OF_BUILDERS: &[&str] = &["args", "prepended_arguments"];
/// Where a builder lists the providers and plugins that it fetches.
const PLUGINS: &str = "required_plugins";
/// Findings about files that hold code.
const CODE: &[&str] = &["modules-changed", "provider-locks-changed"];

/// In words, each the end of `it changes …`; none for a change that stays within what its tree declares.
pub fn of(base: &Tree, head: &Tree, findings: &[Diagnostic], workflows: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let executables = |tree: &Tree| tree.executables.iter().map(bare).collect::<Vec<_>>();
    if executables(base) != executables(head) {
        found.push("`executables`".to_owned());
    }
    if base.config.module_source_base.value != head.config.module_source_base.value {
        found.push("where modules come from".to_owned());
    }
    for builder in &head.builders {
        let before = base.builders.iter().find(|b| b.class == builder.class && b.name.safe == builder.name.safe);
        if widens(before, builder) {
            found.push(format!("{} `{}`", builder.class.noun(), builder.name.written));
        }
    }
    let known = sources(base);
    found.extend(sources(head).difference(&known).map(|source| format!("the plugin source `{source}`")));
    let is_code = |f: &&Diagnostic| f.severity <= Severity::Warning && CODE.contains(&f.code.as_ref());
    found.extend(findings.iter().filter(is_code).map(|f| match f.code.as_ref() {
        "modules-changed" => "the code of modules".to_owned(),
        _ => "which providers are run".to_owned(),
    }));
    if !workflows.is_empty() {
        found.push("workflows".to_owned());
    }
    found.sort();
    found.dedup();
    found
}

fn widens(before: Option<&Builder>, builder: &Builder) -> bool {
    if builder.class == Class::StateBackend {
        return before.map(bare) != Some(bare(builder));
    }
    let keys = if builder.class == Class::Runtime { [OF_RUNTIMES, OF_BUILDERS].concat() } else { OF_BUILDERS.to_vec() };
    // A new entry of the tree is what changes are for, unless it brings a place, an identity or code of its own.
    let part = |b: &Builder| -> Vec<Option<Value>> {
        let whole = bare(b);
        keys.iter().map(|key| named(&whole, key)).collect()
    };
    let (old, new) = (before.map(&part), part(builder));
    let executable = |b: &Builder| b.executable.as_ref().map(|e| e.value.clone());
    old.unwrap_or_else(|| vec![None; keys.len()]) != new
        || before.is_some_and(|b| executable(b) != executable(builder) || b.kind != builder.kind)
}

/// Every source of a provider or plugin that a tree names, as the emission takes it.
fn sources(tree: &Tree) -> BTreeSet<String> {
    let plugins = tree.builders.iter().flat_map(|builder| builder.fields.objects(PLUGINS));
    plugins.filter_map(|plugin| plugin_source(&plugin)).collect()
}

/// A value without the places that its parts were written at.
fn bare(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("at");
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The value of a field, wherever an entry keeps it.
fn named(entry: &Value, key: &str) -> Option<Value> {
    match entry {
        Value::Object(map) => {
            if let Some(found) = map.get(key) {
                return Some(found.clone());
            }
            if map.get("key").and_then(Value::as_str) == Some(key) {
                return map.get("value").cloned();
            }
            map.values().find_map(|inner| named(inner, key))
        }
        Value::Array(list) => list.iter().find_map(|inner| named(inner, key)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn harbor(edit: impl Fn(&str, String) -> String) -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbor");
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                    let text = String::from_utf8_lossy(&fs_err::read(&path).unwrap()).into_owned();
                    files.insert(name.clone(), edit(&name, text).into_bytes());
                }
            }
        }
        let request = csis_values::request::Request::default();
        let loaded =
            csis_tree::load(&csis_tree::Memory::new(files), &request, &csis_tree::Identities::new(&[] as &[String]));
        loaded.unwrap().tree.unwrap()
    }

    fn changed(from: &str, to: &str) -> Vec<String> {
        let base = harbor(|_, text| text);
        let head = harbor(|_, text| text.replacen(from, to, 1));
        let differs = serde_json::to_value(&base).unwrap() != serde_json::to_value(&head).unwrap();
        assert!(differs, "`{from}` is in no file of harbor");
        of(&base, &head, &[], &[])
    }

    #[test]
    fn what_a_tree_declares_stays_within_its_reach() {
        assert_eq!(changed("\n", "\n# moved down\n\n"), Vec::<String>::new(), "places do not count");
        assert_eq!(changed("    size: 50", "    size: 51"), Vec::<String>::new());
    }

    #[test]
    fn code_places_and_identities_widen_it() {
        assert_eq!(changed("    region: us-west-2", "    region: us-east-1"), ["runtime `aws-west`"]);
        assert_eq!(changed("bucket: harbor-state,", "bucket: other,"), ["state backend `state-main`"]);
        assert_eq!(changed("source: github.com/hashicorp/amazon", "source: github.com/evil/amazon").len(), 1);
        assert_eq!(
            changed("    type: tf-aws-efs\n", "    type: tf-aws-efs\n    required_plugins: [{name: external}]\n"),
            ["the plugin source `hashicorp/external`"]
        );
        assert_eq!(changed("binary: tofu", "binary: ./evil"), ["`executables`"]);
        let tree = harbor(|_, text| text);
        let module = Diagnostic::warning("modules-changed", "x");
        let carried = Diagnostic::note("modules-changed", "x");
        assert_eq!(of(&tree, &tree, &[module, carried], &[]), ["the code of modules"]);
        assert_eq!(of(&tree, &tree, &[], &[".github/workflows/x.yml".into()]), ["workflows"]);
    }
}
