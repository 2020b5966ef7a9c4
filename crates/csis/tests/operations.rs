//! `csis upgrade` and `csis forget`: what is asked for once, as a file for a review where there is a remote, as a record elsewhere.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use std::fs;
use support::Harbor;

const OLD: &str = "ami-0ba4e000000000a91";
const NEW: &str = "ami-0ba4e000000000a92";

/// The standing tree, with a newer build of the image of `api-1`.
fn standing() -> Harbor {
    let harbor = Harbor::standing();
    let lineage = harbor.read("meta-state/lineage.yaml");
    let build = lineage.split("- build_id:").find(|build| build.contains(OLD)).unwrap().replace(OLD, NEW);
    harbor.write("meta-state/lineage.yaml", format!("{lineage}- build_id:{build}"));
    harbor.commit("a newer build");
    harbor
}

fn with_remote() -> Harbor {
    let harbor = standing();
    harbor.git(&["remote", "add", "origin", "https://github.com/acme/harbor"]);
    harbor
}

#[test]
fn without_a_remote_the_records_hold_it_at_once() {
    let harbor = standing();
    let said = harbor.csis(&["upgrade", "instance", "API-1"]).ends(0);
    assert_eq!(said.stdout, "meta-state/pins.yaml\n");
    let pins = harbor.read("meta-state/pins.yaml");
    assert!(pins.contains(&format!("  api-1: {NEW}\n")), "{pins}");
    assert!(pins.contains(&format!("pending_replacements:\n  api-1: {NEW}\n")), "{pins}");
    assert!(pins.contains(&format!("- from: {OLD}\n  kind: instance\n  name: api-1\n  op: upgrade\n")), "{pins}");
    // Nothing else of the records changes, and nothing else of the tree.
    assert_eq!(harbor.git(&["status", "--porcelain"]).stdout, " M meta-state/pins.yaml\n");
    // What stands there already is not asked for twice.
    harbor.csis(&["upgrade", "instance", "api-1"]).ends(1).tells(&["api-1"]);
}

#[test]
fn with_a_remote_it_is_a_file_that_a_review_reads() {
    let harbor = with_remote();
    let said = harbor.csis(&["upgrade", "instance", "api-1"]).ends(0).tells(&["open a pull request"]);
    assert_eq!(said.stdout, "operations/upgrade-api-1.yaml\n");
    assert_eq!(harbor.git(&["status", "--porcelain"]).stdout, "?? operations/\n");
    let text = harbor.read("operations/upgrade-api-1.yaml");
    assert_eq!(text, format!("upgrade:\n  instance: api-1\n  to: {NEW}\n"));
    harbor.csis(&["validate"]).ends(0);
    let said = harbor.csis(&["upgrade", "image", "harbor-api", "--to", "ami-0ba4e00000000ba5e"]);
    said.ends(1).tells(&["harbor-api"]).hides(&["remove the file"]);
}

#[test]
fn a_machine_that_is_gone_is_forgotten_and_one_that_is_declared_is_not() {
    let harbor = standing();
    harbor.csis(&["forget", "instance", "api-2"]).ends(1).tells(&["api-2"]).hides(&["remove the file"]);
    let text = harbor.read("instances/instances.yaml");
    let (before, rest) = text.split_once("  - name: api-2\n").unwrap();
    let (_, after) = rest.split_once("  - name: edge-1\n").unwrap();
    harbor.write("instances/instances.yaml", format!("{before}  - name: edge-1\n{after}"));
    harbor.csis(&["forget", "instance", "api-2"]).ends(0);
    for file in ["launch-params.yaml", "pins.yaml"] {
        let text = harbor.read(&format!("meta-state/{file}"));
        let kept: Vec<&str> =
            text.lines().filter(|line| line.trim() == "api-2:" || line.contains("  api-2: ")).collect();
        assert!(kept.is_empty(), "{file}: {kept:?}");
    }
    harbor.csis(&["forget", "instance", "nobody"]).ends(1).tells(&["nobody"]);
}

#[test]
fn what_cannot_be_is_refused_and_writes_nothing() {
    let harbor = with_remote();
    for (arguments, words) in [
        (&["upgrade", "instance", "nobody"][..], "nobody"),
        (&["upgrade", "instance", "api-1", "--to", "ami-0ffffffffffffffff"], "ami-0ffffffffffffffff"),
        (&["upgrade", "instance", "edge-1", "--to", NEW], NEW),
        (&["upgrade", "image", "nothing"], "nothing"),
        (&["upgrade", "instance", "../x"], "../x"),
    ] {
        harbor.csis(arguments).ends(1).tells(&[words, "help:"]);
    }
    harbor.write("meta-state/pins.yaml", "images: [");
    harbor.csis(&["upgrade", "instance", "api-1"]).ends(1).tells(&["pins.yaml"]);
    assert!(!harbor.path("operations").exists());
}

#[test]
fn a_link_in_the_place_of_the_folder_is_not_followed() {
    let harbor = with_remote();
    let outside = harbor.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, harbor.path("operations")).unwrap();
    let said = harbor.csis(&["upgrade", "instance", "api-1"]);
    assert_ne!(said.code, Some(0), "{}", said.all());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}
