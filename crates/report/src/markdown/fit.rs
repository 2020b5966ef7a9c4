//! Making room: which entries are put in brief or left out, and saying so.

use super::{Links, render};
use crate::document::{Block, Document, Form, Line, Rank, Section};
use crate::inert;
use crate::words;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Full,
    Brief,
    Gone,
}

/// A unit as text in its sizes.
struct Piece {
    section: usize,
    rank: Rank,
    full: String,
    brief: Option<String>,
    /// A list item in its full and in its brief form; other blocks want an empty line before them.
    items: (bool, bool),
    size: Size,
}

impl Piece {
    fn text(&self) -> &str {
        match self.size {
            Size::Full => &self.full,
            Size::Brief => self.brief.as_deref().unwrap_or(&self.full),
            Size::Gone => "",
        }
    }

    /// One more for the empty line that may stand before it.
    fn cost(&self) -> usize {
        if self.size == Size::Gone { 0 } else { self.text().len() + 1 }
    }

    fn is_item(&self) -> bool {
        if self.size == Size::Full { self.items.0 } else { self.items.1 }
    }
}

/// In which order room is made: a size, and the ranks that go to it, one after the other.
const STEPS: &[(Size, &[Rank])] = &[
    (Size::Brief, &[Rank::File]),
    (Size::Gone, &[Rank::File, Rank::Rest]),
    (Size::Brief, &[Rank::Anyway, Rank::Create, Rank::Update]),
    (Size::Gone, &[Rank::Anyway]),
    (Size::Brief, &[Rank::Warning, Rank::Picture, Rank::Drift, Rank::Loss, Rank::Bake, Rank::Duty]),
    (
        Size::Gone,
        &[Rank::Picture, Rank::Create, Rank::Update, Rank::Warning, Rank::Drift, Rank::Loss, Rank::Bake, Rank::Duty],
    ),
    (Size::Brief, &[Rank::Essential]),
    (Size::Gone, &[Rank::Essential]),
];

/// The document in at most `limit` bytes.
pub fn fit(document: &Document, links: &Links, limit: usize) -> String {
    let mut pieces = pieces(document, links);
    let mut budget = limit;
    // Notes on what was left out take room that is known only afterwards: a second look corrects the budget.
    for _ in 0..6 {
        for piece in &mut pieces {
            piece.size = Size::Full;
        }
        shrink(document, links, &mut pieces, budget);
        let text = assemble(document, links, &pieces);
        if text.len() <= limit {
            return text;
        }
        budget = budget.saturating_sub(text.len() - limit + 64);
    }
    let outline = format!(
        "{} {}\n\n{}\n",
        document.mark,
        render::inline(&document.lead, links),
        render::inline(&words::too_long(), links)
    );
    if outline.len() <= limit { outline } else { format!("{}\n", render::inline(&words::too_long(), links)) }
}

fn pieces(document: &Document, links: &Links) -> Vec<Piece> {
    let mut out = Vec::new();
    for (index, section) in document.sections.iter().enumerate() {
        for unit in &section.units {
            let full = render::block(&section.form, &unit.full, links);
            let brief = unit
                .brief
                .as_ref()
                .map(|brief| render::block(&section.form, brief, links))
                .filter(|brief| brief.len() < full.len());
            let is_item = |block: &Block| matches!(block, Block::Item { .. } | Block::Row(_));
            let items = (is_item(&unit.full), unit.brief.as_ref().is_some_and(is_item));
            out.push(Piece { section: index, rank: unit.rank, full, brief, items, size: Size::Full });
        }
    }
    out
}

fn shrink(document: &Document, links: &Links, pieces: &mut [Piece], budget: usize) {
    let frame: usize = document.sections.iter().map(|s| frame(s, links)).sum::<usize>()
        + head(document, links).len()
        + foot(document, links).len();
    let mut total = frame + pieces.iter().map(Piece::cost).sum::<usize>();
    for (size, ranks) in STEPS {
        for rank in *ranks {
            for piece in pieces.iter_mut().rev().filter(|piece| piece.rank == *rank) {
                if total <= budget {
                    return;
                }
                if *size == Size::Brief && piece.brief.is_none() {
                    continue;
                }
                total -= piece.cost();
                piece.size = *size;
                total += piece.cost();
            }
        }
    }
}

/// What a section takes beside its units.
fn frame(section: &Section, links: &Links) -> usize {
    let foot = section.foot.as_ref().map_or(0, |line| render::remark(section, line, links).len());
    render::open(section, links).len() + render::close(section).len() + foot + 1
}

fn head(document: &Document, links: &Links) -> String {
    format!("{} {}\n\n", document.mark, render::inline(&document.lead, links))
}

fn foot(document: &Document, links: &Links) -> String {
    format!("<sub>{}</sub>\n", render::inline(&document.foot, links))
}

fn assemble(document: &Document, links: &Links, pieces: &[Piece]) -> String {
    let mut out = head(document, links);
    let (mut entries, mut dropped) = (0, 0);
    for (index, section) in document.sections.iter().enumerate() {
        let mine: Vec<&Piece> = pieces.iter().filter(|p| p.section == index).collect();
        entries += mine.iter().filter(|p| p.size != Size::Full).count() as u64 + section.beyond.values().sum::<u64>();
        let kept = mine.iter().any(|p| p.size != Size::Gone);
        let essential = mine.iter().any(|p| p.rank <= Rank::Duty);
        if !kept && !mine.is_empty() && !essential {
            dropped += 1;
            continue;
        }
        out.push_str(&render::open(section, links));
        let mut after_item = false;
        for piece in mine.iter().filter(|p| p.size != Size::Gone) {
            if after_item && !piece.is_item() && !out.ends_with("\n\n") {
                out.push('\n');
            }
            out.push_str(piece.text());
            after_item = piece.is_item();
        }
        trim_blank(&mut out, section);
        if let Some(line) = left_out(section, &mine) {
            out.push_str(&render::remark(section, &line, links));
        }
        if let Some(line) = &section.foot {
            out.push_str(&render::remark(section, line, links));
        }
        out.push_str(render::close(section));
    }
    if entries + dropped > 0 {
        out.push_str(&render::inline(&words::shortened(entries, dropped), links));
        out.push_str("\n\n");
    }
    out.push_str(&foot(document, links));
    out
}

/// A section ends in one empty line, whatever its last unit was.
fn trim_blank(out: &mut String, section: &Section) {
    if section.form == Form::Fold || !section.units.is_empty() {
        while out.ends_with("\n\n") {
            out.pop();
        }
    }
}

/// What went from a section, counted by kind.
fn left_out(section: &Section, pieces: &[&Piece]) -> Option<Line> {
    let mut kinds: BTreeMap<&str, u64> = section.beyond.iter().map(|(what, n)| (what.as_str(), *n)).collect();
    for (unit, _) in section.units.iter().zip(pieces).filter(|(_, piece)| piece.size == Size::Gone) {
        *kinds.entry(unit.tally.as_str()).or_default() += 1;
    }
    if kinds.is_empty() {
        return None;
    }
    let mut kinds: Vec<(String, u64)> = kinds.into_iter().map(|(what, n)| (inert::one_line(what, 120), n)).collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = kinds.iter().skip(8).map(|(_, n)| n).sum();
    kinds.truncate(8);
    Some(words::left_out(&kinds, rest))
}
