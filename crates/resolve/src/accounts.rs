//! What stands in an account that a change takes a runtime away from.

use csis_kinds::registry;
use csis_values::records::Records;
use csis_values::tree::{Builder, Tree};
use csis_values::{Class, Diagnostic};

/// How many names are told.
const NAMED: usize = 5;

/// A warning for each runtime that the change declares to be another account, while storages or machines of it stand by the records.
///
/// Nothing moves with the declaration: what stands stays in the old account, and its state says that it is gone.
pub fn account_changes(base: &Tree, head: &Tree, records: &Records) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for runtime in head.builders_of(Class::Runtime) {
        let Some(before) = base.builder(Class::Runtime, &runtime.name.safe) else { continue };
        let Some(was) = account(before) else { continue };
        let now = account(runtime);
        if now.as_ref() == Some(&was) {
            continue;
        }
        let stands = standing(base, records, &runtime.name.safe);
        if stands.is_empty() {
            continue;
        }
        let what = now.map_or_else(
            || format!("runtime `{}` says no more that it is account `{was}`", runtime.name),
            |now| format!("runtime `{}` becomes account `{now}`, and was `{was}`", runtime.name),
        );
        found.push(
            Diagnostic::warning("account-changed", format!("{what}; there stand {}", named(&stands)))
                .at(runtime.fields.place("account_id"))
                .help(format!(
                    "put `{was}` back, and declare the other account as a runtime of its own; what stands moves with no declaration"
                )),
        );
    }
    found
}

fn account(runtime: &Builder) -> Option<String> {
    registry::runtime(runtime)?.account(runtime)
}

/// What the records call standing on a runtime, by the base's declarations: they say where it is.
fn standing(base: &Tree, records: &Records, runtime: &str) -> Vec<String> {
    let here = |class: Class, builder: &str| {
        base.builder(class, builder).and_then(|b| b.runtime.as_ref()).is_some_and(|r| r.value == runtime)
    };
    let storages = records.storages.iter().filter(|(name, record)| {
        let declared = || base.storage(name).map(|s| s.builder.value.as_str());
        let builder = record.builder.as_deref().or_else(declared);
        record.is_live() && builder.is_some_and(|builder| here(Class::StorageBuilder, builder))
    });
    let machines = records.launches.iter().filter(|(name, launch)| {
        let of_build = || launch.build.as_ref().and_then(|id| records.build(id)).map(|build| build.runtime.as_str());
        let declared = base.instance(name).map(|instance| instance.runtime.value.as_str());
        launch.launched && declared.or_else(of_build) == Some(runtime)
    });
    let storages = storages.map(|(name, _)| format!("storage `{name}`"));
    storages.chain(machines.map(|(name, _)| format!("instance `{name}`"))).collect()
}

fn named(stands: &[String]) -> String {
    let shown = stands.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match stands.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
