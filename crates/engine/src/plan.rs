//! Plans: reading them, and what may be said of the values in them.

mod configuration;
mod diff;
mod facts;
pub(crate) mod json;
mod redact;
mod show;
mod shown;

pub(crate) use diff::push_key;
pub use redact::Redactor;
pub use show::{Outputs, Reading, read};
pub(crate) use shown::cut;

#[cfg(test)]
mod tests;
