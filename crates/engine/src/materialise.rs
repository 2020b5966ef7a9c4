//! The private working copy of a root.
//!
//! The engine never runs in the generated folder. A root's files are laid into `_private/`, at the same depth so that relative module paths hold, readable
//! by their owner alone; `tfplan`, `.terraform` and opened secrets exist only there.

use crate::markers::{self, Unopened};
use crate::owner::Owner;
use csis_values::emission::{Emission, EmittedRoot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

pub const LOCK: &str = ".terraform.lock.hcl";
/// The name of the folder with the working copies.
pub const PRIVATE: &str = "_private";

#[derive(Debug, thiserror::Error)]
pub enum MaterialiseError {
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The generation directory or a root's directory leaves the tree.
    #[error("`{0}` is not a folder inside the tree")]
    Outside(String),
    /// A folder on the way to the working copy, or to the root's folder, is a link: what is written and removed there may be anybody's.
    #[error("{path} is a link; csis writes and removes files there, and follows none", path = .0.display())]
    Link(PathBuf),
    #[error(transparent)]
    Unopened(#[from] Unopened),
}

/// What an initialised working copy was initialised with. Not in `.terraform`: that is the engine's to write, and csis writes through no link in it.
pub(crate) const INITIALISED: &str = ".csis-initialised.json";
/// Longer than any provider lock.
const LONGEST_LOCK: u64 = 1 << 20;

/// Where a root's working copy stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingCopy {
    /// The configuration root.
    pub tree: PathBuf,
    /// The folder the engine runs in; absolute when the tree's path is.
    pub directory: PathBuf,
    /// The root's folder in the generation directory.
    pub generated: PathBuf,
    /// The generation directory had a provider lock for this root.
    pub locked: bool,
}

/// The folder with the working copies; nothing is written.
pub fn private(tree: &Path, generation: &str) -> Result<PathBuf, MaterialiseError> {
    let folder = inside(generation)?;
    let mut private = tree.to_owned();
    private.extend(&folder[..folder.len() - 1]);
    private.push(PRIVATE);
    Ok(private)
}

/// The names in a path that stays inside.
fn inside(text: &str) -> Result<Vec<String>, MaterialiseError> {
    let mut parts = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            _ => return Err(MaterialiseError::Outside(text.to_owned())),
        }
    }
    if parts.is_empty() { Err(MaterialiseError::Outside(text.to_owned())) } else { Ok(parts) }
}

/// The working copy's place; nothing is written. `generation` is the generation directory relative to the tree's root, e.g. `generated`.
pub fn place(tree: &Path, generation: &str, directory: &str) -> Result<WorkingCopy, MaterialiseError> {
    let (folder, root) = (inside(generation)?, inside(directory)?);
    let mut private = private(tree, generation)?;
    private.extend(&root);
    let mut generated = tree.to_owned();
    generated.extend(&folder);
    generated.extend(&root);
    let locked = generated.join(LOCK).is_file();
    Ok(WorkingCopy { tree: tree.to_owned(), directory: private, generated, locked })
}

/// Lays the files of a root into its working copy. What an earlier emission left there goes; what the engine made stays.
///
/// `secrets` maps encrypted markers, as written, to their plaintexts.
pub fn materialise(
    tree: &Path,
    generation: &str,
    emission: &Emission,
    root: &EmittedRoot,
    secrets: &BTreeMap<String, String>,
) -> Result<WorkingCopy, MaterialiseError> {
    let copy = place(tree, generation, &root.directory)?;
    no_link(tree, &copy.directory)?;
    let base =
        copy.directory.ancestors().nth(Path::new(&root.directory).components().count()).unwrap_or(tree).to_owned();
    private_folder(&copy.directory)?;
    // Git never sees the working copies, whatever the tree's own ignore file says.
    let ignore = base.join(".gitignore");
    if !ignore.is_file()
        && let Err(error) = write(&ignore, b"*\n")
        // Several roots are laid at the same time, and each finds it missing.
        && !ignore.is_file()
    {
        return Err(error);
    }
    let prefix = format!("{}/", root.directory.trim_end_matches('/'));
    let mut laid = BTreeSet::new();
    for (path, text) in &emission.files {
        let Some(name) = path.strip_prefix(&prefix) else { continue };
        if name.split('/').any(|part| part.is_empty() || part == "..") {
            return Err(MaterialiseError::Outside(path.clone()));
        }
        let target = copy.directory.join(name);
        folders_to(&copy.directory, name)?;
        write_if_changed(&target, markers::open(name, text, secrets)?.as_bytes())?;
        laid.insert(PathBuf::from(name));
    }
    drop_stale(&copy.directory, &copy.directory, &laid)?;
    if copy.locked {
        let from = copy.generated.join(LOCK);
        let lock = fs::read(&from).map_err(|source| MaterialiseError::Io { path: from, source })?;
        write_if_changed(&copy.directory.join(LOCK), &lock)?;
    }
    Ok(copy)
}

/// Removes what an engine would take over from an earlier run, e.g. its providers: whoever ran it then may have written there.
pub(crate) fn forget_made(copy: &WorkingCopy) -> Result<(), MaterialiseError> {
    let lock = (!copy.locked).then_some(LOCK);
    for name in [".terraform", INITIALISED].into_iter().chain(lock) {
        let path = copy.directory.join(name);
        let removed = match path.symlink_metadata() {
            Err(_) => continue,
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
        };
        removed.map_err(|source| MaterialiseError::Io { path, source })?;
    }
    Ok(())
}

/// Carries the provider lock that `init` wrote back into the generation directory, where it is `owner`'s; says whether that changed anything.
pub(crate) fn carry_lock_back(copy: &WorkingCopy, owner: Option<Owner>) -> Result<bool, MaterialiseError> {
    let from = copy.directory.join(LOCK);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| MaterialiseError::Io { path, source }
    };
    let Some(lock) = read_made(&from).map_err(failed(&from))? else { return Ok(false) };
    let to = copy.generated.join(LOCK);
    no_link(&copy.tree, &to)?;
    if fs::read(&to).is_ok_and(|old| old == lock) {
        return Ok(false);
    }
    let made: Vec<&Path> = to.ancestors().take_while(|path| !path.exists()).collect();
    fs::create_dir_all(&copy.generated).map_err(failed(&copy.generated))?;
    fs::write(&to, lock).map_err(failed(&to))?;
    for path in made {
        owner.map_or(Ok(()), |owner| owner.take(path)).map_err(failed(path))?;
    }
    Ok(true)
}

/// Reads what an engine made. Its providers are hostile: a link there may lead to what only csis can read.
fn read_made(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).map_err(io::Error::other)?);
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > LONGEST_LOCK {
        return Err(io::Error::other("it is no provider lock"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_LOCK).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Refuses a path below the tree with a link in it. A tree may come from anybody, and a link in it points anywhere.
fn no_link(tree: &Path, path: &Path) -> Result<(), MaterialiseError> {
    let below = path.ancestors().take_while(|folder| *folder != tree);
    match below.filter(|p| p.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink())).last() {
        Some(link) => Err(MaterialiseError::Link(link.to_owned())),
        None => Ok(()),
    }
}

/// What the engine or csis made in a working copy, and no emission holds.
fn is_made(name: &str) -> bool {
    name == ".terraform"
        || name == LOCK
        || name == INITIALISED
        || name.starts_with("tfplan")
        || name.starts_with("terraform.tfstate")
        || name.starts_with("errored.tfstate")
        || name.ends_with(".auto.tfvars")
        || name == "unmount-receipts"
}

fn drop_stale(top: &Path, folder: &Path, laid: &BTreeSet<PathBuf>) -> Result<(), MaterialiseError> {
    let failed = |path: &Path, source| MaterialiseError::Io { path: path.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let entry = entry.map_err(|error| failed(folder, error))?;
        let path = entry.path();
        if folder == top && is_made(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let name = path.strip_prefix(top).unwrap_or(&path).to_owned();
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        if kind.is_dir() {
            if laid.iter().any(|file| file.starts_with(&name)) {
                drop_stale(top, &path, laid)?;
            } else {
                fs::remove_dir_all(&path).map_err(|error| failed(&path, error))?;
            }
        } else if !laid.contains(&name) {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// Makes the folders between a working copy and a file of it. What stands in their place is replaced: an engine may have left a link there.
fn folders_to(copy: &Path, name: &str) -> Result<(), MaterialiseError> {
    let mut folder = copy.to_owned();
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in parts {
        folder.push(part);
        if folder.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(&folder).map_err(|source| MaterialiseError::Io { path: folder.clone(), source })?;
        }
        private_folder(&folder)?;
    }
    Ok(())
}

/// Makes a folder and its missing parents for their owner alone.
pub(crate) fn private_folder(path: &Path) -> Result<(), MaterialiseError> {
    let failed = |source| MaterialiseError::Io { path: path.to_owned(), source };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        builder.mode(0o700);
        builder.create(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)
    }
    #[cfg(not(unix))]
    builder.create(path).map_err(failed)
}

/// Leaves a file alone that already says it, so that its time tells when it changed.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), MaterialiseError> {
    if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    write(path, bytes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), MaterialiseError> {
    let failed = |source| MaterialiseError::Io { path: path.to_owned(), source };
    // A link is replaced, never written through.
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path).map_err(failed)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> EmittedRoot {
        EmittedRoot {
            id: "storage/volumes".into(),
            directory: "storage/volumes/storage-generation".into(),
            backend_file: None,
            steps: Vec::new(),
        }
    }

    fn emission(files: &[(&str, &str)]) -> Emission {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Emission { files, roots: vec![root()], ..Emission::default() }
    }

    #[test]
    fn a_working_copy_has_the_depth_of_the_generated_root() {
        let tree = Path::new("/t");
        for (generation, private) in [("./generated/", "/t/_private/a/b/c"), ("out/gen", "/t/out/_private/a/b/c")] {
            let copy = place(tree, generation, "a/b/c").unwrap();
            assert_eq!(copy.directory, Path::new(private));
            assert_eq!(copy.directory.components().count(), copy.generated.components().count());
        }
        for outside in ["../x", "/etc", "."] {
            assert!(matches!(place(tree, outside, "a"), Err(MaterialiseError::Outside(_))), "{outside}");
            assert!(matches!(place(tree, "generated", outside), Err(MaterialiseError::Outside(_))), "{outside}");
        }
    }

    #[test]
    fn files_are_laid_and_stale_ones_go_while_the_engines_own_stay() {
        let tree = tempfile::tempdir().unwrap();
        let at = "storage/volumes/storage-generation";
        let first = emission(&[
            (&format!("{at}/main.tf"), "a = \"ENC[age:eA==]\"\n"),
            (&format!("{at}/old.tf"), ""),
            (&format!("{at}/files/x"), "x"),
            ("storage/run-storage.sh", ""),
        ]);
        let secrets = BTreeMap::from([("ENC[age:eA==]".to_owned(), "s\"1".to_owned())]);
        let generated = tree.path().join("generated").join(at);
        fs::create_dir_all(&generated).unwrap();
        fs::write(generated.join(LOCK), "lock").unwrap();
        let copy = materialise(tree.path(), "generated", &first, &root(), &secrets).unwrap();
        assert!(copy.locked);
        let read = |name: &str| fs::read_to_string(copy.directory.join(name)).ok();
        assert_eq!(read("main.tf").as_deref(), Some("a = \"s\\\"1\"\n"));
        assert_eq!(read(LOCK).as_deref(), Some("lock"));
        assert_eq!(fs::read_to_string(tree.path().join("_private/.gitignore")).unwrap(), "*\n");
        for made in ["tfplan", "terraform.tfstate", "i.auto.tfvars"] {
            fs::write(copy.directory.join(made), "").unwrap();
        }
        fs::create_dir(copy.directory.join(".terraform")).unwrap();
        let second = emission(&[(&format!("{at}/main.tf"), "b = 1\n")]);
        materialise(tree.path(), "generated", &second, &root(), &secrets).unwrap();
        let mut left: Vec<String> = fs::read_dir(&copy.directory)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, [".terraform", LOCK, "i.auto.tfvars", "main.tf", "terraform.tfstate", "tfplan"]);
        assert!(!generated.join("main.tf").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_working_copy_is_for_its_owner_alone_and_no_link_is_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let tree = tempfile::tempdir().unwrap();
        let victim = tree.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let at = "storage/volumes/storage-generation";
        let private = tree.path().join("_private").join(at);
        fs::create_dir_all(&private).unwrap();
        symlink(&victim, private.join("main.tf")).unwrap();
        let copy = materialise(
            tree.path(),
            "generated",
            &emission(&[(&format!("{at}/main.tf"), "x = 1\n")]),
            &root(),
            &BTreeMap::new(),
        )
        .unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        let elsewhere = tempfile::tempdir().unwrap();
        fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(elsewhere.path(), private.join("files")).unwrap();
        let files = emission(&[(&format!("{at}/main.tf"), "x = 1\n"), (&format!("{at}/files/deep/x"), "x")]);
        materialise(tree.path(), "generated", &files, &root(), &BTreeMap::new()).unwrap();
        assert_eq!(fs::read_to_string(copy.directory.join("files/deep/x")).unwrap(), "x");
        let mode_of = fs::metadata(elsewhere.path()).unwrap().permissions().mode() & 0o777;
        assert!(mode_of == 0o755 && fs::read_dir(elsewhere.path()).unwrap().next().is_none(), "{mode_of:o}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&copy.directory), mode(&copy.directory.join("main.tf"))), (0o700, 0o600));
    }

    #[cfg(unix)]
    #[test]
    fn a_working_copy_behind_a_link_is_refused_and_nothing_there_is_touched() {
        use std::os::unix::fs::symlink;
        let at = "storage/volumes/storage-generation";
        for link in ["_private", "_private/storage", "_private/storage/volumes/storage-generation"] {
            let tree = tempfile::tempdir().unwrap();
            let elsewhere = tempfile::tempdir().unwrap();
            fs::write(elsewhere.path().join("precious"), "mine").unwrap();
            let link = tree.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(elsewhere.path(), &link).unwrap();
            let files = emission(&[(&format!("{at}/main.tf"), "x = 1\n")]);
            let refused = materialise(tree.path(), "generated", &files, &root(), &BTreeMap::new());
            assert!(matches!(refused, Err(MaterialiseError::Link(ref path)) if *path == link), "{refused:?}");
            let left: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(left, ["precious"]);
        }
    }

    #[test]
    fn roots_may_be_laid_at_the_same_time() {
        for _ in 0..20 {
            let tree = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                let laid: Vec<_> = (0..4)
                    .map(|n| {
                        let at = format!("storage/b{n}/storage-generation");
                        let root = EmittedRoot { directory: at.clone(), ..root() };
                        let files = emission(&[(&format!("{at}/main.tf"), "x = 1\n")]);
                        let tree = tree.path();
                        scope.spawn(move || materialise(tree, "generated", &files, &root, &BTreeMap::new()).map(drop))
                    })
                    .collect();
                for one in laid {
                    one.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn a_lock_travels_back_only_when_it_differs() {
        let tree = tempfile::tempdir().unwrap();
        let copy = place(tree.path(), "generated", "a/b/c").unwrap();
        assert!(!carry_lock_back(&copy, None).unwrap());
        fs::create_dir_all(&copy.directory).unwrap();
        fs::write(copy.directory.join(LOCK), "new").unwrap();
        assert!(carry_lock_back(&copy, None).unwrap());
        assert!(!carry_lock_back(&copy, None).unwrap());
    }
}
