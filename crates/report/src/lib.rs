//! Verdicts, changes and drift turned into what people and programs read.
//!
//! One [`csis_values::report::Report`] becomes the pull-request comment ([`markdown()`]), text for a terminal ([`text()`]) and `generated/plan.json`
//! ([`json()`]). Markdown and text are two renderings of one document ([`compose`]), so they never tell different stories. The change set of a root and its
//! digest, which an approval is bound to, are made in [`digest`]. Diagnostics of a tree are shown by [`diagnostics`].
//!
//! **Invariants:** nothing here reads a file, a clock, the environment or a terminal. Whatever comes from a plan, from YAML or from an engine is hostile:
//! it reaches an output only through [`inert`]. Every sentence stands in [`words`].

pub mod canonical;
pub mod compose;
pub mod diagnostics;
pub mod digest;
pub mod document;
pub mod inert;
pub mod json;
pub mod markdown;
mod received;
pub mod review;
pub mod text;
pub mod things;
pub mod words;

pub use document::Detail;
pub use json::{PLAN_SCHEMA, json};
pub use markdown::{MarkdownOptions, markdown};
pub use received::{Unreadable, from_json};
pub use text::{TextOptions, text};
