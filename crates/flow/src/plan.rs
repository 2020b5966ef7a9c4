//! `csis plan`: generate, plan and gate every root of the tree as it is, and report.

use crate::Invocation;
use crate::generate;
use crate::judging::{self, Case, FailOn};
use crate::outcome::{Exit, Outcome, why};
use crate::reach;
use crate::reading::{Reading, RecordsFrom, repository};
use csis_engine::Progress;
use csis_values::Diagnostic;
use csis_values::report::TreeFacts;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// The report as data, beside the roots.
const KEPT: &str = "plan.json";

pub async fn run(
    invocation: &Invocation,
    lifecycles: &[String],
    fail_on: &[String],
    progress: Arc<dyn Progress>,
) -> Outcome {
    match attempt(invocation, lifecycles, fail_on, progress).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn attempt(
    invocation: &Invocation,
    lifecycles: &[String],
    fail_on: &[String],
    progress: Arc<dyn Progress>,
) -> Result<Outcome, Outcome> {
    let fail_on = FailOn::parse(fail_on).map_err(Outcome::usage)?;
    let mut reading = Reading::of(invocation, lifecycles, &RecordsFrom::Folder)?;
    reading.findings.0.extend(reach::private_tracked(&reading.root, &reading.tree.generation_directory));
    let mut reading = reading.accepted()?;
    let (intent, emission) = generate::emit(&mut reading)?;
    let written =
        generate::put(&reading, &emission).map_err(|failure| Outcome::new(Exit::Failed).findings(vec![failure]))?;
    reading.findings.0.extend(generate::left_untouched(&reading.request, &reading.tree.generation_directory, &written));
    let facts = facts(&reading);
    let case = Case {
        invocation,
        reading: &reading,
        intent,
        emission,
        judges: &reading.tree,
        facts,
        effect: None,
        keep_locks: true,
    };
    let report = judging::report(case, progress).await?;
    let path = reading.root.join(&reading.tree.generation_directory).join(KEPT);
    let mut findings = Vec::new();
    let kept = std::fs::File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        csis_report::json::write(&report, &mut file)?;
        file.flush()
    });
    if let Err(error) = kept {
        findings.push(
            Diagnostic::warning("cannot-write", format!("the report could not be kept in {KEPT}: {}", why(&error)))
                .help("clear the way or give the right to write; the report itself is whole"),
        );
    }
    let exit = judging::exit(&report, invocation.is_unplanned(), fail_on);
    Ok(Outcome { exit, findings, report: Some(Box::new(report)), ..Outcome::new(exit) })
}

/// What the report says of the tree, without a base.
fn facts(reading: &Reading) -> TreeFacts {
    let repository = repository(&reading.root);
    TreeFacts {
        id: reading.tree.id.value.clone(),
        root: repository.as_ref().map_or(".", |r| if r.prefix.is_empty() { "." } else { &r.prefix }).to_owned(),
        base: None,
        head: repository.as_ref().and_then(crate::git::Repository::head),
        dirty: repository.as_ref().is_some_and(|r| r.is_dirty(&reading.tree.generation_directory)),
    }
}
