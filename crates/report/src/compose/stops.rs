//! What stops a merge, what it loses, and what must happen before.

use super::lead::{find_change, findings};
use super::standing::{Standing, standing};
use crate::document::{Block, Form, Line, Rank, Room, Section, Span, Tone, Unit, code, place, prose};
use crate::say;
use crate::things::Fate;
use crate::words;
use csis_values::plan::Change;
use csis_values::report::{Report, RootReport};
use csis_values::sanction::{Allowed, Sanction};
use csis_values::verdict::{Finding, Weight};
use csis_values::{Diagnostic, Severity};
use std::collections::HashSet;

/// What the tree has to put right before anything can be planned.
pub fn errors(report: &Report) -> Option<Section> {
    let errors: Vec<&Diagnostic> = sorted(report, |s| s == Severity::Error);
    let mut section = Section::new(Form::Notice(Tone::Caution), words::errors_title(errors.len() as u64));
    for error in &errors {
        section.push(diagnostic(error, Rank::Essential));
    }
    (!errors.is_empty()).then_some(section)
}

/// One finding about the tree as an item of a list.
pub fn diagnostic(found: &Diagnostic, rank: Rank) -> Unit {
    let head = match &found.at {
        Some(at) => say![place(at), " ", prose(&found.message)],
        None => prose(&found.message),
    };
    let line = say![head.clone(), " (", code(found.code.as_ref()), ")"];
    let mut under: Vec<Line> = found.also.iter().map(|(at, what)| say![place(at), " ", prose(what)]).collect();
    under.extend(found.help.as_deref().map(words::remedy));
    Unit::new(rank, Block::Item { line, under })
        .brief(Block::Item { line: head, under: Vec::new() })
        .tally(words::plural(words::severity(found.severity)))
}

/// Diagnostics by file, line and column.
pub fn sorted(report: &Report, wanted: impl Fn(Severity) -> bool) -> Vec<&Diagnostic> {
    let mut found: Vec<&Diagnostic> = report.diagnostics.iter().filter(|d| wanted(d.severity)).collect();
    found.sort_by(|a, b| (a.severity, &a.at, &a.message).cmp(&(b.severity, &b.at, &b.message)));
    found
}

pub fn refusals(report: &Report, room: Room) -> Option<Section> {
    let found: Vec<_> = findings(report, Weight::Refuse).collect();
    let mut section = Section::new(Form::Notice(Tone::Caution), words::refusals_title(found.len() as u64));
    for (root, finding) in &found {
        section.push_within(room, || finding_unit(root, finding, Rank::Essential), || beyond(root, finding));
    }
    (!found.is_empty()).then_some(section)
}

pub fn confirmations(report: &Report, room: Room) -> Option<Section> {
    let found: Vec<_> = findings(report, Weight::Confirm).collect();
    let mut section = Section::new(Form::Notice(Tone::Warning), words::confirm_title(found.len() as u64));
    for (root, finding) in &found {
        section.push_within(room, || finding_unit(root, finding, Rank::Essential), || beyond(root, finding));
    }
    if !report.digest.is_empty() {
        section.foot = Some(words::confirm_foot(&report.digest));
    }
    (!found.is_empty()).then_some(section)
}

pub fn warnings(report: &Report, room: Room) -> Option<Section> {
    let mut found: Vec<_> = findings(report, Weight::Warn).collect();
    found.extend(findings(report, Weight::Note));
    let mut section = Section::new(Form::Notice(Tone::Note), words::title::WARNINGS);
    for (root, finding) in &found {
        section.push_within(room, || finding_unit(root, finding, Rank::Warning), || beyond(root, finding));
    }
    (!found.is_empty()).then_some(section)
}

/// Address and sentence; below it the remedy, the rule, the declaration and the operation that allows it.
fn finding_unit(root: &RootReport, finding: &Finding, rank: Rank) -> Unit {
    let change = find_change(root, finding);
    let subject = match (&finding.address, change) {
        (Some(_), Some(change)) if Fate::of(change).is_loss() => words::change::lost(change),
        (Some(address), _) => code(address),
        (None, _) => code(&root.name),
    };
    let mut trail = vec![Line::from(Span::Rule(finding.rule.clone())), code(&root.name)];
    trail.extend(finding.at.as_ref().map(place));
    let mut under = Vec::new();
    if !finding.remedy.is_empty() {
        under.push(words::remedy(&finding.remedy));
    }
    let line = say![subject.clone(), ": ", prose(&finding.message), " (", Line::join(trail, ", "), ")"];
    let brief = say![subject, " (", Span::Rule(finding.rule.clone()), ")"];
    let fate = change.map_or("not about one object", |c| words::change::fate_word(Fate::of(c)));
    Unit::new(rank, Block::Item { line, under })
        .brief(Block::Item { line: brief, under: Vec::new() })
        .tally(format!("by rule {}, {fate}, in {}", finding.rule, root.name))
}

/// What a finding counts as that is not told by itself.
fn beyond(root: &RootReport, finding: &Finding) -> String {
    format!("by rule {}, in {}", finding.rule, root.name)
}

/// Destroys, replacements and forgets that an operation of the tree allows, where no finding tells them already.
pub fn losses(report: &Report, room: Room) -> Option<Section> {
    let mut section = Section::new(Form::Notice(Tone::Important), words::title::LOSSES);
    for root in &report.roots {
        let stopped = root.findings.iter().filter(|f| matches!(f.weight, Weight::Refuse | Weight::Confirm));
        let addresses: HashSet<&str> = stopped.filter_map(|f| f.address.as_deref()).collect();
        let told = |change: &Change| addresses.contains(words::change::address(change).as_ref());
        for change in root.changes.iter().filter(|c| Fate::of(c).is_loss() && !told(c)) {
            let lost = words::change::loss(change);
            let why = match sanction(report, root, change) {
                Some(sanction) => words::because(&sanction.because),
                None => words::NO_SANCTION.into(),
            };
            let mut line = say![lost.clone(), ": ", why];
            match standing(root) {
                Standing::PlanOnly => line = say![line, "; ", words::flag(&root.applies), ", so not by this merge"],
                Standing::Anyway => line = say![line, "; not touched by this change"],
                _ => {}
            }
            let tally = || words::change::loss_tally(change, &root.name);
            let unit = || {
                Unit::new(Rank::Essential, Block::Item { line, under: Vec::new() })
                    .brief(Block::Item { line: lost, under: Vec::new() })
                    .tally(tally())
            };
            section.push_within(room, unit, tally);
        }
    }
    (!section.units.is_empty()).then_some(section)
}

/// The sanction that covers a change.
fn sanction<'a>(report: &'a Report, root: &RootReport, change: &Change) -> Option<&'a Sanction> {
    let fate = Fate::of(change);
    report.sanctions.iter().find(|s| {
        let fits = matches!(
            (s.action, fate),
            (Allowed::Destroy | Allowed::DestroyOrReplace, Fate::Destroyed)
                | (Allowed::Replace | Allowed::DestroyOrReplace, Fate::Replaced)
                | (Allowed::Forget, Fate::Forgotten)
        );
        fits && (s.root.is_empty() || s.root == root.name) && s.deposed == change.deposed && s.covers(&change.address)
    })
}

pub fn obligations(report: &Report) -> Option<Section> {
    let mut section = Section::new(Form::Notice(Tone::Important), words::title::OBLIGATIONS);
    for root in report.roots.iter().filter(|root| standing(root) != Standing::Anyway) {
        for must in &root.obligations {
            let line = words::obligation(&root.name, must);
            let tally = format!("obligations of {}", root.name);
            section.push(Unit::new(Rank::Essential, Block::Item { line, under: Vec::new() }).tally(tally));
        }
        for action in &root.actions {
            let tally = format!("actions in {}", root.name);
            let line = words::own_action(action);
            section.push(Unit::new(Rank::Essential, Block::Item { line, under: Vec::new() }).tally(tally));
        }
    }
    (!section.units.is_empty()).then_some(section)
}
