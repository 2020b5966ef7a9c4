//! The files that modifications name: read once, so that nothing after this needs the file system.

use crate::files::{FileError, Files, inside};
use crate::secrets::is_marker;
use crate::words::quote;
use csis_kinds::registry::{self, Registered};
use csis_values::tree::{Image, TreeFile};
use csis_values::{Class, Diagnostic, Diagnostics, Node, Place, Value, sha256};
use std::collections::{BTreeMap, HashMap};

/// Reads them and writes their paths in the images' fields in the one form that the map's keys have.
pub(crate) fn read(files: &dyn Files, images: &mut [Image], found: &mut Diagnostics) -> BTreeMap<String, TreeFile> {
    let mut read: BTreeMap<String, TreeFile> = BTreeMap::new();
    let mut failed: HashMap<String, FileError> = HashMap::new();
    for image in images {
        for item in &mut image.modifications {
            let Some(Registered::Modification(kind)) = registry::find(Class::ModBuilder, &item.kind) else { continue };
            for path in kind.files(&item.fields) {
                if is_marker(&path) {
                    continue;
                }
                let what = format!("image {}, modification {}", quote(&image.name.written), quote(&item.name.written));
                let Some(plain) = inside(&path).map(|segments| segments.join("/")) else {
                    found.push(refuse(&what, &path.value, &path.at, &FileError::Outside));
                    continue;
                };
                if plain != path.value {
                    for node in item.fields.values.values_mut() {
                        rewrite(node, &path.at, &plain);
                    }
                }
                if read.contains_key(&plain) {
                    continue;
                }
                let result = failed.get(&plain).cloned().map_or_else(|| files.read(&plain), Err);
                match result {
                    Ok(file) => {
                        let sha256 = sha256(&file.bytes);
                        read.insert(plain, TreeFile { mode: file.mode, bytes: file.bytes, sha256 });
                    }
                    Err(error) => {
                        found.push(refuse(&what, &path.value, &path.at, &error));
                        failed.insert(plain, error);
                    }
                }
            }
        }
    }
    read
}

fn refuse(what: &str, path: &str, at: &Place, error: &FileError) -> Diagnostic {
    let (code, help) = match error {
        FileError::Outside => ("file-outside", "copy the file into the tree, and name it by its path from the root"),
        FileError::Missing => ("file-missing", "create the file, or correct its path; paths begin at the tree's root"),
        _ => ("file-unreadable", "make it a readable file"),
    };
    Diagnostic::error(code, format!("{what}: the file {} cannot be read: {error}", quote(path))).at(at).help(help)
}

fn rewrite(node: &mut Node, at: &Place, plain: &str) {
    if node.at == *at
        && let Value::Text(text) = &mut node.value
    {
        plain.clone_into(text);
        return;
    }
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| rewrite(item, at, plain)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| rewrite(&mut entry.value, at, plain)),
        _ => {}
    }
}
