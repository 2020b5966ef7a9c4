//! Debian.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::Class;
use csis_values::fields::Field;

pub struct Debian;

impl Kind for Debian {
    fn name(&self) -> &'static str {
        "debian"
    }

    fn class(&self) -> Class {
        Class::OsBuilder
    }

    fn fields(&self) -> &'static [Field] {
        os::FIELDS
    }
}

impl OsKind for Debian {}
