//! `csis action` through the binary, against a GitHub that remembers: only here an event becomes a comment, a check run, outputs and an exit code at once.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod bad_days;
mod companion;
mod events;
mod review;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod trust;
