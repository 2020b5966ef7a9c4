//! What becomes true in a run, as changes of the records.

use crate::tree::StorageState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that a run made true, or that a review takes for done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The run's id.
    pub run: String,
    /// When, as ISO date-time in UTC.
    pub at: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// An operation file was followed.
    Operated(Operated),
    /// A storage that an apply brought into another state.
    StorageMoved {
        storage: String,
        to: StorageState,
        /// What is needed once it is declared no more: its builder, its type, its bucket, its archive.
        facts: BTreeMap<String, String>,
        /// It went because its declaration did.
        undeclared: bool,
    },
}

/// What an operation asks for once, by canonical names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operated {
    /// A machine is to stand on another build; until it does, its replacement is pending.
    InstanceUpgraded { instance: String, to: String },
    /// An image is to be baked from another build of its parent.
    ImageUpgraded { image: String, runtime: String, to: String },
    /// A machine that is gone and declared no more.
    InstanceForgotten { instance: String },
}
