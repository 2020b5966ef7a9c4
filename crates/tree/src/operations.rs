//! `operations/`: what a landing does once, one file each.

use crate::arena::Table;
use crate::collections::is_free;
use crate::document::{is_yaml, unreadable};
use crate::files::{FileError, Files};
use crate::models::{FORGET, UPGRADE};
use crate::read::Reader;
use crate::words::quote;
use crate::yaml;
use csis_values::fields::Fields;
use csis_values::node::Entry;
use csis_values::tree::Operation;
use csis_values::{Diagnostic, Place, Spanned};
use std::collections::BTreeMap;
use std::sync::Arc;

const FOLDER: &str = "operations";
const KNOWN: &str = "`upgrade:` or `forget:`";

/// A tree without the folder asks for nothing.
pub(crate) fn read(files: &dyn Files, reader: &mut Reader<'_>) -> BTreeMap<String, Operation> {
    let mut operations = BTreeMap::new();
    let listing = match files.list(FOLDER, true) {
        Ok(listing) => listing,
        Err(FileError::Missing) => return operations,
        Err(error) => {
            reader.found.push(unreadable(FOLDER, &error));
            return operations;
        }
    };
    for (path, error) in &listing.problems {
        reader.found.push(unreadable(path, error));
    }
    for path in listing.files.iter().filter(|path| is_yaml(path)) {
        let file = match files.read(path) {
            Ok(file) => file,
            Err(error) => {
                reader.found.push(unreadable(path, &error));
                continue;
            }
        };
        let Some(node) = yaml::parse(&Arc::from(path.as_str()), &file.bytes, reader.found) else { continue };
        let entries: Vec<&Entry> = node.map().unwrap_or_default().iter().filter(|e| !is_free(&e.key)).collect();
        let read = match entries.as_slice() {
            [entry] if entry.key == "upgrade" => upgrade(path, entry, reader),
            [entry] if entry.key == "forget" => forget(path, entry, reader),
            others => {
                let at = others.iter().find(|e| e.key != "upgrade" && e.key != "forget").or(others.last());
                let message = format!("{} holds no single operation", quote(path));
                let help = format!("write one mapping under {KNOWN}; a second operation has a file of its own");
                reader
                    .found
                    .push(Diagnostic::error("operation", message).at(at.map_or(&node.at, |e| &e.at)).help(help));
                None
            }
        };
        if let Some(operation) = read {
            operations.insert(path.clone(), operation);
        }
    }
    operations
}

fn fields(path: &str, entry: &Entry, table: Table, reader: &mut Reader<'_>) -> Option<Fields> {
    let what = format!("operation {}", quote(path));
    if entry.value.map().is_none() {
        let message = format!("{what}: `{}` is {} where a mapping belongs", entry.key, entry.value.describe());
        let names: Vec<&str> = table.fields().map(|field| field.name).collect();
        let help = format!("write its fields below `{}:`; they are {}", entry.key, names.join(", "));
        reader.found.push(Diagnostic::error("wrong-type", message).at(&entry.value.at).help(help));
        return None;
    }
    Some(reader.entry(&what, &entry.value, table, &[]))
}

fn upgrade(path: &str, entry: &Entry, reader: &mut Reader<'_>) -> Option<Operation> {
    let fields = fields(path, entry, Table::new(UPGRADE), reader)?;
    let to = fields.spanned("to")?;
    match (fields.spanned("instance"), fields.spanned("image")) {
        (Some(instance), None) => {
            if let Some(runtime) = fields.spanned("runtime") {
                let message = format!("operation {}: an instance has one runtime, and names none here", quote(path));
                reader.found.push(refused(message, &runtime.at, "remove `runtime`"));
            }
            Some(Operation::UpgradeInstance { instance, to })
        }
        (None, Some(image)) => Some(Operation::UpgradeImage { image, runtime: fields.spanned("runtime"), to }),
        _ => {
            let message = format!("operation {}: `upgrade` moves one instance or one image", quote(path));
            reader.found.push(refused(message, &entry.at, "name one of them, as `instance:` or as `image:`"));
            None
        }
    }
}

fn forget(path: &str, entry: &Entry, reader: &mut Reader<'_>) -> Option<Operation> {
    let instance: Spanned<String> = fields(path, entry, Table::new(FORGET), reader)?.spanned("instance")?;
    Some(Operation::ForgetInstance { instance })
}

fn refused(message: String, at: &Place, help: &str) -> Diagnostic {
    Diagnostic::error("operation", message).at(at).help(help)
}
