//! GitHub: the event that started a run, the comment, check runs, identity tokens and the run's outputs.
//!
//! Every call goes through one [`Client`], which counts them, keeps a second between writes, honours limits and repeats only what may be repeated. What is
//! decided from answers (whose comment is ours, which run is newer, what an answer means) is decided in plain functions without a network.
//!
//! **Invariants:** no word of a commenter, of a branch or of an event reaches a request other than as data; the token reaches the API's own host alone and
//! no text. This room touches the network and the files that the runner names; it reads no environment: [`Context::of`] is handed one.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
pub mod checks;
mod client;
pub mod comments;
mod context;
mod error;
mod event;
pub mod identity;
pub mod marker;
pub mod outputs;
pub mod pulls;
pub mod record;
pub mod sticky;
mod transport;

pub use client::{Client, Pace, Secret};
pub use context::{Context, ContextError, Repo};
pub use error::ApiError;
pub use event::{Dispatch, Event, EventError, Merging, Pull, PullAction, Run};
