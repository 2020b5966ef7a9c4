//! Every entry by its names.

use crate::arena::{kind_of, table_of};
use crate::words::{list, nearest, quote};
use csis_kinds::registry;
use csis_values::name::{is_reserved, safe_name};
use csis_values::node::Entry;
use csis_values::{Class, Diagnostic, Diagnostics, Name, Node, Place, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The name of an entry as written; numbers by their source text.
pub(crate) fn written(entry: &Node) -> Option<(&str, &Place)> {
    let node = entry.get("name")?;
    match &node.value {
        Value::Text(text) | Value::Int(_, text) | Value::Float(_, text) => Some((text, &node.at)),
        _ => None,
    }
}

/// The entries of a list that have a name of their own.
pub(crate) struct Named {
    pub entries: Vec<Node>,
    /// Every entry can be found by a name.
    pub whole: bool,
}

/// Keeps the entries of a list that have a name of their own, and reports the others.
pub(crate) fn named(class: Class, entries: Vec<Node>, found: &mut Diagnostics) -> Named {
    let mut kept: Vec<Node> = Vec::with_capacity(entries.len());
    let mut whole = true;
    let mut seen: HashMap<String, usize> = HashMap::new();
    let (mut file, mut number) = (None, 0);
    for mut entry in entries {
        // Counted within its file, as a person counts.
        number = if file.as_ref() == Some(&entry.at.file) { number + 1 } else { 1 };
        file = Some(entry.at.file.clone());
        if written(&entry).is_none() && !name_meant(class, number, &mut entry, found) {
            nameless(class, number, &entry, found);
            whole = false;
            continue;
        }
        let Some((name, at)) = written(&entry) else { continue };
        check(class, name, at, found);
        let safe = safe_name(name);
        if let Some(&first) = seen.get(&safe) {
            let other = written(&kept[first]);
            let at = at.clone();
            let shown = other.map_or(quote(name), |(first, _)| {
                if first == name { quote(name) } else { format!("{} and {}", quote(first), quote(name)) }
            });
            let place = other.map_or(&kept[first].at, |(_, place)| place);
            let message = format!("two {}s have one name, {shown}: here and in {}", class.noun(), quote(&place.file));
            found.push(
                Diagnostic::error("duplicate-name", message)
                    .at(&at)
                    .help("rename one of them")
                    .also(place, "the first one"),
            );
            continue;
        }
        seen.insert(safe, kept.len());
        kept.push(entry);
    }
    Named { entries: kept, whole }
}

fn nameless(class: Class, number: usize, entry: &Node, found: &mut Diagnostics) {
    let key = class.key();
    let finding = match (entry.map(), entry.get("name")) {
        (None, _) => Diagnostic::error(
            "wrong-type",
            format!("entry {number} of `{key}` is {} where a mapping belongs", entry.describe()),
        )
        .at(&entry.at)
        .help("write `- name: …` and its fields below"),
        // Told as a reserved word already.
        (_, Some(node)) if node.is_null() => return,
        (_, Some(node)) => {
            Diagnostic::error("wrong-type", format!("the name of entry {number} of `{key}` is {}", node.describe()))
                .at(&node.at)
                .help("write a text; put it in quotes")
        }
        (_, None) => Diagnostic::error("missing-field", format!("entry {number} of `{key}` has no `name`"))
            .at(&entry.at)
            .help("give it a `name`"),
    };
    found.push(finding);
}

/// Reports a misspelt `name` and takes it for the name, so that nothing is said to be missing because of it.
fn name_meant(class: Class, number: usize, entry: &mut Node, found: &mut Diagnostics) -> bool {
    if entry.get("name").is_some() {
        return false;
    }
    let table = table_of(class, kind_of(entry));
    let Value::Map(fields) = &mut entry.value else { return false };
    let is_meant = |field: &&mut Entry| {
        table.find(&field.key).is_none()
            && nearest(&field.key, ["name"]).is_some()
            && field.value.text().is_some_and(|text| !is_reserved(text))
    };
    let Some(field) = fields.iter_mut().find(is_meant) else { return false };
    let message = format!("entry {number} of `{}` has {} and no `name`", class.key(), quote(&field.key));
    found.push(Diagnostic::error("missing-field", message).at(&field.at).help("write `name`"));
    "name".clone_into(&mut field.key);
    true
}

/// Reports the types of builders that there are not. One that is nearly a known type is read as that one, so that nothing else is told because of it.
pub(crate) fn kinds(class: Class, entries: &mut [Node], found: &mut Diagnostics) {
    if !Class::BUILDERS.contains(&class) {
        return;
    }
    let known = registry::names(class);
    for entry in entries {
        let what = written(entry).map_or_else(String::new, |(name, _)| quote(name));
        let Value::Map(fields) = &mut entry.value else { continue };
        let Some(field) = fields.iter_mut().find(|field| field.key == "type") else { continue };
        let (Value::Text(kind) | Value::Int(_, kind) | Value::Float(_, kind)) = &field.value.value else { continue };
        if known.contains(&kind.as_str()) {
            continue;
        }
        let noun = class.noun();
        let types = list(known.iter().copied());
        let message = format!("{noun} {what}: there is no {noun} type {} (the types are {types})", quote(kind));
        let near = nearest(kind, known.iter().copied());
        let help = near.map_or_else(|| "write one of them".to_owned(), |near| format!("write `{near}`"));
        found.push(Diagnostic::error("unknown-type", message).at(&field.value.at).help(help));
        if let Some(near) = near {
            field.value.value = Value::Text(near.to_owned());
        }
    }
}

fn check(class: Class, name: &str, at: &Place, found: &mut Diagnostics) {
    let odd = if name.contains(['/', '\\']) {
        "holds a slash"
    } else if name.contains("{{") || name.contains("}}") || name.contains("{%") {
        "is a template"
    } else if name.chars().any(char::is_control) {
        "holds a control character"
    } else {
        return;
    };
    let message = format!("the {} name {} {odd}", class.noun(), quote(name));
    found.push(Diagnostic::error("odd-name", message).at(at).help("use letters, digits, `-`, `_` and `.`"));
}

/// Why a reference leads nowhere.
pub(crate) enum Lost {
    /// `default`, and the class has no single default entry.
    NoDefault,
    Unknown,
}

/// Where every name and alias leads.
#[derive(Default)]
pub(crate) struct Names {
    entries: HashMap<Class, ClassNames>,
    /// Classes of which something could not be read; an unknown name of them is not reported.
    pub partial: BTreeSet<Class>,
    /// Entries that this invocation takes away.
    pub undeclared: BTreeMap<(Class, String), String>,
    suggested: AtomicUsize,
}

/// After so many suggestions a tree gets none: looking for near words costs more than all else, and nobody reads that many.
const SUGGESTIONS: usize = 300;

#[derive(Default)]
struct ClassNames {
    /// Safe name or alias → position.
    by: HashMap<String, usize>,
    declared: Vec<Name>,
    defaults: Vec<usize>,
    /// The declared names in words, made once.
    shown: OnceLock<String>,
}

impl Names {
    /// Takes in the entries of a class, in the order that positions count.
    pub fn add(&mut self, class: Class, entries: &[Node], found: &mut Diagnostics) {
        let mut names = ClassNames::default();
        for entry in entries {
            let name = Name::new(written(entry).map_or("", |(name, _)| name));
            names.by.insert(name.safe.clone(), names.declared.len());
            if entry.get("is_default").is_some_and(is_true) {
                names.defaults.push(names.declared.len());
            }
            names.declared.push(name);
        }
        for (position, entry) in entries.iter().enumerate() {
            for alias in entry.get("aliases").and_then(Node::list).unwrap_or_default() {
                let (Value::Text(text) | Value::Int(_, text) | Value::Float(_, text)) = &alias.value else { continue };
                check(class, text, &alias.at, found);
                let safe = safe_name(text);
                match names.by.get(&safe) {
                    Some(&other) if other == position => {}
                    Some(&other) => {
                        let message = format!(
                            "the alias {} of {} {} leads to {} already",
                            quote(text),
                            class.noun(),
                            quote(&names.declared[position].written),
                            quote(&names.declared[other].written)
                        );
                        found.push(
                            Diagnostic::error("alias-taken", message)
                                .at(&alias.at)
                                .help("choose another alias")
                                .also(&entries[other].at, "declared here"),
                        );
                    }
                    None if is_reserved(text) => {}
                    None => {
                        names.by.insert(safe, position);
                    }
                }
            }
        }
        self.entries.insert(class, names);
    }

    fn class(&self, class: Class) -> Option<&ClassNames> {
        self.entries.get(&class)
    }

    /// The position of what a reference names.
    pub fn find(&self, class: Class, text: &str) -> Result<usize, Lost> {
        let names = self.class(class).ok_or(Lost::Unknown)?;
        let safe = safe_name(text);
        if safe == "default" {
            return self.default_of(class).ok_or(Lost::NoDefault);
        }
        names.by.get(&safe).copied().ok_or(Lost::Unknown)
    }

    /// The position of the class's default entry. Where there is not exactly one, which is told once, what was surely meant stands for it.
    pub fn default_of(&self, class: Class) -> Option<usize> {
        let names = self.class(class)?;
        let told = Class::BUILDERS.contains(&class);
        match (names.defaults.as_slice(), names.declared.len()) {
            ([first], _) => Some(*first),
            ([first, ..], _) if told => Some(*first),
            ([], 1) if told => Some(0),
            _ => None,
        }
    }

    pub fn defaults(&self, class: Class) -> &[usize] {
        self.class(class).map_or(&[], |names| &names.defaults)
    }

    pub fn name(&self, class: Class, position: usize) -> Option<&Name> {
        self.class(class)?.declared.get(position)
    }

    pub fn declared(&self, class: Class) -> impl Iterator<Item = &Name> {
        self.class(class).into_iter().flat_map(|names| &names.declared)
    }

    /// The nearest known word, as long as suggestions are given.
    pub fn nearest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let given = self.suggested.fetch_add(1, Ordering::Relaxed) < SUGGESTIONS;
        if given { nearest(word, known) } else { None }
    }

    /// Whether suggestions are still given: known words need not be gathered when none is.
    pub fn suggests(&self) -> bool {
        self.suggested.load(Ordering::Relaxed) < SUGGESTIONS
    }

    fn shown(&self, class: Class) -> &str {
        let shown = |names: &ClassNames| list(names.declared.iter().map(|n| n.written.as_str()));
        self.class(class).map_or("none", |names| names.shown.get_or_init(|| shown(names)))
    }

    /// The canonical name of what a reference names.
    pub fn canonical(&self, class: Class, text: &str) -> Option<&str> {
        self.name(class, self.find(class, text).ok()?).map(|name| name.safe.as_str())
    }

    /// Reports a reference that leads nowhere; `what` says whose field it is, e.g. ``image `web` ``. Silent where something of the class was not read.
    pub fn report(&self, class: Class, what: &str, field: &str, text: &str, at: &Place, found: &mut Diagnostics) {
        let Err(lost) = self.find(class, text) else { return };
        if self.partial.contains(&class) {
            return;
        }
        let declared = || self.declared(class).map(|name| name.written.as_str());
        let safe = safe_name(text);
        let noun = class.noun();
        if let Some(by) = self.undeclared.get(&(class, safe)) {
            // Storages are referred to by mounts alone, and the rules of attachments tell of those.
            if class == Class::Storage {
                return;
            }
            let message = format!("{what}: `{field}` names the {noun} {}, which {by} takes away", quote(text));
            return found.push(
                Diagnostic::error("unknown-reference", message)
                    .at(at)
                    .help("remove the reference first, or keep the entry"),
            );
        }
        let (message, help) = match lost {
            Lost::NoDefault => (
                format!(
                    "{what}: `{field}` asks for the default {noun}, and there is not exactly one (declared: {})",
                    self.shown(class)
                ),
                "name one, or set `is_default: true` on one of them".to_owned(),
            ),
            Lost::Unknown if is_reserved(text) => (
                format!(
                    "{what}: `{field}` is {}, and that word names nothing (declared {noun}s: {})",
                    quote(text),
                    self.shown(class)
                ),
                "name a declared one, or leave the key out".to_owned(),
            ),
            Lost::Unknown => (
                format!(
                    "{what}: `{field}` names the {noun} {}, which is not declared (declared: {})",
                    quote(text),
                    self.shown(class)
                ),
                self.nearest(text, declared()).map_or_else(
                    || format!("declare it under `{}:`, or name a declared one", class.key()),
                    |near| format!("write `{near}`"),
                ),
            ),
        };
        found.push(Diagnostic::error("unknown-reference", message).at(at).help(help));
    }
}

fn is_true(node: &Node) -> bool {
    match &node.value {
        Value::Bool(b) => *b,
        // Another word is told as such; whoever writes it means yes.
        Value::Text(text) => crate::read::bool_word(text).unwrap_or_else(|| !text.contains("{{")),
        _ => false,
    }
}
