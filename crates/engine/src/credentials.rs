//! Which AWS credentials a run may use.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the children of a run get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// What the environment at hand holds, else what the user's own AWS files and the SDKs find.
    Ambient,
    /// None of any kind, and why: a part of a sentence that stands where a root is not judged for it, e.g. `the change widens what the tree may reach`.
    Nothing { why: String },
    /// Roles that are assumed with a web identity; nothing else of the environment serves.
    Roles(Roles),
}

/// Roles by the profile that a tree names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The ARN for what names no profile, and for profiles that have none of their own.
    pub default: Option<String>,
    pub by_profile: BTreeMap<String, String>,
    /// Where the token is, and stays while children run. It is lent to the user that they run as; whoever writes it anew meanwhile makes it that user's with
    /// [`crate::ChildUser::own`].
    pub token_file: PathBuf,
    pub session_name: String,
}

impl Roles {
    /// The role behind a profile.
    pub fn of(&self, profile: &str) -> Option<&str> {
        self.by_profile.get(profile).or(self.default.as_ref()).map(String::as_str)
    }
}
