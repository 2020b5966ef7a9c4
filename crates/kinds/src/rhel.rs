//! Rhel.

use crate::family::{Kind, OsKind};
use crate::os;
use crate::vocabulary::is_marker;
use csis_values::fields::Field;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        os::check(builder, found);
        check_major(builder, found);
    }
}

impl OsKind for Rhel {}

/// The majors whose repositories an update knows.
const MAJORS: &[&str] = &["8", "9", "10"];

fn check_major(builder: &Builder, found: &mut Diagnostics) {
    let Some(version) = builder.fields.text("family_version") else { return };
    let major = version.trim().split('.').next().unwrap_or_default();
    if !MAJORS.contains(&major) && !is_marker(version) {
        found.push(
            Diagnostic::error(
                "rhel-major",
                format!(
                    "OS builder `{}` is rhel `{version}`; the majors supported are {}",
                    builder.name,
                    MAJORS.join(", ")
                ),
            )
            .at(builder.fields.place("family_version"))
            .help("name a supported major, e.g. `\"9\"`"),
        );
    }
}
