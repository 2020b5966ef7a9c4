//! The records of a tree: what earlier landings made true, in `meta-state/*.yaml`.
//!
//! [`read`] turns the files into [`csis_values::records::Records`]. It reads through [`Files`], so that records can come from a folder or from git objects
//! alike. A missing file is an empty record. A file that cannot be read, is not YAML or holds another shape than its record has is an error, never an empty
//! record: who cannot read the past must not decide about the future. Keys that are not known are left alone, since a newer version may have written them.

//!
//! Records change by [`csis_values::event::Event`]s, applied to [`Documents`]; [`write`] puts what changed on disk.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod documents;
mod event;
mod files;
mod print;
mod reader;
mod shapes;
mod write;

pub use documents::{Documents, Misfit};
pub use files::{Files, Folder};
pub use print::document as yaml;
pub use reader::read;
pub use write::{WriteError, put, write};

/// The folder of the records, relative to the configuration root.
pub const FOLDER: &str = "meta-state";
