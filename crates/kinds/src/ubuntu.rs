//! Ubuntu.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::Class;
use csis_values::fields::Field;

pub struct Ubuntu;

impl Kind for Ubuntu {
    fn name(&self) -> &'static str {
        "ubuntu"
    }

    fn class(&self) -> Class {
        Class::OsBuilder
    }

    fn fields(&self) -> &'static [Field] {
        os::FIELDS
    }
}

impl OsKind for Ubuntu {}
