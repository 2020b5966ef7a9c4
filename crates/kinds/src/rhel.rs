//! Rhel.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::Class;
use csis_values::fields::Field;

pub struct Rhel;

impl Kind for Rhel {
    fn name(&self) -> &'static str {
        "rhel"
    }

    fn class(&self) -> Class {
        Class::OsBuilder
    }

    fn fields(&self) -> &'static [Field] {
        os::RHEL_FIELDS
    }
}

impl OsKind for Rhel {}
