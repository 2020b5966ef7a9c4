//! Harbor in memory, with changes.

use crate::*;

pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/harbor");

pub(super) fn harbor() -> Memory {
    fn add(memory: &mut Memory, root: &std::path::Path, folder: &std::path::Path) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                add(memory, root, &path);
            } else {
                let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
                memory.insert(name, std::fs::read(&path).expect("a file"), 0o644);
            }
        }
    }
    let mut memory = Memory::default();
    let root = std::path::Path::new(ROOT);
    add(&mut memory, root, root);
    memory
}

/// Replaces exact text once, as a person editing the file would.
pub(super) fn edit(memory: &mut Memory, file: &str, from: &str, to: &str) {
    let text = String::from_utf8(memory.read(file).expect("the file").bytes).expect("text");
    assert!(text.contains(from), "{file} has no {from:?}");
    memory.insert(file, text.replacen(from, to, 1), 0o644);
}

pub(super) fn edited(edits: &[(&str, &str, &str)]) -> Memory {
    let mut memory = harbor();
    for (file, from, to) in edits {
        edit(&mut memory, file, from, to);
    }
    memory
}

pub(super) fn request() -> Request {
    Request { now: "2026-01-31T08:00:00Z".into(), ..Request::default() }
}

pub(super) fn loaded(memory: &Memory) -> Loaded {
    load(memory, &request(), &Identities::default()).expect("loaded")
}

/// The findings on one line each: `severity code place: message | help | also`.
pub(super) fn told(diagnostics: &Diagnostics) -> Vec<String> {
    let line = |d: &Diagnostic| {
        let at = d.at.as_ref().map_or_else(|| "-".into(), ToString::to_string);
        let also: Vec<String> = d.also.iter().map(|(place, what)| format!("{place} {what}")).collect();
        format!(
            "{:?} {} {at}: {} | {} | {}",
            d.severity,
            d.code,
            d.message,
            d.help.as_deref().unwrap_or("-"),
            also.join("; ")
        )
    };
    diagnostics.iter().map(line).collect()
}

/// The only finding, which must name all of the words and begin at the place.
pub(super) fn one(diagnostics: &Diagnostics, at: &str, words: &[&str]) {
    let told = told(diagnostics);
    assert_eq!(told.len(), 1, "{told:#?}");
    for word in words {
        assert!(told[0].contains(word), "no {word:?} in {}", told[0]);
    }
    assert!(told[0].contains(&format!(" {at}")), "not at {at}: {}", told[0]);
}
