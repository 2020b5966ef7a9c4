//! What becomes true in a run, as changes of the records.

use serde::{Deserialize, Serialize};

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
    /// A machine is to stand on another build; until it does, its replacement is pending.
    InstanceUpgraded { instance: String, to: String },
    /// An image is to be baked from another build of its parent.
    ImageUpgraded { image: String, runtime: String, to: String },
    /// A machine that is gone and declared no more.
    InstanceForgotten { instance: String },
}
