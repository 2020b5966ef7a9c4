//! What `generate` writes: files and, per root, the steps that run it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emission {
    /// Path relative to the generation directory → text. Every text ends with a newline and holds no run id, time or absolute path.
    pub files: BTreeMap<String, String>,
    /// In execution order: producers before consumers.
    pub roots: Vec<EmittedRoot>,
    /// Root directories outside the run's scope, relative to the generation directory; left as they are.
    #[serde(default)]
    pub kept: Vec<String>,
}

/// An OpenTofu root: its directory and how it is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmittedRoot {
    /// `<lifecycle>/<builder>`, unique; what the report and the sanctions call it.
    pub id: String,
    /// Directory relative to the generation directory, e.g. `storage/volumes/storage-generation`.
    pub directory: String,
    /// The partial backend configuration's file name, when backends are in use.
    pub backend_file: Option<String>,
    pub steps: Vec<Step>,
}

/// One command, as a value; run without a shell, printed into `run-<lifecycle>.sh`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is for: `init`, `plan`, `gate`, `apply-check`, `apply`, `unmount`, …
    pub purpose: String,
    /// Relative to the generation directory.
    pub directory: String,
    pub argv: Vec<String>,
    pub environment: BTreeMap<String, String>,
}
