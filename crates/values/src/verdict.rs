//! What the gate says of a plan.

use crate::place::Place;
use crate::sanction::{Obligation, Sanction};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub findings: Vec<Finding>,
    /// What must happen before the apply.
    pub obligations: Vec<Obligation>,
    /// Sanctions that matched a change, in the order of the changes.
    pub used: Vec<Sanction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// The root must not be applied.
    Refuse,
    /// Data would be lost: needs a confirmation before landing. At review it is shown first; in a shell it is a warning.
    Confirm,
    Warn,
    Note,
}

/// One rule's word on one object or on the whole plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id; also its anchor in `docs/gate.md`.
    pub rule: String,
    pub weight: Weight,
    /// The object's address, with ` (deposed KEY)` where it is one; none for the whole plan.
    pub address: Option<String>,
    /// One sentence, without a final full stop.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// The declaration it goes back to, when known.
    pub at: Option<Place>,
}

impl Verdict {
    pub fn is_refused(&self) -> bool {
        self.findings.iter().any(|f| f.weight == Weight::Refuse)
    }

    pub fn needs_confirmation(&self) -> bool {
        self.findings.iter().any(|f| f.weight == Weight::Confirm)
    }
}
