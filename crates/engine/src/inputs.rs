//! What a plan was made from, so that it is known whether it still is.
//!
//! Beside a plan file stands a map of every input to its SHA-256. A plan is stale when that map differs from the one of now. Clocks decide only for plan
//! files that were made elsewhere.

use csis_values::plan::Freshness;
use csis_values::sha256;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file beside the plan file.
pub const FILE: &str = "tfplan.inputs.json";
/// The engine's entry in the map.
const ENGINE: &str = "(engine)";
/// Changed inputs named in a message; the rest is counted.
const NAMED: usize = 8;

/// Every input of a root to its SHA-256: files by their path relative to the root's folder, the engine by its name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    pub schema: u32,
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of the plan file that was made from them.
    #[serde(default)]
    pub plan: Option<String>,
}

impl Inputs {
    /// The inputs as they are now. `engine`: name and version of the engine, e.g. `terraform 1.11.4`.
    pub fn now(root: &Path, engine: &str) -> io::Result<Inputs> {
        let mut inputs = BTreeMap::from([(ENGINE.to_owned(), sha256(engine))]);
        let mut modules = Vec::new();
        add_folder(root, root, "", true, &mut inputs, &mut modules)?;
        let mut known = BTreeSet::new();
        while let Some((from, source)) = modules.pop() {
            let folder = root.join(&from).join(&source);
            // Two ways to the same module are one module; a way that leads nowhere is the engine's to tell.
            let Ok(real) = folder.canonicalize() else { continue };
            if known.insert(real) {
                let name = tidy(&from, &source);
                add_folder(&folder, root, &name, false, &mut inputs, &mut modules)?;
            }
        }
        Ok(Inputs { schema: 1, inputs, plan: None })
    }

    /// Writes the map beside the plan file, bound to that file's bytes.
    pub fn store(mut self, root: &Path, plan_file: &Path) -> io::Result<()> {
        self.plan = Some(digest_of(plan_file)?);
        let text = serde_json::to_string_pretty(&self).map_err(io::Error::other)?;
        crate::materialise::write_if_changed(&root.join(FILE), text.as_bytes()).map_err(io::Error::other)
    }

    /// The map beside a plan file; none when there is none or it is not ours.
    pub fn load(folder: &Path) -> Option<Inputs> {
        let text = fs::read(folder.join(FILE)).ok()?;
        serde_json::from_slice::<Inputs>(&text).ok().filter(|inputs| inputs.schema == 1)
    }

    /// Compares what a plan was made from with what is now.
    pub fn judge(&self, now: &Inputs) -> Freshness {
        let mut changed = Vec::new();
        for (name, digest) in &self.inputs {
            match now.inputs.get(name) {
                Some(other) if other == digest => {}
                Some(_) if name == ENGINE => changed.push("the engine's version changed".to_owned()),
                Some(_) => changed.push(format!("`{name}` changed")),
                None => changed.push(format!("`{name}` is gone")),
            }
        }
        changed.extend(
            now.inputs.keys().filter(|name| !self.inputs.contains_key(*name)).map(|name| format!("`{name}` is new")),
        );
        stale_or_fresh(changed)
    }
}

fn stale_or_fresh(mut changed: Vec<String>) -> Freshness {
    if changed.is_empty() {
        return Freshness::Fresh;
    }
    if changed.len() > NAMED {
        let more = changed.len() - NAMED;
        changed.truncate(NAMED);
        changed.push(format!("{more} more"));
    }
    Freshness::Stale(changed)
}

/// Whether a plan file is still of its inputs: by the map beside it, else by age.
pub fn judge_plan_file(plan_file: &Path, engine: &str) -> io::Result<Freshness> {
    let folder = match plan_file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Some(planned) = Inputs::load(folder) else { return by_age(plan_file, folder) };
    if planned.plan.is_some() && planned.plan != Some(digest_of(plan_file)?) {
        // The map tells of another plan.
        return by_age(plan_file, folder);
    }
    Ok(planned.judge(&Inputs::now(folder, engine)?))
}

/// The endings of what an engine reads for a plan.
const AGED: &[&str] = &[".tf", ".tf.json", ".tofu", ".tofu.json", ".tftpl", ".tfvars", ".tfvars.json", ".lock.hcl"];

/// Files that are as new as the plan, or newer, make it stale; `.terraform` with its copies of modules counts.
fn by_age(plan_file: &Path, folder: &Path) -> io::Result<Freshness> {
    let planned = fs::metadata(plan_file)?.modified()?;
    let mut newer = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let counts = AGED.iter().any(|end| name.ends_with(end));
            if counts && fs::metadata(&path)?.modified()? >= planned {
                newer
                    .push(format!("`{}` is newer than the plan", path.strip_prefix(folder).unwrap_or(&path).display()));
            }
        }
    }
    newer.sort();
    Ok(stale_or_fresh(newer))
}

pub(crate) fn digest_of(path: &Path) -> io::Result<String> {
    fs::read(path).map(sha256)
}

/// What the engine or csis makes beside a root's files: no inputs.
fn is_output(name: &str) -> bool {
    name == ".terraform"
        || name == crate::materialise::INITIALISED
        || name.starts_with("tfplan")
        || name.starts_with("terraform.tfstate")
        || name == "errored.tfstate"
        || name == "unmount-receipts"
}

fn add_folder(
    folder: &Path,
    root: &Path,
    name: &str,
    is_root: bool,
    inputs: &mut BTreeMap<String, String>,
    modules: &mut Vec<(PathBuf, String)>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let path = if name.is_empty() { file.clone() } else { format!("{name}/{file}") };
        if is_root && folder == root && is_output(&file) || file == ".terraform" || file == ".git" {
            continue;
        }
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        let kind = fs::metadata(entry.path()).map_err(named)?;
        if kind.is_dir() {
            // A folder of a module may be a module that nobody calls; its templates may be read all the same.
            add_folder(&entry.path(), root, &path, is_root, inputs, modules)?;
            continue;
        }
        let bytes = fs::read(entry.path()).map_err(named)?;
        if [".tf", ".tf.json"].iter().any(|end| file.ends_with(end)) {
            let from = PathBuf::from(name);
            modules.extend(local_sources(&String::from_utf8_lossy(&bytes)).map(|source| (from.clone(), source)));
        }
        inputs.insert(path, sha256(bytes));
    }
    Ok(())
}

/// `source = "./x"` and `"source": "../x"`. One too many, from a comment, does no harm.
fn local_sources(text: &str) -> impl Iterator<Item = String> + '_ {
    text.match_indices("source").filter_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches('"').trim_start();
        let rest = rest.strip_prefix(['=', ':'])?.trim_start().strip_prefix('"')?;
        let path = &rest[..rest.find(['"', '\n'])?];
        (path.starts_with("./") || path.starts_with("../")).then(|| path.trim_end_matches('/').to_owned())
    })
}

/// Joins and resolves `.` and `..` as far as the names go.
fn tidy(from: &Path, source: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for component in from.join(source).components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if parts.last().is_some_and(|last| last != "..") => {
                parts.pop();
            }
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("a/b");
        for folder in ["a/b", "a/b/.terraform", "mods/x", "mods/y"] {
            fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        fs::write(root.join("main.tf"), "module \"x\" {\n  source = \"../../mods/x\"\n}\n").unwrap();
        fs::write(root.join("u.tftpl"), "echo").unwrap();
        fs::write(root.join("tfplan"), "plan").unwrap();
        fs::write(root.join(".terraform/noise.tf"), "").unwrap();
        fs::write(top.path().join("mods/x/main.tf.json"), r#"{"module":{"y":{"source":"../y"}}}"#).unwrap();
        fs::write(top.path().join("mods/y/main.tf"), "# source = \"../x\"\n").unwrap();
        (top, root)
    }

    #[test]
    fn inputs_are_files_modules_and_the_engine() {
        let (_top, root) = tree();
        let inputs = Inputs::now(&root, "terraform 1.11.4").unwrap();
        let names: Vec<&str> = inputs.inputs.keys().map(String::as_str).collect();
        assert_eq!(names, ["(engine)", "../../mods/x/main.tf.json", "../../mods/y/main.tf", "main.tf", "u.tftpl"]);
    }

    #[test]
    fn a_plan_is_stale_when_anything_it_was_made_from_changed() {
        let (top, root) = tree();
        let plan = root.join("tfplan");
        Inputs::now(&root, "terraform 1.11.4").unwrap().store(&root, &plan).unwrap();
        assert_eq!(judge_plan_file(&plan, "terraform 1.11.4").unwrap(), Freshness::Fresh);
        assert_eq!(
            judge_plan_file(&plan, "terraform 1.12.0").unwrap(),
            Freshness::Stale(vec!["the engine's version changed".into()])
        );
        fs::write(top.path().join("mods/y/main.tf"), "").unwrap();
        fs::remove_file(root.join("u.tftpl")).unwrap();
        fs::write(root.join("new.tfvars"), "").unwrap();
        assert_eq!(
            judge_plan_file(&plan, "terraform 1.11.4").unwrap(),
            Freshness::Stale(vec![
                "`../../mods/y/main.tf` changed".into(),
                "`u.tftpl` is gone".into(),
                "`new.tfvars` is new".into()
            ])
        );
    }

    #[test]
    fn a_plan_from_elsewhere_is_judged_by_age_and_equal_is_stale() {
        let (_top, root) = tree();
        let plan = root.join("tfplan");
        let at = |path: &Path, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        for (file, seconds) in [("main.tf", 10), ("u.tftpl", 20), (".terraform/noise.tf", 5), ("tfplan", 21)] {
            at(&root.join(file), seconds);
        }
        assert_eq!(judge_plan_file(&plan, "x").unwrap(), Freshness::Fresh);
        at(&plan, 20);
        assert_eq!(
            judge_plan_file(&plan, "x").unwrap(),
            Freshness::Stale(vec!["`u.tftpl` is newer than the plan".into()])
        );
    }

    #[test]
    fn a_map_of_another_plan_file_does_not_vouch_for_this_one() {
        let (_top, root) = tree();
        let plan = root.join("tfplan");
        Inputs::now(&root, "x").unwrap().store(&root, &plan).unwrap();
        fs::write(&plan, "another plan").unwrap();
        fs::File::options().write(true).open(&plan).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(judge_plan_file(&plan, "x").unwrap(), Freshness::Stale(_)));
    }
}
