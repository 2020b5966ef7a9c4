//! The builder types of csis. One type is one file here and one line in [`registry::REGISTRY`]; rooms ask the registry and never match on a type's name.
//!
//! **Invariant:** pure. A kind's acting half (calls to a cloud) lives in the crate that owns the client, registered under the same name.

mod alpine;
mod ansible;
pub mod ast;
mod aws;
mod bash_remote;
mod common;
mod debian;
pub mod docs;
pub mod family;
mod fedora;
pub mod head;
mod items;
mod local_backend;
mod modifications;
mod os;
mod packer_ebs;
mod posix_groups;
mod posix_users;
pub mod public_key;
pub mod registry;
mod rhel;
mod s3_backend;
pub mod schema;
pub mod script;
mod storages;
mod tf_aws_ebs;
mod tf_aws_efs;
mod tf_aws_s3;
mod tofu;
mod ubuntu;
mod vocabulary;

pub use family::{
    GroupKind, ImageKind, InstanceKind, Kind, Modification, MountSite, OsKind, Part, RootSite, RuntimeKind, StateKind,
    StorageKind, StorageSite, UserKind,
};
pub use vocabulary::check_tests;
