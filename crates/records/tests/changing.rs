//! Records through events and back to disk: what changes, and that nothing else does.
#![allow(clippy::unwrap_used)]

use csis_records::{Documents, Files, Folder, WriteError, read, write};
use csis_values::Diagnostics;
use csis_values::event::{Event, Operated, What};
use csis_values::records::Records;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn standing() -> BTreeMap<String, Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/harbor-standing/meta-state");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

fn event(operated: Operated) -> Event {
    let what = What::Operated(operated);
    Event { run: "2026_03_01t00_00_00_000001".into(), at: "2026-03-01T00:00:00Z".into(), what }
}

fn upgrade(to: &str) -> Event {
    event(Operated::InstanceUpgraded { instance: "api-1".into(), to: to.into() })
}

fn records(files: &dyn Files) -> Records {
    let mut found = Diagnostics::default();
    let records = read(files, &mut found);
    assert_eq!(found.0, []);
    records
}

/// The lines that go and those that come.
fn difference(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let lines = |text: &str, other: &str| {
        text.lines().filter(|line| !other.lines().any(|o| o == *line)).map(|line| line.trim().to_owned()).collect()
    };
    (lines(before, after), lines(after, before))
}

#[test]
fn an_upgrade_moves_one_pin_and_changes_no_other_line() {
    let files = standing();
    let mut documents = Documents::of(&files);
    documents.apply(&upgrade("ami-0ba4e000000000a92")).unwrap();
    let changed: Vec<(&str, String)> = documents.changed().collect();
    let [("pins.yaml", text)] = changed.as_slice() else { panic!("{changed:?}") };
    let (gone, come) = difference(std::str::from_utf8(&files["pins.yaml"]).unwrap(), text);
    assert_eq!(gone, ["api-1: ami-0ba4e000000000a91", "pending_replacements: {}"]);
    assert_eq!(
        come,
        [
            "api-1: ami-0ba4e000000000a92",
            "pending_replacements:",
            "api-1: ami-0ba4e000000000a92",
            "- from: ami-0ba4e000000000a91",
            "kind: instance",
            "op: upgrade",
            "run: 2026_03_01t00_00_00_000001",
            "to: ami-0ba4e000000000a92",
        ]
    );
    let after = records(&documents);
    assert_eq!(after.pins.pending_replacements["api-1"], "ami-0ba4e000000000a92");
    assert_eq!(after.pins.instances["api-1"], "ami-0ba4e000000000a92");
}

#[test]
fn what_was_done_is_not_done_twice() {
    let files = standing();
    let image = event(Operated::ImageUpgraded {
        image: "harbor-api".into(),
        runtime: "aws-west".into(),
        to: "ami-0ba4e00000000ba5f".into(),
    });
    let gone = event(Operated::InstanceForgotten { instance: "edge-1".into() });
    let events = [upgrade("ami-0ba4e000000000a92"), image, gone];
    let mut once = Documents::of(&files);
    for event in &events {
        once.apply(event).unwrap();
    }
    let mut twice = Documents::of(&files);
    for event in events.iter().chain(&events) {
        twice.apply(event).unwrap();
    }
    assert_eq!(once.changed().collect::<Vec<_>>(), twice.changed().collect::<Vec<_>>());
}

#[test]
fn a_machine_that_is_forgotten_keeps_its_history() {
    let files = standing();
    let before = records(&files);
    let mut documents = Documents::of(&files);
    documents.apply(&event(Operated::InstanceForgotten { instance: "edge-1".into() })).unwrap();
    let after = records(&documents);
    assert!(!after.launches.contains_key("edge-1") && !after.pins.instances.contains_key("edge-1"));
    assert_eq!((after.launches.len(), after.pins.instances.len()), (before.launches.len() - 1, 2));
    let closed = &after.generations["edge-1"];
    assert_eq!((closed.durable, closed.instance_id.as_deref()), (1, None), "its number stays taken");
    let text = documents.changed().find(|(name, _)| *name == "instance-state.yaml").unwrap().1;
    assert!(text.contains("closed_at: '2026-03-01T00:00:00Z'") && text.contains("why: forgotten"), "{text}");
    let mut nobody = Documents::of(&files);
    nobody.apply(&event(Operated::InstanceForgotten { instance: "nobody".into() })).unwrap();
    assert_eq!(nobody.changed().count(), 0, "who is not known leaves no trace");
}

#[test]
fn records_that_are_no_mappings_are_not_written_over() {
    for text in ["- a list\n", "images: [\n", "pending_replacements: [a]\n", "upgrades: {a: b}\n", "instances: text\n"]
    {
        let files = BTreeMap::from([("pins.yaml".to_owned(), text.as_bytes().to_vec())]);
        let mut documents = Documents::of(&files);
        let misfit = documents.apply(&upgrade("ami-1")).unwrap_err();
        assert!(misfit.to_string().contains("meta-state/pins.yaml"), "{misfit}");
    }
}

fn laid(files: &BTreeMap<String, Vec<u8>>, root: &Path) {
    fs::create_dir(root.join("meta-state")).unwrap();
    for (name, bytes) in files {
        fs::write(root.join("meta-state").join(name), bytes).unwrap();
    }
}

#[test]
fn what_changed_is_written_whole_and_nothing_else_is_touched() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (files, root) = (standing(), tempfile::tempdir().unwrap());
    laid(&files, root.path());
    let at = |name: &str| root.path().join("meta-state").join(name);
    fs::set_permissions(at("pins.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let untouched = fs::metadata(at("lineage.yaml")).unwrap().ino();
    let folder = Folder(root.path().join("meta-state"));
    let mut documents = Documents::of(&folder);
    documents.apply(&upgrade("ami-2")).unwrap();
    assert_eq!(write(root.path(), &documents, &|_| false).unwrap(), ["pins.yaml"]);
    assert_eq!(records(&folder).pins.instances["api-1"], "ami-2");
    assert_eq!(fs::metadata(at("pins.yaml")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::metadata(at("lineage.yaml")).unwrap().ino(), untouched);
    assert_eq!(fs::read_dir(root.path().join("meta-state")).unwrap().count(), files.len(), "nothing is left beside");
}

#[test]
fn secrets_and_links_are_not_written() {
    let (files, root) = (standing(), tempfile::tempdir().unwrap());
    laid(&files, root.path());
    let folder = Folder(root.path().join("meta-state"));
    let mut documents = Documents::of(&folder);
    documents.apply(&upgrade("ami-2")).unwrap();
    let refused = write(root.path(), &documents, &|text| text.contains("ami-2"));
    assert!(matches!(refused, Err(WriteError::Secret { .. })), "{refused:?}");
    let elsewhere = root.path().join("elsewhere");
    fs::rename(root.path().join("meta-state/pins.yaml"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, root.path().join("meta-state/pins.yaml")).unwrap();
    let refused = write(root.path(), &documents, &|_| false);
    assert!(matches!(refused, Err(WriteError::Io { .. })), "{refused:?}");
    assert_eq!(fs::read(&elsewhere).unwrap(), files["pins.yaml"]);
    // The first record of a tree makes its folder.
    let (nothing, fresh) = (BTreeMap::<String, Vec<u8>>::new(), tempfile::tempdir().unwrap());
    let mut documents = Documents::of(&nothing);
    documents.apply(&upgrade("ami-2")).unwrap();
    write(fresh.path(), &documents, &|_| false).unwrap();
    assert_eq!(records(&Folder(fresh.path().join("meta-state"))).pins.instances["api-1"], "ami-2");
}
