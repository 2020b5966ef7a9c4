//! Putting an emission on disk: every root's files as a set, aside and then renamed, so that a crash leaves a root whole.

use csis_values::emission::Emission;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// What the engine adds to a root and a generation keeps.
const KEPT: &[&str] = &[".terraform.lock.hcl"];

/// The phases whose roots this build emits; directories of other phases are left alone.
pub const EMITTED_PHASES: &[&str] = &["storage-generation", "instance-generation"];

/// What a generation changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Phases found on disk that this build does not emit, as paths below the generation directory.
    pub untouched: Vec<String>,
    /// What went with a root's old files and is nothing that a generation writes, as paths below the generation directory; of a folder, the folder.
    pub foreign: BTreeSet<String>,
}

/// Writes the files of an emission under `<root>/<generation_directory>`.
///
/// A root's directory is replaced as a whole, keeping its provider lock; a root that is gone is removed; `lifecycles` says which lifecycles were asked for.
/// On an error everything stands as it stood before.
pub fn write(root: &Path, generation_directory: &str, emission: &Emission, lifecycles: &[&str]) -> io::Result<Written> {
    let top = root.join(generation_directory);
    let mut written = Written::default();
    let mut sets: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    let mut loose: BTreeMap<&str, &str> = BTreeMap::new();
    let directories: BTreeSet<&str> = emission.roots.iter().map(|r| r.directory.as_str()).collect();
    for directory in &directories {
        sets.entry(directory).or_default();
    }
    for (path, text) in &emission.files {
        match directories.iter().find(|d| path.strip_prefix(**d).is_some_and(|rest| rest.starts_with('/'))) {
            Some(directory) => {
                sets.entry(directory).or_default().insert(&path[directory.len() + 1..], text);
            }
            None => {
                loose.insert(path, text);
            }
        }
    }
    let folders = sets.keys().map(|path| (path, true));
    for (path, is_folder) in folders.chain(loose.keys().map(|path| (path, false))) {
        way_is_free(root, &format!("{generation_directory}/{path}"), is_folder)?;
    }

    // First everything that can fail for lack of room or rights, beside the old files; nothing visible changes until all of it stands.
    let mut change = Change::default();
    let done = prepare(&top, &sets, &mut change, &mut written)
        .and_then(|()| prepare_loose(&top, &loose, &mut change, &mut written))
        .and_then(|()| find_gone(&top, emission, &directories, lifecycles, &mut change, &mut written))
        .and_then(|()| change.swap());
    if let Err(error) = done {
        change.undo();
        return Err(error);
    }
    change.clean();
    Ok(written)
}

/// Whether a root's directory or a loose file can be put at a path: what stands on the way is a real folder, and what stands there is of the kind to replace.
/// A tree may come from anybody, and a link in it points anywhere.
fn way_is_free(root: &Path, path: &str, is_folder: bool) -> io::Result<()> {
    let mut place = root.to_path_buf();
    let mut steps = path.split('/').filter(|step| !step.is_empty() && *step != ".").peekable();
    while let Some(step) = steps.next() {
        place.push(step);
        let Ok(found) = std::fs::symlink_metadata(&place) else { return Ok(()) };
        let wants_folder = is_folder || steps.peek().is_some();
        let in_the_way = if found.is_symlink() {
            "a symbolic link; the emission goes into real folders and files only"
        } else if wants_folder && !found.is_dir() {
            "no folder, and the emission needs one there"
        } else if !wants_folder && !found.is_file() {
            "no file, and the emission has one there"
        } else {
            continue;
        };
        return Err(io::Error::other(format!("{} is {in_the_way}", place.display())));
    }
    Ok(())
}

/// What is to be put in place, and what was done of it, so that it can be undone.
#[derive(Default)]
struct Change {
    /// Folders made for it, outermost first.
    made: Vec<PathBuf>,
    /// What stands aside, and where it goes.
    ready: Vec<(PathBuf, PathBuf)>,
    /// What goes.
    gone: Vec<PathBuf>,
    /// What was renamed, from where and to where.
    renamed: Vec<(PathBuf, PathBuf)>,
    /// What was replaced, aside.
    old: Vec<PathBuf>,
}

impl Change {
    /// Makes a folder and what is missing above it.
    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|p| !p.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs_err::create_dir(folder)?;
            self.made.push(folder.to_path_buf());
        }
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs_err::rename(from, to)?;
        self.renamed.push((from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn swap(&mut self) -> io::Result<()> {
        for target in self.gone.clone() {
            self.set_aside(&target)?;
        }
        for (aside, target) in self.ready.clone() {
            if target.is_dir() {
                self.set_aside(&target)?;
            }
            self.rename(&aside, &target)?;
        }
        Ok(())
    }

    fn set_aside(&mut self, target: &Path) -> io::Result<()> {
        let old = sibling(target, "old");
        let found = fs_err::symlink_metadata(target)?;
        // Renamed it could be, but not emptied afterwards.
        if found.is_dir() && found.permissions().readonly() {
            let why = format!("{}: it is read-only, so what is in it cannot be replaced", target.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        self.rename(target, &old)?;
        self.old.push(old);
        Ok(())
    }

    fn undo(self) {
        for (from, to) in self.renamed.iter().rev() {
            let _ = std::fs::rename(to, from);
        }
        for (aside, _) in &self.ready {
            let _ = remove(aside);
        }
        for folder in self.made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }

    fn clean(self) {
        for old in &self.old {
            let _ = remove(old);
        }
        for gone in &self.gone {
            // Only when nothing else is in them.
            for folder in gone.ancestors().skip(1).take(2) {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

/// Removes a file or a folder.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn prepare(
    top: &Path,
    sets: &BTreeMap<&str, BTreeMap<&str, &str>>,
    change: &mut Change,
    written: &mut Written,
) -> io::Result<()> {
    for (directory, files) in sets {
        let target = top.join(directory);
        recover(&target)?;
        let before = read_set(&target)?;
        let same = before.len() == files.len()
            && files.iter().all(|(name, text)| before.get(*name).is_some_and(|old| old == text.as_bytes()));
        if same {
            continue;
        }
        for (name, text) in files {
            match before.get(*name) {
                None => written.added += 1,
                Some(old) if old != text.as_bytes() => written.changed += 1,
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|name| !files.contains_key(name.as_str()));
        written.foreign.extend(gone.clone().filter_map(|name| foreign(directory, name)));
        written.removed += gone.count();
        let aside = sibling(&target, "new");
        remove(&aside)?;
        if let Some(parent) = aside.parent() {
            change.folder(parent)?;
        }
        fs_err::create_dir(&aside)?;
        change.ready.push((aside.clone(), target.clone()));
        for (name, text) in files {
            let path = aside.join(name);
            if let Some(parent) = path.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::write(&path, text)?;
        }
        for name in KEPT {
            let kept = target.join(name);
            if std::fs::symlink_metadata(&kept).is_ok_and(|found| found.is_file()) {
                fs_err::copy(&kept, aside.join(name))?;
            }
        }
    }
    Ok(())
}

/// The files of a root as they stand, by path below it, without what a generation keeps or the engine leaves.
fn read_set(directory: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut open = vec![(directory.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs_err::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                open.push((entry.path(), format!("{path}/")));
            } else if !KEPT.contains(&path.as_str()) {
                files.insert(path, fs_err::read(entry.path())?);
            }
        }
    }
    Ok(files)
}

/// A file of a root that no generation has written: its path below the generation directory, or that of the folder it is in.
fn foreign(directory: &str, name: &str) -> Option<String> {
    let mut places = directory.rsplit('/');
    let stem = places.next().zip(places.next()).map(|(phase, builder)| format!("{builder}-{phase}"))?;
    let is_tf = Path::new(name).extension().is_some_and(|ending| ending == "tf");
    let is_ours = name.strip_prefix(&stem).is_some_and(|rest| rest == ".tfbackend.hcl" || is_tf)
        || name.starts_with("user-data-") && name.ends_with(".sh.tftpl");
    match name.split_once('/') {
        Some((folder, _)) => Some(format!("{directory}/{folder}/")),
        None if is_ours => None,
        None => Some(format!("{directory}/{name}")),
    }
}

/// What a run that was killed between two renames left: the old root goes back, an old root beside the new one goes.
fn recover(target: &Path) -> io::Result<()> {
    let old = sibling(target, "old");
    let is_whole = std::fs::symlink_metadata(&old).is_ok_and(|found| found.is_dir());
    if is_whole && !target.exists() { fs_err::rename(&old, target) } else { remove(&old) }
}

fn prepare_loose(
    top: &Path,
    files: &BTreeMap<&str, &str>,
    change: &mut Change,
    written: &mut Written,
) -> io::Result<()> {
    for (path, text) in files {
        let target = top.join(path);
        match fs_err::read(&target) {
            Ok(old) if old == text.as_bytes() => continue,
            Ok(_) => written.changed += 1,
            Err(_) => written.added += 1,
        }
        if let Some(parent) = target.parent() {
            change.folder(parent)?;
        }
        let aside = sibling(&target, "new");
        remove(&aside)?;
        change.ready.push((aside.clone(), target));
        fs_err::write(&aside, text)?;
    }
    Ok(())
}

/// Finds the roots that are gone from the lifecycles asked for, and names what this build does not emit.
fn find_gone(
    top: &Path,
    emission: &Emission,
    directories: &BTreeSet<&str>,
    lifecycles: &[&str],
    change: &mut Change,
    written: &mut Written,
) -> io::Result<()> {
    for lifecycle in subdirectories(top)? {
        for builder in subdirectories(&top.join(&lifecycle))? {
            for phase in subdirectories(&top.join(&lifecycle).join(&builder))? {
                let directory = format!("{lifecycle}/{builder}/{phase}");
                if !lifecycles.contains(&lifecycle.as_str())
                    || directories.contains(directory.as_str())
                    || emission.kept.contains(&directory)
                    || is_sibling(&phase)
                {
                    continue;
                }
                if !EMITTED_PHASES.contains(&phase.as_str()) {
                    written.untouched.push(directory);
                    continue;
                }
                let gone = top.join(&directory);
                let before = read_set(&gone)?;
                written.foreign.extend(before.keys().filter_map(|name| foreign(&directory, name)));
                written.removed += before.len();
                remove(&sibling(&gone, "old"))?;
                change.gone.push(gone);
            }
        }
        // The last root of a lifecycle takes its script along, which would run what is not there.
        let below = format!("{lifecycle}/");
        let all = emission.files.keys().chain(&emission.kept).chain(&written.untouched);
        let ours = change.gone.iter().any(|gone| gone.starts_with(top.join(&lifecycle)));
        if ours && !all.into_iter().any(|path| path.starts_with(&below)) {
            let files =
                [format!("run-{lifecycle}.sh"), ".gitignore".into()].map(|name| top.join(&lifecycle).join(name));
            let files: Vec<PathBuf> = files.into_iter().filter(|path| path.is_file()).collect();
            written.removed += files.len();
            change.gone.extend(files);
        }
    }
    written.untouched.sort();
    Ok(())
}

fn subdirectories(folder: &Path) -> io::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn sibling(path: &Path, word: &str) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.csis-{word}"))
}

fn is_sibling(name: &str) -> bool {
    name.starts_with('.') && [".csis-new", ".csis-old"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests;
