//! Reads the JSON of a plan as a stream and redacts it at the door.
//!
//! One object's values are in memory at a time; everything that no rule and no reader needs is skipped. Keys may come in any order. What cannot be read
//! is *not a plan*: nothing of it is handed on.

use super::configuration::{Configuration, ConfigurationSeed};
use super::diff::{Sides, differences, path_of};
use super::facts::facts;
use super::json::Json;
use super::redact::Redactor;
use super::shown::{Lens, cut};
use crate::pending::Tokens;
use csis_values::plan::{Action, Change, Code, Document, Freshness, OutputChange, Plan, Shown};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

/// Bytes of values that one plan keeps; beyond it only what rules judge by is kept, the rest is counted.
const DETAIL: usize = 8 << 20;
const NAME: usize = 1024;

/// How a document is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// What messages call the document: a file name or a root's id.
    pub source: &'a str,
    pub redactor: &'a Redactor,
    /// The tokens of the run that planned it.
    pub tokens: Option<&'a Tokens>,
    /// csis built the argument vector itself.
    pub ours: bool,
}

/// A root's outputs as planned, unredacted: for the stub of a consumer, never for people. Not serialisable on purpose.
#[derive(Default)]
pub struct Outputs(pub(crate) BTreeMap<String, Output>);

#[derive(Default)]
pub(crate) struct Output {
    pub action: Vec<String>,
    pub before: Option<Box<RawValue>>,
    pub after: Option<Box<RawValue>>,
    pub after_unknown: Option<Box<RawValue>>,
    pub after_sensitive: Option<Box<RawValue>>,
    pub before_sensitive: Option<Box<RawValue>>,
}

impl Output {
    pub fn before(&self) -> Result<Option<Json<'_>>, &'static str> {
        self.before.as_deref().map(|raw| Json::parse(raw.get())).transpose()
    }

    pub fn after(&self) -> Result<Option<Json<'_>>, &'static str> {
        self.after.as_deref().map(|raw| Json::parse(raw.get())).transpose()
    }

    pub fn after_unknown(&self) -> Result<Option<Json<'_>>, &'static str> {
        self.after_unknown.as_deref().map(|raw| Json::parse(raw.get())).transpose()
    }

    pub fn after_sensitive(&self) -> Result<Option<Json<'_>>, &'static str> {
        self.after_sensitive.as_deref().map(|raw| Json::parse(raw.get())).transpose()
    }
}

/// Reads a whole document. Never fails: what is no plan says so in [`Plan::document`].
pub fn read(reader: impl Read, how: Reading<'_>) -> (Plan, Outputs) {
    let mut reader = std::io::BufReader::with_capacity(1 << 16, reader);
    let mut state = State { how, plan: empty(how), outputs: Outputs::default(), detail: DETAIL, seen: Seen::default() };
    let mut json = serde_json::Deserializer::from_reader(&mut reader);
    let result = Document_ { state: &mut state }.deserialize(&mut json).and_then(|()| json.end());
    match result.map_err(|error| why_broken(&error, how.redactor)).and_then(|()| state.seen.judge()) {
        Ok(()) => {
            let mut plan = state.plan;
            plan.changes.sort_by(by_rank);
            plan.drift.sort_by(by_rank);
            plan.outputs.sort_by(|a, b| a.name.cmp(&b.name));
            plan.providers.sort();
            plan.providers.dedup();
            (plan, state.outputs)
        }
        Err(why) => {
            let plan =
                Plan { document: Document::NotAPlan(why), format_version: state.plan.format_version, ..empty(how) };
            (plan, Outputs::default())
        }
    }
}

/// What is managed before what is read, then by address.
fn by_rank(a: &Change, b: &Change) -> std::cmp::Ordering {
    fn rank(change: &Change) -> (bool, &str, Option<&str>) {
        (change.mode == "data", &change.address, change.deposed.as_deref())
    }
    rank(a).cmp(&rank(b))
}

fn empty(how: Reading<'_>) -> Plan {
    Plan { source: how.source.to_owned(), ours: how.ours, freshness: Freshness::NotJudged, ..Plan::default() }
}

fn why_broken(error: &serde_json::Error, redactor: &Redactor) -> String {
    match error.classify() {
        serde_json::error::Category::Io => format!("it could not be read: {error}"),
        serde_json::error::Category::Eof if (error.line(), error.column()) <= (1, 0) => "it is empty".into(),
        // The words may quote a value.
        serde_json::error::Category::Data => cut(&redactor.text(&error.to_string()), 400),
        _ => format!("broken JSON: {error}"),
    }
}

/// Parts of a plan that say nothing of what it does.
const KNOWN: &[&str] = &["checks", "prior_state", "relevant_attributes", "timestamp", "variables"];

/// An action of a provider that the apply would start; a deferred one stands a level deeper.
#[derive(serde::Deserialize)]
struct Invocation {
    #[serde(default)]
    address: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(rename = "action_invocation")]
    deferred: Option<Box<Invocation>>,
}

impl Invocation {
    fn into_code(self) -> Code {
        let Invocation { address, kind, deferred } = self;
        let (address, kind) = deferred.map_or((address, kind), |inner| (inner.address, inner.kind));
        Code { what: format!("action {kind}"), address }
    }
}

#[derive(Default)]
struct Seen {
    resource_changes: bool,
    planned_values: bool,
    values: bool,
}

impl Seen {
    fn judge(&self) -> Result<(), String> {
        if self.values {
            return Err("it is a state: it has `values` at the top".into());
        }
        if !self.resource_changes && !self.planned_values {
            return Err("it has neither `resource_changes` nor `planned_values`".into());
        }
        Ok(())
    }
}

struct State<'a> {
    how: Reading<'a>,
    plan: Plan,
    outputs: Outputs,
    detail: usize,
    seen: Seen,
}

struct Document_<'s, 'a> {
    state: &'s mut State<'a>,
}

impl<'de> DeserializeSeed<'de> for Document_<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document_<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a plan")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let state = self.state;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "format_version" => state.plan.format_version = map.next_value::<Option<Short>>()?.map(|short| short.0),
                "terraform_version" => {
                    state.plan.engine_version = map.next_value::<Option<Short>>()?.map(|short| short.0);
                }
                "errored" => state.plan.errored |= map.next_value::<Option<bool>>()?.unwrap_or(false),
                "complete" => {
                    let said: Option<bool> = map.next_value()?;
                    // What was deferred may have been told before.
                    if state.plan.complete != Some(false) {
                        state.plan.complete = said;
                    }
                }
                "deferred_changes" => {
                    if map.next_value::<Option<Vec<IgnoredAny>>>()?.is_some_and(|deferred| !deferred.is_empty()) {
                        state.plan.complete = Some(false);
                    }
                }
                "applyable" => state.plan.applyable = map.next_value()?,
                "planned_values" => {
                    map.next_value::<IgnoredAny>()?;
                    state.seen.planned_values = true;
                }
                "values" => {
                    map.next_value::<IgnoredAny>()?;
                    state.seen.values = true;
                }
                "resource_changes" => {
                    state.seen.resource_changes |= map.next_value_seed(Changes { state, drift: false })?;
                }
                "resource_drift" => {
                    map.next_value_seed(Changes { state, drift: true })?;
                }
                "output_changes" => map.next_value_seed(OutputChanges { state })?,
                "configuration" => {
                    let mut found = Configuration::default();
                    map.next_value_seed(ConfigurationSeed::root(&mut found))?;
                    state.plan.configured = found.is_whole;
                    state.plan.code.append(&mut found.code);
                    state.plan.providers.append(&mut found.providers);
                }
                // What an apply does besides changing resources.
                "action_invocations" | "deferred_action_invocations" => {
                    for action in map.next_value::<Option<Vec<Invocation>>>()?.unwrap_or_default() {
                        state.plan.code.push(action.into_code());
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    if !KNOWN.contains(&key.as_str()) {
                        state.plan.unknown_parts.push(cut(&key, 80));
                    }
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom("it is a list, not an object"))
    }
}

/// A short text or number, as written.
struct Short(String);

impl<'de> serde::Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = match Json::parse(raw.get()) {
            Ok(Json::Text(text)) => text.into_owned(),
            _ => raw.get().to_owned(),
        };
        Ok(Short(cut(&text, NAME)))
    }
}

/// The list of changes; says whether there was one (`null` is none).
struct Changes<'s, 'a> {
    state: &'s mut State<'a>,
    drift: bool,
}

impl<'de> DeserializeSeed<'de> for Changes<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Changes<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of changes")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        while let Some(resource) = list.next_element::<Resource>()? {
            let at = cut(resource.address.as_deref().unwrap_or_default(), 200);
            let change = resource
                .judge(self.state, self.drift)
                .map_err(|why| A::Error::custom(if at.is_empty() { why } else { format!("{at}: {why}") }))?;
            // What is kept was made among far more that was dropped; a copy lies closer together, which halves the peak of a large plan.
            let Some(made) = change else { continue };
            let change = made.clone();
            drop(made);
            if self.drift {
                self.state.plan.drift.push(change);
            } else {
                self.state.plan.changes.push(change);
            }
        }
        Ok(true)
    }
}

/// One element of `resource_changes`, its values still as text.
#[derive(Default)]
struct Resource {
    address: Option<String>,
    previous_address: Option<String>,
    deposed: Option<String>,
    mode: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    provider: Option<String>,
    reason: Option<String>,
    change: ChangeBody,
}

#[derive(Default)]
struct ChangeBody {
    actions: Option<Vec<String>>,
    before: Option<Box<RawValue>>,
    after: Option<Box<RawValue>>,
    after_unknown: Option<Box<RawValue>>,
    before_sensitive: Option<Box<RawValue>>,
    after_sensitive: Option<Box<RawValue>>,
    replace_paths: Option<Box<RawValue>>,
    importing: Option<Box<RawValue>>,
}

impl<'de> serde::Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seek;
        impl<'de> Visitor<'de> for Seek {
            type Value = Resource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a change")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Resource, A::Error> {
                let mut resource = Resource::default();
                let mut changed = false;
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "address" => once(&mut resource.address, &mut map, "address")?,
                        "previous_address" => once(&mut resource.previous_address, &mut map, "previous_address")?,
                        "deposed" => once(&mut resource.deposed, &mut map, "deposed")?,
                        "mode" => once(&mut resource.mode, &mut map, "mode")?,
                        "type" => once(&mut resource.kind, &mut map, "type")?,
                        "name" => once(&mut resource.name, &mut map, "name")?,
                        "provider_name" => once(&mut resource.provider, &mut map, "provider_name")?,
                        "action_reason" => once(&mut resource.reason, &mut map, "action_reason")?,
                        "change" if changed => return Err(A::Error::custom("a change has `change` twice")),
                        "change" => {
                            resource.change = map.next_value()?;
                            changed = true;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(resource)
            }
        }
        deserializer.deserialize_map(Seek)
    }
}

/// Takes a value that may stand once: of two, one would go unjudged.
fn once<'de, T: serde::Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    map: &mut A,
    key: &str,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::custom(format!("a change has `{key}` twice")));
    }
    *slot = map.next_value()?;
    Ok(())
}

impl<'de> serde::Deserialize<'de> for ChangeBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seek;
        impl<'de> Visitor<'de> for Seek {
            type Value = ChangeBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what changes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ChangeBody, A::Error> {
                let mut body = ChangeBody::default();
                while let Some(key) = map.next_key::<String>()? {
                    // Most objects of a large plan do not change: their values are not even copied.
                    let idle = body.actions.as_deref().is_some_and(|actions| actions == ["no-op"]);
                    match key.as_str() {
                        "actions" => once(&mut body.actions, &mut map, "actions")?,
                        "importing" => once(&mut body.importing, &mut map, "importing")?,
                        _ if idle => {
                            map.next_value::<IgnoredAny>()?;
                        }
                        "before" => once(&mut body.before, &mut map, "before")?,
                        "after" => once(&mut body.after, &mut map, "after")?,
                        "after_unknown" => once(&mut body.after_unknown, &mut map, "after_unknown")?,
                        "before_sensitive" => once(&mut body.before_sensitive, &mut map, "before_sensitive")?,
                        "after_sensitive" => once(&mut body.after_sensitive, &mut map, "after_sensitive")?,
                        "replace_paths" => once(&mut body.replace_paths, &mut map, "replace_paths")?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(body)
            }
        }
        deserializer.deserialize_map(Seek)
    }
}

impl Resource {
    /// The change for later rooms; none for an object with nothing to do.
    fn judge(self, state: &mut State<'_>, drift: bool) -> Result<Option<Change>, String> {
        let address = self.address.ok_or("a change has no `address`")?;
        let mode = self.mode.unwrap_or_else(|| "managed".into());
        let actions = self.change.actions.unwrap_or_default();
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        let mut action = Action::from_list(&actions);
        if let Action::Unknown(words) = &mut action {
            *words = cut(words, 200);
        }
        let importing = parse(self.change.importing.as_deref())?.filter(|value| *value != Json::Null);
        if action == Action::NoOp && self.previous_address.is_none() && importing.is_none() {
            state.plan.unchanged += u64::from(!drift && mode == "managed");
            return Ok(None);
        }
        let before = parse(self.change.before.as_deref())?;
        let after = parse(self.change.after.as_deref())?;
        let unknown = parse(self.change.after_unknown.as_deref())?;
        let hidden_before = parse(self.change.before_sensitive.as_deref())?;
        let hidden_after = parse(self.change.after_sensitive.as_deref())?;
        let sides = Sides {
            before: before.as_ref(),
            after: after.as_ref(),
            unknown: unknown.as_ref(),
            hidden_before: hidden_before.as_ref(),
            hidden_after: hidden_after.as_ref(),
        };
        let mut replace_paths: Vec<String> = match parse(self.change.replace_paths.as_deref())? {
            Some(Json::List(paths)) => paths.iter().map(path_of).collect(),
            _ => Vec::new(),
        };
        replace_paths.sort();
        replace_paths.dedup();
        let lens = Lens { redactor: state.how.redactor, tokens: state.how.tokens };
        let whole_is_gone = matches!(action, Action::Delete | Action::Forget);
        let found = if whole_is_gone {
            super::diff::Differences::default()
        } else {
            differences(sides, &replace_paths, lens, &mut state.detail)
        };
        let mut facts = facts(sides, lens);
        if let Some(digest) = found.left_out_digest {
            facts.insert("left_out_digest".into(), Shown::Value(digest));
        }
        let say = |text: String| cut(&state.how.redactor.text(&text), NAME);
        Ok(Some(Change {
            id: text_at(before.as_ref(), "id").map(say),
            importing: importing.as_ref().map(|value| {
                let id = text_at(Some(value), "id").unwrap_or_else(|| value.compact());
                say(id)
            }),
            // An address is what people approve: it is never cut.
            address,
            previous_address: self.previous_address,
            deposed: self.deposed,
            mode,
            kind: self.kind.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
            provider: self.provider.unwrap_or_default(),
            action,
            reason: self.reason.map(say),
            replace_paths,
            attributes: found.attributes,
            attributes_left_out: found.left_out,
            facts,
        }))
    }
}

fn parse(raw: Option<&RawValue>) -> Result<Option<Json<'_>>, String> {
    raw.map(|raw| Json::parse(raw.get())).transpose().map_err(str::to_owned)
}

fn text_at(value: Option<&Json<'_>>, key: &str) -> Option<String> {
    value?.get(key)?.as_text().map(str::to_owned)
}

struct OutputChanges<'s, 'a> {
    state: &'s mut State<'a>,
}

impl<'de> DeserializeSeed<'de> for OutputChanges<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OutputChanges<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with output changes")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            // `after` of an output that does not change is needed too: a consumer's stub holds them all.
            let raw: BTreeMap<String, Box<RawValue>> = map.next_value()?;
            let mut raw = raw;
            let mut take = |key: &str| raw.remove(key);
            let actions: Vec<String> = take("actions")
                .map(|list| serde_json::from_str(list.get()))
                .transpose()
                .map_err(|_| A::Error::custom("an output's `actions` is not a list of texts"))?
                .unwrap_or_default();
            let output = Output {
                before: take("before"),
                after: take("after"),
                after_unknown: take("after_unknown"),
                after_sensitive: take("after_sensitive"),
                before_sensitive: take("before_sensitive"),
                action: actions,
            };
            let marked = |raw: &Option<Box<RawValue>>| {
                raw.as_ref().and_then(|raw| Json::parse(raw.get()).ok()).is_some_and(|mark| mark.marks_any())
            };
            let words: Vec<&str> = output.action.iter().map(String::as_str).collect();
            let action = Action::from_list(&words);
            if action != Action::NoOp {
                self.state.plan.outputs.push(OutputChange {
                    name: cut(&name, NAME),
                    action,
                    sensitive: marked(&output.before_sensitive) || marked(&output.after_sensitive),
                });
            }
            self.state.outputs.0.insert(name, output);
        }
        Ok(())
    }
}
