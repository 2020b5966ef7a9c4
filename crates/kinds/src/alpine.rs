//! Alpine.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::Class;
use csis_values::fields::Field;

pub struct Alpine;

impl Kind for Alpine {
    fn name(&self) -> &'static str {
        "alpine"
    }

    fn class(&self) -> Class {
        Class::OsBuilder
    }

    fn fields(&self) -> &'static [Field] {
        os::FIELDS
    }
}

impl OsKind for Alpine {}
