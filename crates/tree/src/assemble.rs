//! Fields into the typed tree.

mod images;
mod machines;
mod people;

pub(crate) use people::give_addresses;

use crate::arena::{EntryKey, Id, Table, kind_of, table_of};
use crate::names::{Names, written};
use crate::read::Reader;
use crate::template::Evaluator;
use crate::words::quote;
use csis_kinds::registry;
use csis_values::fields::{Fields, Shape};
use csis_values::name::safe_name;
use csis_values::tree::{Builder, Executable, Policy};
use csis_values::{Class, Diagnostics, Name, Node, Place, Spanned, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

pub(crate) struct Assembler<'a> {
    pub eval: &'a Arc<Evaluator>,
    /// Entries of `cfg/` by class, as counted by the names.
    pub entries: &'a HashMap<Class, Vec<Node>>,
    pub transient: &'a BTreeSet<(Class, String)>,
    pub broken: HashSet<Place>,
    pub found: Diagnostics,
}

/// An entry on its way: what it is called, its rendered node, its fields.
struct Entry {
    id: Id,
    name: Name,
    what: String,
    node: Node,
    fields: Fields,
}

impl<'a> Assembler<'a> {
    fn names(&self) -> &'a Names {
        &self.eval.names
    }

    fn entry(&mut self, class: Class, position: usize) -> Option<Entry> {
        let name = self.names().name(class, position)?.clone();
        let id = *self.eval.arena.entries.get(&EntryKey { class, position })?;
        let node = self.eval.node(id, &mut self.broken);
        let what = format!("{} {}", class.noun(), quote(&name.written));
        let (node, table, refused) = Self::model(class, node);
        let decided = self.decided_by_builder(&node, table);
        let refused: Vec<(&str, &str)> =
            refused.into_iter().chain(decided.iter().map(|(key, advice)| (*key, advice.as_str()))).collect();
        let mut reader = Reader { names: &self.eval.names, broken: &self.broken, found: &mut self.found };
        let fields = reader.entry(&what, &node, table, &refused);
        Some(Entry { id, name, what, node, fields })
    }

    /// Keys of an item that its builder knows and the item does not, each with where it is set instead.
    fn decided_by_builder(&self, node: &Node, table: Table) -> Vec<(&'static str, String)> {
        if node.map().is_none_or(|entries| entries.iter().all(|e| table.find(&e.key).is_some())) {
            return Vec::new();
        }
        let Some(Shape::Ref(family)) = table.find("type").map(|field| field.shape) else { return Vec::new() };
        let named = node.get("type").and_then(Node::text).unwrap_or("default");
        let builder = self.names().find(family, named).ok().and_then(|at| self.entries.get(&family)?.get(at));
        let Some((builder, (name, _))) = builder.and_then(|node| Some((node, written(node)?))) else {
            return Vec::new();
        };
        let own = table_of(family, kind_of(builder)).own.iter();
        own.map(|field| (field.name, format!("set it on the {} {}, for all that it makes", family.noun(), quote(name))))
            .collect()
    }

    /// The table an entry is read by. A builder of an unknown type keeps only what its class shares, and its other keys are not judged.
    fn model(class: Class, mut node: Node) -> (Node, Table, Vec<(&'static str, &'static str)>) {
        let mut refused = registry::refused_keys(class).to_vec();
        if !Class::BUILDERS.contains(&class) {
            return (node, table_of(class, None), refused);
        }
        let kind = kind_of(&node).unwrap_or_default().to_owned();
        let table = table_of(class, Some(&kind));
        match registry::find(class, &kind) {
            Some(registered) => refused.extend(registered.kind().refused_keys()),
            None => {
                if let Value::Map(entries) = &mut node.value {
                    entries.retain(|e| table.find(&e.key).is_some() || refused.iter().any(|(key, _)| *key == e.key));
                }
            }
        }
        (node, table, refused)
    }

    pub fn executables(&mut self) -> Vec<Executable> {
        self.each(Class::Executable, |_, entry| {
            let Entry { name, fields, .. } = entry;
            let kind = fields
                .text("type")
                .filter(|k| !matches!(*k, "default" | "executable"))
                .unwrap_or(&name.written)
                .to_owned();
            let binary = fields.text("binary").unwrap_or(&name.written).to_owned();
            Executable { kind, binary, version: fields.spanned("version"), at: fields.at.clone(), fields, name }
        })
    }

    fn each<T>(&mut self, class: Class, make: impl Fn(&mut Self, Entry) -> T) -> Vec<T> {
        let count = self.names().declared(class).count();
        (0..count).filter_map(|position| self.entry(class, position).map(|entry| make(self, entry))).collect()
    }

    pub fn builders(&mut self) -> Vec<Builder> {
        let mut builders = Vec::new();
        for class in Class::BUILDERS.iter().copied() {
            builders.extend(self.each(class, |_, entry| builder(class, entry)));
        }
        builders
    }

    /// The builder of an item, by the canonical name that its `type` was read as; empty when there is none.
    fn realised_by(entry: &Entry) -> Spanned<String> {
        entry.fields.spanned("type").unwrap_or_else(|| Spanned::new(String::new(), entry.fields.at.clone()))
    }
}

pub(super) fn description(fields: &Fields) -> String {
    fields.text("description").unwrap_or_default().to_owned()
}

pub(super) fn aliases(fields: &Fields, name: &Name) -> Vec<String> {
    let aliases = fields.texts("aliases").into_iter().map(|a| safe_name(&a.value));
    aliases.filter(|a| *a != name.safe).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn policy(fields: &Fields, key: &str) -> Policy {
    if fields.text(key) == Some("follow") { Policy::Follow } else { Policy::Pinned }
}

pub(super) fn number(fields: &Fields, key: &str) -> Option<Spanned<i64>> {
    fields.int(key).map(|n| Spanned::new(n, fields.place(key).clone()))
}

fn builder(class: Class, entry: Entry) -> Builder {
    let Entry { name, node, fields, .. } = entry;
    let state_configuration = fields.spanned("state_configuration");
    Builder {
        class,
        kind: kind_of(&node).unwrap_or_default().to_owned(),
        aliases: aliases(&fields, &name),
        is_default: fields.flag("is_default").unwrap_or_default(),
        runtime: fields.spanned("runtime").filter(|_| class != Class::Runtime),
        state_configuration,
        executable: fields.spanned("executable"),
        tags: fields.text_map("tags"),
        at: fields.at.clone(),
        fields,
        name,
    }
}
