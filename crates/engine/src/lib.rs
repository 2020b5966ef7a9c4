//! Running tofu or terraform, and reading what they plan.
//!
//! A root is laid into a private working copy, initialised and planned there; its plan is read as a stream and redacted before anything of it is kept.
//! Roots are planned producers first; a consumer is planned against what its producers will output.

pub mod pending;
pub mod plan;
