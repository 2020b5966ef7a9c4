//! Alpine.

use crate::family::{Kind, OsKind};
use crate::os;
use csis_values::fields::Field;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};

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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        os::check(builder, found);
        check_policy(builder, found);
    }
}

impl OsKind for Alpine {}

/// Alpine updates all or nothing: apk has no security policy and keeps no pins here.
fn check_policy(builder: &Builder, found: &mut Diagnostics) {
    let Some(update) = builder.fields.object("update") else { return };
    let policy = update.text("policy").unwrap_or("none");
    let extra =
        ["exclude", "pin"].into_iter().find(|key| !update.texts(key).is_empty() || !update.text_map(key).is_empty());
    let (what, key) = match extra {
        _ if !matches!(policy, "none" | "full") => (format!("the update policy `{policy}`"), "policy"),
        Some(key) => (format!("`update.{key}`"), key),
        None => return,
    };
    found.push(
        Diagnostic::error(
            "alpine-update",
            format!("OS builder `{}` of type alpine has {what}, which alpine does not have", builder.name),
        )
        .at(update.place(key))
        .help("use `policy: none` or a plain `policy: full`"),
    );
}
