use super::{Found, Rule};
use crate::{Question, address};
use csis_values::name;
use csis_values::plan::{Action, Change};
use std::collections::{BTreeMap, BTreeSet};

/// What machines reach a shared storage by holds no data, so it may go; they have it open all the same.
const REACHED_BY: &[&str] = &["aws_efs_access_point", "aws_efs_mount_target"];

pub struct MountLost;

impl Rule for MountLost {
    fn id(&self) -> &'static str {
        "mount-lost"
    }

    fn sentence(&self) -> &'static str {
        "That standing machines lose a storage they have mounted, because what they reach it by goes, is said"
    }

    fn remedy(&self) -> &'static str {
        "unmount it on them first, and replace them afterwards (`csis upgrade instance NAME`): a machine mounts by what it was launched with"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        let mut by_storage: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        let goes = |c: &&Change| c.action == Action::Delete || c.action.is_replace();
        for change in q.managed().filter(goes).filter(|c| c.deposed.is_none()) {
            if REACHED_BY.contains(&change.kind.as_str())
                && let Some(owner) = address::owner(&change.address).filter(|owner| owner.kind == "storage")
            {
                by_storage.entry(owner.label).or_default().push(change);
            }
        }
        for (storage, changes) in by_storage {
            let touched = |mount: &&crate::StandingMount| {
                name::label(&mount.storage) == storage && changes.iter().any(|c| reaches(c, mount.group.as_deref()))
            };
            let machines: BTreeSet<&str> =
                q.standing_mounts.iter().filter(touched).map(|mount| mount.machine.as_str()).collect();
            let (Some(first), false) = (changes.first(), machines.is_empty()) else { continue };
            let machines: Vec<&str> = machines.into_iter().collect();
            let noun = if machines.len() == 1 { "instance" } else { "instances" };
            found
                .warn(format!(
                    "{noun} {} {} and {} {} mounted: {}",
                    machines.join(", "),
                    if machines.len() == 1 { "stands" } else { "stand" },
                    if machines.len() == 1 { "has" } else { "have" },
                    address::item(q, &first.address),
                    what_goes(&changes)
                ))
                .on(first);
        }
    }
}

/// The access point of a group is that group's alone; anything else may be anybody's way.
fn reaches(change: &Change, group: Option<&str>) -> bool {
    let key = change.address.strip_suffix("\"]").and_then(|rest| rest.rsplit_once("[\"")).map(|(_, key)| key);
    match (key, group) {
        (Some(key), Some(group)) => key == group,
        _ => true,
    }
}

/// `1 EFS access point is replaced, 2 EFS mount targets are destroyed`.
fn what_goes(changes: &[&Change]) -> String {
    let mut counted: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for change in changes {
        let fate = if change.action.is_replace() { "replaced" } else { "destroyed" };
        *counted.entry((address::thing(&change.kind), fate)).or_default() += 1;
    }
    let parts: Vec<String> = counted
        .into_iter()
        .map(
            |((thing, fate), n)| {
                if n == 1 { format!("1 {thing} is {fate}") } else { format!("{n} {thing}s are {fate}") }
            },
        )
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, StandingMount, judge};
    use csis_values::plan::{Action, Change};
    use csis_values::verdict::Weight;

    const CREW: &str = "module.storage_depot.aws_efs_access_point.group[\"crew\"]";
    const PUBLIC: &str = "module.storage_depot.aws_efs_access_point.public_read[0]";
    const TARGET: &str = "module.storage_depot.aws_efs_mount_target.this[1]";

    fn told(changes: Vec<Change>) -> Option<String> {
        let mount = |machine: &str, storage: &str, group: Option<&str>| StandingMount {
            storage: storage.into(),
            machine: machine.into(),
            group: group.map(str::to_owned),
        };
        let mounts = [
            mount("api-2", "depot", Some("crew")),
            mount("api-1", "depot", Some("crew")),
            mount("log-1", "depot", Some("audit")),
            mount("old-1", "depot", None),
            mount("db-1", "depot-2", Some("crew")),
        ];
        let (plan, settings) = (plan(changes), Settings::default());
        let verdict = judge(&Question { standing_mounts: &mounts, ..Question::new(&plan, &settings) });
        assert!(weights(&verdict, "mount-lost").iter().all(|weight| *weight == Weight::Warn));
        let mut said = said(&verdict, "mount-lost");
        assert!(said.len() < 2, "one cause, one finding: {said:?}");
        said.pop()
    }

    #[test]
    fn the_machines_that_lose_it_are_named() {
        assert_eq!(
            told(vec![change(CREW, Action::Replace), change(TARGET, Action::Delete)]).unwrap(),
            "instances api-1, api-2, log-1, old-1 stand and have storage depot mounted: 1 EFS access point is replaced, 1 EFS mount target is destroyed"
        );
        let by_group = told(vec![change(CREW, Action::ReplaceCreateFirst)]).unwrap();
        assert!(by_group.starts_with("instances api-1, api-2, old-1 stand"), "{by_group}");
        assert!(told(vec![change(PUBLIC, Action::Delete)]).unwrap().contains("log-1"));
    }

    #[test]
    fn what_takes_nothing_away_says_nothing() {
        for action in [Action::Create, Action::Update] {
            assert_eq!(told(vec![change(CREW, action)]), None);
        }
        assert_eq!(told(vec![change("module.storage_other.aws_efs_mount_target.this[0]", Action::Delete)]), None);
        assert_eq!(told(vec![change("module.storage_depot.aws_s3_bucket_policy.this[0]", Action::Delete)]), None);
    }
}
