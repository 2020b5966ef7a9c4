//! What templates see: values of the tree, looked up when they are asked for.

use crate::arena::{Body, EntryKey, Id, Table};
use crate::scalar;
use crate::template::{Evaluator, Failed, Missing};
use csis_values::fields::{Field, Shape};
use csis_values::name::safe_name;
use csis_values::{Class, Value as Scalar};
use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, ErrorKind, Value};
use std::fmt;
use std::sync::Arc;

pub(crate) struct Thing {
    eval: Arc<Evaluator>,
    /// How the template got here, for messages.
    label: String,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// All names of a template that stands at a value.
    Context(Id),
    Node(Id),
    /// An entry as others see it: its name in lower case, defaults filled in.
    Entry(Id),
    /// The mapping a template stands in; what it lacks is looked for outwards, up to the entry.
    This(Id),
    /// `config`: of the entry, then of the document.
    Config(Id),
    Env,
    Execution,
    /// A mapping that is left out.
    Empty,
}

impl fmt::Debug for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.label)
    }
}

impl Thing {
    pub fn context(eval: Arc<Evaluator>, site: Id) -> Self {
        Thing { eval, label: String::new(), what: What::Context(site) }
    }

    fn make(&self, label: String, what: What) -> Value {
        Value::from_object(Thing { eval: self.eval.clone(), label, what })
    }

    fn path(&self, key: &str) -> String {
        if self.label.is_empty() { key.to_owned() } else { format!("{}.{key}", self.label) }
    }

    fn lookup(&self, key: &str) -> Option<Value> {
        match self.what {
            What::Context(site) => self.name(site, key),
            What::Node(id) => self.child(id, key, false),
            What::Entry(id) => self.child(id, key, true),
            What::This(id) => self.this(id, key),
            What::Config(site) => self.config(site, key),
            What::Empty => None,
            What::Env => {
                let text = self.eval.env.get(key)?;
                self.eval.read_env(key);
                Some(Value::from(text.as_str()))
            }
            What::Execution => {
                let execution = &self.eval.execution;
                if matches!(key, "timestamp" | "date") {
                    self.eval.read_clock();
                }
                match key {
                    "timestamp" => Some(Value::from(execution.timestamp.as_str())),
                    "date" => Some(Value::from(execution.date.as_str())),
                    "dateformat" => Some(Value::from(execution.dateformat.as_str())),
                    _ => None,
                }
            }
        }
    }

    /// A name at the top of a template.
    fn name(&self, site: Id, key: &str) -> Option<Value> {
        let arena = &self.eval.arena;
        match key {
            "this" => return Some(self.make("this".into(), What::This(arena.nearest_map(site)))),
            "ENV" => return Some(self.make("ENV".into(), What::Env)),
            "execution" => return Some(self.make("execution".into(), What::Execution)),
            "config" => return Some(self.make("config".into(), What::Config(site))),
            _ => {}
        }
        for id in arena.around(site) {
            let slot = arena.slot(id);
            if let Some(EntryKey { class, .. }) = slot.entry
                && Class::COLLECTIONS.contains(&class)
            {
                if key == class.noun() {
                    return Some(self.make(key.to_owned(), What::Entry(id)));
                }
                if key == "builder" {
                    return self.referred(id, "type", class.builder()?, key);
                }
            }
            if let Some(Shape::Ref(class)) = slot.table.and_then(|t| t.find(key)).map(|f| f.shape) {
                return self.referred(id, key, class, key);
            }
            if slot.entry.is_some() {
                break;
            }
        }
        if arena.in_cfg(site) { self.child(arena.document, key, false) } else { None }
    }

    /// The entry that a field of a mapping refers to.
    fn referred(&self, map: Id, field: &str, class: Class, label: &str) -> Option<Value> {
        let text = match self.eval.arena.get(map, field) {
            None => "default".into(),
            Some(id) => match &self.eval.arena.slot(id).body {
                Body::Null => "default".into(),
                Body::Text(..) => match self.eval.text(id) {
                    Ok(text) => text,
                    Err(Failed) => return Some(self.failed()),
                },
                _ => return Some(self.failed()),
            },
        };
        let Ok(position) = self.eval.names.find(class, &text) else {
            // A reference that leads nowhere is reported as such; an optional one that is absent leads nowhere rightly.
            return if text.as_ref() == "default" { None } else { Some(self.failed()) };
        };
        let id = self.eval.arena.entries.get(&EntryKey { class, position })?;
        Some(self.make(label.to_owned(), What::Entry(*id)))
    }

    fn failed(&self) -> Value {
        self.eval.cascade();
        Value::from(Error::new(ErrorKind::InvalidOperation, "a value could not be read"))
    }

    fn child(&self, map: Id, key: &str, entry: bool) -> Option<Value> {
        let arena = &self.eval.arena;
        if let Some(id) = arena.get(map, key) {
            if entry && key == "name" {
                return Some(Value::from(safe_name(arena.written(map)?)));
            }
            return self.value(id, key, entry).or_else(|| self.default(map, key));
        }
        if entry && key == "display_name" {
            return arena.written(map).map(Value::from);
        }
        self.default(map, key)
    }

    fn default(&self, map: Id, key: &str) -> Option<Value> {
        if let Some(text) = self.eval.given(map, key) {
            return Some(Value::from(text.as_ref()));
        }
        let field = self.eval.arena.slot(map).table.and_then(|t: Table| t.find(key))?;
        if let Shape::Ref(class) = field.shape {
            return self.eval.names.canonical(class, "default").map(Value::from);
        }
        let default = field.default;
        if default == "{}" {
            return Some(self.make(self.path(key), What::Empty));
        }
        if default == "[]" {
            return Some(Value::from(Vec::<Value>::new()));
        }
        if default.is_empty() || default == "default" || default.contains([' ', '[', '{']) {
            return None;
        }
        let value = if matches!(field.shape, Shape::Text | Shape::Word(_) | Shape::Duration | Shape::Mode) {
            Scalar::Text(default.to_owned())
        } else {
            scalar::resolve(default)
        };
        match value {
            Scalar::Text(text) => Some(Value::from(text)),
            Scalar::Bool(b) => Some(Value::from(b)),
            Scalar::Int(number, _) => Some(Value::from(number)),
            Scalar::Float(number, _) => Some(Value::from(number)),
            Scalar::Null | Scalar::List(_) | Scalar::Map(_) => None,
        }
    }

    fn value(&self, id: Id, key: &str, entry: bool) -> Option<Value> {
        let slot = self.eval.arena.slot(id);
        let text = |field: Option<&Field>| field.is_some_and(|f| matches!(f.shape, Shape::Text | Shape::Word(_)));
        Some(match &slot.body {
            Body::Null => return None,
            Body::Bool(b) => Value::from(*b),
            Body::Int(_, source) | Body::Float(_, source) if text(slot.field) => Value::from(source.as_str()),
            Body::Int(number, _) => Value::from(*number),
            Body::Float(number, _) => Value::from(*number),
            Body::Text(..) => match self.eval.text(id) {
                Err(Failed) => self.failed(),
                Ok(text) => match slot.field.map(|f| f.shape) {
                    Some(Shape::Ref(class)) if entry => {
                        Value::from(self.eval.names.canonical(class, &text).unwrap_or(&text))
                    }
                    _ => Value::from(text.as_ref()),
                },
            },
            Body::List(_) | Body::Map(_) => self.make(self.path(key), What::Node(id)),
        })
    }

    fn this(&self, map: Id, key: &str) -> Option<Value> {
        let arena = &self.eval.arena;
        let own = arena.get(map, key).is_some();
        if key == "parent" && !own {
            let outer = arena.slot(map).parent?;
            return Some(self.make(self.path(key), What::This(arena.nearest_map(outer))));
        }
        let item = !arena.in_cfg(map);
        for id in arena.around(map) {
            let slot = arena.slot(id);
            let entry = item && slot.entry.is_some();
            if key == "display_name" && arena.get(id, key).is_none() && arena.written(id).is_some() {
                return arena.written(id).map(Value::from);
            }
            if arena.get(id, key).is_some() || (slot.table.is_some() && self.default(id, key).is_some()) {
                return self.child(id, key, entry);
            }
            if slot.entry.is_some() || arena.entry_of(id).is_none() {
                break;
            }
        }
        None
    }

    fn config(&self, site: Id, key: &str) -> Option<Value> {
        let arena = &self.eval.arena;
        let within = arena.around(site).take_while(|id| *id != arena.document).filter_map(|id| arena.get(id, "config"));
        for config in within {
            if let Some(id) = arena.get(config, key) {
                return self.value(id, key, false);
            }
        }
        self.eval.read_config(key);
        let id = arena.get(arena.get(arena.document, "config")?, key)?;
        self.value(id, key, false)
    }

    /// The known key that is nearest to a missing one, as a path.
    pub fn near(&self, key: &str) -> Option<String> {
        let keys = if self.eval.names.suggests() { self.keys() } else { Vec::new() };
        let near = self.eval.names.nearest(key, keys.iter().map(String::as_str)).filter(|near| *near != key)?;
        Some(self.path(near))
    }

    fn keys(&self) -> Vec<String> {
        let arena = &self.eval.arena;
        let own = |id: Id| arena.map(id).into_iter().flat_map(|m| &m.children).map(|c| c.key.clone());
        let table = |id: Id| arena.slot(id).table.into_iter().flat_map(Table::fields).map(|f| f.name.to_owned());
        match self.what {
            What::Node(id) => own(id).collect(),
            What::Empty => Vec::new(),
            What::Entry(id) | What::This(id) => own(id).chain(table(id)).collect(),
            What::Config(site) => {
                let document = arena.get(arena.document, "config").into_iter().flat_map(own);
                arena
                    .around(site)
                    .take_while(|id| *id != arena.document)
                    .filter_map(|id| arena.get(id, "config"))
                    .flat_map(own)
                    .chain(document)
                    .collect()
            }
            What::Env => self.eval.env.keys().cloned().collect(),
            What::Execution => ["timestamp", "dateformat", "date"].map(str::to_owned).into(),
            What::Context(site) => {
                let mut keys: Vec<String> = ["this", "config", "ENV", "execution", "builder"].map(str::to_owned).into();
                for id in arena.around(site) {
                    let slot = arena.slot(id);
                    keys.extend(slot.entry.map(|e| e.class.noun().to_owned()));
                    keys.extend(
                        slot.table
                            .into_iter()
                            .flat_map(Table::fields)
                            .filter(|f| matches!(f.shape, Shape::Ref(_)))
                            .map(|f| f.name.to_owned()),
                    );
                }
                keys
            }
        }
    }

    fn list(&self) -> Option<&[Id]> {
        let What::Node(id) = self.what else { return None };
        match &self.eval.arena.slot(id).body {
            Body::List(items) => Some(items),
            _ => None,
        }
    }
}

impl Object for Thing {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.list().is_some() { ObjectRepr::Seq } else { ObjectRepr::Map }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if let Some(items) = self.list() {
            let position = usize::try_from(key.as_i64()?).ok()?;
            return self.value(*items.get(position)?, &position.to_string(), false);
        }
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if self.list().is_some() {
            return None;
        }
        let value = self.lookup(key);
        if value.is_none() {
            let within = Thing { eval: self.eval.clone(), label: self.label.clone(), what: self.what };
            self.eval.missed(Missing { path: self.path(key), within, key: key.to_owned() });
        }
        value
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        let arena = &self.eval.arena;
        let length = |id: Id| arena.map(id).map_or(0, |map| map.children.len());
        match self.what {
            What::Node(id) => Some(self.list().map_or_else(|| length(id), <[Id]>::len)),
            What::Config(_) => arena.get(arena.document, "config").map(length),
            What::Empty => Some(0),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.what {
            What::Context(_) | What::Entry(_) | What::This(_) | What::Env => Enumerator::NonEnumerable,
            _ => match self.list() {
                Some(items) => Enumerator::Seq(items.len()),
                None => {
                    if matches!(self.what, What::Config(_)) {
                        self.eval.read_config("*");
                    }
                    Enumerator::Values(self.keys().into_iter().map(Value::from).collect())
                }
            },
        }
    }
}
