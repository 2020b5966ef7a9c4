//! Whose the files of a run are: the working copies are lent to the user that children run as, and everything that stays in the workspace goes back to the
//! tree's owner.
//!
//! csis is root then, and a child is hostile: nothing here follows a link, and paths are resolved from open folders, which nobody can exchange on the way.

use crate::materialise::WorkingCopy;
use crate::user::{ChildUser, UserError};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// Deeper than anything an engine lays down.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    pub fn of(path: &Path) -> io::Result<Owner> {
        let meta = path.symlink_metadata()?;
        Ok(Owner { uid: meta.uid(), gid: meta.gid() })
    }

    /// Takes one thing that csis made.
    pub fn take(self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Takes what csis made in a folder of this owner's; as root, for others make what they are.
    pub fn take_all(self, folder: &Path) -> io::Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        give(folder, &|uid| uid == 0, self)
    }
}

impl From<ChildUser> for Owner {
    fn from(user: ChildUser) -> Owner {
        Owner { uid: user.uid, gid: user.gid }
    }
}

/// The working copies of a run.
#[derive(Debug)]
pub struct Workspace {
    /// The folder that holds them.
    private: PathBuf,
    owner: Owner,
    user: Option<ChildUser>,
}

impl Workspace {
    /// None when csis is not root: then everything is its own, and stays so.
    pub fn open(tree: &Path, private: PathBuf, user: Option<ChildUser>) -> Result<Option<Workspace>, UserError> {
        if let Some(user) = user {
            user.check()?;
            user.reads(tree)?;
        }
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let Ok(owner) = Owner::of(&tree.canonicalize().unwrap_or_else(|_| tree.to_owned())) else { return Ok(None) };
        let workspace = Workspace { private, owner, user };
        // A run that was killed gave nothing back: a child of this one must not reach into what csis is about to lay.
        workspace.give_back(&workspace.private).map_err(|source| workspace.handing(&workspace.private, source))?;
        Ok(Some(workspace))
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }

    fn handing(&self, path: &Path, source: io::Error) -> UserError {
        UserError::Handing { path: path.to_owned(), uid: self.user.map_or(self.owner.uid, |user| user.uid), source }
    }

    /// The folders above a working copy, which csis keeps: a child that owned them could exchange what lies below.
    fn above<'c>(&self, copy: &'c WorkingCopy) -> impl Iterator<Item = &'c Path> {
        let inside = copy.directory.strip_prefix(&self.private).map_or(0, |below| below.components().count());
        copy.directory.ancestors().skip(1).take(inside)
    }

    /// A working copy is the children's until what is returned goes.
    pub fn lend<'w>(&'w self, copy: &'w WorkingCopy) -> Result<Option<Lent<'w>>, UserError> {
        let Some(user) = self.user else { return Ok(None) };
        let lent = Lent { workspace: self, copy, user };
        for folder in self.above(copy) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
                .map_err(|source| self.handing(folder, source))?;
        }
        lent.hand()?;
        Ok(Some(lent))
    }

    fn give_back(&self, path: &Path) -> io::Result<()> {
        let from = [Some(rustix::process::geteuid().as_raw()), self.user.map(|user| user.uid)];
        give(path, &|uid| from.contains(&Some(uid)), self.owner)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Nobody is left to be told of a failure, and what is not given back is still closed to others.
        let _ = self.give_back(&self.private);
        if self.user.is_some() {
            close(&self.private, 0);
        }
    }
}

/// The folders on the way to the working copies are for their owner alone again.
fn close(folder: &Path, depth: usize) {
    let is_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if !is_folder || depth > DEEPEST || folder.metadata().is_ok_and(|meta| meta.mode() & 0o777 != 0o711) {
        return;
    }
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        close(&entry.path(), depth + 1);
    }
}

/// A working copy in the hands of the children.
pub struct Lent<'w> {
    workspace: &'w Workspace,
    copy: &'w WorkingCopy,
    user: ChildUser,
}

impl Lent<'_> {
    /// Hands over what csis has laid.
    fn hand(&self) -> Result<(), UserError> {
        let path = &self.copy.directory;
        give(path, &|uid| uid != self.user.uid, self.user.into()).map_err(|source| self.workspace.handing(path, source))
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let _ = self.workspace.give_back(&self.copy.directory);
        // Whatever the children made of it.
        let _ = fs::set_permissions(&self.copy.directory, fs::Permissions::from_mode(0o700));
    }
}

/// Gives a folder, and what is below it, to `to`: what is of those that `from` names. A file with a second name stays, for that name may be anywhere.
fn give(path: &Path, from: &dyn Fn(u32) -> bool, to: Owner) -> io::Result<()> {
    let opened = match rustix::fs::open(path, FOLDER, Mode::empty()) {
        Ok(opened) => opened,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    give_folder(&opened, from, to, 0)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn give_folder(folder: &OwnedFd, from: &dyn Fn(u32) -> bool, to: Owner, depth: usize) -> io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(to.uid)), Some(Gid::from_raw(to.gid)));
    if depth > DEEPEST {
        return Err(io::Error::other("its folders are too deep"));
    }
    if from(rustix::fs::fstat(folder)?.st_uid) {
        rustix::fs::fchown(folder, uid, gid)?;
    }
    // One that cannot be given keeps no other from it.
    let mut result = Ok(());
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        // A running engine removes its own files.
        let Ok(meta) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if FileType::from_raw_mode(meta.st_mode) == FileType::Directory {
            if let Ok(below) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                result = result.and(give_folder(&below, from, to, depth + 1));
            }
        } else if from(meta.st_uid) && meta.st_nlink == 1 {
            result = result.and(give_file(folder, name, from, to));
        }
    }
    result
}

/// What is judged is what is given, whatever stands under the name meanwhile.
#[cfg(target_os = "linux")]
fn give_file(folder: &OwnedFd, name: &CStr, from: &dyn Fn(u32) -> bool, to: Owner) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return Ok(()) };
    let meta = rustix::fs::fstat(&file)?;
    if from(meta.st_uid) && meta.st_nlink == 1 {
        let (uid, gid) = (Some(Uid::from_raw(to.uid)), Some(Gid::from_raw(to.gid)));
        rustix::fs::chownat(&file, c"", uid, gid, AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn give_file(folder: &OwnedFd, name: &CStr, _: &dyn Fn(u32) -> bool, to: Owner) -> io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(to.uid)), Some(Gid::from_raw(to.gid)));
    Ok(rustix::fs::chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn root() -> bool {
        rustix::process::geteuid().is_root()
    }

    fn uid(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().uid()
    }

    #[test]
    fn a_folder_is_given_without_what_its_links_lead_to() {
        if !root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (given, outside) = (folder.path().join("given"), folder.path().join("outside"));
        fs::create_dir_all(given.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        for file in [given.join("a/b/file"), outside.join("precious"), given.join("once")] {
            fs::write(file, "").unwrap();
        }
        fs::hard_link(outside.join("precious"), given.join("second-name")).unwrap();
        symlink(&outside, given.join("link")).unwrap();
        symlink(outside.join("precious"), given.join("a/link")).unwrap();
        let to = Owner { uid: 4321, gid: 4322 };
        give(&given, &|uid| uid == 0, to).unwrap();
        for mine in [given.clone(), given.join("a/b/file"), given.join("link"), given.join("a/link")] {
            assert_eq!(Owner::of(&mine).unwrap(), to, "{}", mine.display());
        }
        assert_eq!((uid(&outside), uid(&outside.join("precious"))), (0, 0));
        give(&given, &|uid| uid == 77, Owner { uid: 1, gid: 1 }).unwrap();
        assert_eq!(uid(&given.join("once")), 4321);
        assert!(give(&given.join("link"), &|_| true, to).is_err(), "a link is no folder");
    }

    #[test]
    fn what_is_lent_comes_back_to_the_owner_of_the_tree() {
        if !root() {
            return;
        }
        let tree = tempfile::tempdir().unwrap();
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let keeper = Owner { uid: 4001, gid: 4002 };
        keeper.take(tree.path()).unwrap();
        let copy = crate::materialise::place(tree.path(), "generated", "a/b/c").unwrap();
        crate::materialise::private_folder(&copy.directory).unwrap();
        fs::write(copy.directory.join("main.tf"), "").unwrap();
        let private = tree.path().join("_private");
        let user = ChildUser { uid: 4003, gid: 4004 };
        let workspace = Workspace::open(tree.path(), private.clone(), Some(user)).unwrap().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        {
            let lent = workspace.lend(&copy).unwrap().unwrap();
            assert_eq!((uid(&copy.directory), uid(&copy.directory.join("main.tf"))), (4003, 4003));
            assert_eq!(
                (uid(&private.join("a/b")), mode(&private.join("a/b")), mode(&copy.directory)),
                (4001, 0o711, 0o700)
            );
            fs::write(copy.directory.join("later"), "").unwrap();
            lent.hand().unwrap();
            assert_eq!(uid(&copy.directory.join("later")), 4003);
        }
        assert_eq!((uid(&copy.directory), uid(&copy.directory.join("later"))), (4001, 4001));
        drop(workspace);
        // A run that was killed gave nothing back.
        give(&private, &|_| true, user.into()).unwrap();
        drop(Workspace::open(tree.path(), private.clone(), Some(user)).unwrap());
        for folder in [&private, &private.join("a"), &private.join("a/b"), &copy.directory] {
            assert_eq!((Owner::of(folder).unwrap(), mode(folder)), (keeper, 0o700), "{}", folder.display());
        }
    }
}
