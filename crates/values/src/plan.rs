//! A plan as the engine read it: streamed, redacted at the door, cut. No value here is a secret.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `show -json` said of one root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where it was read from, for messages: a file name or the root's id.
    pub source: String,
    pub document: Document,
    /// `format_version` as written.
    pub format_version: Option<String>,
    pub engine_version: Option<String>,
    pub errored: bool,
    /// Absent in OpenTofu's plans; absent counts as complete when csis ran the plan itself.
    pub complete: Option<bool>,
    pub applyable: Option<bool>,
    /// Managed objects with an action other than no-op, or moved, or imported; then those read. Sorted by address and deposed key.
    pub changes: Vec<Change>,
    /// Changes made outside since the last apply.
    pub drift: Vec<Change>,
    pub outputs: Vec<OutputChange>,
    /// Managed objects with nothing to do, by count.
    pub unchanged: u64,
    /// Whether the configuration part was there, in which code would stand.
    #[serde(default)]
    pub configured: bool,
    /// Keys at the document's top that csis does not know.
    pub unknown_parts: Vec<String>,
    /// Provisioners and external data sources in the configuration part.
    pub code: Vec<Code>,
    /// Sources of the providers that the configuration part names, e.g. `registry.terraform.io/hashicorp/aws`.
    pub providers: Vec<String>,
    pub freshness: Freshness,
    /// The state the plan was made against; none when not known (positional JSON).
    pub state: Option<StateFacts>,
    /// Whether csis built the argument vector itself (a targeted plan is impossible then).
    pub ours: bool,
}

/// Whether the document is a plan at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Document {
    #[default]
    Plan,
    /// Why it is not one.
    NotAPlan(String),
    /// It does not exist.
    Missing,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Freshness {
    Fresh,
    /// The inputs that changed since, in words.
    Stale(Vec<String>),
    #[default]
    NotJudged,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFacts {
    /// The state is there (a first plan has none).
    pub exists: bool,
    pub lineage: Option<String>,
    pub serial: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    NoOp,
    Create,
    Read,
    Update,
    Delete,
    /// Delete, then create.
    Replace,
    /// Create, then delete.
    ReplaceCreateFirst,
    Forget,
    ForgetThenCreate,
    /// An action list no rule knows, as written.
    Unknown(String),
}

impl Action {
    pub fn from_list(list: &[&str]) -> Action {
        match list {
            ["no-op"] => Action::NoOp,
            ["create"] => Action::Create,
            ["read"] => Action::Read,
            ["update"] => Action::Update,
            ["delete"] => Action::Delete,
            ["delete", "create"] => Action::Replace,
            ["create", "delete"] => Action::ReplaceCreateFirst,
            ["forget"] => Action::Forget,
            ["forget", "create"] => Action::ForgetThenCreate,
            other => Action::Unknown(other.join("+")),
        }
    }

    pub fn is_replace(&self) -> bool {
        matches!(self, Action::Replace | Action::ReplaceCreateFirst)
    }

    pub fn is_forget(&self) -> bool {
        matches!(self, Action::Forget | Action::ForgetThenCreate)
    }
}

/// One object's change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub address: String,
    pub previous_address: Option<String>,
    pub deposed: Option<String>,
    /// `managed` or `data`.
    pub mode: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub provider: String,
    pub action: Action,
    /// The engine's `action_reason`.
    pub reason: Option<String>,
    /// The import id, when the plan imports it.
    pub importing: Option<String>,
    /// The object's own id (`before.id`), so that an approval of one object never covers another.
    pub id: Option<String>,
    /// Attribute paths that force a replacement, e.g. `availability_zone`.
    pub replace_paths: Vec<String>,
    /// The attribute paths that differ, sorted by path.
    pub attributes: Vec<AttributeChange>,
    /// Further attributes that differ, beyond what is kept.
    pub attributes_left_out: u64,
    /// Attributes rules need whatever changed, by name: scalar values of `after` (or of `before` for a delete) for `size`, `tags.csis_config`,
    /// `associate_public_ip_address`, `cidr_blocks`, `from_port`, `policy`…; redacted like all values.
    pub facts: BTreeMap<String, Shown>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttributeChange {
    /// `tags.data`, `ingress[0].cidr_blocks`.
    pub path: String,
    pub before: Shown,
    pub after: Shown,
    pub forces_replacement: bool,
    /// SHA-256 of the exact new value; absent for sensitive and unknown ones.
    pub digest: Option<String>,
}

/// A value as people may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shown", content = "value", rename_all = "kebab-case")]
pub enum Shown {
    Absent,
    /// Compact JSON, cut at 2 kB at a character border with `…`; texts without quotes.
    Value(String),
    Sensitive,
    /// Known only after the apply.
    Unknown,
    /// What another change of this plan set will make: the producer's root and output path, and how to say it.
    Pending(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputChange {
    pub name: String,
    pub action: Action,
    pub sensitive: bool,
}

/// Data sources that run something or send what they are given to somebody: while a plan is made, and with its credentials.
pub const ACTING_READS: &[&str] = &["external", "http", "aws_lambda_invocation"];

/// Code that a plan would run outside any provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// `provisioner local-exec` or `data external`.
    pub what: String,
    pub address: String,
}

/// How many objects a plan touches, by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub create: u64,
    pub update: u64,
    pub replace: u64,
    pub destroy: u64,
    pub forget: u64,
    pub import: u64,
    #[serde(rename = "move")]
    pub moved: u64,
    pub read: u64,
    pub unknown: u64,
}

impl Counts {
    pub fn of(changes: &[Change]) -> Counts {
        let mut counts = Counts::default();
        for change in changes {
            match change.action {
                Action::NoOp => {}
                Action::Create => counts.create += 1,
                Action::Read => counts.read += 1,
                Action::Update => counts.update += 1,
                Action::Delete => counts.destroy += 1,
                Action::Replace | Action::ReplaceCreateFirst => counts.replace += 1,
                Action::Forget | Action::ForgetThenCreate => counts.forget += 1,
                Action::Unknown(_) => counts.unknown += 1,
            }
            counts.moved += u64::from(change.previous_address.is_some());
            counts.import += u64::from(change.importing.is_some());
        }
        counts
    }

    /// Whether an apply would do anything.
    pub fn is_empty(&self) -> bool {
        Counts { read: 0, ..*self } == Counts::default()
    }

    /// Figures that were read may be any: the sum stays at the greatest.
    pub fn add(&mut self, other: &Counts) {
        self.create = self.create.saturating_add(other.create);
        self.update = self.update.saturating_add(other.update);
        self.replace = self.replace.saturating_add(other.replace);
        self.destroy = self.destroy.saturating_add(other.destroy);
        self.forget = self.forget.saturating_add(other.forget);
        self.import = self.import.saturating_add(other.import);
        self.moved = self.moved.saturating_add(other.moved);
        self.read = self.read.saturating_add(other.read);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}
