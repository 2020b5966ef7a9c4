//! `csis materialize`: a root's private working copy, with encrypted values opened, for the scripts that run in it.

use crate::Invocation;
use crate::generate;
use crate::outcome::{Exit, Outcome, why};
use crate::reach;
use crate::reading::{Reading, RecordsFrom};
use csis_engine::materialise::MaterialiseError;
use csis_values::Diagnostic;
use std::path::Path;

/// Lays the root whose directory below the generation directory is `source` (relative to the present folder, as scripts call it) and prints the copy's path.
pub fn run(invocation: &Invocation, source: &Path) -> Outcome {
    let read = Reading::of(invocation, &[], &RecordsFrom::Folder).and_then(|mut reading| {
        reading.findings.0.extend(reach::private_tracked(&reading.root, &reading.tree.generation_directory));
        reading.accepted()
    });
    let mut reading = match read {
        Ok(reading) => reading,
        Err(end) => return end,
    };
    let (_, emission) = match generate::emit(&mut reading) {
        Ok(made) => made,
        Err(end) => return end,
    };
    let generated = reading.root.join(&reading.tree.generation_directory);
    let wanted = fs_err::canonicalize(source).ok();
    let root = emission.roots.iter().find(|root| {
        wanted.as_ref().is_some_and(|w| fs_err::canonicalize(generated.join(&root.directory)).ok().as_ref() == Some(w))
    });
    let Some(root) = root else {
        return Outcome::usage(
            Diagnostic::error("no-root-here", format!("{} is no root of this tree's emission", source.display())).help(
                format!(
                    "name a directory of a root below {}, after `csis generate`",
                    reading.tree.generation_directory
                ),
            ),
        );
    };
    match csis_engine::materialise::materialise(
        &reading.root,
        &reading.tree.generation_directory,
        &emission,
        root,
        &reading.plaintexts(),
    ) {
        Ok(copy) => Outcome::new(Exit::Done).stdout(format!("{}\n", copy.directory.display())),
        Err(error) => {
            let told = match &error {
                MaterialiseError::Io { path, source } => {
                    format!("the private copy could not be written at {}: {}", path.display(), why(source))
                }
                other => other.to_string(),
            };
            let finding = Diagnostic::error("cannot-materialize", told)
                .help("see that the tree's folder can be written, then run it again");
            Outcome::new(Exit::Failed).findings(vec![finding])
        }
    }
}
