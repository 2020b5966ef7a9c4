//! Which sanction covers which change.

use crate::question::Question;
use csis_values::plan::{Action, Change};
use csis_values::sanction::{Allowed, Sanction};

/// What a change needs to be allowed; none when it needs nothing.
pub fn needed(change: &Change) -> Option<Allowed> {
    if change.mode == "data" {
        return None;
    }
    match change.action {
        Action::Delete => Some(Allowed::Destroy),
        Action::Replace | Action::ReplaceCreateFirst => Some(Allowed::Replace),
        Action::Forget | Action::ForgetThenCreate => Some(Allowed::Forget),
        _ => None,
    }
}

fn grants(allowed: Allowed, needed: Allowed) -> bool {
    allowed == needed || (allowed == Allowed::DestroyOrReplace && needed != Allowed::Forget)
}

fn is_of(question: &Question<'_>, sanction: &Sanction) -> bool {
    sanction.root.is_empty() || question.root.is_none_or(|root| root.id == sanction.root)
}

fn covers(sanction: &Sanction, exactly: bool, change: &Change) -> bool {
    if sanction.deposed != change.deposed {
        return false;
    }
    if exactly || change.deposed.is_some() {
        return sanction.address == change.address;
    }
    sanction.covers(&change.address)
}

/// The sanction that lets this change pass.
pub fn sanction<'a>(question: &Question<'a>, change: &Change) -> Option<&'a Sanction> {
    letting_pass(question, change).next()
}

/// Every sanction that lets this change pass; none when it needs nothing.
pub fn letting_pass<'a>(question: &Question<'a>, change: &Change) -> impl Iterator<Item = &'a Sanction> {
    let needed = needed(change);
    let exact = question.exact.iter().map(|sanction| (sanction, true));
    let wide = question.sanctions.iter().map(|sanction| (sanction, false));
    exact
        .chain(wide)
        .filter(move |(sanction, exactly)| {
            needed.is_some_and(|needed| grants(sanction.action, needed))
                && is_of(question, sanction)
                && covers(sanction, *exactly, change)
        })
        .map(|(sanction, _)| sanction)
}

/// Whether any change needs this sanction.
pub fn matches(question: &Question<'_>, sanction: &Sanction, exactly: bool) -> bool {
    is_of(question, sanction)
        && question.plan.changes.iter().any(|change| {
            needed(change).is_some_and(|needed| grants(sanction.action, needed)) && covers(sanction, exactly, change)
        })
}

/// The sanctions that let a change pass, each once, in the order of the changes.
pub fn used(question: &Question<'_>) -> Vec<Sanction> {
    let mut used: Vec<Sanction> = Vec::new();
    for found in question.plan.changes.iter().filter_map(|change| sanction(question, change)) {
        if !used.contains(found) {
            used.push(found.clone());
        }
    }
    used
}
