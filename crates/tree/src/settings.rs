//! The document's own settings and the recognised keys of `config:`.

use crate::arena::Table;
use crate::models::{CONFIG, DOCUMENT};
use crate::names::Names;
use crate::read::Reader;
use crate::words::{list, nearest, quote};
use csis_kinds::public_key;
use csis_values::fields::{Field, Fields};
use csis_values::node::Entry;
use csis_values::tree::{Apply, ApplyFlag, Config};
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Spanned, Value};
use std::collections::HashSet;

pub(crate) struct Settings {
    pub id: Spanned<String>,
    pub config_tag: String,
    pub generation_directory: String,
    pub dateformat: String,
    pub gitignore: Vec<String>,
    pub config: Config,
}

/// Folders that are the tree itself; an emission there would wipe them.
const OWN_FOLDERS: &[&str] = &[
    "cfg",
    "groups",
    "storages",
    "images",
    "instances",
    "base_images",
    "meta-state",
    "operations",
    "overlays",
    "_private",
    ".git",
    "playbooks",
    "scripts",
    "tfmodules",
];

pub(crate) const DATEFORMAT: &str = "%Y%m%d_%H%M%S";

/// `document` is the document without its lists, rendered; `whole` when every file of it was read.
pub(crate) fn read(document: &Node, whole: bool, reader: &mut Reader<'_>, config_read: &HashSet<String>) -> Settings {
    let config_node =
        document.get("config").cloned().unwrap_or_else(|| Node::new(Value::Map(Vec::new()), document.at.clone()));
    let mut own: Vec<_> = document.map().unwrap_or_default().iter().filter(|e| e.key != "config").cloned().collect();
    own.retain(|e| DOCUMENT.iter().any(|f| f.name == e.key));
    if !whole && document.get("id").is_none() {
        // It may well stand in the file that could not be read.
        let at = document.at.clone();
        own.push(Entry { key: "id".into(), at: at.clone(), value: Node::new(Value::Text(String::new()), at) });
    }
    let node = Node::new(Value::Map(own), document.at.clone());
    let fields = reader.entry("the document", &node, Table::new(DOCUMENT), &[]);
    let config = read_config(config_node, reader, config_read);
    let id = fields.spanned("id").unwrap_or_else(|| Spanned::new(String::new(), fields.at.clone()));
    if whole && id.trim().is_empty() && fields.values.contains_key("id") {
        reader.found.push(
            Diagnostic::error("missing-field", "the document's `id` is blank")
                .at(&id.at)
                .help("give the configuration a name"),
        );
    }
    Settings {
        config_tag: config_tag(&id),
        generation_directory: generation_directory(&fields, reader.found),
        dateformat: fields.text("dateformat").unwrap_or(DATEFORMAT).to_owned(),
        gitignore: fields.texts("gitignore").into_iter().map(|s| s.value).collect(),
        id,
        config,
    }
}

fn config_tag(id: &str) -> String {
    id.to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') { c } else { '-' })
        .take(63)
        .collect()
}

fn generation_directory(fields: &Fields, found: &mut Diagnostics) -> String {
    const DEFAULT: &str = "generated";
    let Some(written) = fields.spanned("generation_directory") else { return DEFAULT.into() };
    let refused = match crate::files::inside(&written) {
        None => Some("leaves the tree"),
        Some(segments) => match segments.first() {
            None => Some("is the tree itself"),
            Some(first) if OWN_FOLDERS.contains(first) => Some("is a folder of the tree"),
            Some(_) => return segments.join("/"),
        },
    };
    if let Some(why) = refused {
        let message = format!("the `generation_directory` {} {why}, and what is in it is replaced", quote(&written));
        found.push(
            Diagnostic::error("generation-directory", message)
                .at(&written.at)
                .help("name a folder of its own, e.g. `generated`"),
        );
    }
    DEFAULT.into()
}

fn read_config(all: Node, reader: &mut Reader<'_>, config_read: &HashSet<String>) -> Config {
    let (known, other): (Vec<_>, Vec<_>) =
        all.map().unwrap_or_default().iter().cloned().partition(|e| CONFIG.iter().any(|f| f.name == e.key));
    for entry in other {
        unknown_key(&entry.key, &entry.at, config_read, reader.found);
    }
    let mut node = Node::new(Value::Map(known), all.at.clone());
    one_key_is_a_list(&mut node);
    let fields = reader.entry("`config`", &node, Table::new(CONFIG), &[]);
    let admin_public_keys = fields.texts("admin_public_keys");
    for key in admin_public_keys.iter().filter(|k| k.value != crate::hygiene::REMOVED) {
        public_key::check("`config.admin_public_keys`", key, reader.found);
    }
    let flag = |key: &str, default: bool| fields.flag(key).unwrap_or(default);
    let module_source_base =
        fields.spanned("module_source_base").unwrap_or_else(|| Spanned::new("../tfmodules".into(), fields.at.clone()));
    crate::module_base::check(&module_source_base, reader.found);
    Config {
        apply_identity: apply_flag(&fields, "apply_identity", &[Class::GroupBuilder, Class::UserBuilder], reader),
        apply_storage: apply_flag(&fields, "apply_storage", &[Class::StorageBuilder], reader),
        apply_instances: apply_flag(&fields, "apply_instances", &[Class::InstanceBuilder], reader),
        apply_release: ApplyFlag {
            value: if flag("apply_release", false) { Apply::All } else { Apply::Off },
            at: fields.node("apply_release").map(|n| n.at.clone()),
        },
        use_state_backends: flag("use_state_backends", false),
        module_source_base: module_source_base.map(|base| base.trim_end_matches('/').to_owned()),
        admin_public_keys,
        require_mod_tests: flag("require_mod_tests", false),
        require_image_tests: flag("require_image_tests", true),
        require_released_builds: flag("require_released_builds", false),
        template_env: fields.texts("template_env").into_iter().map(|s| s.value).collect(),
        expected_run_minutes: expected_minutes(&fields, reader.found),
        all,
    }
}

/// `admin_public_keys` also takes one text.
fn one_key_is_a_list(config: &mut Node) {
    let Value::Map(entries) = &mut config.value else { return };
    for entry in entries.iter_mut().filter(|e| e.key == "admin_public_keys" && e.value.text().is_some()) {
        let at = entry.value.at.clone();
        let one = std::mem::replace(&mut entry.value, Node::new(Value::Null, at));
        entry.value.value = Value::List(vec![one]);
    }
}

fn expected_minutes(fields: &Fields, found: &mut Diagnostics) -> f64 {
    const DEFAULT: f64 = 30.0;
    let Some(written) = fields.object("preflight").and_then(|p| p.spanned("expected_run_minutes")) else {
        return DEFAULT;
    };
    match written.parse::<f64>() {
        Ok(minutes) if minutes.is_finite() && minutes >= 0.0 => minutes,
        _ => {
            let message = format!(
                "`config.preflight.expected_run_minutes` is {}, which is no number of minutes",
                quote(&written)
            );
            found.push(Diagnostic::error("wrong-type", message).at(&written.at).help("write a number such as `30`"));
            DEFAULT
        }
    }
}

/// A misspelt switch would be silently off; anything else that nothing reads is only noted.
fn unknown_key(key: &str, at: &Place, config_read: &HashSet<String>, found: &mut Diagnostics) {
    if config_read.contains(key) || config_read.contains("*") || crate::hygiene::is_refused_config_key(key) {
        return;
    }
    let recognised = || CONFIG.iter().map(|f: &Field| f.name);
    let near = recognised()
        .map(|k| (strsim::damerau_levenshtein(key.get(..60).unwrap_or(key), k), k))
        .min()
        .filter(|(distance, _)| *distance <= 2);
    let looks_like_a_switch = key.starts_with("apply_") || key.starts_with("require_");
    if near.is_some() || looks_like_a_switch {
        let near = near.map(|(_, k)| k).or_else(|| nearest(key, recognised()));
        let message = format!("`config` has no switch {}, and no template reads it", quote(key));
        let help = near.map_or_else(
            || format!("remove it; the switches are {}", list(recognised())),
            |near| format!("write `{near}`"),
        );
        found.push(Diagnostic::error("config-key-unknown", message).at(at).help(help));
    } else {
        let message = format!("the `config:` key {} is no switch, and no template reads it", quote(key));
        found.push(
            Diagnostic::warning("config-key-unread", message).at(at).help("remove it, or read it as `{{ config.… }}`"),
        );
    }
}

fn apply_flag(fields: &Fields, key: &str, roots: &[Class], reader: &mut Reader<'_>) -> ApplyFlag {
    let Some(node) = fields.node(key) else { return ApplyFlag::off() };
    let value = match &node.value {
        Value::Bool(true) => Apply::All,
        Value::Bool(false) => Apply::Off,
        Value::Text(_) => Apply::Only(root(node, key, roots, reader).into_iter().collect()),
        Value::List(items) => Apply::Only(items.iter().filter_map(|item| root(item, key, roots, reader)).collect()),
        _ => {
            let message = format!("`config.{key}` is {} where true, false or a list of names belongs", node.describe());
            reader.found.push(
                Diagnostic::error("apply-flag", message)
                    .at(&node.at)
                    .help("write `true`, `false`, or a list of builders and runtimes"),
            );
            Apply::Off
        }
    };
    let value = if value == Apply::Only(Vec::new()) { Apply::Off } else { value };
    ApplyFlag { value, at: Some(node.at.clone()) }
}

/// The canonical name of a root's builder or of a runtime.
fn root(node: &Node, key: &str, roots: &[Class], reader: &mut Reader<'_>) -> Option<String> {
    let names: &Names = reader.names;
    let (Value::Text(text) | Value::Int(_, text)) = &node.value else {
        if !reader.broken.contains(&node.at) {
            let message = format!("`config.{key}` lists {} where a name belongs", node.describe());
            reader.found.push(
                Diagnostic::error("apply-flag", message).at(&node.at).help(
                    "write the name of a builder or a runtime, in quotes when it looks like a number or a boolean",
                ),
            );
        }
        return None;
    };
    if reader.broken.contains(&node.at) {
        return None;
    }
    let classes = || roots.iter().copied().chain([Class::Runtime]);
    let reserved = csis_values::name::is_reserved(text);
    if let Some(name) = classes().find_map(|class| names.canonical(class, text)).filter(|_| !reserved) {
        return Some(name.to_owned());
    }
    if classes().any(|class| names.partial.contains(&class)) {
        return None;
    }
    let declared = || classes().flat_map(|class| names.declared(class)).map(|n| n.written.as_str());
    let message = format!(
        "`config.{key}` names {}, which is neither a root of that lifecycle nor a runtime (there are {})",
        quote(text),
        list(declared())
    );
    let help = match crate::read::bool_word(text) {
        Some(b) => format!("write `{b}` without quotes, or list names"),
        None => nearest(text, declared())
            .map_or_else(|| "list builders and runtimes".to_owned(), |near| format!("write `{near}`")),
    };
    reader.found.push(Diagnostic::error("apply-flag", message).at(&node.at).help(help));
    None
}
