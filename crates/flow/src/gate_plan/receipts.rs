//! The receipts of unmounts, as they lie beside the plan.

use csis_engine::Redactor;
use csis_gate::Filed;
use csis_values::Diagnostic;
use csis_values::sanction::Receipt;
use std::io::{self, Read};
use std::path::Path;

const FOLDER: &str = "unmount-receipts";
/// A receipt holds at most some output of the machine.
const LARGEST: u64 = 1 << 20;

/// Reads `INSTANCE:STORAGE`. Both become part of a file name.
pub fn pair(text: &str) -> Result<(String, String), Box<Diagnostic>> {
    let usable = |name: &str| !name.is_empty() && !name.contains(['/', '\\', '\0']);
    match text.split_once(':') {
        Some((instance, storage)) if usable(instance) && usable(storage) => {
            Ok((instance.to_owned(), storage.to_owned()))
        }
        _ => Err(Box::new(
            Diagnostic::error(
                "usage",
                format!("--require-unmounted {}: this is no INSTANCE:STORAGE", super::plain(text)),
            )
            .help("name the machine and the storage, as in `--require-unmounted api-1:data`"),
        )),
    }
}

/// The receipt filed for a pair; none when there is no file.
pub fn read(directory: &Path, instance: &str, storage: &str, redactor: &Redactor) -> Option<Filed> {
    let path = format!("{FOLDER}/{instance}__{storage}.json");
    let content = match text(&directory.join(&path)) {
        Ok(text) => {
            serde_json::from_str::<Receipt>(&text).map_err(|error| redactor.text(&super::plain(&error.to_string())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(crate::outcome::why(&error)),
    };
    Some(Filed { instance: instance.to_owned(), storage: storage.to_owned(), path, content })
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if read as u64 > LARGEST { Err(io::Error::other("it is larger than 1 MiB")) } else { Ok(text) }
}
