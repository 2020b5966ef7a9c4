//! What a rule is and how it says what it found.

use crate::question::Question;
use csis_values::place::Place;
use csis_values::plan::Change;
use csis_values::verdict::{Finding, Weight};

/// One thing the gate looks for.
pub trait Rule: Sync {
    /// Kebab-case; also the anchor of its section in `docs/gate.md`.
    fn id(&self) -> &'static str;

    /// What it holds, in one sentence.
    fn sentence(&self) -> &'static str;

    /// What to do about a finding, unless the finding says something more exact.
    fn remedy(&self) -> &'static str;

    fn judge(&self, question: &Question<'_>, found: &mut Found<'_>);
}

/// Where a rule puts its findings.
pub struct Found<'a> {
    rule: &'a dyn Rule,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Found<'a> {
    pub(crate) fn new(rule: &'a dyn Rule, findings: &'a mut Vec<Finding>) -> Self {
        Found { rule, findings }
    }

    fn add(&mut self, weight: Weight, message: String) -> Draft<'_> {
        self.findings.push(Finding {
            rule: self.rule.id().to_owned(),
            weight,
            address: None,
            message,
            remedy: self.rule.remedy().to_owned(),
            at: None,
        });
        let last = self.findings.len() - 1;
        Draft(&mut self.findings[last])
    }

    pub fn refuse(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.add(Weight::Refuse, message.into())
    }

    pub fn confirm(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.add(Weight::Confirm, message.into())
    }

    pub fn warn(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.add(Weight::Warn, message.into())
    }

    pub fn note(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.add(Weight::Note, message.into())
    }
}

/// A finding that was just made and may be told more exactly.
pub struct Draft<'a>(&'a mut Finding);

// The finding is in the list already; what these return is for chaining only.
#[allow(clippy::return_self_not_must_use)]
impl Draft<'_> {
    pub fn on(self, change: &Change) -> Self {
        self.0.address = Some(crate::address::shown(change));
        self
    }

    pub fn on_address(self, address: impl Into<String>) -> Self {
        self.0.address = Some(address.into());
        self
    }

    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        self.0.remedy = remedy.into();
        self
    }

    pub fn at(self, place: Option<&Place>) -> Self {
        self.0.at = place.cloned();
        self
    }
}
