//! Plans: reading them, and what may be said of the values in them.

mod configuration;
mod diff;
pub(crate) mod json;
mod redact;
mod show;

pub(crate) use diff::{cut, push_key};
pub use redact::Redactor;
pub use show::{Outputs, Reading, read};

#[cfg(test)]
mod tests;
