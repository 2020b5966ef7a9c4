//! Where record files come from.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// A source of record files.
pub trait Files {
    /// The bytes of a file of the records' folder by its name (`pins.yaml`); none when there is no such file.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
}

/// Files of a folder on disk: the records' folder itself.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        match std::fs::metadata(&path) {
            // Reading a pipe or a device would not end.
            Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is not a file")),
            Ok(_) => std::fs::read(path).map(Some),
            // A link that leads nowhere is no missing record.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Files at hand, by name: those of a git tree, or of a test.
impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.get(name).cloned())
    }
}
