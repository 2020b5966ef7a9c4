//! Fedora.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::Class;
use csis_values::fields::Field;

pub struct Fedora;

impl Kind for Fedora {
    fn name(&self) -> &'static str {
        "fedora"
    }

    fn class(&self) -> Class {
        Class::OsBuilder
    }

    fn fields(&self) -> &'static [Field] {
        os::FIELDS
    }
}

impl OsKind for Fedora {}
