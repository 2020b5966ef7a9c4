//! What an invocation adds and takes away.

use super::support::{harbor, one, request, told};
use crate::*;
use csis_values::tree::Apply;

fn with(overlay: &str, undeclare: &[&str]) -> Result<Loaded, LoadError> {
    let mut memory = harbor();
    memory.insert("overlays/x.yaml", overlay, 0o644);
    let request = Request {
        overlays: vec!["overlays/x.yaml".into()],
        undeclare: undeclare.iter().map(|s| (*s).to_owned()).collect(),
        ..request()
    };
    load(&memory, &request, &Identities::default())
}

#[test]
fn an_overlay_changes_adds_and_removes() {
    let overlay = "\
config: {apply_instances: [aws-west]}
storages:
- {name: Ledger, tags: {data: other}}
- {name: extra, groups: [crew]}
- {name: public-docs, undeclare: true}
instances:
- {name: extra-1, image: harbor-base}
";
    let read = with(overlay, &["instance:probe"]).expect("loaded");
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
    let tree = read.tree.expect("a tree");
    assert_eq!(tree.config.apply_instances.value, Apply::Only(vec!["aws-west".into()]));
    assert_eq!(tree.config.apply_instances.at.as_ref().map(|p| p.file.as_ref()), Some("overlays/x.yaml"));
    assert_eq!(tree.config.apply_storage.value, Apply::Only(vec!["aws-west".into()]));
    let ledger = tree.storage("ledger").expect("ledger");
    assert!(
        !ledger.transient
            && ledger.tags["data"] == "other"
            && ledger.groups[0].value == "crew"
            && ledger.name.written == "ledger"
    );
    assert!(
        tree.storage("extra").is_some_and(|s| s.transient) && tree.instance("extra-1").is_some_and(|i| i.transient)
    );
    assert!(tree.storage("public-docs").is_none() && tree.instance("probe").is_none());
    assert_eq!(tree.undeclared, ["storage:public-docs", "instance:probe"]);
    assert_eq!(tree.overlays, ["overlays/x.yaml"]);
}

#[test]
fn what_an_overlay_gets_wrong_is_refused_at_its_place() {
    for (overlay, at, words) in [
        ("configs: {}\n", "overlays/x.yaml:1:1", &["configs", "`storages`", "write `config`"][..]),
        ("- a\n", "overlays/x.yaml:1:1", &["a list"]),
        ("storages: {name: x}\n", "overlays/x.yaml:1:11", &["a mapping"]),
        ("storages:\n- {groups: [crew]}\n", "overlays/x.yaml:2:3", &["no `name`"]),
        ("storages:\n- {name: ledger, undeclare: maybe}\n", "overlays/x.yaml:2:29", &["undeclare"]),
        ("storages:\n- {name: ledgr, undeclare: true}\n", "overlays/x.yaml:2:10", &["Warning", "write `ledger`"]),
        ("storages:\n- {name: ledger, sharemode: 1}\n", "overlays/x.yaml:2:18", &["`ledger`", "share_mode"]),
        ("config: {os: x}\n", "overlays/x.yaml:1:10", &["`os`"]),
        ("a: [\n", "overlays/x.yaml", &["yaml-syntax"]),
    ] {
        one(&with(overlay, &[]).expect("loaded").diagnostics, at, words);
    }
}

#[test]
fn what_is_not_there_cannot_be_asked_for() {
    let request = Request { overlays: vec!["overlays/nope.yaml".into()], ..request() };
    let refused = load(&harbor(), &request, &Identities::default());
    assert!(matches!(refused, Err(LoadError::Overlay(d)) if d.message.contains("overlays/nope.yaml")));
    for (spec, word) in [
        ("instance:nope", "nope"),
        ("instanse:api-1", "write `instance:api-1`"),
        ("api-1", "KIND:NAME"),
        ("instance:", "KIND:NAME"),
        ("storage:ledgr", "write `storage:ledger`"),
    ] {
        let Err(LoadError::Undeclare(d)) = with("{}\n", &[spec]) else { panic!("{spec} was taken") };
        assert!(format!("{} {:?}", d.message, d.help).contains(word), "{d:?}");
    }
    assert!(with("{}\n", &["instances:API-1"]).is_ok());
}

#[test]
fn a_reference_to_what_was_taken_away_names_who_did_it() {
    let read = with("{}\n", &["image:harbor-edge"]).expect("loaded");
    one(&read.diagnostics, "instances/instances.yaml:18:12", &["harbor-edge", "--undeclare image:harbor-edge"]);
    // A mount of it is judged with the attachments.
    let read = with("{}\n", &["storage:ledger"]).expect("loaded");
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
    assert!(read.tree.is_some_and(|t| t.undeclared == ["storage:ledger"]));
}
