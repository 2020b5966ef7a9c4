//! The file that holds the job's identity token, kept fresh while children need it.
//!
//! A token lives minutes and the SDKs read the file whenever their session ends, at a time that csis does not choose. So the file always holds a token with
//! at least half its life.

use csis_engine::ChildUser;
use csis_github::identity::{AWS, IdToken, IdentityError, Minter};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Between two tries after one that failed.
const AGAIN: Duration = Duration::from_secs(15);
/// So many may fail in a row before one more ends the run, while its credentials still live.
const FAILURES: u32 = 2;
/// A token that says nothing sensible of its life is renewed as often as this.
const SHORTEST: Duration = Duration::from_secs(20);

/// Ends with the file when it goes.
pub struct TokenFile {
    folder: tempfile::TempDir,
    renewing: JoinHandle<IdentityError>,
}

impl TokenFile {
    /// Mints a first token and keeps renewing it. `user`: who reads the file.
    pub async fn keep(minter: Minter, temporary: &Path, user: Option<ChildUser>) -> Result<TokenFile, IdentityError> {
        let failed = |error: std::io::Error| IdentityError::Refused(format!("its file cannot be written: {error}"));
        let folder = tempfile::Builder::new().prefix("csis-identity-").tempdir_in(temporary).map_err(failed)?;
        let first = minter.mint(AWS).await?;
        let path = folder.path().join("token");
        write(&path, &first, user).map_err(failed)?;
        // Others may open what they know the name of, and lay nothing there.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).map_err(failed)?;
        let mut half = half_life(&first);
        let renewing = tokio::spawn(async move {
            let mut failures = 0;
            loop {
                tokio::time::sleep(half).await;
                let renewed = match minter.mint(AWS).await {
                    Ok(token) => write(&path, &token, user).map(|()| half_life(&token)).map_err(failed),
                    Err(error) => Err(error),
                };
                half = match renewed {
                    Ok(half) => {
                        failures = 0;
                        half
                    }
                    Err(error) if failures == FAILURES => return error,
                    // The token in the file has half its life left: there is time to try again.
                    Err(_) => {
                        failures += 1;
                        AGAIN
                    }
                };
            }
        });
        Ok(TokenFile { folder, renewing })
    }

    /// Ends when the token can no longer be kept fresh, with what was said last.
    pub async fn lost(&mut self) -> IdentityError {
        (&mut self.renewing).await.unwrap_or_else(|error| IdentityError::Refused(error.to_string()))
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

/// A reader never sees half a token: written aside, in a folder that is csis's own, and renamed.
fn write(path: &Path, token: &IdToken, user: Option<ChildUser>) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(token.expose().as_bytes())?;
    if let Some(user) = user {
        user.own(file.path())?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use csis_github::identity::Claims;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_renewal_takes_the_place_of_what_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let (path, hidden) = (folder.path().join("token"), folder.path().join("hidden"));
        std::fs::write(&hidden, "kept").unwrap();
        std::os::unix::fs::symlink(&hidden, &path).unwrap();
        let token = IdToken { token: "fresh".to_owned().into(), claims: Claims::default() };
        write(&path, &token, None).unwrap();
        assert_eq!(std::fs::read_to_string(&hidden).unwrap(), "kept", "never through a link");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "fresh");
        assert_eq!(path.symlink_metadata().unwrap().mode() & 0o777, 0o600);
    }
}
