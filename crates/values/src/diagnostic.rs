//! What is wrong, where, and what to do.

use crate::place::Place;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// One finding about the tree, its records or the invocation. Built beside the rule that raises it; only `report` turns it into text for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    /// A stable kebab-case id of the rule, e.g. `unknown-key`.
    pub code: Cow<'static, str>,
    /// One sentence in plain words, without a final full stop; names the item and the value.
    pub message: String,
    pub at: Option<Place>,
    /// What to do; a sentence in the imperative.
    pub help: Option<String>,
    /// Further places that belong to the finding, each with what stands there.
    pub also: Vec<(Place, String)>,
}

impl Diagnostic {
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic { severity, code: code.into(), message: message.into(), at: None, help: None, also: Vec::new() }
    }

    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        self.at = Some(place.clone());
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn also(mut self, place: &Place, what: impl Into<String>) -> Self {
        self.also.push((place.clone(), what.into()));
        self
    }
}

/// All findings of a stage, in the order they were met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    pub fn extend(&mut self, more: Diagnostics) {
        self.0.extend(more.0);
    }

    pub fn is_refused(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// Errors, then warnings, then notes; of each by file, line and column, what has no place first. Duplicates go.
    pub fn sort(&mut self) {
        self.0.sort_by(|a, b| (a.severity, &a.at, &a.message).cmp(&(b.severity, &b.at, &b.message)));
        self.0.dedup();
    }
}
