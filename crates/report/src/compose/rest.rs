//! The table of roots, and what explains or surrounds a change.

use super::standing::{Standing, standing, tally};
use super::stops::{diagnostic, sorted};
use crate::document::{
    Block, Column, Detail, DiffLine, Form, Line, Mark, Rank, Room, Section, Tone, Unit, code, own, prose, strong,
};
use crate::say;
use crate::things::{Fate, Noun, things_of};
use crate::words;
use csis_values::plan::Counts;
use csis_values::report::{FileChange, FileChangeKind, Report, RootReport, RootStatus};
use csis_values::{Diagnostic, Severity};

type Figure = (&'static str, fn(&Counts) -> u64, bool, bool);

/// A column's title, its figure, whether it is always there, and whether it is a loss.
const FIGURES: [Figure; 8] = [
    ("Create", |c| c.create, true, false),
    ("Change", |c| c.update, true, false),
    ("Replace", |c| c.replace, true, true),
    ("Destroy", |c| c.destroy, true, true),
    ("Forget", |c| c.forget, false, true),
    ("Unknown", |c| c.unknown, false, true),
    ("Import", |c| c.import, false, false),
    ("Move", |c| c.moved, false, false),
];

pub fn roots(report: &Report) -> Option<Section> {
    let (rows, quiet): (Vec<&RootReport>, Vec<&RootReport>) =
        report.roots.iter().partition(|root| !matches!(standing(root), Standing::Nothing | Standing::Anyway));
    if report.roots.is_empty() {
        return None;
    }
    let totals = report.totals();
    let figures: Vec<&Figure> = FIGURES.iter().filter(|(_, of, always, _)| *always || of(&totals) > 0).collect();
    let mut columns = vec![
        Column { title: words::title::ROOT, right: false },
        Column { title: words::title::ON_MERGE, right: false },
    ];
    columns.extend(figures.iter().map(|(title, ..)| Column { title, right: true }));
    let form = if rows.is_empty() { Form::Plain } else { Form::Table(columns) };
    let mut section = Section::new(form, words::title::ROOTS);
    for root in rows {
        let mut row = vec![code(&root.name), on_merge(root)];
        let planned = matches!(root.status, RootStatus::Planned | RootStatus::Unchanged);
        row.extend(figures.iter().map(|(_, of, _, loss)| match of(&root.counts) {
            _ if !planned => "?".into(),
            0 => "·".into(),
            n if *loss => strong(own(words::number(n))),
            n => own(words::number(n)),
        }));
        section.push(Unit::new(Rank::Duty, Block::Row(row)).tally("roots"));
    }
    let names: Vec<&str> = quiet.iter().filter(|r| standing(r) == Standing::Nothing).map(|r| r.name.as_str()).collect();
    let passing = passing(report);
    let feet: Vec<Line> = [
        (!passing.is_empty()).then(|| words::standing::ephemeral(&passing)),
        (!names.is_empty()).then(|| words::standing::nothing_to_do(&names)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !feet.is_empty() {
        section.foot = Some(Line::join(feet, " "));
    }
    (!section.units.is_empty() || section.foot.is_some()).then_some(section)
}

/// Machines that are counted as created and do not last.
fn passing(report: &Report) -> Vec<&str> {
    let roots = report.roots.iter().filter(|r| !matches!(standing(r), Standing::Nothing | Standing::Anyway));
    let things = roots.flat_map(things_of);
    things.filter(|t| t.noun == Noun::Ephemeral && t.fate == Fate::Created).map(|t| t.name).collect()
}

fn on_merge(root: &RootReport) -> Line {
    match standing(root) {
        Standing::Refused => words::standing::refused(),
        Standing::Failed => words::standing::failed(root.why.as_deref()),
        Standing::NotJudged => words::standing::not_judged(root.why.as_deref()),
        Standing::PlanOnly => words::standing::plan_only(&root.applies),
        Standing::Applies | Standing::Nothing | Standing::Anyway => words::standing::applies(),
    }
}

pub fn not_judged(report: &Report) -> Option<Section> {
    let mut section = Section::new(Form::Notice(Tone::Note), words::title::NOT_JUDGED);
    for why in &report.not_judged {
        section.push(
            Unit::new(Rank::Duty, Block::Item { line: prose(why), under: Vec::new() }).tally("things not judged"),
        );
    }
    (!section.units.is_empty()).then_some(section)
}

/// What the engine said where a root failed or was not judged, when it is more than a line.
pub fn failures(report: &Report) -> Vec<Section> {
    let mut out = Vec::new();
    for root in report.roots.iter().filter(|r| matches!(r.status, RootStatus::Failed | RootStatus::NotJudged)) {
        let Some(why) = root.why.as_deref().filter(|why| why.trim().lines().count() > 1 || why.len() > 160) else {
            continue;
        };
        let said: Vec<String> = crate::inert::lines(why.trim(), 300);
        let mut lines: Vec<DiffLine> =
            said.iter().take(60).map(|text| DiffLine { mark: Mark::Same, text: text.clone() }).collect();
        if said.len() > 60 {
            lines.push(DiffLine { mark: Mark::Remark, text: words::more_lines((said.len() - 60) as u64) });
        }
        let mut section =
            Section::new(Form::Fold, words::failures_title(&root.name, root.status == RootStatus::Failed));
        section.push(Unit::new(Rank::Loss, Block::Diff { title: Line::default(), lines }).tally("texts of the engine"));
        out.push(section);
    }
    out
}

pub fn bakes(report: &Report) -> Option<Section> {
    let mut section = Section::new(Form::Plain, words::title::BAKES);
    for bake in report.bakes.iter().filter(|b| b.due) {
        let brief = say![code(&bake.series), " on ", code(&bake.runtime)];
        section.push(
            Unit::new(Rank::Bake, Block::Item { line: words::bake(bake), under: Vec::new() })
                .brief(Block::Item { line: brief, under: Vec::new() })
                .tally("bakes"),
        );
    }
    let current = report.bakes.iter().filter(|b| !b.due).count() as u64;
    if let Some(picture) = lineage(report) {
        if section.units.is_empty() {
            section.title = words::title::LINEAGE.into();
        }
        section.push(picture);
    }
    if !section.units.is_empty() && current > 0 {
        section.foot = Some(words::bakes_current(current));
    }
    (!section.units.is_empty()).then_some(section)
}

/// The picture of what bakes and of the parents it stands on.
fn lineage(report: &Report) -> Option<Unit> {
    let due = |series: &str| report.bakes.iter().any(|b| b.due && b.series == series);
    let mut edges: Vec<_> = report.lineage.iter().collect();
    edges.sort();
    edges.dedup();
    let edges: Vec<_> = edges
        .into_iter()
        .filter(|edge| edge.due || due(&edge.parent) || due(&edge.child))
        .map(|edge| (edge.parent.clone(), edge.child.clone(), edge.due || due(&edge.child)))
        .collect();
    (!edges.is_empty()).then(|| Unit::new(Rank::Picture, Block::Picture { edges }).tally("pictures"))
}

pub fn anyway(report: &Report) -> Option<Section> {
    let roots: Vec<&RootReport> = report.roots.iter().filter(|r| standing(r) == Standing::Anyway).collect();
    let mut section = Section::new(Form::Fold, words::anyway_title(roots.len() as u64));
    for root in &roots {
        let under = root
            .changes
            .iter()
            .map(|c| say![code(words::change::address(c)), " ", prose(words::change::change(c))])
            .collect();
        let line = words::anyway_item(&root.name, words::change::tally(&tally([*root])));
        section.push(
            Unit::new(Rank::Anyway, Block::Item { line: line.clone(), under })
                .brief(Block::Item { line, under: Vec::new() })
                .tally("roots that would change anyway"),
        );
    }
    (!roots.is_empty()).then_some(section)
}

pub fn drift(report: &Report, room: Room) -> Option<Section> {
    let mut section = Section::new(Form::Fold, words::drift_title(report.drift.len() as u64));
    for line in &report.drift {
        let tally = || "objects changed outside".to_owned();
        let unit = || {
            let line = words::change::drift(&line.root, &line.address, &line.what);
            Unit::new(Rank::Drift, Block::Item { line, under: Vec::new() }).tally(tally())
        };
        section.push_within(room, unit, tally);
    }
    (!report.drift.is_empty()).then_some(section)
}

pub fn files(report: &Report, detail: Detail) -> Option<Section> {
    let count = |kind| report.emission.iter().filter(|f| f.kind == kind).count() as u64;
    let (added, changed, removed) =
        (count(FileChangeKind::Added), count(FileChangeKind::Changed), count(FileChangeKind::Removed));
    let mut section = Section::new(Form::Fold, words::files_title(added, changed, removed));
    for file in &report.emission {
        let (title, lines) = file_diff(file);
        let brief = Block::Item { line: title.clone(), under: Vec::new() };
        let full =
            if detail == Detail::Values && !lines.is_empty() { Block::Diff { title, lines } } else { brief.clone() };
        section.push(
            Unit::new(Rank::File, full).brief(brief).tally(format!("generated files {}", words::file_kind(file.kind))),
        );
    }
    (!report.emission.is_empty()).then_some(section)
}

fn file_diff(file: &FileChange) -> (Line, Vec<DiffLine>) {
    let mut lines = Vec::new();
    for text in crate::inert::lines(file.diff.trim_end_matches('\n'), 300) {
        let (mark, rest) = match text.as_bytes().first() {
            None => (Mark::Same, String::new()),
            Some(b'+') => (Mark::Add, text[1..].to_owned()),
            Some(b'-') => (Mark::Remove, text[1..].to_owned()),
            Some(b'@') => (Mark::Head, text.trim_matches(['@', ' ']).to_owned()),
            Some(b' ') => (Mark::Same, text[1..].to_owned()),
            Some(_) => (Mark::Same, text),
        };
        lines.push(DiffLine { mark, text: rest });
    }
    if file.diff.trim().is_empty() {
        lines.clear();
    }
    let of = |mark| lines.iter().filter(|l| l.mark == mark).count() as u64;
    (words::file_item(&file.path, file.kind, of(Mark::Add), of(Mark::Remove)), lines)
}

/// Warnings about the tree stand open: what a change reaches beyond its plan is among them.
pub fn tree_warnings(report: &Report) -> Option<Section> {
    of_the_tree(report, Severity::Warning, Form::Notice(Tone::Warning), Rank::Warning)
}

pub fn tree_notes(report: &Report) -> Option<Section> {
    of_the_tree(report, Severity::Note, Form::Fold, Rank::Rest)
}

fn of_the_tree(report: &Report, severity: Severity, form: Form, rank: Rank) -> Option<Section> {
    let found: Vec<&Diagnostic> = sorted(report, |s| s == severity);
    let count = found.len() as u64;
    let title = match severity {
        Severity::Warning => words::diagnostics_title(count, 0),
        _ => words::diagnostics_title(0, count),
    };
    let mut section = Section::new(form, title);
    for finding in found {
        section.push(diagnostic(finding, rank));
    }
    (count > 0).then_some(section)
}
