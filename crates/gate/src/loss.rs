//! What a plan loses for good.

use crate::address::{self, owner};
use crate::attributes as attr;
use crate::question::Question;
use crate::{allow, rules};
use csis_values::intent::Content;
use csis_values::name;
use csis_values::plan::{Action, Change};
use csis_values::sanction::Obligation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Types that hold data, for plans whose root is not at hand; a root's kinds name their own.
const HOLD_DATA: &[&str] = &[
    "aws_ami",
    "aws_db_instance",
    "aws_ebs_snapshot",
    "aws_ebs_volume",
    "aws_efs_file_system",
    "aws_s3_bucket",
    "docker_volume",
];

/// Machines: what their root disk holds goes with them.
const MACHINES: &[&str] = &["aws_instance"];

/// One loss of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The object's address; for what csis does itself, what it is done to.
    pub address: String,
    /// `EBS volume of storage data`.
    pub what: String,
    /// `EBS volume`, for counting.
    pub thing: String,
    /// In GiB, where the plan tells it.
    pub size: Option<u64>,
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    Destroyed,
    Replaced,
    /// Emptied by csis itself.
    Wiped,
    /// New or shorter expiry of objects that stand.
    Expired,
}

/// Whether objects of this type hold data.
pub fn holds_data(question: &Question<'_>, kind: &str) -> bool {
    HOLD_DATA.contains(&kind) || question.root.is_some_and(|root| root.data_types.iter().any(|known| known == kind))
}

/// Whether objects of this type are machines.
pub fn is_machine(kind: &str) -> bool {
    MACHINES.contains(&kind)
}

/// Whether a complete snapshot of the storage is an obligation of this plan, so that its data stays.
fn is_archived(question: &Question<'_>, change: &Change) -> bool {
    let Some(owner) = owner(&change.address).filter(|owner| owner.kind == "storage") else { return false };
    question.obligations.iter().any(
        |obligation| matches!(obligation, Obligation::Snapshot { storage, .. } if name::label(storage) == owner.label),
    )
}

/// Everything a plan and csis's own actions lose, in the order of the changes.
pub fn losses(question: &Question<'_>) -> Vec<Loss> {
    let mut losses: Vec<Loss> = question.managed().filter_map(|change| of_change(question, change)).collect();
    for action in question.actions.iter().filter(|action| action.loses_data) {
        let label = name::label(&action.because.name);
        let counted = losses.iter().any(|loss| {
            owner(&loss.address).is_some_and(|owner| owner.kind == action.because.kind && owner.label == label)
        });
        if !counted {
            losses.push(Loss {
                address: action.object.clone(),
                what: format!("{} of {} {}", action.object, action.because.kind, action.because.name),
                thing: action.because.kind.clone(),
                size: None,
                how: How::Wiped,
            });
        }
    }
    losses
}

/// What one change loses.
pub fn of_change(question: &Question<'_>, change: &Change) -> Option<Loss> {
    let how = match change.action {
        Action::Delete => How::Destroyed,
        Action::Replace | Action::ReplaceCreateFirst => How::Replaced,
        _ => return expired(question, change),
    };
    let (what, thing) = if is_machine(&change.kind) {
        if is_ephemeral(question, change) {
            return None;
        }
        (format!("root disk of {}", address::item(question, &change.address)), "root disk".to_owned())
    } else if holds_data(question, &change.kind) && !is_archived(question, change) {
        (address::object(question, change), address::thing(&change.kind))
    } else {
        return None;
    };
    // Of a replaced object the facts tell the new size; the old one is what is lost.
    let before = attr::change_of(change, "size").map(|size| attr::number(&size.before));
    let size = before.unwrap_or_else(|| change.facts.get("size").and_then(attr::number));
    Some(Loss { address: address::shown(change), what, thing, size: size.and_then(whole), how })
}

fn expired(question: &Question<'_>, change: &Change) -> Option<Loss> {
    rules::expiry::shortened(question, change)?;
    Some(Loss {
        address: address::shown(change),
        what: format!("objects of {}", address::item(question, &change.address)),
        thing: "expiry".to_owned(),
        size: None,
        how: How::Expired,
    })
}

fn whole(size: f64) -> Option<u64> {
    // Sizes in GiB stay far below 2^53, where every whole number is exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..9e15).contains(&size).then_some(size as u64)
}

fn is_ephemeral(question: &Question<'_>, change: &Change) -> bool {
    let declared = question.root.is_some_and(|root| match &root.content {
        Content::Instances { instances } => owner(&change.address)
            .is_some_and(|owner| instances.iter().any(|i| i.ephemeral && i.name.label == owner.label)),
        Content::Storages { .. } => false,
    });
    declared || allow::sanction(question, change).is_some_and(|s| s.because.operation.contains("teardown"))
}

/// `2 EBS volumes (1.2 TiB), 1 S3 bucket`.
pub fn say(losses: &[Loss]) -> String {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for loss in losses {
        let (count, size) = kinds.entry(&loss.thing).or_default();
        *count += 1;
        *size = size.saturating_add(loss.size.unwrap_or(0));
    }
    let parts = kinds.into_iter().map(|(thing, (count, size))| {
        let plural = match (count, thing.strip_suffix('y')) {
            (1, _) => thing.to_owned(),
            (_, Some(stem)) if !thing.ends_with("ay") => format!("{stem}ies"),
            _ => format!("{thing}s"),
        };
        let size = if size == 0 { String::new() } else { format!(" ({})", say_size(size)) };
        format!("{count} {plural}{size}")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A size in GiB.
pub fn say_size(gib: u64) -> String {
    if gib < 1024 {
        return format!("{gib} GiB");
    }
    let tenths = gib.saturating_mul(10) / 1024;
    if tenths.is_multiple_of(10) {
        format!("{} TiB", tenths / 10)
    } else {
        format!("{}.{} TiB", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_by_kind_with_their_sizes() {
        let loss = |thing: &str, size| Loss {
            address: String::new(),
            what: String::new(),
            thing: thing.into(),
            size,
            how: How::Destroyed,
        };
        let all = [
            loss("EBS volume", Some(1000)),
            loss("EBS volume", Some(300)),
            loss("S3 bucket", None),
            loss("expiry", None),
            loss("expiry", None),
        ];
        assert_eq!(say(&all), "2 EBS volumes (1.2 TiB), 1 S3 bucket, 2 expiries");
        assert_eq!(say_size(2048), "2 TiB");
    }
}
