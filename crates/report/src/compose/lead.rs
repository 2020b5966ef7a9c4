//! The first line.

use super::standing::{Standing, standing, tally};
use crate::document::Line;
use crate::say;
use crate::things::{Fate, gibibytes, noun};
use crate::words;
use crate::words::lead::Act;
use csis_values::Severity;
use csis_values::plan::Change;
use csis_values::report::{Outcome, Report, RootReport};
use csis_values::verdict::{Finding, Weight};
use std::collections::BTreeMap;

/// The sign and the sentence.
pub fn lead(report: &Report) -> (&'static str, Line) {
    let stand: Vec<(&RootReport, Standing)> = report.roots.iter().map(|root| (root, standing(root))).collect();
    let of = |wanted: Standing| stand.iter().filter(|(_, s)| *s == wanted).map(|(root, _)| *root).collect::<Vec<_>>();
    let applied = of(Standing::Applies);
    let act = next_act(report, &stand, &applied);
    let mark = words::lead::mark(&act);
    let mut line = words::lead::act(&act);
    if matches!(act, Act::Fix { .. }) && report.roots.is_empty() {
        return (mark, line.then(" ").then(words::lead::merging(0, 0, false, Line::default())).then("."));
    }
    let all = stand.iter().filter(|(_, s)| !matches!(s, Standing::Nothing | Standing::Anyway)).count() as u64;
    let due = report.bakes.iter().filter(|b| b.due).count() as u64;
    if all == 0 && due == 0 {
        return (mark, line);
    }
    let conditional = matches!(act, Act::Refused { .. } | Act::Failed { .. } | Act::NotJudged { .. } | Act::Fix { .. });
    let mut effects = Vec::new();
    let changes = tally(applied.iter().copied());
    if !changes.is_empty() {
        effects.push(words::change::tally(&changes));
    }
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    for action in applied.iter().flat_map(|root| &root.actions) {
        *own.entry(action.action.as_str()).or_default() += 1;
    }
    if !own.is_empty() {
        effects.push(words::lead::actions(&own.into_iter().collect::<Vec<_>>()));
    }
    line = line.then(" ").then(words::lead::merging(applied.len() as u64, all, conditional, Line::join(effects, ", ")));
    let mut left = Vec::new();
    if due > 0 {
        left.push(words::lead::bakes(due));
    }
    let names =
        |roots: &[&'_ RootReport]| roots.iter().map(|root| short_name(report, root).to_owned()).collect::<Vec<_>>();
    let plan_only = of(Standing::PlanOnly);
    match plan_only.as_slice() {
        [one] => left.push(words::lead::plan_only(short_name(report, one), &one.applies)),
        many => left.extend(left_out(&names(many), "is plan-only", "are plan-only")),
    }
    left.extend(left_out(&names(&of(Standing::Refused)), "is refused", "are refused"));
    left.extend(left_out(&names(&of(Standing::Failed)), "could not be planned", "could not be planned"));
    left.extend(left_out(&names(&of(Standing::NotJudged)), "is not judged", "are not judged"));
    for part in left {
        line = say![line, "; ", part];
    }
    (mark, line.then("."))
}

fn left_out(names: &[String], singular: &'static str, plural: &'static str) -> Option<Line> {
    words::lead::left(&names.iter().map(String::as_str).collect::<Vec<_>>(), singular, plural)
}

fn next_act(report: &Report, stand: &[(&RootReport, Standing)], applied: &[&RootReport]) -> Act {
    let count = |wanted: Standing| stand.iter().filter(|(_, s)| *s == wanted).count() as u64;
    let errors = report.diagnostics.iter().filter(|d| d.severity == Severity::Error).count() as u64;
    let refused: u64 = findings(report, Weight::Refuse).count() as u64;
    if refused > 0 {
        return Act::Refused { findings: refused };
    }
    if errors > 0 {
        return Act::Fix { errors };
    }
    let (failed, not_judged) = (count(Standing::Failed), count(Standing::NotJudged));
    if failed > 0 || report.verdict == Outcome::Failed {
        return Act::Failed { roots: failed };
    }
    if not_judged > 0 || report.verdict == Outcome::NotJudged {
        return Act::NotJudged { roots: not_judged };
    }
    let losses = data_losses(applied);
    if !losses.is_empty() {
        return Act::Confirm { losses };
    }
    if let Some(tally) = lost(applied.iter().copied()) {
        return Act::Look { tally };
    }
    if let Some(tally) = lost(stand.iter().filter(|(_, s)| *s == Standing::PlanOnly).map(|(root, _)| *root)) {
        return Act::Later { tally };
    }
    if report.diagnostics.iter().any(|d| REACH.contains(&d.code.as_ref())) {
        return Act::Reach;
    }
    if !applied.is_empty() || report.bakes.iter().any(|b| b.due) {
        return Act::Merge;
    }
    if count(Standing::PlanOnly) > 0 { Act::MergeWithoutEffect } else { Act::NothingToDo }
}

/// Findings about a change that edits what plans, or the records, rather than what is planned.
const REACH: &[&str] = &["modules-changed", "provider-locks-changed", "records-edited"];

/// What roots destroy, replace or forget.
fn lost<'a>(roots: impl Iterator<Item = &'a RootReport>) -> Option<Line> {
    let lost: Vec<_> = tally(roots)
        .into_iter()
        .filter_map(|(noun, fates)| {
            let fates: Vec<_> = fates.into_iter().filter(|(fate, _)| fate.is_loss()).collect();
            (!fates.is_empty()).then_some((noun, fates))
        })
        .collect();
    (!lost.is_empty()).then(|| words::change::tally(&lost))
}

/// What would be lost for good, by noun: how many and how much.
fn data_losses(applied: &[&RootReport]) -> Vec<(String, u64, u64)> {
    let mut by_noun: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for root in applied {
        let asked: Vec<_> =
            root.findings.iter().filter(|f| f.weight == Weight::Confirm).map(|f| find_change(root, f)).collect();
        // A wipe is told without an address; the bucket it empties is counted by its own finding, where it goes too.
        let named = asked.iter().any(Option::is_some);
        for change in asked.into_iter().filter(|change| change.is_some() || !named) {
            let what = match change {
                Some(change) if Fate::of(change).is_loss() => noun(&change.kind),
                Some(_) => words::lead::EXPIRY.to_owned(),
                None => "object".to_owned(),
            };
            let entry = by_noun.entry(what).or_default();
            entry.0 += 1;
            entry.1 = entry.1.saturating_add(change.and_then(gibibytes).unwrap_or(0));
        }
    }
    by_noun.into_iter().map(|(noun, (n, gib))| (noun, n, gib)).collect()
}

/// All findings of one weight, with their roots, in root order.
pub fn findings(report: &Report, weight: Weight) -> impl Iterator<Item = (&RootReport, &Finding)> {
    report
        .roots
        .iter()
        .flat_map(move |root| root.findings.iter().filter(move |f| f.weight == weight).map(move |f| (root, f)))
}

/// The change a finding is about.
pub fn find_change<'a>(root: &'a RootReport, finding: &Finding) -> Option<&'a Change> {
    let address = finding.address.as_deref()?;
    let mut named = root.changes.iter().filter(|c| c.address == address || is_named(c, address));
    let first = named.next();
    // A root may hold an object and its leftover at one address.
    std::iter::once(first).flatten().chain(named).find(|c| is_named(c, address)).or(first)
}

/// Whether this is the change's address with its deposed key; asked of every pair of finding and change, so nothing is made for it.
fn is_named(change: &Change, address: &str) -> bool {
    let Some(key) = &change.deposed else { return change.address == address };
    let rest = address.strip_prefix(change.address.as_str()).and_then(|rest| rest.strip_prefix(" (deposed "));
    rest.and_then(|rest| rest.strip_suffix(')')).is_some_and(|named| named == key)
}

/// The builder's name where it is the only root of it; else the root's.
pub fn short_name<'a>(report: &'a Report, root: &'a RootReport) -> &'a str {
    let alone = report.roots.iter().filter(|other| other.builder == root.builder).count() == 1;
    if alone && !root.builder.is_empty() { &root.builder } else { &root.name }
}

/// Worst fate of a root's changes.
pub fn worst(root: &RootReport) -> Option<Fate> {
    root.changes.iter().map(Fate::of).max()
}
