//! Users whose uids the configuration declares and whose accounts are made on the machines.

use crate::family::{Kind, UserKind};
use csis_values::Class;
use csis_values::fields::{Field, Shape};

pub struct PosixUsers;

const FIELDS: &[Field] = &[
    Field::new(
        "default_user_email_template",
        Shape::Text,
        "The address of users that declare none; a template of the user.",
    )
    .literal()
    .default("{{ user.name }}"),
    Field::new(
        "default_user_description_template",
        Shape::Text,
        "The description of users that declare none; a template of the user.",
    )
    .literal()
    .default("User {{ user.name }} / {{ user.email }}"),
    Field::new("email_domain", Shape::Text, "What `{{ builder.email_domain }}` in the address template stands for."),
    Field::new("email_as_username", Shape::Bool, "Whether a user's name and address must be equal.").default("false"),
];

impl Kind for PosixUsers {
    fn name(&self) -> &'static str {
        "posix"
    }

    fn class(&self) -> Class {
        Class::UserBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl UserKind for PosixUsers {
    fn email_as_username(&self) -> bool {
        false
    }
}
