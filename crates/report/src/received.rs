//! A report that another run made and that somebody else may have written: read within bounds, with its figures made anew.
//!
//! What can be told from the changes is told from them: counts, verdict and digests. Which roots merging applies and concerns, why something is allowed, what
//! things are called, and what is left out altogether, stay the sender's word.

use crate::{digest, inert};
use csis_values::plan::{Counts, Shown};
use csis_values::report::{Report, RootStatus};

/// The longest document that is read, in bytes.
const LONGEST: usize = 8 << 20;
type Count = fn(&Report) -> usize;

/// The most entries of a kind: what is looked up for each of another kind takes no longer than a moment.
const MOST: &[(&str, usize, Count)] = &[
    ("roots", 1_000, |r| r.roots.len()),
    ("findings", 10_000, |r| r.roots.iter().map(|root| root.findings.len()).sum()),
    ("attributes of one object", 1_000, |r| changes(r).map(|c| c.attributes.len()).max().unwrap_or(0)),
    ("sanctions", 10_000, |r| r.sanctions.len()),
    ("bakes", 5_000, |r| r.bakes.len()),
    ("edges of the lineage", 5_000, |r| r.lineage.len()),
];
/// The longest text that is taken apart into lines, in bytes: an engine's words, the difference of a file.
const TEXT: usize = 256 << 10;
/// The longest value; the reader of plans cuts at half of it.
const VALUE: usize = 4 << 10;

/// Why a document is not taken for a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the report is {0} bytes long, and at most {LONGEST} are read")]
    TooLong(usize),
    #[error("it is not a report: {0}")]
    NotAReport(String),
    #[error("it is a report of schema {0}, and this csis reads schema 1")]
    Schema(u32),
    #[error("the report has {found} {what}, and at most {most} are read")]
    TooMany { what: &'static str, found: usize, most: usize },
}

/// Reads a report as [`Report`] is serialised. Whoever wrote it, its counts, verdict and digests are those of the changes in it.
pub fn from_json(document: impl AsRef<[u8]>) -> Result<Report, Unreadable> {
    let document = document.as_ref();
    if document.len() > LONGEST {
        return Err(Unreadable::TooLong(document.len()));
    }
    let mut report: Report = serde_json::from_slice(document)
        .map_err(|error| Unreadable::NotAReport(inert::terminal(&error.to_string(), inert::NAME)))?;
    if report.schema != 1 {
        return Err(Unreadable::Schema(report.schema));
    }
    for (what, most, count) in MOST {
        let found = count(&report);
        if found > *most {
            return Err(Unreadable::TooMany { what, found, most: *most });
        }
    }
    shorten(&mut report);
    recount(&mut report);
    Ok(report)
}

fn changes(report: &Report) -> impl Iterator<Item = &csis_values::plan::Change> {
    report.roots.iter().flat_map(|root| &root.changes)
}

fn shorten(report: &mut Report) {
    for file in &mut report.emission {
        cut(&mut file.diff, TEXT);
    }
    for root in &mut report.roots {
        if let Some(why) = &mut root.why {
            cut(why, TEXT);
        }
        for attribute in root.changes.iter_mut().flat_map(|change| &mut change.attributes) {
            for shown in [&mut attribute.before, &mut attribute.after] {
                if let Shown::Value(text) | Shown::Pending(text) = shown {
                    cut(text, VALUE);
                }
            }
        }
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

/// A figure that was sent may be any: fewer destroys than there are, a pass over a refusal.
fn recount(report: &mut Report) {
    for root in &mut report.roots {
        root.counts = Counts::of(&root.changes);
        if root.status == RootStatus::Unchanged && !root.counts.is_empty() {
            root.status = RootStatus::Planned;
        }
    }
    report.verdict = report.verdict.max(report.worst());
    let salt = report.tree.id.clone();
    digest::stamp(report, &salt);
}
