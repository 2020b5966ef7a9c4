//! Groups whose gids the configuration declares.

use crate::family::{GroupKind, Kind};
use crate::vocabulary::is_marker;
use csis_values::fields::{Field, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        if let Some(shell) = builder.fields.text("shell").filter(|s| !is_marker(s) && !is_path(s)) {
            found.push(
                Diagnostic::error(
                    "login-shell",
                    format!("group builder `{}` has the shell `{shell}`, which is no absolute path", builder.name),
                )
                .at(builder.fields.place("shell"))
                .help("write the whole path, e.g. `/bin/bash`"),
            );
        }
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.' | b'+'))
}

impl GroupKind for PosixGroups {
    fn identity_type(&self) -> &'static str {
        "posix"
    }

    fn declares_gids(&self) -> bool {
        true
    }
}
