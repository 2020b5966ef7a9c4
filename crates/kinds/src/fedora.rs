//! Fedora.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::fields::Field;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostics};

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        os::check(builder, found);
    }
}

impl OsKind for Fedora {}
