//! What the invocation adds to the tree.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Made once, by `flow`, from the command line or the event; no other room reads the clock, the environment or the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Overlay files as named, relative to the configuration root.
    pub overlays: Vec<String>,
    /// `kind:name` entries that count as absent.
    pub undeclare: Vec<String>,
    /// The lifecycles asked for; all when empty.
    pub lifecycles: Vec<Lifecycle>,
    pub only_runtime: Option<String>,
    pub apply_runtime: Option<String>,
    /// ISO date-time in UTC, `2026-01-31T08:00:00Z`; what `execution.date` and ages are computed from.
    pub now: String,
    /// The id of this run: its start time as `YYYY_MM_DDtHH_MM_SS_ffffff`.
    pub run: String,
    /// The variables templates may read as `ENV`.
    pub template_env: BTreeMap<String, String>,
}

impl Request {
    pub fn wants(&self, lifecycle: Lifecycle) -> bool {
        self.lifecycles.is_empty() || self.lifecycles.contains(&lifecycle)
    }
}

/// A lifecycle, in the fixed order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifecycle {
    Identity,
    Storage,
    BaseImage,
    InstanceImage,
    Release,
    Retention,
}

impl Lifecycle {
    pub const ALL: [Lifecycle; 6] = [
        Lifecycle::Identity,
        Lifecycle::Storage,
        Lifecycle::BaseImage,
        Lifecycle::InstanceImage,
        Lifecycle::Release,
        Lifecycle::Retention,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Lifecycle::Identity => "identity",
            Lifecycle::Storage => "storage",
            Lifecycle::BaseImage => "base-image",
            Lifecycle::InstanceImage => "instance-image",
            Lifecycle::Release => "release",
            Lifecycle::Retention => "retention",
        }
    }

    /// By name or by one of the accepted aliases.
    pub fn parse(word: &str) -> Option<Lifecycle> {
        Some(match word {
            "identity" | "id" => Lifecycle::Identity,
            "storage" | "storages" => Lifecycle::Storage,
            "base-image" | "base" | "base-images" => Lifecycle::BaseImage,
            "instance-image" | "instance-images" | "instances" => Lifecycle::InstanceImage,
            "release" => Lifecycle::Release,
            "retention" => Lifecycle::Retention,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
