//! What a script asks again while it runs: the switches of `config:`, and by which names they may list a root. No template is rendered, nothing is decrypted.

use crate::collections::Collections;
use crate::document::{self, class_of};
use crate::files::Files;
use crate::names::{self, Names};
use crate::overlay;
use csis_values::name::safe_name;
use csis_values::node::Entry;
use csis_values::request::Request;
use csis_values::{Class, Diagnostic, Diagnostics, Node, Severity, Value};
use std::collections::BTreeSet;

/// `config:` as the files of `cfg/` and then the overlays write it.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    config: Vec<Entry>,
    roots: Vec<RootNames>,
}

/// A builder that may have a root, and what a switch may call it.
#[derive(Clone, Debug)]
pub struct RootNames {
    pub class: Class,
    pub written: String,
    /// Safe names: its own and those of its runtime, aliases included.
    pub all: BTreeSet<String>,
    own: BTreeSet<String>,
}

impl Switches {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.config.iter().find(|entry| entry.key == key)
    }

    pub fn roots(&self, classes: &[Class]) -> impl Iterator<Item = &RootNames> {
        self.roots.iter().filter(move |root| classes.contains(&root.class))
    }

    /// The root that a name or an alias of its builder means.
    pub fn root(&self, classes: &[Class], name: &str) -> Option<&RootNames> {
        self.roots(classes).find(|root| root.own.contains(&safe_name(name)))
    }
}

/// Reads them. What of `cfg/` or the overlays is refused comes instead, since half of it must allow nothing.
pub fn switches(files: &dyn Files, overlays: &[String]) -> Result<Switches, Vec<Diagnostic>> {
    let mut found = Diagnostics::default();
    let read = document::read(files, &mut found).map_err(|error| vec![error.into_diagnostic()])?;
    let mut document = read.ok_or_else(|| errors(&found))?;
    let request = Request { overlays: overlays.to_vec(), ..Request::default() };
    overlay::apply(files, &request, &mut document, &mut Collections::default(), &mut found)
        .map_err(|error| vec![error.into_diagnostic()])?;
    let mut names = Names::default();
    let mut builders = Vec::new();
    for entry in &mut document.entries {
        let Some(class) = class_of(&entry.key) else { continue };
        if let Value::List(items) = &mut entry.value.value {
            let read = names::named(class, std::mem::take(items), &mut found);
            names.add(class, &read.entries, &mut found);
            builders.push((class, read.entries));
        }
    }
    if found.is_refused() {
        return Err(errors(&found));
    }
    let runtimes =
        builders.iter().find(|(class, _)| *class == Class::Runtime).map_or(&[] as &[Node], |(_, nodes)| nodes);
    let runtime = |node: &Node| {
        let wanted = node.get("runtime").and_then(Node::text).unwrap_or("default");
        names.find(Class::Runtime, wanted).ok().and_then(|position| runtimes.get(position))
    };
    let of = |class: &Class, node: &Node| {
        let own = called(node);
        let all = runtime(node).map(called).into_iter().flatten().chain(own.iter().cloned()).collect();
        let written = names::written(node).map_or_else(String::new, |(name, _)| name.to_owned());
        RootNames { class: *class, written, all, own }
    };
    let roots = builders.iter().flat_map(|(class, nodes)| nodes.iter().map(move |node| of(class, node))).collect();
    let config = document.entries.into_iter().find(|entry| entry.key == "config");
    let config = match config.map(|entry| entry.value.value) {
        Some(Value::Map(entries)) => entries,
        _ => Vec::new(),
    };
    Ok(Switches { config, roots })
}

/// What an entry may be called.
fn called(node: &Node) -> BTreeSet<String> {
    let aliases = node.get("aliases").and_then(Node::list).unwrap_or_default();
    names::written(node)
        .map(|(name, _)| name)
        .into_iter()
        .chain(aliases.iter().filter_map(Node::text))
        .map(safe_name)
        .collect()
}

fn errors(found: &Diagnostics) -> Vec<Diagnostic> {
    found.iter().filter(|finding| finding.severity == Severity::Error).cloned().collect()
}
