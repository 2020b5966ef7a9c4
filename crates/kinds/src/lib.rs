//! The builder types of csis. One type is one file here and one line in [`registry::REGISTRY`]; rooms ask the registry and never match on a type's name.
//!
//! **Invariant:** pure. A kind's acting half (calls to a cloud) lives in the crate that owns the client, registered under the same name.

pub mod family;
pub mod registry;
pub mod schema;
pub mod script;

pub use family::{
    GroupKind, ImageKind, InstanceKind, Kind, Modification, MountSite, OsKind, RootSite, RuntimeKind, StateKind, StorageKind, StorageSite, UserKind,
};
