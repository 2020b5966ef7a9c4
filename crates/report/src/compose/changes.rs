//! One closed section per root: its storages, machines and objects with what differs.

use super::lead::worst;
use super::standing::{Standing, standing, tally};
use crate::document::{Block, Detail, DiffLine, Form, Mark, Rank, Room, Section, Unit};
use crate::inert;
use crate::things::{Fate, Thing, repeats_tags, things_of};
use crate::words;
use csis_values::plan::{AttributeChange, Change, Shown};
use csis_values::report::{Report, RootReport};

/// The longest value in a difference, in characters.
const VALUE: usize = 200;
/// Attributes told of one object.
const ATTRIBUTES: usize = 40;
/// Lines told of one text on each side.
const LINES: usize = 30;

pub fn sections(report: &Report, detail: Detail, space: Room) -> Vec<Section> {
    let mut roots: Vec<&RootReport> =
        report.roots.iter().filter(|r| !matches!(standing(r), Standing::Anyway | Standing::Nothing)).collect();
    roots.retain(|root| !root.changes.is_empty());
    // Where something is lost comes first; the order of execution otherwise.
    roots.sort_by_key(|root| !worst(root).is_some_and(Fate::is_loss));
    roots.into_iter().map(|root| section(root, detail, space)).collect()
}

fn section(root: &RootReport, detail: Detail, space: Room) -> Section {
    let title = words::changes_title(&root.name, words::change::tally(&tally([root])));
    let mut section = Section::new(Form::Fold, title);
    // What is lost is told first, and with its details when there is room for few.
    let mut all = things_of(root);
    all.sort_by_key(rank);
    for (index, thing) in all.iter().enumerate() {
        let told = if index < space.details { Some(detail) } else { None };
        section.push_within(space, || unit(root, thing, told), || tally_of(root, thing));
    }
    if !root.outputs_changed.is_empty() {
        section.foot = Some(crate::document::prose(words::change::outputs(&root.outputs_changed)));
    }
    section
}

fn rank(thing: &Thing<'_>) -> Rank {
    match thing.fate {
        _ if thing.changes.iter().any(|c| Fate::of(c).is_loss()) => Rank::Loss,
        Fate::Created => Rank::Create,
        Fate::Read => Rank::Rest,
        _ => Rank::Update,
    }
}

/// A storage or machine with its objects; without a detail only that it changes.
fn unit(root: &RootReport, thing: &Thing<'_>, detail: Option<Detail>) -> Unit {
    let title = words::change::thing(thing);
    let brief = Block::Item { line: title.clone(), under: Vec::new() };
    let full = match detail {
        Some(detail) => {
            Block::Diff { title, lines: thing.changes.iter().flat_map(|change| lines(change, detail)).collect() }
        }
        None => brief.clone(),
    };
    Unit::new(rank(thing), full).brief(brief).tally(tally_of(root, thing))
}

fn tally_of(root: &RootReport, thing: &Thing<'_>) -> String {
    let what = words::plural(words::change::noun_of(thing.noun));
    format!("{what} {} in {}", words::change::fate_word(thing.fate), root.name)
}

fn lines(change: &Change, detail: Detail) -> Vec<DiffLine> {
    let mut out = vec![line(Mark::Head, format!("{} · {}", change.address, words::change::change(change)))];
    if detail == Detail::Addresses {
        return out;
    }
    let (mut told, mut unknown, mut more) = (0, 0, change.attributes_left_out);
    for attribute in change.attributes.iter().filter(|a| !repeats_tags(change, &a.path)) {
        if Fate::of(change) == Fate::Created && attribute.after == Shown::Unknown {
            unknown += 1;
        } else if told == ATTRIBUTES {
            more = more.saturating_add(1);
        } else {
            told += 1;
            out.extend(attribute_lines(attribute));
        }
    }
    for (n, words) in [(unknown, words::change::unknown_values(unknown)), (more, words::change::more_attributes(more))]
    {
        if n > 0 {
            out.push(line(Mark::Remark, words));
        }
    }
    out
}

fn attribute_lines(attribute: &AttributeChange) -> Vec<DiffLine> {
    let path = &attribute.path;
    let forces = if attribute.forces_replacement { words::change::FORCES } else { "" };
    let (before, after) = (words::change::shown(&attribute.before), words::change::shown(&attribute.after));
    if before.contains('\n') || after.contains('\n') {
        return text_lines(attribute, path, forces);
    }
    let (before, after) = (inert::one_line(&before, VALUE), inert::one_line(&after, VALUE));
    let (mark, value) = match (&attribute.before, &attribute.after) {
        (Shown::Absent, _) => (Mark::Add, after),
        (_, Shown::Absent) => (Mark::Remove, before),
        _ => (Mark::Change, format!("{before} → {after}")),
    };
    vec![line(mark, format!("{path}: {value}{forces}"))]
}

/// A text of several lines: what both sides share at its ends is left out.
fn text_lines(attribute: &AttributeChange, path: &str, forces: &str) -> Vec<DiffLine> {
    let of = |shown: &Shown| match shown {
        Shown::Absent => Vec::new(),
        other => inert::lines(words::change::shown(other).trim_end_matches('\n'), VALUE),
    };
    let (before, after) = (of(&attribute.before), of(&attribute.after));
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mark = match (before.is_empty(), after.is_empty()) {
        (true, _) => Mark::Add,
        (_, true) => Mark::Remove,
        _ => Mark::Change,
    };
    let mut out = vec![line(mark, format!("{path}:{forces}"))];
    for (mark, side) in [(Mark::Remove, &old[..old.len() - tail]), (Mark::Add, &new[..new.len() - tail])] {
        out.extend(side.iter().take(LINES).map(|text| line(mark, format!("    {text}"))));
        if side.len() > LINES {
            out.push(line(mark, "    …".to_owned()));
        }
    }
    out
}

fn line(mark: Mark, text: String) -> DiffLine {
    DiffLine { mark, text }
}
