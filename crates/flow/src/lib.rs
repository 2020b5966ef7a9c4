//! The order of steps of every command. No logic of its own: each step is a room's, and what travels between them are plain values.
//!
//! This room alone makes the [`csis_values::request::Request`]; it may touch files, processes and, through the other rooms, the network. It prints nothing: a
//! command returns an [`outcome::Outcome`], and the binary writes it.

pub mod action;
pub mod apply_check;
pub mod doctor;
pub mod gate_plan;
pub mod generate;
pub mod git;
pub mod invocation;
mod judging;
pub mod materialize;
mod module_calls;
pub mod modules;
pub mod operate;
pub mod outcome;
pub mod plan;
pub mod preview;
mod reach;
pub mod reading;
pub mod schema;
mod settings;
pub mod validate;
pub mod write;

pub use invocation::Invocation;
pub use outcome::{Exit, Outcome};
