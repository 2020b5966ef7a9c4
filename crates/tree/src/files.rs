//! Where a tree's files come from: a folder, or bytes in memory (a commit's objects).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Paths are relative to the configuration root, with `/`, without `.` and `..` segments.
pub trait Files {
    /// The files directly in a folder, or below it, in the order trees are read (by path segments). What cannot be listed is told beside.
    fn list(&self, folder: &str, recursive: bool) -> Result<Listing, FileError>;

    fn read(&self, path: &str) -> Result<File, FileError>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub files: Vec<String>,
    /// Path → why nothing is read there.
    pub problems: Vec<(String, FileError)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub bytes: Vec<u8>,
    /// 0644 or 0755, whatever the umask of the machine.
    pub mode: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("it does not exist")]
    Missing,
    #[error("it is not a folder")]
    NotAFolder,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is outside of the configuration root")]
    Outside,
    #[error("it links to a folder that it is in")]
    Cycle,
    #[error("it links to itself")]
    Loop,
    #[error("folders nest too deeply here")]
    TooDeep,
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    #[error("its name is not UTF-8 or holds a control character")]
    Name,
    #[error("{0}")]
    Unreadable(String),
}

/// A file of a tree may be so large; YAML files have a lower bound of their own.
const LARGEST: u64 = 32 << 20;
const DEEPEST: usize = 32;

/// The segments of a path that stays inside; none for an absolute path or one that leaves.
pub(crate) fn inside(path: &str) -> Option<Vec<&str>> {
    if path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
    (!segments.contains(&"..")).then_some(segments)
}

fn by_segments(files: &mut [String]) {
    files.sort_by(|a, b| a.split('/').cmp(b.split('/')));
}

/// A folder of the file system. No link that leads out of it is followed.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// `root` is resolved once, so that it may itself be a link. One that cannot be resolved has no files.
    pub fn new(root: impl AsRef<Path>) -> Self {
        let root = root.as_ref();
        Folder { root: std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()) }
    }

    /// Where a path of the tree really is.
    fn locate(&self, path: &str) -> Result<PathBuf, FileError> {
        let segments = inside(path).ok_or(FileError::Outside)?;
        let real = std::fs::canonicalize(self.root.join(segments.join("/"))).map_err(|e| told(&e))?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(FileError::Outside) }
    }

    fn walk(
        &self,
        real: &Path,
        shown: &str,
        above: &mut Vec<PathBuf>,
        recursive: bool,
        listing: &mut Listing,
    ) -> Result<(), FileError> {
        if above.len() >= DEEPEST {
            return Err(FileError::TooDeep);
        }
        above.push(real.to_owned());
        for entry in std::fs::read_dir(real).map_err(|e| told(&e))? {
            let entry = entry.map_err(|e| told(&e))?;
            let name = entry.file_name();
            let name = match name.to_str() {
                Some(name) if !name.chars().any(char::is_control) => name,
                _ => {
                    let name: String =
                        name.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
                    listing.problems.push((format!("{shown}/{name}"), FileError::Name));
                    continue;
                }
            };
            let path = format!("{shown}/{name}");
            let found = entry.file_type().map_err(|e| told(&e))?;
            let (target, kind) = if found.is_symlink() {
                let target = match self.locate(&path) {
                    Ok(target) => target,
                    Err(error) => {
                        listing.problems.push((path, error));
                        continue;
                    }
                };
                let Ok(kind) = std::fs::metadata(&target).map(|m| m.file_type()) else { continue };
                (target, kind)
            } else {
                (entry.path(), found)
            };
            if kind.is_dir() && recursive {
                let depth = above.len();
                // One that leads to what the folder lies in would bring the whole tree in a second time.
                let result = if above.iter().any(|folder| folder.starts_with(&target)) {
                    Err(FileError::Cycle)
                } else {
                    self.walk(&target, &path, above, true, listing)
                };
                if let Err(error) = result {
                    above.truncate(depth);
                    listing.problems.push((path, error));
                }
            } else if kind.is_file() {
                listing.files.push(path);
            } else if crate::document::is_yaml(&path) {
                listing.problems.push((path, FileError::NotAFile));
            }
        }
        above.pop();
        Ok(())
    }
}

impl Files for Folder {
    fn list(&self, folder: &str, recursive: bool) -> Result<Listing, FileError> {
        let real = self.locate(folder)?;
        if !real.is_dir() {
            return Err(FileError::NotAFolder);
        }
        let mut listing = Listing::default();
        self.walk(&real, folder, &mut Vec::new(), recursive, &mut listing)?;
        by_segments(&mut listing.files);
        listing.problems.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(listing)
    }

    fn read(&self, path: &str) -> Result<File, FileError> {
        let real = self.locate(path)?;
        let about = std::fs::metadata(&real).map_err(|e| told(&e))?;
        if !about.is_file() {
            return Err(FileError::NotAFile);
        }
        if about.len() > LARGEST {
            return Err(FileError::TooLarge);
        }
        let bytes = std::fs::read(&real).map_err(|e| told(&e))?;
        Ok(File { bytes, mode: mode(&about) })
    }
}

#[cfg(unix)]
fn mode(about: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    if about.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 }
}

#[cfg(not(unix))]
fn mode(_: &std::fs::Metadata) -> u32 {
    0o644
}

fn told(error: &std::io::Error) -> FileError {
    match error.kind() {
        std::io::ErrorKind::NotFound => FileError::Missing,
        std::io::ErrorKind::NotADirectory => FileError::NotAFolder,
        std::io::ErrorKind::PermissionDenied => FileError::Unreadable("permission denied".into()),
        _ if error.raw_os_error() == Some(40) => FileError::Loop,
        _ => FileError::Unreadable(error.kind().to_string()),
    }
}

/// Files in memory, such as the objects of a commit. A folder exists when a file is below it or it was named with [`Memory::folder`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    files: BTreeMap<String, File>,
    folders: BTreeSet<String>,
}

impl Memory {
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        files.into_iter().fold(Memory::default(), |mut memory, (path, bytes)| {
            memory.insert(path, bytes, 0o644);
            memory
        })
    }

    pub fn insert(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>, mode: u32) {
        self.files
            .insert(path.into(), File { bytes: bytes.into(), mode: if mode & 0o111 == 0 { 0o644 } else { 0o755 } });
    }

    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// Makes an empty folder exist.
    pub fn folder(&mut self, path: impl Into<String>) {
        self.folders.insert(path.into());
    }
}

impl Files for Memory {
    fn list(&self, folder: &str, recursive: bool) -> Result<Listing, FileError> {
        let below = format!("{folder}/");
        let mut files: Vec<String> = self
            .files
            .range(below.clone()..)
            .map(|(path, _)| path.clone())
            .take_while(|path| path.starts_with(&below))
            .collect();
        if files.is_empty() && !self.folders.contains(folder) {
            return Err(FileError::Missing);
        }
        files.retain(|path| recursive || !path[below.len()..].contains('/'));
        by_segments(&mut files);
        Ok(Listing { files, problems: Vec::new() })
    }

    fn read(&self, path: &str) -> Result<File, FileError> {
        let path = inside(path).ok_or(FileError::Outside)?.join("/");
        self.files.get(&path).cloned().ok_or(FileError::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_of_their_segments() {
        let memory =
            Memory::new(["s/b.yaml", "s/a/z.yaml", "s/a.yaml", "t/x.yaml"].map(|p| (p.to_owned(), Vec::new())));
        let listed = |recursive| memory.list("s", recursive).map(|l| l.files);
        assert_eq!(listed(true), Ok(vec!["s/a/z.yaml".into(), "s/a.yaml".into(), "s/b.yaml".into()]));
        assert_eq!(listed(false), Ok(vec!["s/a.yaml".into(), "s/b.yaml".into()]));
        assert_eq!(memory.list("none", true), Err(FileError::Missing));
        assert_eq!(memory.read("../s/a.yaml"), Err(FileError::Outside));
    }

    #[test]
    fn that_a_file_cannot_be_read_is_said_once() {
        let error = told(&std::io::ErrorKind::PermissionDenied.into());
        let said = crate::document::unreadable("s/a.yaml", &error).message;
        assert_eq!(said, "`s/a.yaml` cannot be read: permission denied");
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_or_go_round_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("tree");
        std::fs::create_dir_all(root.join("s/sub")).expect("folders");
        std::fs::write(dir.path().join("secret.yaml"), "x").expect("a file");
        std::fs::write(root.join("s/sub/a.yaml"), "x").expect("a file");
        symlink(dir.path().join("secret.yaml"), root.join("s/out.yaml")).expect("a link");
        symlink("sub/a.yaml", root.join("s/in.yaml")).expect("a link");
        symlink("..", root.join("s/sub/up")).expect("a link");
        symlink("loop.yaml", root.join("s/loop.yaml")).expect("a link");
        symlink("gone", root.join("s/gone.yaml")).expect("a link");
        let folder = Folder::new(&root);
        let listing = folder.list("s", true).expect("a listing");
        assert_eq!(listing.files, ["s/in.yaml", "s/sub/a.yaml"]);
        let problems: Vec<_> = listing.problems.iter().map(|(p, e)| (p.as_str(), e.clone())).collect();
        let expected = [
            ("s/gone.yaml", FileError::Missing),
            ("s/loop.yaml", FileError::Loop),
            ("s/out.yaml", FileError::Outside),
            ("s/sub/up", FileError::Cycle),
        ];
        assert_eq!(problems, expected);
        assert_eq!(folder.read("s/out.yaml"), Err(FileError::Outside));
        assert_eq!(folder.read("s"), Err(FileError::NotAFile));
        assert_eq!(folder.read("/etc/passwd"), Err(FileError::Outside));
        assert!(folder.read("s/in.yaml").is_ok_and(|f| f.mode == 0o644));
    }
}
