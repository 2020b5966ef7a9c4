//! Templates: rendered when their value is asked for, each once.
//!
//! A template may read values that are templates themselves; they are rendered first, a circle is refused. What a template may cost is bounded by the
//! engine's fuel, which pays for data as well as for steps, and by a budget for the whole tree.

use crate::arena::{Arena, Body, Id, Templated};
use crate::clock::strftime;
use crate::names::Names;
use crate::things::Thing;
use crate::words::quote;
use csis_values::node::Entry;
use csis_values::{Diagnostic, Diagnostics, Node, Place, Value};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, escape_formatter};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// For one template: about a megabyte of text, or twenty thousand steps.
const FUEL: u64 = 20_000;
/// For a tree.
const BUDGET: u64 = 20_000_000;
/// So deep may templates read each other.
const DEPTH: usize = 16;

pub(crate) struct Evaluator {
    pub arena: Arena,
    pub names: Names,
    pub env: BTreeMap<String, String>,
    pub execution: Execution,
    engine: Environment<'static>,
    state: Mutex<State>,
}

/// What `execution` holds.
pub(crate) struct Execution {
    pub timestamp: String,
    pub dateformat: String,
    pub date: String,
}

impl Execution {
    pub fn new(dateformat: &str, now: &str) -> Self {
        Execution {
            timestamp: strftime(dateformat, now),
            dateformat: dateformat.to_owned(),
            date: now.get(..10).unwrap_or_default().to_owned(),
        }
    }
}

#[derive(Default)]
struct State {
    rendered: HashMap<Id, Option<Arc<str>>>,
    /// The templates being rendered, the innermost last.
    frames: Vec<Frame>,
    spent: u64,
    found: Diagnostics,
    /// Keys of the document's `config` that a template has read; `*` when one went through all.
    config_read: HashSet<String>,
    env_read: BTreeSet<String>,
    /// Values computed for absent keys of entries.
    given: HashMap<Id, Vec<(&'static str, Arc<str>)>>,
}

#[derive(Default)]
struct Frame {
    id: Option<Id>,
    missing: Option<Missing>,
    /// A value it reads could not be had, which was reported there.
    cascade: bool,
    clock: bool,
    env: bool,
}

/// The last name that was looked for in vain.
pub(crate) struct Missing {
    pub path: String,
    /// Where it was looked for, and as what.
    pub within: Thing,
    pub key: String,
}

/// The text could not be made; why was reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

impl Evaluator {
    pub fn new(arena: Arena, names: Names, env: BTreeMap<String, String>, execution: Execution) -> Arc<Self> {
        Arc::new(Evaluator { arena, names, env, execution, engine: engine(), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text of a value, rendered.
    pub fn text(self: &Arc<Self>, id: Id) -> Result<Arc<str>, Failed> {
        let slot = self.arena.slot(id);
        let Body::Text(source, templated) = &slot.body else { return Ok(Arc::from("")) };
        if *templated == Templated::No {
            return Ok(Arc::from(source.as_str()));
        }
        {
            let mut state = self.state();
            if let Some(known) = state.rendered.get(&id) {
                return known.clone().ok_or(Failed);
            }
            let circle = state.frames.iter().any(|f| f.id == Some(id));
            if circle || state.frames.len() >= DEPTH {
                let message = if circle {
                    "this template reads itself".to_owned()
                } else {
                    format!("templates read each other more than {DEPTH} deep here")
                };
                state.found.push(
                    Diagnostic::error("template-circle", message).at(&slot.at).help("write one of the values out"),
                );
                if !circle {
                    state.rendered.insert(id, None);
                }
                return Err(Failed);
            }
        }
        let result = self.render(source, Some(id), id, &slot.at, *templated == Templated::UnlessForeign);
        let text = result.map(Arc::<str>::from);
        self.state().rendered.insert(id, text.as_ref().ok().cloned());
        text
    }

    /// Renders a template that stands elsewhere (a default) as if it stood in the entry; `at` is where it is told of.
    pub fn render_in(self: &Arc<Self>, entry: Id, source: &str, at: &Place) -> Result<String, Failed> {
        self.render(source, None, entry, at, false)
    }

    fn render(
        self: &Arc<Self>,
        source: &str,
        id: Option<Id>,
        site: Id,
        at: &Place,
        foreign: bool,
    ) -> Result<String, Failed> {
        {
            let mut state = self.state();
            if state.spent >= BUDGET {
                if state.spent < u64::MAX {
                    state.spent = u64::MAX;
                    let message = "the templates of this tree cost too much to render";
                    state.found.push(
                        Diagnostic::error("template-cost", message)
                            .at(at)
                            .help("write values out instead of computing them"),
                    );
                }
                return Err(Failed);
            }
            state.frames.push(Frame { id, ..Frame::default() });
        }
        let result = self.run(source, site);
        let mut state = self.state();
        let frame = state.frames.pop().unwrap_or_default();
        match result {
            Ok((text, fuel)) => {
                state.spent = state.spent.saturating_add(fuel);
                if frame.clock {
                    let message =
                        "this value takes the time of the run, so the same tree no longer makes the same files";
                    state.found.push(
                        Diagnostic::warning("template-clock", message)
                            .at(at)
                            .help("leave `execution.timestamp` and `execution.date` out"),
                    );
                }
                Ok(text)
            }
            Err(error) => {
                state.spent = state.spent.saturating_add(if error.kind() == ErrorKind::OutOfFuel { FUEL } else { 0 });
                if frame.cascade && error.kind() != ErrorKind::SyntaxError {
                    return Err(Failed);
                }
                if foreign && error.kind() == ErrorKind::SyntaxError {
                    let message = "this text is no template, so it is taken literally";
                    let help = "put text that only looks like a template between `{% raw %}` and `{% endraw %}`";
                    state.found.push(
                        Diagnostic::note("template-foreign", message).at(&line_of(at, source, &error)).help(help),
                    );
                    return Ok(source.to_owned());
                }
                state.found.push(refusal(&error, &frame, at, source));
                Err(Failed)
            }
        }
    }

    fn run(self: &Arc<Self>, source: &str, site: Id) -> Result<(String, u64), Error> {
        let template = self.engine.template_from_str(source)?;
        let captured = template.render_captured(minijinja::Value::from_object(Thing::context(self.clone(), site)))?;
        let fuel = captured.state().fuel_levels().map_or(0, |(used, _)| used);
        Ok((captured.into_output(), fuel))
    }

    /// A value with all its templates rendered. Places of texts that could not be rendered go to `broken`; they stay as written.
    pub fn node(self: &Arc<Self>, id: Id, broken: &mut HashSet<Place>) -> Node {
        let slot = self.arena.slot(id);
        let value = match &slot.body {
            Body::Null => Value::Null,
            Body::Bool(b) => Value::Bool(*b),
            Body::Int(number, text) => Value::Int(*number, text.clone()),
            Body::Float(number, text) => Value::Float(*number, text.clone()),
            Body::Text(source, Templated::No) => Value::Text(source.clone()),
            Body::Text(source, _) => match self.text(id) {
                Ok(text) => Value::Text(text.to_string()),
                Err(Failed) => {
                    broken.insert(slot.at.clone());
                    Value::Text(source.clone())
                }
            },
            Body::List(items) => Value::List(items.iter().map(|item| self.node(*item, broken)).collect()),
            Body::Map(map) => Value::Map(
                map.children
                    .iter()
                    .map(|c| Entry { key: c.key.clone(), at: c.at.clone(), value: self.node(c.id, broken) })
                    .collect(),
            ),
        };
        Node::new(value, slot.at.clone())
    }

    /// Sets what an absent key of an entry stands for.
    pub fn give(&self, entry: Id, key: &'static str, text: String) {
        self.state().given.entry(entry).or_default().push((key, Arc::from(text)));
    }

    pub fn given(&self, entry: Id, key: &str) -> Option<Arc<str>> {
        let state = self.state();
        state.given.get(&entry)?.iter().find(|(k, _)| *k == key).map(|(_, text)| text.clone())
    }

    pub fn missed(&self, missing: Missing) {
        if let Some(frame) = self.state().frames.last_mut() {
            frame.missing = Some(missing);
        }
    }

    pub fn cascade(&self) {
        if let Some(frame) = self.state().frames.last_mut() {
            frame.cascade = true;
        }
    }

    pub fn read_clock(&self) {
        if let Some(frame) = self.state().frames.last_mut() {
            frame.clock = true;
        }
    }

    pub fn read_env(&self, name: &str) {
        let mut state = self.state();
        state.env_read.insert(name.to_owned());
        if let Some(frame) = state.frames.last_mut() {
            frame.env = true;
        }
    }

    pub fn read_config(&self, key: &str) {
        let mut state = self.state();
        if !state.config_read.contains(key) {
            state.config_read.insert(key.to_owned());
        }
    }

    /// What rendering found, and which keys of `config` and which variables were read.
    pub fn finish(&self) -> (Diagnostics, HashSet<String>, BTreeSet<String>) {
        let mut state = self.state();
        (std::mem::take(&mut state.found), std::mem::take(&mut state.config_read), std::mem::take(&mut state.env_read))
    }
}

fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_fuel(Some(FUEL));
    engine.set_recursion_limit(64);
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // Comments would swallow shell such as `${#list[@]}`.
    if let Ok(syntax) =
        SyntaxConfig::builder().comment_delimiters("\u{1}#", "#\u{1}").keep_trailing_newline(true).build()
    {
        engine.set_syntax(syntax);
    }
    engine.set_formatter(|out, state, value| match value.kind() {
        ValueKind::String | ValueKind::Number | ValueKind::Bool => escape_formatter(out, state, value),
        ValueKind::Undefined | ValueKind::None => {
            Err(Error::new(ErrorKind::InvalidOperation, "nothing is there to be written"))
        }
        ValueKind::Map => Err(Error::new(
            ErrorKind::InvalidOperation,
            "a mapping or an entry cannot be written into a text; name one of its keys",
        )),
        _ => {
            Err(Error::new(ErrorKind::InvalidOperation, "a list cannot be written into a text; use the filter `join`"))
        }
    });
    engine
}

/// Where in a text an error stands: a text of several lines begins on the line after its place.
fn line_of(at: &Place, source: &str, error: &Error) -> Place {
    match (source.contains('\n'), error.line()) {
        (true, Some(line)) => Place::new(at.file.clone(), at.line + u32::try_from(line).unwrap_or(0), 1),
        _ => at.clone(),
    }
}

fn refusal(error: &Error, frame: &Frame, at: &Place, source: &str) -> Diagnostic {
    let at = line_of(at, source, error);
    // What an error quotes may come from a variable.
    let detail = error.detail().filter(|_| !frame.env).map(str::to_owned);
    match (error.kind(), &frame.missing) {
        (ErrorKind::UndefinedError, Some(missing)) => {
            let message = format!("the template reads {}, which is not set here", quote(&missing.path));
            let help = match missing.within.near(&missing.key) {
                Some(near) => format!("write `{near}`"),
                None if missing.path.starts_with("ENV.") => {
                    "let templates read the variable: list it under `config.template_env`, and set it; or give a fallback with `| default(…)`".to_owned()
                }
                None => "set it, give a fallback with `| default(…)`, or put literal text between `{% raw %}` and `{% endraw %}`".to_owned(),
            };
            Diagnostic::error("template-undefined", message).at(&at).help(help)
        }
        (ErrorKind::UndefinedError, None) => {
            Diagnostic::error("template-undefined", "the template reads something that is not set")
                .at(&at)
                .help("give a fallback with `| default(…)`")
        }
        (ErrorKind::SyntaxError, _) => {
            let detail = detail.map_or_else(String::new, |d| format!(": {d}"));
            let help = "mend it, or put literal text between `{% raw %}` and `{% endraw %}`";
            Diagnostic::error("template-syntax", format!("the template cannot be read{detail}")).at(&at).help(help)
        }
        (ErrorKind::OutOfFuel, _) => Diagnostic::error("template-cost", "the template costs too much to render")
            .at(&at)
            .help("write the value out instead of computing it"),
        (kind, _) => {
            let detail = detail.unwrap_or_else(|| kind.to_string());
            Diagnostic::error("template-failed", format!("the template cannot be rendered: {detail}"))
                .at(&at)
                .help("mend the template")
        }
    }
}
