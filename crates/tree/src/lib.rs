//! From the YAML files of a configuration tree to typed declarations.
//!
//! [`load`] reads `cfg/` and the collections through a [`Files`] (a [`Folder`], or a commit's objects in [`Memory`]), applies what the invocation adds and
//! takes away, renders templates, resolves references, and yields a [`Tree`] together with everything that is wrong. All refusals come at once; what an
//! entry gets wrong does not keep the others from being judged. What keeps a tree from being loaded at all is a [`LoadError`].
//!
//! **Invariant:** no network, no process, no clock, no environment. What varies from run to run comes in the [`Request`].

// Both arms of a choice read better side by side.
#![allow(clippy::single_match_else)]
#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::format_collect, clippy::too_many_lines)
)]

mod arena;
mod assemble;
mod attached;
mod clock;
mod collections;
mod document;
mod error;
mod files;
mod hygiene;
mod models;
mod module_base;
mod names;
mod operations;
mod overlay;
mod read;
mod scalar;
mod schemas;
mod secrets;
mod settings;
mod switches;
mod syntax;
mod template;
mod things;
mod words;
pub mod yaml;

pub use error::LoadError;
pub use files::{File, FileError, Files, Folder, Listing, Memory};
pub use models::models;
pub use schemas::schemas;
pub use secrets::{IDENTITY_VARIABLE, Identities, Secrets, is_marker};
pub use switches::{RootNames, Switches, switches};
pub use words::nearest;

use crate::arena::plant;
use crate::assemble::Assembler;
use crate::collections::Collections;
use crate::document::{Document, class_of};
use crate::names::Names;
use crate::read::Reader;
use crate::template::{Evaluator, Execution};
use crate::words::list;
use csis_values::node::Entry;
use csis_values::request::Request;
use csis_values::tree::Tree;
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The tree, as far as it could be read; none without any document.
    pub tree: Option<Tree>,
    /// Every declaration was read for what it is. When not, which is told, rules would judge half of the tree.
    pub whole: bool,
    /// Everything that reading found, sorted by place.
    pub diagnostics: Diagnostics,
    pub secrets: Secrets,
}

/// Reads a tree. Fails only when what was asked cannot be started; what is wrong in the tree is in [`Loaded::diagnostics`].
pub fn load(files: &dyn Files, request: &Request, identities: &Identities) -> Result<Loaded, LoadError> {
    let mut found = Diagnostics::default();
    let document = document::read(files, &mut found)?;
    let mut collections = collections::read(files, &mut found);
    let Some(mut document) = document else {
        found.sort();
        return Ok(Loaded { tree: None, whole: false, diagnostics: found, secrets: Secrets::default() });
    };
    let changes = overlay::apply(files, request, &mut document, &mut collections, &mut found)?;
    let nodes = document.entries.iter_mut().map(|e| &mut e.value).chain(collections.items.values_mut().flatten());
    let mut secrets = secrets::open(nodes, identities, &mut found)?;

    let mut partial = document.lacking();
    let entries = take_entries(&mut document, &mut collections, &mut partial, &mut found);
    let names = index(partial, &collections, &entries, &changes, &mut found);
    let dateformat = document.get("dateformat").and_then(Node::text).unwrap_or(settings::DATEFORMAT);
    let execution = Execution::new(dateformat, &request.now);
    let arena = plant(&document, &entries, &collections, &names);
    let eval = Evaluator::new(arena, names, request.template_env.clone(), execution);
    assemble::give_addresses(&eval, &entries);

    let mut assembler =
        Assembler { eval: &eval, entries: &entries, transient: &changes.transient, broken: HashSet::new(), found };
    let own = own_document(&eval, &mut assembler.broken);
    let executables = assembler.executables();
    let builders = assembler.builders();
    let kinds_known = builders.iter().all(|b| csis_kinds::registry::find(b.class, &b.kind).is_some());
    let users = assembler.users();
    let groups = assembler.groups();
    let storages = assembler.storages();
    let mut images = assembler.images();
    let instances = assembler.instances();
    let Assembler { broken, mut found, .. } = assembler;

    let (rendering, config_read, env_read) = eval.finish();
    found.extend(rendering);
    for variable in env_read {
        secrets.hide(request.template_env.get(&variable).cloned().unwrap_or_default());
    }
    let mut reader = Reader { names: &eval.names, broken: &broken, found: &mut found };
    let settings = settings::read(&own, document.whole, &mut reader, &config_read);
    let operations = operations::read(files, &mut reader);
    let attached = attached::read(files, &mut images, &mut found);
    found.sort();
    let tree = Tree {
        id: settings.id,
        config_tag: settings.config_tag,
        generation_directory: settings.generation_directory,
        dateformat: settings.dateformat,
        gitignore: settings.gitignore,
        config: settings.config,
        executables,
        builders,
        users,
        groups,
        storages,
        images,
        instances,
        files: attached,
        overlays: request.overlays.clone(),
        undeclared: overlay::labels(&changes),
        operations,
    };
    let whole = document.is_whole() && kinds_known && eval.names.partial.is_empty();
    Ok(Loaded { tree: Some(tree), whole, diagnostics: found, secrets })
}

/// The entries of every list of `cfg/`, and in place those of the collections: each has a name of its own.
fn take_entries(
    document: &mut Document,
    collections: &mut Collections,
    partial: &mut BTreeSet<Class>,
    found: &mut Diagnostics,
) -> HashMap<Class, Vec<Node>> {
    let mut entries = HashMap::new();
    let mut named = |class: Class, items: &mut Vec<Node>| {
        let named = names::named(class, std::mem::take(items), found);
        if !named.whole {
            partial.insert(class);
        }
        named.entries
    };
    for entry in &mut document.entries {
        if let Some(class) = class_of(&entry.key)
            && let Value::List(items) = &mut entry.value.value
        {
            entries.insert(class, named(class, items));
        }
    }
    for (class, items) in &mut collections.items {
        *items = named(*class, items);
    }
    for (class, nodes) in &mut entries {
        names::kinds(*class, nodes, found);
    }
    entries
}

fn index(
    partial: BTreeSet<Class>,
    collections: &Collections,
    entries: &HashMap<Class, Vec<Node>>,
    changes: &overlay::Changes,
    found: &mut Diagnostics,
) -> Names {
    let mut names = Names::default();
    names.partial = partial;
    names.partial.extend(&collections.partial);
    names.undeclared.clone_from(&changes.undeclared);
    for class in std::iter::once(&Class::Executable).chain(Class::BUILDERS).copied() {
        names.add(class, entries.get(&class).map_or(&[], Vec::as_slice), found);
        if class != Class::Executable && !names.partial.contains(&class) {
            one_default(class, &names, entries, found);
        }
    }
    for class in Class::COLLECTIONS {
        names.add(*class, collections.items.get(class).map_or(&[], Vec::as_slice), found);
    }
    if !names.partial.contains(&Class::Runtime) && names.declared(Class::Runtime).next().is_none() {
        let help = "declare one under `runtime_builders:`";
        found.push(
            Diagnostic::error("no-runtime", "the tree declares no runtime, so nothing can be baked or run")
                .at(&Place::head("cfg"))
                .help(help),
        );
    }
    names
}

fn one_default(class: Class, names: &Names, entries: &HashMap<Class, Vec<Node>>, found: &mut Diagnostics) {
    let Some(nodes) = entries.get(&class).filter(|nodes| !nodes.is_empty()) else { return };
    let name = |position: &usize| names.name(class, *position).map_or("", |n| n.written.as_str());
    match names.defaults(class) {
        [_] => {}
        [] => {
            let message = format!("no entry of `{}` is the default one; exactly one is", class.key());
            let help =
                format!("set `is_default: true` on one of {}", list(names.declared(class).map(|n| n.written.as_str())));
            found.push(Diagnostic::error("no-default", message).at(&nodes[0].at).help(help));
        }
        [first, rest @ ..] => {
            let all = names.defaults(class);
            let message = format!(
                "{} entries of `{}` say that they are the default one, {}",
                all.len(),
                class.key(),
                list(all.iter().map(name))
            );
            let at = |position: usize| nodes[position].get("is_default").map_or(&nodes[position].at, |n| &n.at);
            let finding = Diagnostic::error("two-defaults", message)
                .help("keep `is_default: true` on one of them")
                .also(at(*first), "the first one");
            found.push(finding.at(at(rest[rest.len() - 1])));
        }
    }
}

/// The document without its lists of entries, rendered.
fn own_document(eval: &Arc<Evaluator>, broken: &mut HashSet<Place>) -> Node {
    let arena = &eval.arena;
    let children = arena.map(arena.document).map(|m| m.children.as_slice()).unwrap_or_default();
    let own = children.iter().filter(|c| class_of(&c.key).is_none());
    let entries: Vec<Entry> =
        own.map(|c| Entry { key: c.key.clone(), at: c.at.clone(), value: eval.node(c.id, broken) }).collect();
    let at = entries.first().map_or_else(|| Place::head("cfg"), |e| Place::head(e.at.file.clone()));
    Node::new(Value::Map(entries), at)
}

#[cfg(test)]
mod tests;
