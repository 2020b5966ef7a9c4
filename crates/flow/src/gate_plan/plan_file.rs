//! A plan file: reading it with the engine it was made by, and when what it was made from was written.

use crate::outcome::why;
use csis_engine::session::Session;
use csis_engine::{Engine, Redactor};
use csis_values::Diagnostic;
use csis_values::intent::EngineRef;
use csis_values::plan::{Document, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of a root that a person or csis writes.
const WRITTEN: &[&str] = &[".tf", ".tf.json", ".tofu", ".tofu.json", ".tftpl", ".tfvars", ".tfvars.json"];
/// What the engine keeps for itself below a root.
const ENGINE: &str = ".terraform";
const DEEPEST: usize = 32;

/// The plan in a plan file. A file that is not there, or that the engine cannot read, gives a document that says so.
pub fn read(
    directory: &Path,
    path: &Path,
    engine: &str,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<Plan, Box<Diagnostic>> {
    let source = super::plain(&path.to_string_lossy());
    let whole = directory.join(path);
    let with = |document: Document| Plan { source: source.clone(), document, ..Plan::default() };
    // Asked before the engine is looked for: a plan that was never made needs none.
    match std::fs::metadata(&whole) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(with(Document::NotAPlan("it is no file".into()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(with(Document::Missing)),
        Err(error) => return Ok(with(Document::NotAPlan(format!("it cannot be read: {}", why(&error))))),
    }
    let cannot = |why: String| Box::new(Diagnostic::error("engine", format!("{source} cannot be read: {why}")));
    let binary = located(directory, engine);
    if binary.contains('/') && !Path::new(&binary).is_file() {
        let why = format!("--tofu names {}, and there is no such file", super::plain(engine));
        return Err(Box::new(cannot(why).help("write the path of the engine's binary, or its name on PATH")));
    }
    let temporary = tempfile::tempdir().map_err(|error| cannot(why(&error)))?;
    let session =
        Session::open(environment, &BTreeSet::new(), temporary.path()).map_err(|error| cannot(why(&error)))?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| cannot(why(&error)))?;
    let wanted = EngineRef { name: "tofu".into(), kind: "tofu".into(), binary, version: None };
    let read = runtime.block_on(async {
        let engine = Engine::locate(&wanted, &BTreeMap::new(), session.environment()).await;
        let engine = engine.map_err(|error| {
            Box::new(cannot(error.to_string()).help("install the engine, or name it with `--tofu PATH`"))
        })?;
        Ok::<_, Box<Diagnostic>>(csis_engine::read_plan_file(&engine, &whole, session.environment(), redactor).await)
    })?;
    Ok(match read {
        Ok(plan) => Plan { source, ..plan },
        Err(trouble) => with(Document::NotAPlan(format!("the engine cannot read it: {}", super::plain(trouble.why())))),
    })
}

/// A path to the engine is meant from where the command was called, not from the folder of the plan.
fn located(directory: &Path, engine: &str) -> String {
    if !engine.contains('/') {
        return engine.to_owned();
    }
    let path = directory.join(engine);
    std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
}

/// When the newest file of a root was written, without what the engine itself writes there before the plan.
pub fn inputs_written(folder: &Path, below: bool) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut newest = None;
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((at, depth)) = folders.pop() {
        for (path, is_folder, modified) in listed(&at).ok()? {
            if is_folder {
                let passed = path.file_name().is_some_and(|name| name == ENGINE);
                if below && depth < DEEPEST && !passed {
                    folders.push((path, depth + 1));
                }
            } else if WRITTEN.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                newest = newest.max(Some(modified));
            }
        }
    }
    let newest = jiff::Timestamp::try_from(newest?).ok()?;
    Some(newest.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn listed(folder: &Path) -> io::Result<Vec<(PathBuf, bool, SystemTime)>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir(), std::fs::symlink_metadata(entry.path())?.modified()?))
    };
    std::fs::read_dir(folder)?.map(entry).collect()
}
