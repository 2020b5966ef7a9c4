//! The pool of memorable names: what a machine may draw is a hostname nobody else has.

use super::hostnames::canonical;
use super::site::Site;
use super::words::not_a_hostname;
use csis_values::{Diagnostic, Diagnostics, Place};
use std::collections::BTreeMap;

const FILE: &str = "meta-state/aliases.txt";

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let Some(pool) = &site.records.aliases else { return };
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for instance in &site.tree.instances {
        taken.insert(
            canonical(site, instance).to_lowercase(),
            format!("it is the hostname of instance `{}`", instance.name),
        );
        taken.insert(instance.name.safe.clone(), format!("it is the name of instance `{}`", instance.name));
    }
    let mut free = 0;
    for (index, line) in pool.lines().enumerate() {
        let name = line.trim_start_matches('\u{feff}').trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        free += 1;
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let key = name.to_lowercase();
        if let Some(why) = not_a_hostname(name).or_else(|| taken.get(&key).cloned()) {
            let what = format!("line {number} of the alias pool, `{name}`, can be no machine's alias: {why}");
            found.push(
                Diagnostic::error("alias-pool", what)
                    .at(&Place::new(FILE, number, 1))
                    .help("replace the line by another name, or put `#` before it"),
            );
        }
        taken.entry(key).or_insert_with(|| format!("line {number} has it already"));
    }
    if free == 0 {
        let what = "the alias pool has no free name left; machines launch without an alias".to_owned();
        found
            .push(Diagnostic::warning("alias-pool-empty", what).at(&Place::head(FILE)).help("add names, one per line"));
    }
}
