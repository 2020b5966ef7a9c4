//! The classes of things a tree declares.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A list of `cfg/` or a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Executable,
    Runtime,
    StateBackend,
    OsBuilder,
    GroupBuilder,
    UserBuilder,
    ImageBuilder,
    InstanceBuilder,
    ModBuilder,
    StorageBuilder,
    User,
    Group,
    Storage,
    Image,
    Instance,
}

impl Class {
    /// The builder lists of `cfg/`, in the order they are read.
    pub const BUILDERS: &'static [Class] = &[
        Class::Runtime,
        Class::StateBackend,
        Class::OsBuilder,
        Class::GroupBuilder,
        Class::UserBuilder,
        Class::ImageBuilder,
        Class::InstanceBuilder,
        Class::ModBuilder,
        Class::StorageBuilder,
    ];

    /// The collections, in the order they are read.
    pub const COLLECTIONS: &'static [Class] =
        &[Class::User, Class::Group, Class::Storage, Class::Image, Class::Instance];

    /// The list key in YAML, e.g. `storage_builders`.
    pub fn key(self) -> &'static str {
        match self {
            Class::Executable => "executables",
            Class::Runtime => "runtime_builders",
            Class::StateBackend => "state_backends",
            Class::OsBuilder => "os_builders",
            Class::GroupBuilder => "group_builders",
            Class::UserBuilder => "user_builders",
            Class::ImageBuilder => "image_builders",
            Class::InstanceBuilder => "instance_builders",
            Class::ModBuilder => "mod_builders",
            Class::StorageBuilder => "storage_builders",
            Class::User => "users",
            Class::Group => "groups",
            Class::Storage => "storages",
            Class::Image => "images",
            Class::Instance => "instances",
        }
    }

    /// One of them, in words: `storage builder`.
    pub fn noun(self) -> &'static str {
        match self {
            Class::Executable => "executable",
            Class::Runtime => "runtime",
            Class::StateBackend => "state backend",
            Class::OsBuilder => "OS builder",
            Class::GroupBuilder => "group builder",
            Class::UserBuilder => "user builder",
            Class::ImageBuilder => "image builder",
            Class::InstanceBuilder => "instance builder",
            Class::ModBuilder => "modification builder",
            Class::StorageBuilder => "storage builder",
            Class::User => "user",
            Class::Group => "group",
            Class::Storage => "storage",
            Class::Image => "image",
            Class::Instance => "instance",
        }
    }

    /// The builder class that realises items of this collection.
    pub fn builder(self) -> Option<Class> {
        match self {
            Class::User => Some(Class::UserBuilder),
            Class::Group => Some(Class::GroupBuilder),
            Class::Storage => Some(Class::StorageBuilder),
            Class::Image => Some(Class::ImageBuilder),
            Class::Instance => Some(Class::InstanceBuilder),
            _ => None,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.noun())
    }
}
