//! The report as data: what the comment, the terminal and `generated/plan.json` are made from.

use crate::diagnostic::{Diagnostic, Severity};
use crate::intent::{Applies, Bake, LineageEdge};
use crate::plan::{Change, Counts};
use crate::sanction::{Obligation, OwnAction, Sanction};
use crate::verdict::{Finding, Weight};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// No times, no absolute paths; the same inputs give the same report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// 1.
    pub schema: u32,
    /// The version of csis that made it.
    pub csis: String,
    pub tree: TreeFacts,
    pub verdict: Outcome,
    /// SHA-256 over the roots' digests in root order; empty when nothing was planned.
    pub digest: String,
    pub roots: Vec<RootReport>,
    pub bakes: Vec<Bake>,
    pub lineage: Vec<LineageEdge>,
    /// Changes made outside since the last apply, per root, in words and addresses.
    pub drift: Vec<DriftLine>,
    pub diagnostics: Vec<Diagnostic>,
    pub sanctions: Vec<Sanction>,
    /// What the change does to the emission, when there is a base to compare with.
    pub emission: Vec<FileChange>,
    /// What was not judged, and why, for the whole run.
    pub not_judged: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// `id:` of the tree.
    pub id: String,
    /// Path of the configuration root in its repository, `.` at the top.
    pub root: String,
    /// Commit the change is compared with.
    pub base: Option<String>,
    pub head: Option<String>,
    /// Uncommitted files took part.
    pub dirty: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    #[default]
    Pass,
    NotJudged,
    Failed,
    Refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RootReport {
    /// `<lifecycle>/<builder>`.
    pub name: String,
    pub lifecycle: String,
    pub builder: String,
    pub runtime: Option<String>,
    pub status: RootStatus,
    /// Why it failed or was not judged; redacted.
    pub why: Option<String>,
    pub counts: Counts,
    pub digest: String,
    pub applies: Applies,
    /// Whether the change set under review touches it; others stand under *would change anyway*.
    pub concerned: bool,
    pub changes: Vec<Change>,
    pub findings: Vec<Finding>,
    pub obligations: Vec<Obligation>,
    pub actions: Vec<OwnAction>,
    pub outputs_changed: Vec<String>,
    /// The module of a storage or machine → its name as written, e.g. `instance_api_1` → `api-1`.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Machines that the run which creates them destroys again, by their names as written.
    #[serde(default)]
    pub ephemeral: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootStatus {
    Planned,
    Unchanged,
    NotJudged,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftLine {
    pub root: String,
    pub address: String,
    /// `changed outside` or `deleted outside`, and what.
    pub what: String,
}

/// One emitted file that the change adds, changes or removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    /// The root it belongs to, when it belongs to one.
    pub root: Option<String>,
    pub kind: FileChangeKind,
    /// Unified diff without file headers.
    pub diff: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Added,
    Changed,
    Removed,
}

impl Report {
    /// The verdict that the roots and the findings about the tree ask for: the worst of them.
    pub fn worst(&self) -> Outcome {
        let errors = self.diagnostics.iter().any(|d| d.severity == Severity::Error);
        let of_tree = if errors { Outcome::Failed } else { Outcome::Pass };
        self.roots.iter().map(RootReport::outcome).fold(of_tree, Outcome::max)
    }

    /// The totals over the roots that were planned.
    pub fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        for root in &self.roots {
            totals.add(&root.counts);
        }
        totals
    }
}

impl RootReport {
    fn outcome(&self) -> Outcome {
        if self.findings.iter().any(|f| f.weight == Weight::Refuse) {
            return Outcome::Refused;
        }
        match self.status {
            RootStatus::Failed => Outcome::Failed,
            RootStatus::NotJudged => Outcome::NotJudged,
            RootStatus::Planned | RootStatus::Unchanged => Outcome::Pass,
        }
    }
}
