//! What the clouds answered, at one time. Written by `csis look`, read by every pure command.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// 1.
    pub schema: u32,
    /// ISO date-time in UTC.
    #[serde(default)]
    pub time: String,
    /// By runtime name.
    #[serde(default)]
    pub runtimes: BTreeMap<String, RuntimeSnapshot>,
}

/// What one runtime's account holds of what the tree names. Every question has its answer or the reason there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeSnapshot {
    #[serde(default)]
    pub account: Option<String>,
    #[serde(default)]
    pub region: Option<String>,
    /// VPC id → facts.
    #[serde(default)]
    pub networks: Answer<BTreeMap<String, Network>>,
    /// Subnet id → facts.
    #[serde(default)]
    pub subnets: Answer<BTreeMap<String, Subnet>>,
    #[serde(default)]
    pub security_groups: Answer<Vec<String>>,
    /// OS builder → vendor image id.
    #[serde(default)]
    pub vendor_images: Answer<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<T> {
    Known(T),
    /// Why there is no answer.
    Unavailable(String),
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Answer::Unavailable("not asked".into())
    }
}

impl<T> Answer<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Answer::Known(value) => Some(value),
            Answer::Unavailable(_) => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    #[serde(default)]
    pub is_default: bool,
    #[serde(default)]
    pub cidr: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subnet {
    pub network: String,
    #[serde(default)]
    pub availability_zone: Option<String>,
    #[serde(default)]
    pub public: bool,
}
