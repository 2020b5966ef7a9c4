//! The first line: what to do next, what merging does and what it does not.

use super::{count, counted, flag, number, size};
use crate::document::{Line, code, own, prose, strong};
use crate::say;
use csis_values::Place;
use csis_values::intent::Applies;

/// The reader's next act.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// The tree has errors; nothing was planned.
    Fix {
        errors: u64,
    },
    /// The gate refuses; with the number of findings.
    Refused {
        findings: u64,
    },
    /// Roots that could not be planned.
    Failed {
        roots: u64,
    },
    NotJudged {
        roots: u64,
    },
    /// Data is lost, by noun of the object: (noun, how many, GiB where known).
    Confirm {
        losses: Vec<(String, u64, u64)>,
    },
    /// Allowed, and not undone by a revert: a tally.
    Look {
        tally: Line,
    },
    /// Nothing is applied, and a loss is declared that a later apply makes: a tally.
    Later {
        tally: Line,
    },
    /// What plans or records is edited by the change itself, so the plan alone does not tell all.
    Reach,
    Merge,
    /// Allowed, and nothing of it is applied.
    MergeWithoutEffect,
    NothingToDo,
}

/// The sign before the first line.
pub fn mark(act: &Act) -> &'static str {
    match act {
        Act::Fix { .. } | Act::Failed { .. } => "❌",
        Act::Refused { .. } => "⛔",
        Act::NotJudged { .. } => "❔",
        Act::Confirm { .. } | Act::Look { .. } | Act::Later { .. } | Act::Reach => "⚠️",
        Act::Merge | Act::MergeWithoutEffect | Act::NothingToDo => "✅",
    }
}

pub fn act(act: &Act) -> Line {
    match act {
        Act::Fix { errors } => strong(own(format!("Fix {} first.", counted(*errors, "error")))),
        Act::Refused { findings } => {
            strong(own(format!("Do not merge: the gate refuses it, with {}.", counted(*findings, "finding"))))
        }
        Act::Failed { roots } => strong(own(format!("Not ready: {} could not be planned.", counted(*roots, "root")))),
        Act::NotJudged { roots: 0 } => strong("Not judged in full: see below."),
        Act::NotJudged { roots } => {
            strong(own(format!("Do not merge yet: {} not judged.", count(*roots, "root was", "roots were"))))
        }
        Act::Confirm { losses } => {
            say![strong(say!["Merging loses data: ", amounts(losses), "."]), " It lands only once confirmed."]
        }
        Act::Look { tally } => strong(say!["Ready to merge, if you mean it: ", tally.clone(), "."]),
        Act::Later { tally } => strong(say!["Merging declares a loss that a later apply makes: ", tally.clone(), "."]),
        Act::Reach => strong("Read the warnings before you merge: this change edits more than its plans can show."),
        Act::Merge => strong("Ready to merge."),
        Act::MergeWithoutEffect => strong("Safe to merge."),
        Act::NothingToDo => strong("Safe to merge: there is nothing to apply."),
    }
}

/// `1 EBS volume (50 GiB) and 1 S3 bucket`.
fn amounts(losses: &[(String, u64, u64)]) -> Line {
    let parts = losses
        .iter()
        .map(|(noun, n, gib)| {
            let what = if noun == EXPIRY { count(*n, EXPIRY, EXPIRIES) } else { counted(*n, noun) };
            own(if *gib > 0 { format!("{what} ({})", size(*gib)) } else { what })
        })
        .collect();
    Line::and(parts)
}

/// `Merging applies 2 of 3 roots: 1 storage created`.
pub fn merging(applied: u64, all: u64, conditional: bool, tally: Line) -> Line {
    let verb = if conditional { "Merging would apply " } else { "Merging applies " };
    let what = match (applied, all) {
        (0, _) => {
            return if conditional { "Merging would apply nothing".into() } else { "Merging applies nothing".into() };
        }
        (n, m) if n == m => match n {
            1 => "1 root".to_owned(),
            2 => "both roots".to_owned(),
            n => format!("all {} roots", number(n)),
        },
        (n, m) => format!("{} of {}", number(n), counted(m, "root")),
    };
    let line = say![verb, own(what)];
    if tally.is_empty() { line } else { say![line, ": ", tally] }
}

pub fn bakes(n: u64) -> Line {
    own(count(n, "image bakes", "images bake"))
}

/// What csis itself does, by name of the action: `1 wipe by csis itself`.
pub fn actions(by_name: &[(&str, u64)]) -> Line {
    let parts = by_name.iter().map(|(name, n)| {
        say![own(format!("{} ", number(*n))), prose(if *n == 1 { (*name).to_owned() } else { super::plural(name) })]
    });
    say![Line::and(parts.collect()), " by csis itself"]
}

/// A loss that is no object's end: data that a rule will delete.
pub const EXPIRY: &str = "rule that deletes data";
pub const EXPIRIES: &str = "rules that delete data";

/// `fleet` is plan-only (`cfg/_config.yml:12`).
pub fn plan_only(name: &str, applies: &Applies) -> Line {
    let why = match &applies.at {
        Some(at) => short_place(at),
        None => flag(applies),
    };
    say![code(name), " is plan-only (", why, ")"]
}

fn short_place(at: &Place) -> Line {
    crate::document::Span::Place { place: at.clone(), column: false }.into()
}

/// Roots that merging leaves out, by the reason: `volumes is refused`, `3 roots are not judged`.
pub fn left(names: &[&str], singular: &'static str, plural: &'static str) -> Option<Line> {
    match names {
        [] => None,
        [one] => Some(say![code(*one), " ", singular]),
        [one, two] => Some(say![code(*one), " and ", code(*two), " ", plural]),
        many => Some(own(format!("{} roots ", number(many.len() as u64))).then(plural)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_counted_as_people_count() {
        let plain = |line: Line| crate::markdown::render::inline(&line, &crate::markdown::Links::default());
        assert_eq!(plain(merging(1, 1, false, "x".into())), "Merging applies 1 root: x");
        assert_eq!(plain(merging(2, 3, true, "x".into())), "Merging would apply 2 of 3 roots: x");
        assert_eq!(plain(merging(0, 3, false, Line::default())), "Merging applies nothing");
    }
}
