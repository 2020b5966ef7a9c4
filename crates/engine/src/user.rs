//! Running children as another user, who can read neither the environment nor the memory of csis.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

/// As whom children run. It should own nothing of the tree: what it owns, a child may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUser {
    pub uid: u32,
    pub gid: u32,
}

/// Why children cannot run as another user.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("engines are to run as user {0}, and only root may start them so")]
    NotRoot(u32),
    #[error("engines are to run as another user than csis, and user 0 is nobody else")]
    Root,
    #[error("{path} cannot be read by user {uid}, as whom engines run", path = path.display())]
    Closed { path: PathBuf, uid: u32 },
    #[error("{path} could not be handed to user {uid}, as whom engines run: {source}", path = path.display())]
    Handing { path: PathBuf, uid: u32, source: io::Error },
}

impl UserError {
    pub fn help(&self) -> String {
        match self {
            UserError::NotRoot(_) => "run csis as root, or let engines run as csis itself".into(),
            UserError::Root => "name a user other than root".into(),
            UserError::Closed { path, .. } => {
                format!("let others read it and enter the folders above it, e.g. `chmod -R o+rX {}`", path.display())
            }
            UserError::Handing { .. } => "see that the folder is on a file system that knows owners".into(),
        }
    }
}

const READ: u32 = 4;
const ENTER: u32 = 1;

impl ChildUser {
    /// Whether csis may start children as this user, and it is another.
    pub fn check(self) -> Result<(), UserError> {
        if self.uid == 0 {
            return Err(UserError::Root);
        }
        if rustix::process::geteuid().is_root() { Ok(()) } else { Err(UserError::NotRoot(self.uid)) }
    }

    /// Makes a file or an empty folder this user's own, e.g. a web identity that was written anew. A link is not followed.
    pub fn own(self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Whether this user can read a file, or list a folder, and enter all that is above it. By owner, group and mode alone: what an access list grants beyond
    /// them is not seen. What is not there is not judged.
    pub fn reads(self, path: &Path) -> Result<(), UserError> {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        let closed = |path: &Path| UserError::Closed { path: path.to_owned(), uid: self.uid };
        let mut above: Vec<&Path> = real.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            if folder.metadata().is_ok_and(|meta| !self.may(&meta, ENTER)) {
                return Err(closed(folder));
            }
        }
        let want = if real.is_dir() { READ | ENTER } else { READ };
        if real.metadata().is_ok_and(|meta| !self.may(&meta, want)) { Err(closed(path)) } else { Ok(()) }
    }

    /// The calling thread acts as this user from now on. Its real user stays root, so that no child may trace it.
    #[cfg(target_os = "linux")]
    fn put_on(self) -> io::Result<()> {
        use rustix::process::{Gid, Uid};
        use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
        set_thread_groups(&[])?;
        set_thread_res_gid(None::<Gid>, Some(Gid::from_raw(self.gid)), None::<Gid>)?;
        set_thread_res_uid(None::<Uid>, Some(Uid::from_raw(self.uid)), None::<Uid>)?;
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn put_on(self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "children run as another user on Linux alone"))
    }

    fn may(self, meta: &Metadata, want: u32) -> bool {
        let shift = match () {
            () if meta.uid() == self.uid => 6,
            () if meta.gid() == self.gid => 3,
            () => 0,
        };
        (meta.mode() >> shift) & want == want
    }
}

/// Does something with the rights of a user, or with csis's own when there is none. What a child has made may lead anywhere, and is read and written as the
/// child itself could.
pub(crate) fn acting<T: Send>(user: Option<ChildUser>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let Some(user) = user else { return work() };
    std::thread::scope(|scope| {
        // A thread has rights of its own, and this one ends with the work.
        let acting = std::thread::Builder::new().spawn_scoped(scope, || {
            user.put_on()?;
            work()
        })?;
        acting.join().unwrap_or_else(|_| Err(io::Error::other("the work on it broke off")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_user_cannot_reach_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tree/main.tf");
        fs::create_dir(folder.path().join("tree")).unwrap();
        fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let other = ChildUser { uid: 54321, gid: 54321 };
        let closed = || match other.reads(&file) {
            Err(UserError::Closed { path, .. }) => Some(path),
            _ => None,
        };
        let real = folder.path().canonicalize().unwrap();
        mode(&file, 0o644);
        mode(folder.path(), 0o700);
        assert_eq!(closed(), Some(real.clone()));
        mode(folder.path(), 0o711);
        mode(&real.join("tree"), 0o750);
        assert_eq!(closed(), Some(real.join("tree")));
        mode(&real.join("tree"), 0o755);
        assert_eq!(closed(), None);
        mode(&file, 0o640);
        assert_eq!(closed(), Some(file.clone()));
        let own = fs::metadata(&file).unwrap();
        ChildUser { uid: own.uid(), gid: 1 }.reads(&file).unwrap();
        ChildUser { uid: 54321, gid: own.gid() }.reads(&file).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn acting_as_a_user_is_all_that_it_may_and_leaves_csis_root() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let (hidden, made) = (folder.path().join("hidden"), folder.path().join("made"));
        fs::write(&hidden, "for root").unwrap();
        fs::set_permissions(&hidden, Permissions::from_mode(0o640)).unwrap();
        let user = ChildUser { uid: 54321, gid: 54322 };
        let refused = acting(Some(user), || fs::read(&hidden)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        for own in ["environ", "mem"] {
            let refused = acting(Some(user), || fs::File::open(format!("/proc/self/{own}"))).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{own}");
        }
        acting(Some(user), || fs::write(&made, "")).unwrap();
        let made = fs::metadata(&made).unwrap();
        assert_eq!((made.uid(), made.gid()), (54321, 54322));
        assert_eq!(acting(None, || fs::read(&hidden)).unwrap(), b"for root");
    }

    #[test]
    fn root_is_nobody_else() {
        assert!(matches!(ChildUser { uid: 0, gid: 0 }.check(), Err(UserError::Root)));
    }
}
