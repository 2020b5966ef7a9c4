//! From the intent to the files and steps of every root.
//!
//! **Invariant:** pure. The same intent gives the same bytes: no time, run id, user or absolute path of this machine is known here.

mod escape;
pub mod fmt;

#[cfg(test)]
mod fmt_tests;
