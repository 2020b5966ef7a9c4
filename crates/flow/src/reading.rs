//! The first steps of every command: the tree, its records and the snapshot, read and judged.

use crate::Invocation;
use crate::git::Repository;
use crate::invocation::read_snapshot;
use crate::outcome::{Exit, Outcome, why};
use csis_kinds::registry;
use csis_resolve::rules;
use csis_tree::{Identities, LoadError, Secrets};
use csis_values::event::{Event, What};
use csis_values::records::Records;
use csis_values::request::Request;
use csis_values::snapshot::Snapshot;
use csis_values::tree::{Builder, Tree};
use csis_values::{Diagnostic, Diagnostics, Place, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// A tree and all that is read beside it, judged. What the rules found is in `findings`; when they refuse, nothing further may be made from it.
pub struct Reading {
    /// The configuration root, absolute.
    pub root: PathBuf,
    pub tree: Tree,
    pub records: Records,
    pub snapshot: Option<Snapshot>,
    pub request: Request,
    pub secrets: Secrets,
    /// What the base of the change opened or read from the environment: what a change takes away is as secret as what it brings.
    pub base_secrets: Option<Secrets>,
    pub findings: Diagnostics,
    /// All of the tree could be read.
    pub whole: bool,
}

/// Where records are read from: beside the tree, or from the base of a change.
pub enum RecordsFrom<'a> {
    Folder,
    Files(&'a BTreeMap<String, Vec<u8>>),
}

impl Reading {
    /// Reads the tree of an invocation. `Err` is the command's end: a tree that cannot be read at all.
    pub fn of(invocation: &Invocation, lifecycles: &[String], records: &RecordsFrom<'_>) -> Result<Reading, Outcome> {
        let identities = invocation.opening().map_err(Outcome::usage)?;
        Self::opened_by(&identities, invocation, lifecycles, records)
    }

    fn opened_by(
        identities: &Identities,
        invocation: &Invocation,
        lifecycles: &[String],
        records: &RecordsFrom<'_>,
    ) -> Result<Reading, Outcome> {
        let mut request = invocation.request(lifecycles).map_err(Outcome::usage)?;
        let root = root_of(invocation)?;
        request.overlays = request.overlays.iter().map(|overlay| from_root(&root, Path::new(""), overlay)).collect();
        let mut findings = Diagnostics::default();
        let snapshot = read_snapshot(invocation, &mut findings).map_err(Outcome::usage)?;
        let loaded = match csis_tree::load(&csis_tree::Folder::new(&root), &request, identities) {
            Err(LoadError::Identity(missing)) => {
                // What else is wrong is told in the same breath. Nothing is made of a tree whose values stay closed.
                let rest = match Self::opened_by(&Identities::sealed(), invocation, lifecycles, records) {
                    Ok(reading) => reading.findings,
                    Err(outcome) => Diagnostics(outcome.findings),
                };
                return Err(if rest.is_refused() {
                    let mut all = rest;
                    all.0.retain(|finding| finding.code != "marker-closed");
                    all.push(*missing);
                    refused(all)
                } else {
                    Outcome::usage(*missing)
                });
            }
            loaded => loaded.map_err(cannot_load)?,
        };
        findings.extend(loaded.diagnostics);
        let (folder, among);
        let files: &dyn csis_records::Files = match records {
            RecordsFrom::Folder => {
                folder = csis_records::Folder(root.join(csis_records::FOLDER));
                &folder
            }
            RecordsFrom::Files(files) => {
                among = records_among(files);
                &among
            }
        };
        let mut read = csis_records::read(files, &mut findings);
        let Some(tree) = loaded.tree else { return Err(refused(findings)) };
        if loaded.whole {
            read = operated(&tree, read, files, &request, &mut findings);
        }
        // Of half a tree the rules would say what the other half would not bear out.
        if loaded.whole {
            findings.extend(rules::check(&tree, &read, snapshot.as_ref(), &request));
            findings.extend(crate::modules::check(&root, &tree));
            unknown_runtimes(invocation, &tree)?;
            unknown_tools(invocation, &tree)?;
        }
        // What a rule says of a closed value it says of the marker; that the marker may not stand there holds all the same.
        findings.0.retain(|finding| {
            let closed = finding.at.as_ref().is_some_and(|at| loaded.secrets.is_closed(at));
            !closed || finding.severity != Severity::Error || finding.code.starts_with("marker-")
        });
        findings.sort();
        Ok(Reading {
            root,
            tree,
            records: read,
            snapshot,
            request,
            secrets: loaded.secrets,
            base_secrets: None,
            findings,
            whole: loaded.whole,
        })
    }

    /// Encrypted markers and what they open to: for the private working copies alone.
    pub fn plaintexts(&self) -> BTreeMap<String, String> {
        self.secrets.iter().map(|(marker, text)| (marker.to_owned(), text.to_owned())).collect()
    }

    /// Every text that no log and no report may show.
    pub fn hidden(&self) -> Vec<String> {
        let base = self.base_secrets.iter().flat_map(Secrets::texts);
        self.secrets.texts().chain(base).map(str::to_owned).collect()
    }

    /// The reading when the rules let it pass, else the command's end.
    pub fn accepted(self) -> Result<Reading, Outcome> {
        if self.findings.is_refused() { Err(refused(self.findings)) } else { Ok(self) }
    }
}

/// A tree and records read from files at hand, without the rules: the base of a change.
pub fn base(
    files: &BTreeMap<String, Vec<u8>>,
    request: &Request,
    identities: &Identities,
) -> Result<(Tree, Records, Secrets), Diagnostics> {
    // An overlay that the change adds was not there; what is treated as absent now was there.
    let overlays =
        request.overlays.iter().filter(|path| files.contains_key(path.trim_start_matches("./"))).cloned().collect();
    let plain = Request { overlays, undeclare: Vec::new(), ..request.clone() };
    let memory = csis_tree::Memory::new(files.clone());
    let loaded = csis_tree::load(&memory, &plain, identities).map_err(|e| Diagnostics(vec![e.into_diagnostic()]))?;
    let mut found = loaded.diagnostics;
    let among = records_among(files);
    let records = csis_records::read(&among, &mut found);
    match loaded.tree {
        Some(tree) if !found.is_refused() => {
            // What the base still waits to have done is none of the change's doing.
            let records = operated(&tree, records, &among, request, &mut Diagnostics::default());
            Ok((tree, records, loaded.secrets))
        }
        _ => Err(found),
    }
}

/// The records as they are once the tree's operations are done. What does not fit is in `found`, and leaves them as they were.
fn operated(
    tree: &Tree,
    records: Records,
    files: &dyn csis_records::Files,
    request: &Request,
    found: &mut Diagnostics,
) -> Records {
    if tree.operations.is_empty() || found.is_refused() {
        return records;
    }
    let mut documents = csis_records::Documents::of(files);
    for what in csis_resolve::operations(tree, &records, found) {
        let event = Event { run: request.run.clone(), at: request.now.clone(), what: What::Operated(what) };
        if let Err(misfit) = documents.apply(&event) {
            found.push(
                Diagnostic::error("record-shape", misfit.to_string())
                    .at(&Place::head(csis_records::FOLDER))
                    .help("restore the record from the last commit that landed"),
            );
            return records;
        }
    }
    csis_records::read(&documents, found)
}

/// The record files among a tree's files, by their names in the records' folder.
fn records_among(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let prefix = format!("{}/", csis_records::FOLDER);
    files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?.to_owned(), bytes.clone()))).collect()
}

/// The configuration root of an invocation, absolute.
pub fn root_of(invocation: &Invocation) -> Result<PathBuf, Outcome> {
    let shown = invocation.root.display();
    let refuse = |message: String| {
        let help = "name the folder that holds `cfg/` with `--root DIR`";
        Outcome::usage(Diagnostic::error("no-root", message).help(help))
    };
    let root = std::fs::canonicalize(&invocation.root)
        .map_err(|error| refuse(format!("the configuration root {shown} cannot be opened: {}", why(&error))))?;
    if root.is_dir() { Ok(root) } else { Err(refuse(format!("the configuration root {shown} is a file"))) }
}

/// An overlay by its path from the tree's root. What is not there is looked for from the folder of the command, as a shell completes it.
pub fn from_root(root: &Path, directory: &Path, overlay: &str) -> String {
    let path = Path::new(overlay);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_plain && root.join(path).is_file() {
        return overlay.to_owned();
    }
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let here = std::fs::canonicalize(directory.join(path)).ok();
    let below = here.as_deref().and_then(|path| path.strip_prefix(&root).ok()).and_then(Path::to_str);
    below.map_or_else(|| overlay.to_owned(), str::to_owned)
}

/// The repository a root lies in, when git is there and knows it.
pub fn repository(root: &std::path::Path) -> Option<Repository> {
    Repository::find(root).ok()
}

fn unknown_runtimes(invocation: &Invocation, tree: &Tree) -> Result<(), Outcome> {
    let runtimes = || tree.builders_of(csis_values::Class::Runtime);
    let known: Vec<&str> = runtimes().map(|b| b.name.safe.as_str()).collect();
    for (option, value) in
        [("--only-runtime", &invocation.only_runtime), ("--apply-runtime", &invocation.apply_runtime)]
    {
        if let Some(name) = value
            && !runtimes().any(|b| b.is_called(&csis_values::name::safe_name(name)))
        {
            return Err(Outcome::usage(
                Diagnostic::error(
                    "unknown-runtime",
                    format!("{option} names `{name}`, and the tree has no such runtime"),
                )
                .help(format!("name one of: {}", known.join(", "))),
            ));
        }
    }
    Ok(())
}

/// A tool named for nothing would be ignored in silence, and another one run.
fn unknown_tools(invocation: &Invocation, tree: &Tree) -> Result<(), Outcome> {
    for (name, path) in &invocation.tools {
        let refuse = |message: String, help: String| {
            Err(Outcome::usage(
                Diagnostic::error("unknown-tool", format!("--tool {name}={path}: {message}")).help(help),
            ))
        };
        let declared = tree.executables.iter().flat_map(|e| [e.name.safe.as_str(), e.kind.as_str()]);
        let default = |b: &Builder| registry::find(b.class, &b.kind)?.kind().default_executable();
        let known: BTreeSet<&str> = declared.chain(tree.builders.iter().filter_map(default)).collect();
        if !known.contains(name.as_str()) {
            let help = csis_tree::nearest(name, known.iter().copied()).map_or_else(
                || format!("name one of: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
                |near| format!("write `--tool {near}={path}`"),
            );
            return refuse(format!("the tree has no executable of the name or the type `{name}`"), help);
        }
        if path.contains('/') && !Path::new(path).is_file() {
            return refuse(
                "there is no such file".to_owned(),
                format!("write the path of the binary, or a name on PATH, behind `{name}=`"),
            );
        }
    }
    Ok(())
}

fn cannot_load(error: LoadError) -> Outcome {
    Outcome::usage(error.into_diagnostic())
}

/// A tree that its own rules refuse.
pub fn refused(mut findings: Diagnostics) -> Outcome {
    findings.sort();
    Outcome::new(Exit::Failed).findings(findings.0)
}
