//! The document both renderings are made from: sections of units, each with its weight when room is short.

use csis_values::Place;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How much a document tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Attribute values, file differences.
    #[default]
    Values,
    /// Counts and addresses only, for places that strangers read.
    Addresses,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Words of our own: no syntax, no foreign text.
    Plain(Cow<'static, str>),
    /// A foreign sentence; code within backticks.
    Prose(String),
    /// A name, address or value.
    Code(String),
    Strong(Line),
    /// The id of a rule of the gate, linked to its explanation.
    Rule(String),
    /// `path:line`, and `:column` when asked for.
    Place {
        place: Place,
        column: bool,
    },
}

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line(pub Vec<Span>);

impl Line {
    #[must_use]
    pub fn then(mut self, more: impl Into<Line>) -> Line {
        self.0.extend(more.into().0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Without emphasis of its own, for a line that is emphasised as a whole.
    #[must_use]
    pub fn weak(self) -> Line {
        let spans = self.0.into_iter().flat_map(|span| match span {
            Span::Strong(line) => line.weak().0,
            other => vec![other],
        });
        Line(spans.collect())
    }

    /// `a`, `a and b`, `a, b and c`.
    pub fn and(parts: Vec<Line>) -> Line {
        let last = parts.len().saturating_sub(1);
        let mut out = Line::default();
        for (index, part) in parts.into_iter().enumerate() {
            let between = match index {
                0 => "",
                n if n == last => " and ",
                _ => ", ",
            };
            out = out.then(between).then(part);
        }
        out
    }

    pub fn join(parts: Vec<Line>, between: &'static str) -> Line {
        let mut out = Line::default();
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                out = out.then(between);
            }
            out = out.then(part);
        }
        out
    }
}

impl From<Span> for Line {
    fn from(span: Span) -> Line {
        Line(vec![span])
    }
}

impl From<&'static str> for Line {
    fn from(words: &'static str) -> Line {
        if words.is_empty() { Line::default() } else { Span::Plain(words.into()).into() }
    }
}

/// Our own words made at run time: numbers and nouns, never foreign text.
pub fn own(words: impl Into<String>) -> Line {
    Span::Plain(words.into().into()).into()
}

pub fn code(text: impl Into<String>) -> Line {
    Span::Code(text.into()).into()
}

pub fn prose(text: impl Into<String>) -> Line {
    Span::Prose(text.into()).into()
}

pub fn strong(line: impl Into<Line>) -> Line {
    Span::Strong(line.into()).into()
}

pub fn place(place: &Place) -> Line {
    Span::Place { place: place.clone(), column: true }.into()
}

/// Joins pieces of a line: `say!["Merging applies ", code(name)]`.
#[macro_export]
#[doc(hidden)]
macro_rules! say {
    ($($part:expr),* $(,)?) => {
        $crate::document::Line::default()$(.then($part))*
    };
}

/// A line of a coloured difference. The text is foreign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub mark: Mark,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Add,
    Remove,
    Change,
    /// A heading within the difference.
    Head,
    Same,
    /// A remark of ours.
    Remark,
}

impl Mark {
    /// The character at the beginning of the line, as `diff` highlighting knows it.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Add => "+",
            Mark::Remove => "-",
            Mark::Change => "!",
            Mark::Head => "@@",
            Mark::Same => " ",
            Mark::Remark => "#",
        }
    }
}

/// An edge of the lineage picture: parent and child, and whether the child bakes.
pub type Edge = (String, String, bool);

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Paragraph(Line),
    /// A list item with lines under it.
    Item {
        line: Line,
        under: Vec<Line>,
    },
    /// A row of the section's table.
    Row(Vec<Line>),
    /// A title and a coloured difference.
    Diff {
        title: Line,
        lines: Vec<DiffLine>,
    },
    Picture {
        edges: Vec<Edge>,
    },
}

/// What a section looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Paragraphs or a list.
    Plain,
    /// Drawn so that it is not overlooked.
    Notice(Tone),
    /// Closed until the reader opens it.
    Fold,
    Table(Vec<Column>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Caution,
    Warning,
    Important,
    Note,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub title: &'static str,
    /// Numbers stand at the right.
    pub right: bool,
}

/// How soon something goes when room is short; the greatest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Never dropped: what decides, what is lost, what is refused.
    Essential,
    Duty,
    Bake,
    Loss,
    Drift,
    Picture,
    Warning,
    Update,
    Create,
    Anyway,
    Rest,
    File,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub rank: Rank,
    pub full: Block,
    /// What stays of it when room is short.
    pub brief: Option<Block>,
    /// What it counts as where it had to go, e.g. `destroyed in storage/volumes`; foreign.
    pub tally: String,
}

impl Unit {
    pub fn new(rank: Rank, full: Block) -> Unit {
        Unit { rank, full, brief: None, tally: String::new() }
    }

    #[must_use]
    pub fn brief(mut self, block: Block) -> Unit {
        self.brief = Some(block);
        self
    }

    #[must_use]
    pub fn tally(mut self, words: impl Into<String>) -> Unit {
        self.tally = words.into();
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub title: Line,
    pub form: Form,
    pub units: Vec<Unit>,
    /// Below the units.
    pub foot: Option<Line>,
    /// Units that were not made, since no room would have been left for them, by what they count as.
    pub beyond: BTreeMap<String, u64>,
}

/// How much of a long report is worth making: what a limit cannot hold is counted, not made.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Units of a section.
    pub units: usize,
    /// Units that tell their details.
    pub details: usize,
}

impl Room {
    /// Everything is told.
    pub const ALL: Room = Room { units: usize::MAX, details: usize::MAX };

    /// What at most fits into a text of so many bytes: no entry in brief is shorter than 24 bytes, no details are shorter than 80.
    pub fn within(bytes: usize) -> Room {
        Room { units: bytes / 24, details: bytes / 80 }
    }
}

impl Section {
    pub fn new(form: Form, title: impl Into<Line>) -> Section {
        Section { title: title.into(), form, units: Vec::new(), foot: None, beyond: BTreeMap::new() }
    }

    pub fn push(&mut self, unit: Unit) {
        self.units.push(unit);
    }

    /// Makes a unit while there is room for it, else counts it.
    pub fn push_within(&mut self, room: Room, unit: impl FnOnce() -> Unit, tally: impl FnOnce() -> String) {
        if self.units.len() < room.units {
            self.units.push(unit());
        } else {
            *self.beyond.entry(tally()).or_default() += 1;
        }
    }
}

/// A whole report. The first line stands above all.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub mark: &'static str,
    pub lead: Line,
    pub sections: Vec<Section>,
    pub foot: Line,
}
