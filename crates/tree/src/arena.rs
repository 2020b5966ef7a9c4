//! The whole tree in one place, so that a template can look from its own value outwards and along references.

use crate::collections::Collections;
use crate::document::{Document, class_of};
use crate::names::Names;
use csis_kinds::registry;
use csis_values::fields::{Field, Shape};
use csis_values::{Class, Node, Place, Value};
use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) type Id = usize;

/// The fields a mapping of a model may hold: those its class shares, and its type's own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Table {
    pub common: &'static [Field],
    pub own: &'static [Field],
}

impl Table {
    pub fn new(common: &'static [Field]) -> Self {
        Table { common, own: &[] }
    }

    pub fn fields(self) -> impl Iterator<Item = &'static Field> {
        // A type's own field stands before the common one of the same name: it knows better what it takes.
        self.own.iter().chain(self.common.iter().filter(move |c| !self.own.iter().any(|o| o.name == c.name)))
    }

    pub fn find(self, name: &str) -> Option<&'static Field> {
        self.fields().find(|f| f.name == name)
    }
}

/// Whether a text is a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Templated {
    No,
    Yes,
    /// What is no template by its syntax is meant literally: lines for another program.
    UnlessForeign,
}

#[derive(Debug)]
pub(crate) enum Body {
    Null,
    Bool(bool),
    Int(i64, String),
    Float(f64, String),
    Text(String, Templated),
    List(Vec<Id>),
    Map(Map),
}

#[derive(Debug, Default)]
pub(crate) struct Map {
    pub children: Vec<Child>,
    index: OnceLock<HashMap<String, usize>>,
}

#[derive(Debug)]
pub(crate) struct Child {
    pub key: String,
    pub at: Place,
    pub id: Id,
}

impl Map {
    pub fn get(&self, key: &str) -> Option<Id> {
        if self.children.len() <= 12 {
            return self.children.iter().find(|c| c.key == key).map(|c| c.id);
        }
        let index =
            self.index.get_or_init(|| self.children.iter().enumerate().map(|(at, c)| (c.key.clone(), at)).collect());
        index.get(key).and_then(|at| self.children.get(*at)).map(|c| c.id)
    }
}

/// Which entry a mapping is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryKey {
    pub class: Class,
    pub position: usize,
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub at: Place,
    pub parent: Option<Id>,
    pub body: Body,
    /// For mappings of a model.
    pub table: Option<Table>,
    /// The field that this value is of.
    pub field: Option<&'static Field>,
    pub entry: Option<EntryKey>,
}

#[derive(Debug)]
pub(crate) struct Arena {
    pub slots: Vec<Slot>,
    pub document: Id,
    pub entries: HashMap<EntryKey, Id>,
}

/// How the texts below a value are to be read.
#[derive(Clone, Copy)]
struct Mode {
    /// In `cfg/` elements of lists are templates too.
    cfg: bool,
    literal: bool,
}

/// The fields of an entry, by its class and its type's word.
pub(crate) fn table_of(class: Class, kind: Option<&str>) -> Table {
    let own = kind.and_then(|kind| registry::find(class, kind)).map_or(&[] as &'static [Field], |r| r.kind().fields());
    Table { common: registry::common_fields(class), own }
}

/// The word after `type:` of a builder entry.
pub(crate) fn kind_of(entry: &Node) -> Option<&str> {
    match &entry.get("type")?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// The fields of a modification of an image, by the builder that its `type` names.
pub(crate) fn modification_table(item: &Node, builders: &[Node], names: &Names) -> Table {
    let wanted = item.get("type").filter(|n| !n.is_null()).map_or(Some("default"), Node::text);
    let builder = wanted.and_then(|name| names.find(Class::ModBuilder, name).ok()).and_then(|at| builders.get(at));
    let own = match builder.and_then(kind_of).and_then(|kind| registry::find(Class::ModBuilder, kind)) {
        Some(registry::Registered::Modification(kind)) => kind.item_fields(),
        _ => &[],
    };
    Table { common: registry::modification_fields(), own }
}

struct Planter<'a> {
    arena: Arena,
    names: &'a Names,
    modifiers: &'a [Node],
}

/// Plants the document and the collections. Entries of a class are those that `names` counted, in the same order.
pub(crate) fn plant(
    document: &Document,
    entries: &HashMap<Class, Vec<Node>>,
    collections: &Collections,
    names: &Names,
) -> Arena {
    let modifiers = entries.get(&Class::ModBuilder).map_or(&[] as &[Node], Vec::as_slice);
    let root = Slot { at: Place::head("cfg"), parent: None, body: Body::Null, table: None, field: None, entry: None };
    let arena = Arena { slots: vec![root], document: 0, entries: HashMap::new() };
    let mut planter = Planter { arena, names, modifiers };
    let cfg = Mode { cfg: true, literal: false };
    let mut map = Map::default();
    for entry in &document.entries {
        let id = match class_of(&entry.key).and_then(|class| Some((class, entries.get(&class)?))) {
            Some((class, nodes)) => {
                let list = planter.slot(&entry.value.at, Some(0), Body::Null, None);
                let ids = nodes
                    .iter()
                    .enumerate()
                    .map(|(position, node)| planter.entry(class, position, node, Some(list), cfg))
                    .collect();
                planter.arena.slots[list].body = Body::List(ids);
                list
            }
            None => planter.node(&entry.value, Some(0), None, cfg, &entry.key),
        };
        map.children.push(Child { key: entry.key.clone(), at: entry.at.clone(), id });
    }
    planter.arena.slots[0].body = Body::Map(map);
    for (class, nodes) in &collections.items {
        for (position, node) in nodes.iter().enumerate() {
            planter.entry(*class, position, node, None, Mode { cfg: false, literal: false });
        }
    }
    planter.arena
}

impl Planter<'_> {
    fn slot(&mut self, at: &Place, parent: Option<Id>, body: Body, field: Option<&'static Field>) -> Id {
        self.arena.slots.push(Slot { at: at.clone(), parent, body, table: None, field, entry: None });
        self.arena.slots.len() - 1
    }

    fn entry(&mut self, class: Class, position: usize, node: &Node, parent: Option<Id>, mode: Mode) -> Id {
        let builder = Class::BUILDERS.contains(&class);
        let table = table_of(class, if builder { kind_of(node) } else { None });
        let id = self.map(node, parent, None, Some(table), mode, class == Class::Image);
        let key = EntryKey { class, position };
        self.arena.slots[id].entry = Some(key);
        self.arena.entries.insert(key, id);
        id
    }

    fn map(
        &mut self,
        node: &Node,
        parent: Option<Id>,
        field: Option<&'static Field>,
        table: Option<Table>,
        mode: Mode,
        image: bool,
    ) -> Id {
        let id = self.slot(&node.at, parent, Body::Null, field);
        self.arena.slots[id].table = table;
        let mut map = Map::default();
        for entry in node.map().unwrap_or_default() {
            let field = table.and_then(|t| t.find(&entry.key));
            // Names are looked up before anything is rendered.
            let fixed = table.is_some() && matches!(entry.key.as_str(), "name" | "type" | "aliases");
            let mode = Mode { literal: mode.literal || fixed || field.is_some_and(|f| !f.templated), ..mode };
            let child = if image && entry.key == "modifications" {
                self.modifications(&entry.value, id, mode)
            } else {
                self.node(&entry.value, Some(id), field, mode, &entry.key)
            };
            map.children.push(Child { key: entry.key.clone(), at: entry.at.clone(), id: child });
        }
        self.arena.slots[id].body = Body::Map(map);
        id
    }

    fn modifications(&mut self, node: &Node, parent: Id, mode: Mode) -> Id {
        let Some(items) = node.list() else { return self.node(node, Some(parent), None, mode, "modifications") };
        let list = self.slot(&node.at, Some(parent), Body::Null, None);
        let ids = items
            .iter()
            .map(|item| match item.map() {
                Some(_) => {
                    let table = modification_table(item, self.modifiers, self.names);
                    self.map(item, Some(list), None, Some(table), mode, false)
                }
                None => self.node(item, Some(list), None, mode, ""),
            })
            .collect();
        self.arena.slots[list].body = Body::List(ids);
        list
    }

    fn node(&mut self, node: &Node, parent: Option<Id>, field: Option<&'static Field>, mode: Mode, key: &str) -> Id {
        let body = match &node.value {
            Value::Null => Body::Null,
            Value::Bool(b) => Body::Bool(*b),
            Value::Int(number, text) => Body::Int(*number, text.clone()),
            Value::Float(number, text) => Body::Float(*number, text.clone()),
            Value::Text(text) => Body::Text(text.clone(), templated(text, mode, key)),
            Value::List(items) => {
                let table = match field.map(|f| f.shape) {
                    Some(Shape::Objects(fields)) => Some(Table::new(fields)),
                    _ => None,
                };
                let list = self.slot(&node.at, parent, Body::Null, field);
                let ids = items
                    .iter()
                    .map(|item| match &item.value {
                        Value::Map(_) => self.map(item, Some(list), None, table, mode, false),
                        Value::List(_) => self.node(item, Some(list), None, mode, ""),
                        _ => self.node(item, Some(list), None, Mode { literal: mode.literal || !mode.cfg, ..mode }, ""),
                    })
                    .collect();
                self.arena.slots[list].body = Body::List(ids);
                return list;
            }
            Value::Map(_) => {
                let table = match field.map(|f| f.shape) {
                    Some(Shape::Object(fields)) => Some(Table::new(fields)),
                    _ => None,
                };
                return self.map(node, parent, field, table, mode, false);
            }
        };
        self.slot(&node.at, parent, body, field)
    }
}

fn templated(text: &str, mode: Mode, key: &str) -> Templated {
    if mode.literal || !(text.contains("{{") || text.contains("{%")) {
        Templated::No
    } else if !mode.cfg && matches!(key, "userdata" | "content" | "run") {
        Templated::UnlessForeign
    } else {
        Templated::Yes
    }
}

impl Arena {
    pub fn slot(&self, id: Id) -> &Slot {
        &self.slots[id]
    }

    pub fn map(&self, id: Id) -> Option<&Map> {
        match &self.slots.get(id)?.body {
            Body::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn get(&self, id: Id, key: &str) -> Option<Id> {
        self.map(id)?.get(key)
    }

    pub fn is_null(&self, id: Id) -> bool {
        matches!(self.slots[id].body, Body::Null)
    }

    /// The mapping itself, or the nearest one around a value.
    pub fn nearest_map(&self, id: Id) -> Id {
        std::iter::successors(Some(id), |id| self.slots[*id].parent)
            .find(|id| self.map(*id).is_some())
            .unwrap_or(self.document)
    }

    /// The mappings around a value, from the nearest outwards.
    pub fn around(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(Some(id), |id| self.slots[*id].parent).filter(|id| self.map(*id).is_some())
    }

    /// The entry a value belongs to.
    pub fn entry_of(&self, id: Id) -> Option<Id> {
        self.around(id).find(|id| self.slots[*id].entry.is_some())
    }

    pub fn in_cfg(&self, id: Id) -> bool {
        self.around(id).last() == Some(self.document)
    }

    /// The name of an entry, as written.
    pub fn written(&self, id: Id) -> Option<&str> {
        match &self.slots[self.get(id, "name")?].body {
            Body::Text(text, _) | Body::Int(_, text) | Body::Float(_, text) => Some(text),
            _ => None,
        }
    }
}
