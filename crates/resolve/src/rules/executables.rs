//! Builders run programs that the tree declares.

use super::site::Site;
use super::words::{list, nearest};
use csis_kinds::registry;
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// A name that is written and unknown was reported as a reference; here the default of a builder that names none is judged.
pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    engines(site, found);
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

/// Arguments that make another plan than the tree's, or make it elsewhere.
const NOT_FOR_ENGINES: &[&str] = &[
    "target",
    "exclude",
    "destroy",
    "refresh",
    "refresh-only",
    "replace",
    "lock",
    "lock-timeout",
    "var",
    "var-file",
    "state",
    "state-out",
    "backup",
    "chdir",
    "out",
    "backend",
    "backend-config",
    "plugin-dir",
    "auto-approve",
];

/// csis alone says how an engine is called: what a plan covers must not depend on what stands in a list of arguments.
fn engines(site: &Site<'_>, found: &mut Diagnostics) {
    let holds_state =
        |b: &&csis_values::tree::Builder| matches!(b.class, Class::StorageBuilder | Class::InstanceBuilder);
    let default = |b: &csis_values::tree::Builder| registry::find(b.class, &b.kind)?.kind().default_executable();
    let engines: BTreeSet<&str> = (site.tree.builders.iter().filter(holds_state))
        .filter_map(|b| b.executable.as_ref().map(|name| name.value.as_str()).or_else(|| default(b)))
        .collect();
    for executable in site.tree.executables.iter().filter(|e| engines.contains(e.name.safe.as_str())) {
        for key in ["args", "prepended_arguments", "appended_arguments"] {
            for argument in executable.fields.texts(key) {
                let word = argument.value.trim_start_matches('-').split('=').next().unwrap_or_default();
                let what = format!("executable `{}`: `{key}` holds `{}`", executable.name, argument.value);
                found.push(if argument.value.starts_with('-') && NOT_FOR_ENGINES.contains(&word) {
                    Diagnostic::error(
                        "engine-argument",
                        format!("{what}, which would change what a plan covers or where it is made"),
                    )
                    .at(&argument.at)
                    .help("remove it: csis says how an engine is called")
                } else {
                    Diagnostic::warning(
                        "engine-argument-unused",
                        format!("{what}, and csis does not hand it to an engine"),
                    )
                    .at(&argument.at)
                    .help("remove it: csis says how an engine is called")
                });
            }
        }
    }
}
