//! The files of an emission by path; a name that would leave its folder, or two things in one file, are refused.

use crate::refusal;
use csis_kinds::registry;
use csis_values::intent::Root;
use csis_values::place::Place;
use csis_values::tree::Tree;
use csis_values::{Class, Diagnostics};
use hcl::{Attribute, Body, Identifier};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Default)]
pub(crate) struct Files {
    files: BTreeMap<String, String>,
}

impl Files {
    /// A folder of the emission, unless one of its names is no folder name.
    pub(crate) fn directory(names: &[&str], at: &Place, found: &mut Diagnostics) -> Option<String> {
        for name in names {
            if !is_file_name(name) {
                found.push(
                    refusal("unusable-name", format!("`{name}` cannot be the name of a folder"))
                        .at(at)
                        .help("use letters, digits, `-`, `_` and `.`"),
                );
                return None;
            }
        }
        Some(names.join("/"))
    }

    pub(crate) fn add(&mut self, directory: &str, name: &str, text: String, at: &Place, found: &mut Diagnostics) {
        if !is_file_name(name) {
            return found.push(
                refusal("unusable-name", format!("`{name}` cannot be the name of a file"))
                    .at(at)
                    .help("use letters, digits, `-`, `_` and `.`"),
            );
        }
        match self.files.entry(format!("{directory}/{name}")) {
            Entry::Vacant(place) => {
                place.insert(text);
            }
            Entry::Occupied(taken) => found.push(
                refusal("two-in-one-file", format!("two entries are written to one file, {}", taken.key()))
                    .at(at)
                    .help("rename one of them so that they differ in more than `-`, `.`, `+` and `_`"),
            ),
        }
    }

    /// A file that no user's name is part of.
    pub(crate) fn loose(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, String> {
        self.files
    }
}

/// One path segment that every file system keeps as it is.
fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\'))
}

/// The partial configuration of a root's backend: its comment and its settings.
pub(crate) fn backend(tree: &Tree, root: &Root) -> Option<(String, Body)> {
    let state = root.state.as_ref()?;
    let backend = tree.builder(Class::StateBackend, &state.backend)?;
    let kind = registry::state(backend)?;
    let workspace = &root.builder.label;
    let settings = kind
        .settings(backend, workspace)
        .into_iter()
        .map(|(key, value)| Attribute::new(Identifier::sanitized(key), value));
    Some((
        format!("Backend {} ({}): partial configuration of workspace {workspace}", backend.name, kind.backend()),
        settings.collect(),
    ))
}
