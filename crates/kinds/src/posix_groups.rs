//! Groups whose gids the configuration declares.

use crate::family::{GroupKind, Kind};
use csis_values::Class;
use csis_values::fields::{Field, Shape};

pub struct PosixGroups;

const FIELDS: &[Field] = &[
    Field::new("shell", Shape::Text, "The login shell of members' accounts.").default("/bin/bash"),
    Field::new("admin_sudo", Shape::Bool, "Whether a group's admins may use sudo on its machines.").default("true"),
];

impl Kind for PosixGroups {
    fn name(&self) -> &'static str {
        "posix"
    }

    fn class(&self) -> Class {
        Class::GroupBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl GroupKind for PosixGroups {
    fn identity_type(&self) -> &'static str {
        "posix"
    }

    fn declares_gids(&self) -> bool {
        true
    }
}
