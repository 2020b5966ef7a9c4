//! What applies make true, from the roots of a tree to the files of its records.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

use csis_records::Documents;
use csis_values::Diagnostics;
use csis_values::event::{Event, What};
use csis_values::records::Records;
use csis_values::request::Request;
use csis_values::tree::Tree;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Files = BTreeMap<String, Vec<u8>>;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn harbor(edit: impl Fn(&str, String) -> String) -> Tree {
    let mut files = BTreeMap::new();
    let root = examples().join("harbor");
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for path in fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let text = edit(&name, fs_err::read_to_string(&path).unwrap());
            files.insert(name, text.into_bytes());
        }
    }
    let loaded =
        csis_tree::load(&csis_tree::Memory::new(files), &Request::default(), &csis_tree::Identities::sealed()).unwrap();
    assert!(!loaded.diagnostics.is_refused(), "{:?}", loaded.diagnostics);
    loaded.tree.unwrap()
}

fn records(files: &Files) -> Records {
    let mut found = Diagnostics::default();
    let records = csis_records::read(files, &mut found);
    assert_eq!(found.0, []);
    records
}

/// The record files after every storage root of this tree was applied in a run.
fn applied(tree: &Tree, files: &Files, run: &str) -> Files {
    let before = records(files);
    let (intent, found) = csis_resolve::intent(tree, &before, None, &Request::default());
    assert!(!found.is_refused(), "{found:?}");
    let mut documents = Documents::of(files);
    let moved: Vec<What> =
        intent.roots.iter().flat_map(|root| csis_resolve::moved_storages(tree, &before, root)).collect();
    for what in moved {
        documents.apply(&Event { run: run.into(), at: String::new(), what }).unwrap();
    }
    let changed: Vec<(&str, String)> = documents.changed().collect();
    let mut after = files.clone();
    after.extend(changed.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())));
    after
}

fn states(files: &Files) -> String {
    String::from_utf8(files["storage-state.yaml"].clone()).unwrap()
}

const FIRST: &str = "2026_01_02t08_30_00_000004";

#[test]
fn from_nothing_the_first_apply_makes_the_records_that_the_example_has() {
    let tree = harbor(|_, text| text);
    let after = applied(&tree, &Files::new(), FIRST);
    let standing = fs_err::read_to_string(examples().join("harbor-standing/meta-state/storage-state.yaml")).unwrap();
    assert_eq!(states(&after), standing);
    // Applied again, nothing is true that was not.
    assert_eq!(applied(&tree, &after, "2026_01_03t08_30_00_000005"), after);
}

#[test]
fn a_storage_goes_through_its_states_and_comes_back_as_another() {
    let state = |word: &'static str| {
        harbor(move |name, text| match name {
            "storages/storages.yaml" => {
                text.replace("  - name: ledger\n", &format!("  - name: ledger\n    state: {word}\n"))
            }
            // What is archived or destroyed is mounted nowhere.
            "instances/instances.yaml" => text.replace("      - {name: ledger, mount_point: /mnt/ledger}\n", ""),
            _ => text,
        })
    };
    let mut files = applied(&state("active"), &Files::new(), "r1");
    for (tree, run) in
        [(state("archived"), "r2"), (state("active"), "r3"), (state("destroyed"), "r4"), (state("active"), "r5")]
    {
        files = applied(&tree, &files, run);
    }
    let ledger = &records(&files).storages["ledger"];
    assert_eq!((ledger.state.as_deref(), ledger.generation), (Some("active"), 2));
    let told: Vec<String> = ledger
        .history
        .iter()
        .map(|e| format!("{} {} {} {} {}", e["run"], e["from"], e["to"], e["generation"], e["action"]).replace('"', ""))
        .collect();
    assert_eq!(
        told,
        [
            "r1 null active 1 null",
            "r2 active archived 1 null",
            "r3 archived active 1 null",
            "r4 active destroyed 1 null",
            "r5 destroyed active 2 regenerate"
        ]
    );
}

#[test]
fn an_undeclared_storage_is_recorded_as_gone_with_what_was_known_of_it() {
    let files = applied(&harbor(|_, text| text), &Files::new(), "r1");
    let without = harbor(|name, text| match name {
        "storages/storages.yaml" => text.split("  - name: public-docs\n").next().unwrap().to_owned(),
        _ => text,
    });
    let after = applied(&without, &files, "r2");
    let gone = &records(&after).storages["public-docs"];
    assert_eq!((gone.state.as_deref(), gone.bucket_name.as_deref()), (Some("destroyed"), Some("harbor-public-docs")));
    assert_eq!(gone.history.last().unwrap()["action"], "undeclared");
    // Declared destroyed from the beginning, it never stood and leaves no record.
    let never = harbor(|name, text| match name {
        "storages/storages.yaml" => {
            text.replace("  - name: public-docs\n", "  - name: public-docs\n    state: destroyed\n")
        }
        _ => text,
    });
    assert!(!states(&applied(&never, &Files::new(), "r1")).contains("public-docs"));
}
