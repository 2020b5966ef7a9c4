//! Running tofu or terraform, and reading what they plan.
//!
//! A root is laid into a private working copy, initialised and planned there; its plan is read as a stream and redacted before anything of it is kept.
//! Roots are planned producers first; a consumer is planned against what its producers will output.
//!
//! **Invariant:** nothing here reads the process's own environment or clock; what the engine may see is handed in. No value that leaves is a secret, but for
//! [`plan::Outputs`], which has no text form.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::too_many_lines))]

mod cache;
mod credentials;
mod engine;
mod graph;
pub mod inputs;
mod land;
pub mod markers;
pub mod materialise;
mod needs;
mod owner;
pub mod pending;
pub mod plan;
pub mod process;
pub mod session;
mod state;
mod stop;
mod stub;
mod trouble;
mod user;
mod version;
mod work;

pub use credentials::{Credentials, Roles};
pub use engine::{Engine, EngineError, read_json_file, read_plan_file};
pub use graph::{PlanJob, PlanResult, Progress, RootOutcome, RootResult, Roots, Silent, Timing, plan_all};
pub use land::{Kept, LandedRoot, Object};
pub use needs::Need;
pub use owner::Owner;
pub use plan::Redactor;
pub use stop::{Stop, Stopper};
pub use trouble::Trouble;
pub use user::{ChildUser, UserError};
pub use version::{Version, meets};
