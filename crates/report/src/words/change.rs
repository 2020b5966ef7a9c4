//! What becomes of objects, in words.

use super::{count, counted, size};
use crate::document::{Line, code, own, prose, strong};
use crate::say;
use crate::things::{Fate, Noun, Thing, noun};
use csis_values::plan::{Action, Change, Shown};
use std::borrow::Cow;

pub fn noun_of(kind: Noun) -> &'static str {
    match kind {
        Noun::Storage => "storage",
        Noun::Machine => "machine",
        Noun::Ephemeral => EPHEMERAL,
        Noun::Object => "object",
    }
}

/// What a machine is called that goes with its run.
pub const EPHEMERAL: &str = "ephemeral machine";
/// How its creation is told.
const FOR_ONE_RUN: &str = " (and destroyed again by the same run)";

/// A past participle; losses are strong.
pub fn fate(fate: Fate) -> Line {
    let word = fate_word(fate);
    if fate.is_loss() { strong(word) } else { word.into() }
}

pub fn fate_word(fate: Fate) -> &'static str {
    match fate {
        Fate::Read => "read",
        Fate::Moved => "moved",
        Fate::Imported => "imported",
        Fate::Changed => "changed",
        Fate::Created => "created",
        Fate::Unknown => "of an unknown action",
        Fate::Forgotten => "forgotten",
        Fate::Replaced => "replaced",
        Fate::Destroyed => "destroyed",
    }
}

/// `storage ledger created`: the title over a thing's changes.
pub fn thing(thing: &Thing<'_>) -> Line {
    let lead = match thing.noun {
        Noun::Object => code(thing.name),
        kind => say![noun_of(kind), " ", code(thing.name)],
    };
    if thing.noun == Noun::Ephemeral && thing.fate == Fate::Created {
        say![strong(lead), " ", fate(thing.fate), FOR_ONE_RUN]
    } else if thing.fate.is_loss() {
        strong(say![lead, " ", fate(thing.fate)])
    } else {
        say![strong(lead), " ", fate(thing.fate)]
    }
}

/// What happens to one object, with the reason, e.g. `EBS volume replaced (destroyed, then created): availability_zone cannot change in place`.
pub fn change(change: &Change) -> String {
    let what = match &change.action {
        Action::NoOp => "stays as it is".to_owned(),
        Action::Create => "created".to_owned(),
        Action::Read => "read".to_owned(),
        Action::Update => "changed in place".to_owned(),
        Action::Delete => "destroyed".to_owned(),
        Action::Replace => "replaced (destroyed, then created)".to_owned(),
        Action::ReplaceCreateFirst => "replaced (created, then the old one destroyed)".to_owned(),
        Action::Forget => "forgotten (stands on, no longer managed)".to_owned(),
        Action::ForgetThenCreate => "forgotten, and another created".to_owned(),
        Action::Unknown(list) => format!("unknown action {list}"),
    };
    let mut text = format!("{} {what}", noun(&change.kind));
    if let Some(key) = &change.deposed {
        text = format!("leftover {text} (deposed {key})");
    }
    if let Some(from) = &change.previous_address {
        text = format!("{text}, moved from {from}");
    }
    if let Some(id) = &change.importing {
        text = format!("{text}, imported as {id}");
    }
    if let Some(why) = reason(change) {
        text.push_str(": ");
        text.push_str(&why);
    }
    text
}

/// Why the engine wants it; nothing for reasons not known here.
fn reason(change: &Change) -> Option<String> {
    let paths = || change.replace_paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(match change.reason.as_deref() {
        Some("replace_because_tainted") => "an earlier create failed half-way (tainted)".into(),
        Some("replace_by_request") => "its replacement was asked for".into(),
        Some("replace_by_triggers") => "something it follows is replaced".into(),
        Some("delete_because_no_resource_config" | "delete_because_no_module") => "no longer declared".into(),
        Some("delete_because_wrong_repetition" | "delete_because_count_index" | "delete_because_each_key") => {
            "its index is no longer declared".into()
        }
        Some("delete_because_no_move_target") => "it was moved to an address that is not declared".into(),
        _ if change.action.is_replace() && !change.replace_paths.is_empty() => {
            format!("{} cannot change in place", paths())
        }
        _ => return None,
    })
}

/// An address with its deposed key, as sanctions and findings name it.
pub fn address(change: &Change) -> Cow<'_, str> {
    match &change.deposed {
        Some(key) => format!("{} (deposed {key})", change.address).into(),
        None => change.address.as_str().into(),
    }
}

/// The address of an object that goes away, and how.
pub fn lost(change: &Change) -> Line {
    say![code(address(change)), " ", fate(Fate::of(change))]
}

/// The same with its size where that is known.
pub fn loss(change: &Change) -> Line {
    let line = lost(change);
    match crate::things::gibibytes(change) {
        Some(gib) => say![line, own(format!(", {}", size(gib)))],
        None => line,
    }
}

/// How a lost object is counted where it cannot be listed.
pub fn loss_tally(change: &Change, root: &str) -> String {
    format!("{} in {root}", fate_word(Fate::of(change)))
}

/// A value as people read it.
pub fn shown(value: &Shown) -> String {
    match value {
        Shown::Absent => "(none)".into(),
        Shown::Value(text) if text.is_empty() => "(empty)".into(),
        Shown::Value(text) => text.clone(),
        Shown::Sensitive => "(sensitive)".into(),
        Shown::Unknown => "(known after the apply)".into(),
        Shown::Pending(text) => format!("({})", pending(text)),
    }
}

/// What a pending value stands for: `storage/volumes:storage_ledger.volume_id` is told as `ledger → volume of this change`. Other words are left as they are.
pub fn pending(text: &str) -> String {
    let token = text.strip_prefix("csis-pending:").unwrap_or(text);
    if let Some(build) = token.strip_prefix("build:") {
        let series = build.split([':', '@']).next().unwrap_or(build);
        return format!("{series} → build of this change");
    }
    let Some((_, path)) = token.split_once(':').filter(|(root, path)| root.contains('/') && !path.contains(' ')) else {
        return text.to_owned();
    };
    let (owner, leaf) = path.rsplit_once('.').unwrap_or((path, ""));
    let owner = owner.strip_prefix("storage_").or_else(|| owner.strip_prefix("instance_")).unwrap_or(owner);
    let leaf = leaf.strip_suffix("_id").or_else(|| leaf.strip_suffix("_ids")).unwrap_or(leaf);
    let what = leaf.replace('_', " ");
    if what.is_empty() { format!("{owner} of this change") } else { format!("{owner} → {what} of this change") }
}

/// `3 values are known only after the apply`.
pub fn unknown_values(n: u64) -> String {
    count(n, "value is known only after the apply", "values are known only after the apply")
}

pub fn more_attributes(n: u64) -> String {
    count(n, "further attribute differs", "further attributes differ")
}

pub const FORCES: &str = "   ← forces the replacement";

/// The tally of a root or a merge: `1 storage created, 1 **destroyed**, 1 machine changed`.
pub fn tally(groups: &[(String, Vec<(Fate, u64)>)]) -> Line {
    let mut parts = Vec::new();
    for (noun, fates) in groups {
        for (index, (fate_, n)) in fates.iter().enumerate() {
            let head = if index == 0 { counted(*n, noun) } else { super::number(*n) };
            let again = if noun == EPHEMERAL && *fate_ == Fate::Created { FOR_ONE_RUN } else { "" };
            parts.push(say![own(format!("{head} ")), fate(*fate_), again]);
        }
    }
    Line::join(parts, ", ")
}

pub const NOTHING: &str = "nothing";

/// `also 3 outputs change: a, b`.
pub fn outputs(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
    let more = names.len().saturating_sub(12);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{tail}", count(names.len() as u64, "output changes", "outputs change"), shown.join(", "))
}

/// One drifted object.
pub fn drift(root: &str, address: &str, what: &str) -> Line {
    say![code(address), " in ", code(root), ": ", prose(what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_told_as_what_it_stands_for() {
        assert_eq!(pending("csis-pending:storage/volumes:ledger.volume_id"), "ledger → volume of this change");
        assert_eq!(pending("storage/volumes:storage_ledger.volume_id"), "ledger → volume of this change");
        assert_eq!(pending("csis-pending:build:harbor-api@aws-west:0123"), "harbor-api → build of this change");
        assert_eq!(pending("the volume"), "the volume");
    }

    #[test]
    fn a_replacement_says_why() {
        let mut volume =
            crate::things::tests::change("module.storage_a.aws_ebs_volume.this", "aws_ebs_volume", Action::Replace);
        volume.replace_paths = vec!["availability_zone".into()];
        assert_eq!(
            change(&volume),
            "EBS volume replaced (destroyed, then created): availability_zone cannot change in place"
        );
    }
}
