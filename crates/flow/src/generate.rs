//! `csis generate`: the emission, written.

use crate::Invocation;
use crate::outcome::{Exit, Outcome, why};
use crate::reading::{Reading, RecordsFrom};
use crate::write::{Written, write};
use csis_values::emission::Emission;
use csis_values::intent::Intent;
use csis_values::request::{Lifecycle, Request};
use csis_values::{Diagnostic, Diagnostics};

/// The lifecycles whose roots this build emits.
const EMITTED: &[Lifecycle] = &[Lifecycle::Storage, Lifecycle::InstanceImage];

pub fn run(invocation: &Invocation, lifecycles: &[String]) -> Outcome {
    let mut reading = match Reading::of(invocation, lifecycles, &RecordsFrom::Folder).and_then(Reading::accepted) {
        Ok(reading) => reading,
        Err(end) => return end,
    };
    let (_, emission) = match emit(&mut reading) {
        Ok(made) => made,
        Err(end) => return end,
    };
    let asked = &reading.request.lifecycles;
    if !asked.is_empty() && !asked.iter().any(|lifecycle| EMITTED.contains(lifecycle)) {
        let mut findings = reading.findings.0;
        findings.extend(left_untouched(&reading.request, &reading.tree.generation_directory, &Written::default()));
        return Outcome::new(Exit::Done).stderr("Nothing was written.\n").findings(findings);
    }
    match put(&reading, &emission) {
        Ok(written) => {
            let mut findings = reading.findings.0;
            findings.extend(left_untouched(&reading.request, &reading.tree.generation_directory, &written));
            let said = csis_report::words::generated(
                &reading.tree.generation_directory,
                written.added,
                written.changed,
                written.removed,
            );
            Outcome::new(Exit::Done).stderr(said + "\n").findings(findings)
        }
        Err(failure) => Outcome { findings: vec![failure], ..Outcome::new(Exit::Failed) },
    }
}

/// The intent and the emission of a tree that was accepted.
pub fn emit(reading: &mut Reading) -> Result<(Intent, Emission), Outcome> {
    let (intent, emission, found) = make(&reading.tree, &reading.records, reading.snapshot.as_ref(), &reading.request);
    let refused = found.is_refused();
    reading.findings.extend(found);
    reading.findings.sort();
    if refused { Err(crate::reading::refused(std::mem::take(&mut reading.findings))) } else { Ok((intent, emission)) }
}

/// The pure half: tree, records and snapshot to intent and emission.
pub fn make(
    tree: &csis_values::tree::Tree,
    records: &csis_values::records::Records,
    snapshot: Option<&csis_values::snapshot::Snapshot>,
    request: &Request,
) -> (Intent, Emission, Diagnostics) {
    let (intent, mut found) = csis_resolve::intent(tree, records, snapshot, request);
    let (emission, more) = csis_emit::emission(tree, &intent, request);
    found.extend(more);
    (intent, emission, found)
}

/// Writes an emission below the tree, and says on the findings what was left untouched.
pub fn put(reading: &Reading, emission: &Emission) -> Result<Written, Diagnostic> {
    let wanted: Vec<&str> = Lifecycle::ALL.iter().filter(|l| reading.request.wants(**l)).map(|l| l.name()).collect();
    write(&reading.root, &reading.tree.generation_directory, emission, &wanted).map_err(|error| {
        Diagnostic::error(
            "cannot-write",
            format!("the emission could not be written, and nothing was: {}", why(&error)),
        )
        .help("clear the way, make room or give the right to write, then run it again")
    })
}

/// Notes for the lifecycles asked for that this build does not emit, and for what of them stands on disk; warnings for what went and was not ours.
pub fn left_untouched(request: &Request, directory: &str, written: &Written) -> Vec<Diagnostic> {
    let mut notes: Vec<Diagnostic> = request
        .lifecycles
        .iter()
        .filter(|l| !EMITTED.contains(l))
        .map(|l| {
            Diagnostic::note(
                "not-emitted",
                format!("this build has no emission for the lifecycle {l}; what stands there is left as it is"),
            )
        })
        .collect();
    notes.extend(
        written
            .untouched
            .iter()
            .map(|path| Diagnostic::note("untouched", format!("{path} is left as it is: this build does not emit it"))),
    );
    notes.extend(written.foreign.iter().map(|path| {
        let message = format!(
            "`{directory}/{path}` is gone: csis did not write it, and the files of a root are replaced as a whole"
        );
        Diagnostic::warning("foreign-file", message).help(format!("keep files of your own outside of `{directory}`"))
    }));
    notes
}
