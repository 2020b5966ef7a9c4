//! Builders run programs that the tree declares.

use super::site::Site;
use super::words::{list, nearest};
use csis_kinds::registry;
use csis_values::{Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// A name that is written and unknown was reported as a reference; here the default of a builder that names none is judged.
pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let declared: BTreeSet<&str> = site.tree.executables.iter().map(|e| e.name.safe.as_str()).collect();
    for builder in &site.tree.builders {
        if builder.executable.is_some() || builder.fields.node("executable").is_some() {
            continue;
        }
        let Some(default) = registry::find(builder.class, &builder.kind).and_then(|r| r.kind().default_executable())
        else {
            continue;
        };
        if !declared.contains(default) {
            let known = list(declared.iter().map(|name| format!("`{name}`")));
            let what = format!(
                "{} `{}` names no executable, so it runs `{default}`, which is not declared (declared: {known})",
                builder.class, builder.name
            );
            let help = match nearest(default, declared.iter().copied()) {
                Some(near) => format!("add `executable: {near}` to it, or declare `{default}` under `executables:`"),
                None => format!(
                    "declare `{default}` under `executables:`, or add `executable:` with the name of a declared one"
                ),
            };
            found.push(Diagnostic::error("executable-undeclared", what).at(&builder.at).help(help));
        }
    }
}
