//! `csis doctor`: what is missing to run here, each with its remedy. `validate` judges the tree; this judges the machine.

mod read_role;
mod trust;

use crate::Invocation;
use crate::git::{GitError, Repository};
use crate::outcome::{Exit, Outcome, why};
use crate::reading::{Reading, RecordsFrom};
use csis_engine::EngineError;
use csis_engine::Version;
use csis_engine::session::Session;
use csis_kinds::registry;
use csis_values::intent::EngineRef;
use csis_values::name::safe_name;
use csis_values::tree::{Executable, Tree};
use csis_values::{Class, Diagnostic};
use std::collections::BTreeSet;
use std::fmt::Write;

pub async fn run(invocation: &Invocation) -> Outcome {
    let reading = match Reading::of(invocation, &[], &RecordsFrom::Folder) {
        Ok(reading) => reading,
        Err(end) => return end,
    };
    let mut findings = Vec::new();
    let mut said = String::new();
    let mut fine = |what: &str, how: &str| {
        let _ = writeln!(said, "{what:<22} {how}");
    };
    let refused = reading.findings.is_refused();
    if refused {
        findings.push(Diagnostic::error("tree", "the tree is refused").help("run `csis validate`"));
    } else {
        fine("tree", &format!("{} loads", reading.tree.id.value));
    }
    let repository = Repository::find(&reading.root);
    match &repository {
        Ok(_) => fine("git", "the tree is in a repository"),
        Err(error @ GitError::NoGit) => findings.push(
            Diagnostic::warning("git", error.to_string())
                .help("install git; `preview` compares with a base through it"),
        ),
        Err(error) => findings.push(
            Diagnostic::warning("git", error.to_string())
                .help("run `git init`; without it `preview` shows the tree alone"),
        ),
    }
    // Offline nothing is asked of a cloud, so nothing is missing for it.
    let profiles = if invocation.offline { BTreeSet::new() } else { profiles(&reading.tree) };
    let session = Session::open(&invocation.environment, &profiles, &std::env::temp_dir());
    match &session {
        Ok(_) if invocation.offline => {}
        Ok(session) if session.missing().is_empty() => fine("session", "every profile that the tree names can be had"),
        Ok(session) => findings.extend(session.missing().iter().map(|profile| {
            Diagnostic::error(
                "session",
                format!("there is no session, and no profile `{profile}` in your own AWS files"),
            )
            .help(format!(
                "sign in, or add [profile {profile}] to your AWS configuration; without it roots are not judged"
            ))
        })),
        Err(error) => findings.push(
            Diagnostic::error("session", format!("a private AWS configuration cannot be written: {}", why(error)))
                .help("give the right to write in the folder for temporary files, or name another in TMPDIR"),
        ),
    }
    let (intent, _) =
        csis_resolve::intent(&reading.tree, &reading.records, reading.snapshot.as_ref(), &reading.request);
    if let Ok(session) = &session {
        let engines: Vec<EngineRef> = intent.roots.iter().map(|root| root.engine.clone()).collect();
        for executable in &reading.tree.executables {
            let engine = engines.iter().find(|e| safe_name(&e.name) == executable.name.safe);
            judge(invocation, &reading.tree, executable, engine, session, &mut findings, &mut fine).await;
        }
    }
    let (missing, older) = crate::modules::state(&reading.root, &reading.tree);
    for (modules, what) in [(&missing, "missing"), (&older, "of an older release")] {
        if !modules.is_empty() {
            findings.push(
                Diagnostic::error("modules", format!("the Terraform modules {} are {what}", modules.join(", ")))
                    .help("run `csis init-config` with the same `--root`"),
            );
        }
    }
    if missing.is_empty() && older.is_empty() {
        fine("modules", "they are of this release");
    }
    if !refused {
        let policies = read_role::text(&reading.tree, &intent);
        if !policies.is_empty() {
            said.push_str(&policies);
            said.push_str(&trust::text(&reading.tree, &invocation.environment, repository.as_ref().ok()));
        }
    }
    let lacking = findings.iter().any(|f| f.severity == csis_values::Severity::Error);
    let exit = match (refused, lacking) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Usage,
        (false, false) => Exit::Done,
    };
    Outcome::new(exit).stdout(said).findings(findings)
}

/// The cloud profiles that runtimes and backends name.
fn profiles(tree: &Tree) -> BTreeSet<String> {
    let of_runtimes = tree.builders_of(Class::Runtime).filter_map(|b| registry::runtime(b)?.profile(b));
    let of_backends = tree.builders_of(Class::StateBackend).filter_map(|b| registry::state(b)?.profile(b));
    of_runtimes.chain(of_backends).collect()
}

/// The lowest engine that each state backend works with, and who needs it.
fn floors(tree: &Tree) -> impl Iterator<Item = (String, Version)> {
    tree.builders_of(Class::StateBackend).filter_map(|backend| {
        let floor = registry::state(backend)?.engine_floor(backend)?;
        Some((format!("the state backend `{}`", backend.name), Version::parse(floor)?))
    })
}

/// The other of the two engines, where it is on PATH: csis runs either.
fn other_engine(wanted: &EngineRef, session: &Session) -> Option<(&'static str, std::path::PathBuf)> {
    let other = ["terraform", "tofu"].into_iter().find(|name| *name != wanted.binary)?;
    Some((other, csis_engine::process::find(other, session.environment())?))
}

/// An engine is asked for its version. Other tools are only looked for: nothing that this build does runs them.
async fn judge(
    invocation: &Invocation,
    tree: &Tree,
    executable: &Executable,
    // How the roots that it runs refer to it; none when it runs none.
    wanted: Option<&EngineRef>,
    session: &Session,
    findings: &mut Vec<Diagnostic>,
    fine: &mut impl FnMut(&str, &str),
) {
    let name = &executable.name.written;
    let Some(wanted) = wanted else {
        match csis_engine::process::find(&executable.binary, session.environment()) {
            Some(path) => fine(name, &format!("{} (not needed to plan)", path.display())),
            None => findings.push(
                Diagnostic::note(
                    "executable",
                    format!(
                        "`{}` of executable `{name}` is not on PATH; nothing that plans needs it",
                        executable.binary
                    ),
                )
                .at(&executable.at),
            ),
        }
        return;
    };
    match csis_engine::Engine::locate(wanted, &invocation.tools, session.environment()).await {
        Ok(engine) => {
            let lacking = floors(tree).find_map(|(what, floor)| engine.needs(&what, floor).err());
            match lacking {
                None => fine(name, &format!("{engine} at {}", engine.binary.display())),
                Some(error) => findings
                    .push(Diagnostic::error("executable", error.to_string()).at(&executable.at).help(error.help())),
            }
            findings.extend(
                engine.waived.iter().map(|note| Diagnostic::note("executable", note.clone()).at(&executable.at)),
            );
        }
        Err(error) => {
            let other = match &error {
                EngineError::Missing { .. } => other_engine(wanted, session),
                _ => None,
            };
            let help = other.map_or_else(
                || error.help(),
                |(binary, path)| {
                    let path = path.display();
                    format!("install `{}`, or take {path} with `--tool {}={binary}`", wanted.binary, wanted.kind)
                },
            );
            findings.push(Diagnostic::error("executable", error.to_string()).at(&executable.at).help(help));
        }
    }
}
