//! The file that holds the job's identity token, kept fresh while children need it.
//!
//! A token lives minutes and the SDKs read the file whenever their session ends, at a time that csis does not choose. So the file always holds a token with
//! at least half its life.

use csis_engine::ChildUser;
use csis_github::identity::{AWS, IdToken, IdentityError, Minter};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Between two tries after one that failed.
const AGAIN: Duration = Duration::from_secs(15);
/// A token that says nothing sensible of its life is renewed as often as this.
const SHORTEST: Duration = Duration::from_secs(20);

/// Ends with the file when it goes.
pub struct TokenFile {
    folder: tempfile::TempDir,
    renewing: JoinHandle<()>,
}

impl TokenFile {
    /// Mints a first token and keeps renewing it. `user`: who reads the file.
    pub async fn keep(minter: Minter, temporary: &Path, user: Option<ChildUser>) -> Result<TokenFile, IdentityError> {
        let failed = |error: std::io::Error| IdentityError::Refused(format!("its file cannot be written: {error}"));
        let folder = tempfile::Builder::new().prefix("csis-identity-").tempdir_in(temporary).map_err(failed)?;
        let first = minter.mint(AWS).await?;
        let path = folder.path().join("token");
        write(&path, &first, user).map_err(failed)?;
        enterable(folder.path()).map_err(failed)?;
        let mut half = half_life(&first);
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(half).await;
                half = match minter.mint(AWS).await {
                    Ok(token) if write(&path, &token, user).is_ok() => half_life(&token),
                    // The token in the file has half its life left: there is time to try again.
                    _ => AGAIN,
                };
            }
        });
        Ok(TokenFile { folder, renewing })
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("token")
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Measured from the token itself: what a token is good for is said nowhere else.
fn half_life(token: &IdToken) -> Duration {
    let life = token.claims.exp.saturating_sub(token.claims.iat);
    Duration::from_secs(u64::try_from(life / 2).unwrap_or(0)).max(SHORTEST)
}

/// A reader never sees half a token: written aside and renamed.
fn write(path: &Path, token: &IdToken, user: Option<ChildUser>) -> std::io::Result<()> {
    let aside = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    // The folder is csis's own, so nobody else lays anything there; a leftover of a write that failed is taken away, never written through.
    if aside.symlink_metadata().is_ok() {
        std::fs::remove_file(&aside)?;
    }
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(&aside)?;
    file.write_all(token.expose().as_bytes())?;
    drop(file);
    own(&aside, user)?;
    std::fs::rename(&aside, path)
}

/// Others may open what they know the name of, and lay nothing there.
#[cfg(unix)]
fn enterable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711))
}

#[cfg(not(unix))]
fn enterable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn own(path: &Path, user: Option<ChildUser>) -> std::io::Result<()> {
    match user {
        Some(user) => std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn own(_: &Path, _: Option<ChildUser>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use csis_github::identity::Claims;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_renewal_is_never_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, hidden) = (folder.path().join("token"), folder.path().join("hidden"));
        std::fs::write(&hidden, "kept").unwrap();
        symlink(&hidden, path.with_extension("new")).unwrap();
        let token = IdToken { token: "fresh".to_owned().into(), claims: Claims::default() };
        write(&path, &token, None).unwrap();
        assert_eq!(std::fs::read_to_string(&hidden).unwrap(), "kept");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "fresh");
        assert_eq!(path.symlink_metadata().unwrap().mode() & 0o777, 0o600);
    }
}
