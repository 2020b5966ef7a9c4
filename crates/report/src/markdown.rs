//! The pull-request comment.

mod fit;
pub mod render;

use crate::compose;
use crate::document::{Detail, Room};
use csis_values::report::Report;

/// Where the comment's links lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Address of the folder that holds `gate.md`, without a final `/`. Without it a rule's id is not a link.
    pub docs: Option<String>,
    /// Address of the configuration root at the head commit, without a final `/`; `/path#Lline` is added. Without it a place is not a link.
    pub source: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownOptions {
    /// The greatest length in bytes.
    pub limit: usize,
    pub detail: Detail,
    pub links: Links,
}

impl Default for MarkdownOptions {
    fn default() -> Self {
        MarkdownOptions { limit: 60_000, detail: Detail::Values, links: Links::default() }
    }
}

/// The comment, at most `limit` bytes long. Where room is short it is cut at the borders of entries, and says what was left out: details go first, what is
/// destroyed, replaced, forgotten or refused is at the end put in brief, and counted by rule and root when even that does not fit.
pub fn markdown(report: &Report, options: &MarkdownOptions) -> String {
    fit::fit(&compose::document(report, options.detail, Room::within(options.limit)), &options.links, options.limit)
}
