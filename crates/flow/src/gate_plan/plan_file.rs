//! A plan file: reading it with the engine, and how old it is beside its inputs.

use csis_engine::plan::{Reading, Redactor};
use csis_values::Diagnostic;
use csis_values::plan::{Document, Freshness, Plan};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// What a plan is made from.
const INPUTS: &[&str] = &[".tf", ".tf.json", ".tofu", ".tofu.json", ".tftpl", ".tfvars", ".tfvars.json", ".lock.hcl"];
/// What the engine keeps for itself below a root.
const ENGINE: &str = ".terraform";
const DEEPEST: usize = 32;
/// So much of what the engine complains of is told.
const COMPLAINT: u64 = 8 << 10;

/// The plan in a plan file. A file that is not there, or that the engine cannot read, gives a document that says so.
pub fn read(directory: &Path, path: &Path, engine: &str, redactor: &Redactor) -> Result<Plan, Box<Diagnostic>> {
    let source = super::plain(&path.to_string_lossy());
    let whole = directory.join(path);
    let with = |document: Document| Plan { source: source.clone(), document, ..Plan::default() };
    let made = match std::fs::metadata(&whole) {
        Ok(found) if found.is_file() => found.modified().ok(),
        Ok(_) => return Ok(with(Document::NotAPlan("it is no file".into()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(with(Document::Missing)),
        Err(error) => return Ok(with(Document::NotAPlan(format!("it cannot be read ({error})")))),
    };
    let folder = match whole.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut plan = show(&whole, &folder, engine, &source, redactor)?;
    plan.freshness = made.map_or(Freshness::NotJudged, |made| age(&folder, made));
    Ok(plan)
}

/// Lets the engine print the plan, in the folder of the plan, and reads it as it comes.
fn show(path: &Path, folder: &Path, engine: &str, source: &str, redactor: &Redactor) -> Result<Plan, Box<Diagnostic>> {
    let cannot = |error: &io::Error| {
        Box::new(
            Diagnostic::error(
                "engine-missing",
                format!("`{}` cannot be started to read {source}: {error}", super::plain(engine)),
            )
            .help("install the engine, or name it with `--tofu PATH`"),
        )
    };
    // A path to the engine is meant from where the command was called, not from the folder of the plan.
    let binary =
        if engine.contains('/') { std::path::absolute(engine).map_err(|e| cannot(&e))? } else { PathBuf::from(engine) };
    let file = std::path::absolute(path).map_err(|error| cannot(&error))?;
    let mut command = Command::new(binary);
    command.args(["show", "-json", "-no-color"]).arg(file).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        // They would change what is asked of the engine, or make it talk.
        if name.to_string_lossy().starts_with("TF_CLI_ARGS") || name.to_string_lossy().starts_with("TF_LOG") {
            command.env_remove(name);
        }
    }
    command.env("CHECKPOINT_DISABLE", "1").env("TF_IN_AUTOMATION", "1");
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    let stderr = child.stderr.take();
    let complaint = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(COMPLAINT).read_to_end(&mut text);
            // Read on, so that the engine is never kept waiting.
            let _ = io::copy(&mut stderr, &mut io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let reading = Reading { source, redactor, tokens: None, ours: false };
    let stdout: Box<dyn Read> = match child.stdout.take() {
        Some(stdout) => Box::new(stdout),
        None => Box::new(io::empty()),
    };
    let mut plan = csis_engine::plan::read(stdout, reading).0;
    let status = child.wait().map_err(|error| cannot(&error))?;
    let complaint = complaint.join().unwrap_or_default();
    // An engine that was still writing when the reader had seen enough is ended by a signal; the reader's reason is the better one then.
    let reader_knows = matches!(plan.document, Document::NotAPlan(_)) && status.code().is_none();
    if !status.success() && !reader_knows {
        let words: Vec<&str> = complaint.split_whitespace().collect();
        let why = redactor.text(&super::plain(&words.join(" ")));
        let why = if why.is_empty() { status.to_string() } else { why };
        plan = Plan {
            source: source.to_owned(),
            document: Document::NotAPlan(format!("`{} show` failed: {why}", super::plain(engine))),
            ..Plan::default()
        };
    }
    Ok(plan)
}

/// Whether a plan made elsewhere is younger than every input; equal ages count as stale, for which came first cannot be told.
fn age(folder: &Path, made: SystemTime) -> Freshness {
    match inputs(folder) {
        Ok(inputs) => {
            let newer: Vec<String> = inputs
                .iter()
                .filter(|(_, modified)| *modified >= made)
                .map(|(path, _)| {
                    let shown = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
                    format!("older than {}, the plan was not regenerated", super::plain(&shown))
                })
                .collect();
            if newer.is_empty() { Freshness::Fresh } else { Freshness::Stale(newer) }
        }
        Err(error) => Freshness::Stale(vec![format!("the files it was made from cannot be looked at ({error})")]),
    }
}

/// When the newest file of a root was written; not what the engine itself writes there before the plan.
pub fn inputs_written(folder: &Path, below: bool) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    walk(folder, if below { DEEPEST } else { 0 }, &mut found).ok()?;
    let newest = found
        .into_iter()
        .filter(|(path, _)| !path.components().any(|part| part.as_os_str() == ENGINE))
        .filter(|(path, _)| !path.to_string_lossy().ends_with(".lock.hcl"))
        .map(|(_, modified)| modified)
        .max()?;
    let newest = jiff::Timestamp::try_from(newest).ok()?;
    Some(newest.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

type Dated = (PathBuf, SystemTime);

/// The files a plan in this folder is made from: those below it, and those of the modules that it takes from elsewhere.
fn inputs(folder: &Path) -> io::Result<Vec<Dated>> {
    let mut found = Vec::new();
    walk(folder, DEEPEST, &mut found)?;
    for module in modules_elsewhere(folder) {
        // A module that is gone makes the next plan fail; it does not make this one older.
        match walk(&module, DEEPEST, &mut found) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<Dated>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if kind.is_dir() {
            // Providers are no input of their own: the lock file fixes them.
            let providers = name == "providers" && folder.file_name().is_some_and(|above| above == ENGINE);
            if depth > 0 && !providers {
                walk(&entry.path(), depth - 1, found)?;
            }
        } else if INPUTS.iter().any(|ending| name.to_string_lossy().ends_with(ending)) {
            found.push((entry.path(), std::fs::metadata(entry.path())?.modified()?));
        }
    }
    Ok(())
}

/// Folders outside of the root that `init` noted as modules of it.
fn modules_elsewhere(folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(text) = std::fs::read(folder.join(ENGINE).join("modules/modules.json")) else { return BTreeSet::new() };
    let Ok(noted) = serde_json::from_slice::<serde_json::Value>(&text) else { return BTreeSet::new() };
    let modules = noted.get("Modules").and_then(serde_json::Value::as_array).into_iter().flatten();
    let folders = modules.filter_map(|module| module.get("Dir").and_then(serde_json::Value::as_str));
    folders.filter(|dir| dir.starts_with("..") || dir.starts_with('/')).map(|dir| folder.join(dir)).collect()
}
