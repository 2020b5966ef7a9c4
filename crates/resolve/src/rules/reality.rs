//! What the tree names in its clouds is there. Judged from a snapshot; without one it is said that it was not.

use super::site::Site;
use super::words::list;
use csis_kinds::registry;
use csis_values::snapshot::Snapshot;
use csis_values::{Class, Diagnostic, Diagnostics};

pub(super) fn check(site: &Site<'_>, snapshot: Option<&Snapshot>, found: &mut Diagnostics) {
    let mut unseen = Vec::new();
    for runtime in site.tree.builders_of(Class::Runtime) {
        let Some(kind) = registry::runtime(runtime) else { continue };
        match snapshot.and_then(|s| s.runtimes.get(&runtime.name.safe)) {
            Some(seen) => kind.check_against(runtime, seen, found),
            None => unseen.push(runtime),
        }
    }
    if let Some(first) = unseen.first() {
        let names = list(unseen.iter().map(|r| format!("`{}`", r.name)));
        let what = format!(
            "not judged: whether the networks, subnets and security groups of {names} exist, since no snapshot tells"
        );
        found.push(
            Diagnostic::note("account-not-judged", what)
                .at(&first.at)
                .help("`csis validate --snapshot FILE` judges it, with a snapshot of the account"),
        );
    }
}
