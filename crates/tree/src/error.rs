//! What keeps a tree from being loaded at all, as against what is wrong in it.

use csis_values::Diagnostic;

/// What was asked cannot be started here. Each carries what to tell the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is no `cfg/` folder.
    #[error("{}", .0.message)]
    NotATree(Box<Diagnostic>),
    /// An overlay named on the command line cannot be read.
    #[error("{}", .0.message)]
    Overlay(Box<Diagnostic>),
    /// `--undeclare` is malformed or names nothing.
    #[error("{}", .0.message)]
    Undeclare(Box<Diagnostic>),
    /// The tree holds encrypted values and no identity at hand opens them.
    #[error("{}", .0.message)]
    Identity(Box<Diagnostic>),
}

impl LoadError {
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            LoadError::NotATree(d) | LoadError::Overlay(d) | LoadError::Undeclare(d) | LoadError::Identity(d) => d,
        }
    }

    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            LoadError::NotATree(d) | LoadError::Overlay(d) | LoadError::Undeclare(d) | LoadError::Identity(d) => *d,
        }
    }
}
