//! Changed records on disk: each file whole or not at all.

use crate::FOLDER;
use crate::documents::{Documents, parsed};
use std::io::{self, Write};
use std::path::Path;

/// Why records were not written. Files before the one that failed are written, each whole.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the record `{FOLDER}/{file}` is not written: it would hold what has the shape of a secret")]
    Secret { file: String },
    /// A fault of csis: better no record than one that reads otherwise.
    #[error("the record `{FOLDER}/{file}` is not written: it would not read back as it is")]
    Unfaithful { file: String },
    #[error("the record `{FOLDER}/{file}` cannot be written: {source}")]
    Io { file: String, source: io::Error },
}

/// Writes the files that events changed below a configuration root; returns their names.
///
/// `is_secret` judges a file's whole text. Nothing is written when any file is refused.
pub fn write(
    root: &Path,
    documents: &Documents<'_>,
    is_secret: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, WriteError> {
    let changed: Vec<(&str, String)> = documents.changed().collect();
    for (name, text) in &changed {
        let file = || (*name).to_owned();
        if is_secret(text) {
            return Err(WriteError::Secret { file: file() });
        }
        if parsed(name, text.as_bytes()).ok().map(|value| crate::print::document(&value)).as_ref() != Some(text) {
            return Err(WriteError::Unfaithful { file: file() });
        }
    }
    let folder = root.join(FOLDER);
    for (name, text) in &changed {
        put(&folder, name, text).map_err(|source| WriteError::Io { file: (*name).to_owned(), source })?;
    }
    Ok(changed.into_iter().map(|(name, _)| name.to_owned()).collect())
}

/// Writes one file whole or not at all, in a folder that is made when it is not there.
///
/// A tree may come from anybody, and a link in it leads anywhere: what is written goes into a real folder and over a real file.
pub fn put(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    match folder.symlink_metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(io::Error::other("a link or a file stands where its folder belongs"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::create_dir(folder)?,
        Err(error) => return Err(error),
    }
    let path = folder.join(name);
    let permissions = match path.symlink_metadata() {
        Ok(found) if !found.is_file() => return Err(io::Error::other("what stands there is no file")),
        Ok(found) => Some(found.permissions()),
        Err(_) => None,
    };
    let mut beside = tempfile::Builder::new().prefix(".csis-").permissions(readable()).tempfile_in(folder)?;
    beside.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    beside.as_file().sync_all()?;
    beside.persist(&path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

/// As any file of a repository; the user's mask takes away what it takes from those.
fn readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
