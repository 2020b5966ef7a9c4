//! A report put in the order in which a reviewer decides: what to do, what stops, what is lost, what must happen before, then root by root, then the rest.

mod changes;
pub(crate) mod lead;
mod rest;
mod standing;
mod stops;

use crate::document::{Detail, Document, Room};
use crate::words;
use csis_values::report::Report;

pub use standing::{Standing, standing};

/// The document both renderings are made from.
pub fn document(report: &Report, detail: Detail, room: Room) -> Document {
    let (mark, lead) = lead::lead(report);
    let mut sections = Vec::new();
    sections.extend(stops::errors(report));
    sections.extend(stops::refusals(report, room));
    sections.extend(stops::confirmations(report, room));
    sections.extend(stops::losses(report, room));
    sections.extend(stops::obligations(report));
    sections.extend(rest::roots(report));
    sections.extend(rest::not_judged(report));
    sections.extend(rest::failures(report));
    sections.extend(stops::warnings(report, room));
    sections.extend(rest::tree_warnings(report));
    sections.extend(changes::sections(report, detail, room));
    sections.extend(rest::bakes(report));
    sections.extend(rest::anyway(report));
    sections.extend(rest::drift(report, room));
    sections.extend(rest::files(report, detail));
    sections.extend(rest::tree_notes(report));
    Document { mark, lead, sections, foot: words::foot(&report.csis, &report.tree, &report.digest) }
}
