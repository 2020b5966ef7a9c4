//! The values that travel between the rooms of csis.
//!
//! Data goes one way: files become a [`tree::Tree`] and [`records::Records`]; with a [`snapshot::Snapshot`] of the clouds and the
//! [`request::Request`] of the invocation they become an [`intent::Intent`], then an [`emission::Emission`]; the engine turns each root into a
//! [`plan::Plan`]; the gate turns a plan into a [`verdict::Verdict`]; all of it becomes a [`report::Report`].
//!
//! **Invariant:** nothing here reads a clock, the environment, a file, the network or a terminal. Every value is serialisable, so that any stage can be
//! tested from a file.

pub mod class;
pub mod diagnostic;
pub mod emission;
pub mod event;
pub mod fields;
pub mod intent;
pub mod name;
pub mod node;
pub mod place;
pub mod plan;
pub mod records;
pub mod report;
pub mod request;
pub mod sanction;
pub mod snapshot;
pub mod tree;
pub mod verdict;

pub use class::Class;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use name::Name;
pub use node::{Node, Value};
pub use place::{Place, Spanned};

/// Lower-case hexadecimal SHA-256.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes.as_ref()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        use std::fmt::Write;
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
