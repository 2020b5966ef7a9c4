//! One YAML file into one tree of values with positions.
//!
//! The parser is driven by events and keeps its own stack, so no nesting can exhaust the machine's. Three budgets bound what a file may cost: its size, its
//! depth, and the number of values it yields once aliases and merge keys are expanded.

#![allow(clippy::unnecessary_box_returns)] // what a result carries is boxed where it is made

use crate::scalar;
pub use crate::scalar::resolve;
use csis_values::node::Entry;
use csis_values::{Diagnostic, Diagnostics, Node, Place, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::collections::HashMap;
use std::sync::Arc;

/// Larger files are refused before they are parsed.
pub const MAX_BYTES: usize = 8 << 20;
const MAX_DEPTH: usize = 64;
const MAX_VALUES: usize = 500_000;
/// So many bytes of copied text weigh as much as one value.
const TEXT_PER_VALUE: usize = 64;

/// The document of a file: null for an empty file, none when it cannot be read (`found` says why). A duplicate key is reported and the first one kept.
pub fn parse(file: &Arc<str>, bytes: &[u8], found: &mut Diagnostics) -> Option<Node> {
    match text(file, bytes).and_then(|text| Builder::new(file, found).document(text)) {
        Ok(node) => Some(node),
        Err(refusal) => {
            found.push(*refusal);
            None
        }
    }
}

type Refused<T> = Result<T, Box<Diagnostic>>;

fn refuse(code: &'static str, at: &Place, message: impl Into<String>, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, message).at(at).help(help))
}

/// The file as text, without a byte order mark.
fn text<'a>(file: &Arc<str>, bytes: &'a [u8]) -> Refused<&'a str> {
    let head = Place::head(file.clone());
    if bytes.len() > MAX_BYTES {
        let message = format!(
            "{file} is {:.1} MiB; a YAML file of a tree may have {} MiB",
            mebibytes(bytes.len()),
            MAX_BYTES >> 20
        );
        return Err(refuse(
            "file-too-large",
            &head,
            message,
            "split the file, or move what is no configuration out of the tree",
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(refuse("not-utf8", &head, format!("{file} is UTF-16"), "save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (good, rest) = bytes.split_at(error.valid_up_to());
        let byte = rest.first().copied().unwrap_or_default();
        let message = format!("{file} is not UTF-8: byte {} is 0x{byte:02x}", good.len());
        refuse("not-utf8", &place_of(file, good), message, "save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = text.bytes().position(|b| (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) || b == 0x7f) {
        let message = format!("a control character (0x{:02x}) stands in the text", text.as_bytes()[at]);
        return Err(refuse(
            "yaml-syntax",
            &place_of(file, &text.as_bytes()[..at]),
            message,
            "remove it, or write it as an escape in double quotes",
        ));
    }
    Ok(text)
}

#[allow(clippy::cast_precision_loss)] // for people to read
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The position after some bytes of a file.
fn place_of(file: &Arc<str>, before: &[u8]) -> Place {
    let line = before.split(|b| *b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    Place::new(file.clone(), narrow(line), narrow(column))
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

enum Frame {
    List { items: Vec<Node>, at: Place, anchor: usize },
    Map { map: Mapping, at: Place, anchor: usize },
}

#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    /// Position of each key in `entries`, kept once there are many.
    index: HashMap<String, usize>,
    merges: Vec<Node>,
    pending: Option<Key>,
}

struct Key {
    text: String,
    at: Place,
    merge: bool,
}

impl Mapping {
    const FEW: usize = 12;

    fn position(&self, key: &str) -> Option<usize> {
        if self.entries.len() <= Self::FEW {
            self.entries.iter().position(|e| e.key == key)
        } else {
            self.index.get(key).copied()
        }
    }

    fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        if self.entries.len() > Self::FEW {
            let from = self.index.len();
            for (at, entry) in self.entries.iter().enumerate().skip(from) {
                self.index.insert(entry.key.clone(), at);
            }
        }
    }
}

struct Builder<'a> {
    file: &'a Arc<str>,
    found: &'a mut Diagnostics,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    spent: usize,
    root: Option<Node>,
}

impl<'a> Builder<'a> {
    fn new(file: &'a Arc<str>, found: &'a mut Diagnostics) -> Self {
        Builder { file, found, stack: Vec::new(), anchors: HashMap::new(), spent: 0, root: None }
    }

    fn place(&self, marker: &Marker) -> Place {
        Place::new(self.file.clone(), narrow(marker.line().max(1)), narrow(marker.col() + 1))
    }

    fn document(mut self, text: &str) -> Refused<Node> {
        let mut parser = Parser::new_from_str(text);
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = event
                .map_err(|error| Box::new(crate::syntax::explain(text, self.place(error.marker()), error.info())))?;
            let at = self.place(&span.start);
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        let help = "keep one document in a file; move the others to files of their own";
                        return Err(refuse(
                            "yaml-documents",
                            &at,
                            format!("{} holds more than one YAML document", self.file),
                            help,
                        ));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref(), at)?,
                Event::Alias(anchor) => self.alias(anchor, &at)?,
                Event::SequenceStart(anchor, tag) => {
                    Self::known_tag(tag.as_deref(), &["seq"], &at)?;
                    self.open(Frame::List { items: Vec::new(), at, anchor })?;
                }
                Event::MappingStart(anchor, tag) => {
                    Self::known_tag(tag.as_deref(), &["map"], &at)?;
                    self.open(Frame::Map { map: Mapping::default(), at, anchor })?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close()?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        Ok(self.root.unwrap_or_else(|| Node::new(Value::Null, Place::head(self.file.clone()))))
    }

    fn known_tag(tag: Option<&Tag>, known: &[&str], at: &Place) -> Refused<()> {
        match tag {
            Some(tag) if tag.handle == "tag:yaml.org,2002:" && known.contains(&tag.suffix.as_str()) => Ok(()),
            Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Ok(()),
            Some(tag) => {
                let written = if tag.handle == "tag:yaml.org,2002:" {
                    format!("!!{}", tag.suffix)
                } else {
                    format!("{}{}", tag.handle, tag.suffix)
                };
                Err(refuse(
                    "yaml-tag",
                    at,
                    format!("the tag `{written}` is not read here"),
                    "remove the tag and write the plain value",
                ))
            }
            None => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, tag: Option<&Tag>, at: Place) -> Refused<()> {
        Self::known_tag(tag, &["str", "int", "float", "bool", "null"], &at)?;
        if let Some(Frame::Map { map, .. }) = self.stack.last_mut()
            && map.pending.is_none()
        {
            map.pending =
                Some(Key { text: text.to_owned(), merge: style == ScalarStyle::Plain && text == "<<", at: at.clone() });
            if anchor > 0 {
                self.anchors.insert(anchor, Node::new(Value::Text(text.to_owned()), at));
            }
            return Ok(());
        }
        let value = match tag.map(|t| t.suffix.as_str()) {
            Some("int" | "float" | "bool" | "null") => scalar::resolve(text),
            None if style == ScalarStyle::Plain => scalar::resolve(text),
            _ => Value::Text(text.to_owned()),
        };
        self.spend(1, &at)?;
        self.add(Node::new(value, at), anchor)
    }

    fn alias(&mut self, anchor: usize, at: &Place) -> Refused<()> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(refuse(
                "yaml-alias",
                at,
                "this alias stands inside of what it refers to",
                "refer to an anchor that is complete",
            ));
        };
        let (weight, depth) = weigh(node);
        let node = node.clone();
        if let Some(Frame::Map { map, .. }) = self.stack.last_mut()
            && map.pending.is_none()
        {
            let Some(text) = source_text(&node.value) else { return Err(complex_key(at)) };
            map.pending = Some(Key { text, at: at.clone(), merge: false });
            return Ok(());
        }
        if self.stack.len() + depth > MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.spend(weight, at)?;
        self.add(node, 0)
    }

    fn spend(&mut self, weight: usize, at: &Place) -> Refused<()> {
        self.spent += weight;
        if self.spent > MAX_VALUES {
            let help = "use fewer aliases and merge keys, or split the file";
            return Err(refuse(
                "yaml-too-large",
                at,
                format!("the file yields more than {MAX_VALUES} values once its aliases are expanded"),
                help,
            ));
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame) -> Refused<()> {
        let (Frame::List { at, .. } | Frame::Map { at, .. }) = &frame;
        let at = at.clone();
        if let Some(Frame::Map { map, at: outer, .. }) = self.stack.last()
            && map.pending.is_none()
        {
            let is_template =
                matches!(frame, Frame::Map { .. }) && outer.line == at.line && outer.column + 1 == at.column;
            return Err(if is_template { unquoted_template(outer) } else { complex_key(&at) });
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(too_deep(&at));
        }
        self.spend(1, &at)?;
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self) -> Refused<()> {
        match self.stack.pop() {
            Some(Frame::List { items, at, anchor }) => self.add(Node::new(Value::List(items), at), anchor),
            Some(Frame::Map { map, at, anchor }) => {
                let entries = Self::merged(map)?;
                self.add(Node::new(Value::Map(entries), at), anchor)
            }
            None => Ok(()),
        }
    }

    fn add(&mut self, node: Node, anchor: usize) -> Refused<()> {
        if anchor > 0 {
            let (weight, _) = weigh(&node);
            self.spend(weight, &node.at)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { map, .. }) => {
                let Some(key) = map.pending.take() else { return Err(complex_key(&node.at)) };
                if key.merge {
                    map.merges.push(node);
                } else if let Some(first) = map.position(&key.text) {
                    let message = format!("the key `{}` stands twice in one mapping", key.text);
                    let first = map.entries[first].at.clone();
                    let finding = Diagnostic::error("duplicate-key", message)
                        .at(&key.at)
                        .help("keep one of them")
                        .also(&first, "the first one");
                    self.found.push(finding);
                } else {
                    map.push(Entry { key: key.text, at: key.at, value: node });
                }
            }
        }
        Ok(())
    }

    /// The entries with what `<<` brings in: own keys win, then earlier mappings.
    fn merged(mut map: Mapping) -> Refused<Vec<Entry>> {
        for merge in std::mem::take(&mut map.merges) {
            let at = merge.at.clone();
            let wrong = || {
                refuse(
                    "yaml-merge",
                    &at,
                    "`<<` takes a mapping or a list of mappings",
                    "refer to the anchor of a mapping",
                )
            };
            let sources = match merge.value {
                Value::Map(entries) => vec![entries],
                Value::List(items) => {
                    let maps =
                        items.into_iter().map(|n| if let Value::Map(entries) = n.value { Some(entries) } else { None });
                    maps.collect::<Option<Vec<_>>>().ok_or_else(wrong)?
                }
                _ => return Err(wrong()),
            };
            for entry in sources.into_iter().flatten() {
                if map.position(&entry.key).is_none() {
                    map.push(entry);
                }
            }
        }
        Ok(map.entries)
    }
}

fn complex_key(at: &Place) -> Box<Diagnostic> {
    refuse(
        "yaml-key",
        at,
        "a list or a mapping stands as a key",
        "write a text as the key; quote it when it begins with `[`, `{`, `?` or `*`",
    )
}

/// `{{` is a mapping whose key is a mapping, to YAML.
fn unquoted_template(at: &Place) -> Box<Diagnostic> {
    refuse(
        "yaml-key",
        at,
        "a template stands without quotes, which YAML reads as a mapping",
        "put the whole value in quotes",
    )
}

fn too_deep(at: &Place) -> Box<Diagnostic> {
    refuse("yaml-too-deep", at, format!("values nest more than {MAX_DEPTH} deep"), "nest less deeply")
}

/// What a copy of it costs, and how deep it is.
fn weigh(node: &Node) -> (usize, usize) {
    let (mut weight, mut depth) = (1, 0);
    let mut child = |node: &Node| {
        let (w, d) = weigh(node);
        weight += w;
        depth = depth.max(d + 1);
    };
    match &node.value {
        Value::List(items) => items.iter().for_each(&mut child),
        Value::Map(entries) => entries.iter().for_each(|e| child(&e.value)),
        Value::Text(text) => weight += text.len() / TEXT_PER_VALUE,
        _ => {}
    }
    (weight, depth)
}

/// A scalar as a key: by its source text.
fn source_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Int(_, text) | Value::Float(_, text) => Some(text.clone()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Null => Some(String::new()),
        Value::List(_) | Value::Map(_) => None,
    }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
