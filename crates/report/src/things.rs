//! Changes told as storages and machines: what a module of the emission holds, and what becomes of it.

use csis_values::plan::{Action, Change, Shown};
use csis_values::report::RootReport;
use std::collections::BTreeMap;

/// What a group of changes is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noun {
    Storage,
    Machine,
    /// A machine that stands for one run only.
    Ephemeral,
    /// An object outside the modules of storages and machines.
    Object,
}

/// What becomes of it, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Read,
    Moved,
    Imported,
    Changed,
    Created,
    /// An action that no rule knows.
    Unknown,
    Forgotten,
    Replaced,
    Destroyed,
}

impl Fate {
    pub fn of(change: &Change) -> Fate {
        match change.action {
            Action::NoOp if change.importing.is_some() => Fate::Imported,
            Action::NoOp if change.previous_address.is_some() => Fate::Moved,
            Action::NoOp | Action::Read => Fate::Read,
            Action::Create => Fate::Created,
            Action::Update => Fate::Changed,
            Action::Delete => Fate::Destroyed,
            Action::Replace | Action::ReplaceCreateFirst => Fate::Replaced,
            Action::Forget | Action::ForgetThenCreate => Fate::Forgotten,
            Action::Unknown(_) => Fate::Unknown,
        }
    }

    /// Something goes away, or nobody knows.
    pub fn is_loss(self) -> bool {
        self >= Fate::Unknown
    }
}

/// One storage, machine or object with its changes in the plan's order.
#[derive(Clone, Debug)]
pub struct Thing<'a> {
    pub noun: Noun,
    /// Its name, or the label within the module's name where the name is not known; an object's address.
    pub name: &'a str,
    pub fate: Fate,
    pub changes: Vec<&'a Change>,
}

impl Thing<'_> {
    /// Losses among its parts that its own fate does not tell: an attachment replaced on a machine that only changes.
    pub fn part_losses(&self) -> impl Iterator<Item = &Change> {
        let own = self.fate;
        self.changes.iter().copied().filter(move |c| {
            Fate::of(c).is_loss() && (c.deposed.is_some() || (Fate::of(c) != own && own != Fate::Destroyed))
        })
    }
}

/// Groups changes by storage and machine, in the order of their first address.
pub fn things(changes: &[Change]) -> Vec<Thing<'_>> {
    let mut order: Vec<Thing<'_>> = Vec::new();
    let mut known: BTreeMap<(Noun, &str), usize> = BTreeMap::new();
    for change in changes {
        let (noun, name) = owner(&change.address);
        if let Some(&index) = known.get(&(noun, name)) {
            order[index].changes.push(change);
        } else {
            known.insert((noun, name), order.len());
            order.push(Thing { noun, name, fate: Fate::Read, changes: vec![change] });
        }
    }
    for thing in &mut order {
        thing.fate = fate(thing);
    }
    order
}

/// The same for a root, by the names its tree gives.
pub fn things_of(root: &RootReport) -> Vec<Thing<'_>> {
    let mut found = things(&root.changes);
    for thing in &mut found {
        let prefix = match thing.noun {
            Noun::Storage => "storage",
            Noun::Machine => "instance",
            Noun::Ephemeral | Noun::Object => continue,
        };
        if let Some(name) = root.names.get(&format!("{prefix}_{}", thing.name)) {
            thing.name = name;
        }
        if thing.noun == Noun::Machine && root.ephemeral.iter().any(|name| name == thing.name) {
            thing.noun = Noun::Ephemeral;
        }
    }
    found
}

/// The storage or machine an address belongs to; else the address itself.
pub fn owner(address: &str) -> (Noun, &str) {
    let label = address.strip_prefix("module.").and_then(|rest| rest.split(['.', '[']).next()).unwrap_or_default();
    for (prefix, noun) in [("storage_", Noun::Storage), ("instance_", Noun::Machine)] {
        if let Some(name) = label.strip_prefix(prefix).filter(|name| !name.is_empty()) {
            return (noun, name);
        }
    }
    (Noun::Object, address)
}

/// A storage or machine shares the fate of its main object; when only parts of it change, it is changed.
fn fate(thing: &Thing<'_>) -> Fate {
    let all = || thing.changes.iter().copied().filter(|c| c.deposed.is_none());
    let worst = |changes: &mut dyn Iterator<Item = &Change>| changes.map(Fate::of).max();
    if thing.noun == Noun::Object {
        return worst(&mut thing.changes.iter().copied()).unwrap_or(Fate::Read);
    }
    if let Some(fate) = worst(&mut all().filter(|c| is_whole(&c.kind))).filter(|fate| *fate >= Fate::Created) {
        return fate;
    }
    match worst(&mut all()) {
        None => Fate::Changed,
        Some(fate) => fate.min(Fate::Changed),
    }
}

/// Whether a resource type is a storage or a machine as a whole, by the noun its name ends in.
fn is_whole(kind: &str) -> bool {
    ["_volume", "_file_system", "_bucket", "_disk", "_instance", "_container"].iter().any(|noun| kind.ends_with(noun))
}

/// What people call a resource type: the type without its provider, e.g. `volume attachment`.
pub fn noun(kind: &str) -> String {
    let words: Vec<&str> = kind.split('_').skip(1).filter(|word| !word.is_empty()).collect();
    if words.is_empty() || !kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') || kind.len() > 60 {
        return "object".into();
    }
    let known = ["ami", "ebs", "ec2", "efs", "iam", "kms", "s3", "vpc"];
    words
        .into_iter()
        .map(|word| if known.contains(&word) { word.to_uppercase() } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The size of a volume in GiB, where the plan tells it.
pub fn gibibytes(change: &Change) -> Option<u64> {
    let before = change.attributes.iter().find(|a| a.path == "size").map(|a| &a.before);
    for shown in [before, change.facts.get("size")].into_iter().flatten() {
        if let Shown::Value(text) = shown
            && let Ok(size) = text.parse()
        {
            return Some(size);
        }
    }
    None
}

/// `tags_all` repeats what `tags` says; such attributes are neither shown nor part of a change set.
pub fn repeats_tags(change: &Change, path: &str) -> bool {
    let Some(rest) = path.strip_prefix("tags_all") else { return false };
    let twin = change.attributes.iter().filter(|a| a.path.strip_prefix("tags").is_some_and(|tail| tail == rest));
    let all = change.attributes.iter().find(|a| a.path == path);
    twin.zip(all).any(|(twin, all)| twin.after == all.after && twin.digest == all.digest)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn change(address: &str, kind: &str, action: Action) -> Change {
        Change {
            address: address.into(),
            previous_address: None,
            deposed: None,
            mode: "managed".into(),
            kind: kind.into(),
            name: "this".into(),
            provider: "registry.terraform.io/hashicorp/aws".into(),
            action,
            reason: None,
            importing: None,
            id: None,
            replace_paths: Vec::new(),
            attributes: Vec::new(),
            attributes_left_out: 0,
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn a_new_attachment_changes_a_machine_and_creates_none() {
        let changes = [change(
            "module.instance_api_1.aws_volume_attachment.this[\"ledger\"]",
            "aws_volume_attachment",
            Action::Create,
        )];
        let things = things(&changes);
        assert_eq!((things[0].noun, things[0].name, things[0].fate), (Noun::Machine, "api_1", Fate::Changed));
    }

    #[test]
    fn a_storage_with_its_parts_is_one_thing() {
        let changes = [
            change("module.storage_depot.aws_efs_access_point.group[\"crew\"]", "aws_efs_access_point", Action::Create),
            change("module.storage_depot.aws_efs_file_system.this[0]", "aws_efs_file_system", Action::Create),
        ];
        assert_eq!(things(&changes).len(), 1);
        assert_eq!(things(&changes)[0].fate, Fate::Created);
    }

    #[test]
    fn a_replaced_attachment_is_not_hidden_by_the_machine() {
        let changes = [
            change("module.instance_a.aws_instance.this", "aws_instance", Action::Update),
            change("module.instance_a.aws_volume_attachment.this[\"x\"]", "aws_volume_attachment", Action::Replace),
        ];
        let things = things(&changes);
        assert_eq!(things[0].fate, Fate::Changed);
        assert_eq!(things[0].part_losses().count(), 1);
    }

    #[test]
    fn a_type_is_told_in_words_only_when_it_is_a_type() {
        assert_eq!(noun("aws_ebs_volume"), "EBS volume");
        assert_eq!(noun("<b>_x"), "object");
    }
}
