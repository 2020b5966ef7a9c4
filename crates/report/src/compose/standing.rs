//! Where a root stands when its change is merged.

use crate::things::{Fate, noun, things_of};
use crate::words::change::noun_of;
use csis_values::report::{RootReport, RootStatus};
use csis_values::verdict::Weight;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Refused,
    Failed,
    NotJudged,
    /// It has changes, and a flag of the tree keeps them from being applied.
    PlanOnly,
    Applies,
    Nothing,
    /// It has changes that this change set does not touch.
    Anyway,
}

pub fn standing(root: &RootReport) -> Standing {
    let idle =
        root.counts.is_empty() && root.actions.is_empty() && root.changes.iter().all(|c| Fate::of(c) == Fate::Read);
    if root.findings.iter().any(|f| f.weight == Weight::Refuse) {
        Standing::Refused
    } else if root.status == RootStatus::Failed {
        Standing::Failed
    } else if root.status == RootStatus::NotJudged {
        Standing::NotJudged
    } else if idle {
        Standing::Nothing
    } else if !root.concerned {
        Standing::Anyway
    } else if root.applies.applies {
        Standing::Applies
    } else {
        Standing::PlanOnly
    }
}

/// Storages, machines and objects by fate; then lost parts by what they are.
pub fn tally<'a>(roots: impl IntoIterator<Item = &'a RootReport>) -> Vec<(String, Vec<(Fate, u64)>)> {
    let mut wholes = BTreeMap::new();
    let mut parts: BTreeMap<(String, Fate), u64> = BTreeMap::new();
    for root in roots {
        for thing in things_of(root) {
            if thing.fate > Fate::Read {
                *wholes.entry((thing.noun, order(thing.fate))).or_insert(0) += 1;
            }
            for part in thing.part_losses() {
                let name = if part.deposed.is_some() { "leftover object".to_owned() } else { noun(&part.kind) };
                *parts.entry((name, Fate::of(part))).or_insert(0) += 1;
            }
        }
    }
    let mut out: Vec<(String, Vec<(Fate, u64)>)> = Vec::new();
    let wholes = wholes.into_iter().map(|((noun, (_, fate)), n)| (noun_of(noun).to_owned(), fate, n));
    for (noun, fate, n) in wholes.chain(parts.into_iter().map(|((noun, fate), n)| (noun, fate, n))) {
        match out.last_mut() {
            Some((last, fates)) if *last == noun => fates.push((fate, n)),
            _ => out.push((noun, vec![(fate, n)])),
        }
    }
    out
}

/// Created before changed before the rest, as people tell it.
fn order(fate: Fate) -> (u8, Fate) {
    (u8::from(fate != Fate::Created), fate)
}
