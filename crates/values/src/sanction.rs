//! What an operation declared in the tree allows a plan to destroy, replace or forget; and what must happen before.

use crate::place::Place;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One allowance, derived from a declared operation or given on the command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sanction {
    /// The root it is for; empty when given on the command line.
    pub root: String,
    /// The object's address; a delete or replace at it or under it is covered. See [`Sanction::covers`].
    pub address: String,
    /// A deposed object is covered only by its key.
    pub deposed: Option<String>,
    pub action: Allowed,
    pub because: Because,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allowed {
    Destroy,
    Replace,
    Forget,
    /// What `--allow-destroy` of the original's scripts means: destroy or replace.
    DestroyOrReplace,
}

/// How the reason of what follows a changed declaration ends.
const CHANGED: &str = " changed";

/// The operation behind a sanction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Because {
    /// e.g. `undeclared`, `destroyed`, `detach`, `upgrade`, `--allow-destroy`.
    pub operation: String,
    /// `storage`, `instance`, …; empty from the command line.
    pub kind: String,
    pub name: String,
    /// Where the declaration stands, when there is one.
    pub at: Option<Place>,
}

impl Because {
    /// The parts of a storage that hold no data and follow its declaration (access points, mount targets, policies), where there is no base that tells whether
    /// it changed.
    pub const FOLLOWS: &'static str = "what follows its declaration, compared with nothing";
    /// What machines of a root share goes with the last of them.
    pub const LAST: &'static str = "no instance is left";

    /// What a storage's declaration changed in, as the reason for which its followers may go: `groups, lifecycle changed`.
    pub fn follows_change_of(parts: &[&str]) -> String {
        format!("{}{CHANGED}", parts.join(", "))
    }

    /// Whether it is there whether or not a plan needs it, so that matching nothing is no mistake.
    pub fn is_standing(&self) -> bool {
        self.operation == Self::FOLLOWS || self.operation == Self::LAST || self.operation.ends_with(CHANGED)
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return f.write_str(&self.operation);
        }
        write!(f, "{} {}: {}", self.kind, self.name, self.operation)
    }
}

impl Sanction {
    /// Whether an address is the sanctioned one or lies under it by whole segments: `a` covers `a`, `a.b` and `a[0]`, never `a_b`.
    pub fn covers(&self, address: &str) -> bool {
        address.strip_prefix(self.address.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

/// What must be true before an apply; listed at review, met and checked at landing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "must", rename_all = "kebab-case")]
pub enum Obligation {
    /// The storage is unmounted on the machine before its attachment goes.
    Unmounted { instance: String, storage: String, mount_point: String },
    /// A complete snapshot of the volume exists, started after the last detach.
    Snapshot { storage: String, archive: String },
    /// The bucket is empty.
    Emptied { storage: String, bucket: String },
}

/// Something csis itself does to a cloud or machine; a change like the engine's, judged by the same rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OwnAction {
    pub root: String,
    /// `wipe`, `snapshot`, `delete-snapshot`, `unmount`.
    pub action: String,
    /// What it is done to, e.g. `s3://bucket` or a storage's name.
    pub object: String,
    pub loses_data: bool,
    pub because: Because,
}

/// Proof that an obligation was met, as the unmount step writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub instance: String,
    pub storage: String,
    pub ok: bool,
    #[serde(default)]
    pub run: Option<String>,
    /// ISO date-time in UTC.
    #[serde(default)]
    pub time: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sanction_covers_whole_segments_only() {
        let because = Because { operation: "undeclared".into(), kind: "storage".into(), name: "data".into(), at: None };
        let s = Sanction {
            root: String::new(),
            address: "module.storage_data".into(),
            deposed: None,
            action: Allowed::Destroy,
            because,
        };
        assert!(
            s.covers("module.storage_data")
                && s.covers("module.storage_data.aws_ebs_volume.this")
                && s.covers("module.storage_data[0].x")
        );
        assert!(!s.covers("module.storage_data_2") && !s.covers("module.storage_dat"));
    }
}
