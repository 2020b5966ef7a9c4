//! The same report for a terminal.

use crate::compose;
use crate::document::{Block, Detail, DiffLine, Edge, Form, Line, Mark, Rank, Room, Section, Span, Tone};
use crate::{inert, words};
use csis_values::report::Report;
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns to wrap at; at least 40 are used.
    pub width: usize,
    /// Whether to colour; the caller knows the terminal.
    pub colour: bool,
    pub detail: Detail,
    /// Show generated files with their differences, not only by name.
    pub files: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { width: 100, colour: false, detail: Detail::Values, files: false }
    }
}

/// The report as text, ended by a newline. Nothing is left out for length.
pub fn text(report: &Report, options: &TextOptions) -> String {
    let document = compose::document(report, options.detail, Room::ALL);
    let pen = Pen { width: options.width.max(40), colour: options.colour };
    let mut out = pen.wrapped(&format!("{} ", document.mark), "  ", &document.lead);
    for section in &document.sections {
        out.push('\n');
        pen.section(section, options, &mut out);
    }
    out.push('\n');
    out.push_str(&pen.wrapped("", "", &document.foot));
    inert::no_commands(&out)
}

/// How text is set.
pub(crate) struct Pen {
    pub width: usize,
    pub colour: bool,
}

pub(crate) const BOLD: &str = "1";
pub(crate) const RED: &str = "31";
pub(crate) const GREEN: &str = "32";
pub(crate) const YELLOW: &str = "33";
pub(crate) const BLUE: &str = "34";
pub(crate) const CYAN: &str = "36";
const DIM: &str = "2";

impl Pen {
    pub(crate) fn paint(&self, style: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn section(&self, section: &Section, options: &TextOptions, out: &mut String) {
        let title = Self::plain_words(&section.title);
        let (style, sign) = match section.form {
            Form::Notice(Tone::Caution) => (RED, "■ "),
            Form::Notice(Tone::Warning) => (YELLOW, "■ "),
            Form::Notice(Tone::Important | Tone::Note) => (BLUE, "■ "),
            _ => (BOLD, ""),
        };
        let title: String = title.iter().map(|(text, _)| text.as_str()).collect();
        let _ = writeln!(out, "{}", self.paint(style, &format!("{sign}{title}")));
        if let Form::Table(columns) = &section.form {
            let titles: Vec<(&str, bool)> = columns.iter().map(|c| (c.title, c.right)).collect();
            self.table(&titles, section, out);
        } else {
            for unit in &section.units {
                let brief = unit.rank == Rank::File && !options.files;
                self.block(unit.brief.as_ref().filter(|_| brief).unwrap_or(&unit.full), out);
            }
        }
        if let Some(line) = &section.foot {
            out.push_str(&self.wrapped("  ", "  ", line));
        }
    }

    fn block(&self, block: &Block, out: &mut String) {
        match block {
            Block::Paragraph(line) => out.push_str(&self.wrapped("  ", "  ", line)),
            Block::Item { line, under } => {
                out.push_str(&self.wrapped("  • ", "    ", line));
                for line in under {
                    out.push_str(&self.wrapped("    ", "      ", line));
                }
            }
            Block::Row(_) => {}
            Block::Diff { title, lines } => {
                if !title.is_empty() {
                    out.push_str(&self.wrapped("  ", "    ", title));
                }
                for line in lines {
                    self.diff_line(line, out);
                }
            }
            Block::Picture { edges } => self.picture(edges, out),
        }
    }

    fn diff_line(&self, line: &DiffLine, out: &mut String) {
        let text = inert::terminal(&line.text, 400);
        let (style, sign) = match line.mark {
            Mark::Add => (GREEN, "+"),
            Mark::Remove => (RED, "-"),
            Mark::Change => (YELLOW, "~"),
            Mark::Head => (CYAN, ""),
            Mark::Same | Mark::Remark => (DIM, " "),
        };
        let sign = if sign.is_empty() { String::new() } else { format!("  {sign} ") };
        let _ = writeln!(out, "    {}", self.paint(style, format!("{sign}{text}").trim_end()));
    }

    /// Children under their parents, each parent once.
    fn picture(&self, edges: &[Edge], out: &mut String) {
        let mut last = None;
        for (parent, child, due) in edges {
            if last != Some(parent) {
                let _ = writeln!(out, "  {}", inert::terminal(parent, 60));
                last = Some(parent);
            }
            let due = if *due { format!(" ({})", words::BAKES_NOW) } else { String::new() };
            let _ = writeln!(out, "    └─ {}{}", inert::terminal(child, 60), self.paint(YELLOW, &due));
        }
    }

    /// Columns as wide as what stands in them; the widest text column gives way where the row is too long.
    fn table(&self, columns: &[(&str, bool)], section: &Section, out: &mut String) {
        let mut rows: Vec<Vec<(String, &str)>> =
            vec![columns.iter().map(|(title, _)| ((*title).to_owned(), DIM)).collect()];
        for unit in &section.units {
            if let Block::Row(cells) = &unit.full {
                rows.push(
                    cells
                        .iter()
                        .map(|cell| {
                            let words = Self::plain_words(cell);
                            let style =
                                words.iter().map(|(_, style)| *style).find(|style| *style == BOLD).unwrap_or("");
                            (words.iter().map(|(text, _)| text.as_str()).collect(), style)
                        })
                        .collect(),
                );
            }
        }
        let mut widths: Vec<usize> = (0..columns.len())
            .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns_of(&cell.0)).max().unwrap_or(0))
            .collect();
        let total: usize = widths.iter().map(|w| w + 2).sum();
        if total > self.width && widths.len() > 1 {
            widths[1] = widths[1].saturating_sub(total - self.width).max(12);
        }
        for row in rows {
            let mut line = String::from(" ");
            for (at, (text, style)) in row.iter().enumerate() {
                let width = widths.get(at).copied().unwrap_or(0);
                let text = shorten(text, width);
                let fill = " ".repeat(width.saturating_sub(columns_of(&text)));
                let right = columns.get(at).is_some_and(|c| c.1);
                let painted = if style.is_empty() { text } else { self.paint(style, &text) };
                let _ = if right { write!(line, " {fill}{painted}") } else { write!(line, " {painted}{fill}") };
                line.push(' ');
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }

    /// A line broken at spaces; what is longer than a line stands alone on one.
    pub(crate) fn wrapped(&self, first: &str, next: &str, line: &Line) -> String {
        // A word is what stands between two spaces, whatever styles it is made of.
        let mut words: Vec<Vec<(String, &str)>> = vec![Vec::new()];
        for (text, style) in Self::plain_words(line) {
            for (index, piece) in text.split(' ').enumerate() {
                if index > 0 && words.last().is_some_and(|word| !word.is_empty()) {
                    words.push(Vec::new());
                }
                if let Some(word) = words.last_mut().filter(|_| !piece.is_empty()) {
                    word.push((piece.to_owned(), style));
                }
            }
        }
        let mut out = String::from(first);
        let mut column = columns_of(first);
        for (index, word) in words.iter().filter(|word| !word.is_empty()).enumerate() {
            let wide: usize = word.iter().map(|(text, _)| columns_of(text)).sum();
            if index > 0 && column + 1 + wide > self.width {
                out.push('\n');
                out.push_str(next);
                column = columns_of(next);
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            for (text, style) in word {
                out.push_str(&if style.is_empty() { text.clone() } else { self.paint(style, text) });
            }
            column += wide;
        }
        out.push('\n');
        out
    }

    /// The pieces of a line with their styles.
    fn plain_words(line: &Line) -> Vec<(String, &'static str)> {
        let mut out = Vec::new();
        for span in &line.0 {
            match span {
                Span::Plain(words) => out.push((words.to_string(), "")),
                Span::Prose(text) => out.push((inert::terminal(text, inert::SENTENCE), "")),
                Span::Code(text) => out.push((inert::terminal(text, inert::NAME), CYAN)),
                Span::Rule(id) => out.push((inert::terminal(&words::rule_anchor(id), inert::NAME), CYAN)),
                Span::Place { place, column } => {
                    out.push((inert::terminal(&words::place(place, *column), inert::NAME), CYAN));
                }
                Span::Strong(line) => out.extend(Self::plain_words(line).into_iter().map(|(text, _)| (text, BOLD))),
            }
        }
        out
    }
}

/// A line as one text, without colours.
pub(crate) fn plain(line: &Line) -> String {
    Pen::plain_words(line).into_iter().map(|(text, _)| text).collect()
}

fn shorten(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += wide(c);
        if used >= width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// Columns on a terminal.
pub(crate) fn columns_of(text: &str) -> usize {
    text.chars().map(wide).sum()
}

fn wide(c: char) -> usize {
    match c as u32 {
        0x300..=0x36f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
