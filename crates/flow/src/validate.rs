//! `csis validate`: the tree judged, nothing else.

use crate::Invocation;
use crate::outcome::{Exit, Outcome};
use crate::reading::{Reading, RecordsFrom};

pub fn run(invocation: &Invocation) -> Outcome {
    let reading = match Reading::of(invocation, &[], &RecordsFrom::Folder).and_then(Reading::accepted) {
        Ok(reading) => reading,
        Err(end) => return end,
    };
    let tree = &reading.tree;
    let said = csis_report::words::tree_is_fine(tree.storages.len(), tree.images.len(), tree.instances.len());
    Outcome::new(Exit::Done).findings(reading.findings.0).stderr(said + "\n")
}
