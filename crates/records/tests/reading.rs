//! Records as they stand in a tree's history are read as they are; what cannot be trusted is refused with its place.

#![allow(clippy::expect_used)]

use csis_records::{Files, Folder, read};
use csis_values::records::Records;
use csis_values::{Diagnostics, Severity};
use std::collections::BTreeMap;

fn files(files: &[(&str, &str)]) -> (Records, Diagnostics) {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    judge(&files)
}

fn judge(files: &dyn Files) -> (Records, Diagnostics) {
    let mut found = Diagnostics::default();
    (read(files, &mut found), found)
}

/// Read without a finding.
fn fine(name: &str, text: &str) -> Records {
    let (records, found) = files(&[(name, text)]);
    assert_eq!(found.0, [], "{name}");
    records
}

/// Refused with one error; returns `place: message`.
fn refused(name: &str, text: &str) -> String {
    let (_, found) = files(&[(name, text)]);
    assert_eq!(found.0.len(), 1, "{found:?}");
    let error = &found.0[0];
    assert_eq!(error.severity, Severity::Error);
    assert!(error.help.is_some(), "{error:?}");
    format!("{}: {}", error.at.as_ref().map(ToString::to_string).unwrap_or_default(), error.message)
}

#[test]
fn no_files_are_empty_records() {
    let (records, found) = files(&[]);
    assert_eq!(records, Records::default());
    assert_eq!(found.0, []);
    assert_eq!(fine("pins.yaml", "# nothing yet\n"), Records::default());
}

#[test]
fn storage_states() {
    let records = fine(
        "storage-state.yaml",
        "storages:\n  scratch:\n    facts: {archive: csis-scratch-archive, builder: vol-main, type: ebs}\n    generation: 2\n    state: archived\n    history:\n    - {from: null, generation: 1, run: R1, to: active}\n  docs:\n    facts: {builder: buckets, type: s3, bucket_name: acme-docs}\n    generation: 1\n    state: destroyed\n",
    );
    let scratch = &records.storages["scratch"];
    assert!(scratch.is_live());
    assert_eq!(
        (scratch.generation, scratch.builder.as_deref(), scratch.archive.as_deref()),
        (2, Some("vol-main"), Some("csis-scratch-archive"))
    );
    assert_eq!(scratch.history.len(), 1);
    assert!(!records.storages["docs"].is_live());
    assert_eq!(records.storages["docs"].bucket_name.as_deref(), Some("acme-docs"));
}

#[test]
fn the_last_build_of_a_series_is_its_head() {
    let records = fine(
        "lineage.yaml",
        "builds:\n- {build_id: ami-1, series: node, runtime: aws-main, name: n, parent: vendor, run: R1, capabilities: {identity_types: [okta], storage_types: [ebs]}}\n- {build_id: ami-2, series: node, runtime: aws-main, parent: ami-0, imported: true, input_fingerprint: 0123456789abcdef}\n",
    );
    assert_eq!(records.head("node", "aws-main").map(|b| b.build_id.as_str()), Some("ami-2"));
    let (first, second) = (&records.builds[0], &records.builds[1]);
    assert!(first.stamped && !second.stamped);
    assert_eq!(first.storage_types, ["ebs"]);
    assert!(second.imported);
}

#[test]
fn a_pin_without_a_runtime_belongs_to_the_runtime_of_its_build() {
    let (records, found) = files(&[
        ("lineage.yaml", "builds:\n- {build_id: ami-1, series: base, runtime: aws-main}\n"),
        (
            "pins.yaml",
            "images: {node: ami-1, 'edge@aws-main': ami-1, lost: ami-9}\ninstances: {node-a: ami-1, node-b: null}\npending_replacements: {node-a: ami-1}\n",
        ),
    ]);
    assert_eq!(found.0, []);
    let keys: Vec<&str> = records.pins.images.keys().map(String::as_str).collect();
    assert_eq!(keys, ["edge@aws-main", "lost", "node@aws-main"]);
    assert_eq!(records.pins.instances.len(), 1);
    assert_eq!(records.pins.pending_replacements["node-a"], "ami-1");
}

#[test]
fn launches_and_generations() {
    let (records, found) = files(&[
        (
            "launch-params.yaml",
            "instances:\n  node-a:\n    build: unbound\n    enrollment: {}\n    ephemeral: false\n    group: coastal\n    hostname: node-a-002\n    image: node\n    launched: true\n    launched_run: R5\n    mounts:\n    - {builder: vol-main, device: /dev/xvdf, group: coastal, mount_point: /mnt/scratch, public_read: false, share_mode: '2770', storage: scratch, type: ebs}\n    session: ssm\n    userdata: |\n      echo hi\n    a_key_of_tomorrow: [1, 2]\n",
        ),
        (
            "instance-state.yaml",
            "instances:\n  node-a:\n    current: {how: observed, instance_id: i-0123, kind: durable, number: 2}\n    generation: {durable: 2, ephemeral: 0}\n    history: []\n",
        ),
    ]);
    assert_eq!(found.0, []);
    let launch = &records.launches["node-a"];
    assert!(launch.launched);
    assert_eq!((launch.build.as_deref(), launch.userdata.as_deref()), (None, Some("echo hi\n")));
    assert_eq!((launch.mounts[0].storage.as_str(), launch.mounts[0].device.as_deref()), ("scratch", Some("/dev/xvdf")));
    assert_eq!(
        (records.generations["node-a"].durable, records.generations["node-a"].instance_id.as_deref()),
        (2, Some("i-0123"))
    );
}

#[test]
fn locations_groups_releases_tests_vendor_images_and_aliases() {
    let (records, found) = files(&[
        (
            "state-locations.yaml",
            "workspaces:\n  vol-main: {backend: s3-main, bucket: b, location: 's3://b/vol_main.tfstate', type: s3, lineage: aa, serial: 41}\n",
        ),
        ("identity.yaml", "groups:\n  coastal: {builder: opa-main, managed: true, members: [ada]}\nusers: [ada]\n"),
        (
            "releases.yaml",
            "current: {default: {node: ami-2}}\nreleases:\n- {build_id: ami-1, image: node, model: default}\n",
        ),
        ("image-tests.yaml", "builds: {ami-1: {checks: [], ok: false}}\n"),
        ("vendor-images.yaml", "images: {'alma9@aws-main': ami-7}\n"),
        ("aliases.txt", "heron\n"),
    ]);
    assert_eq!(found.0, []);
    assert_eq!(
        (records.locations["vol-main"].location.as_str(), records.locations["vol-main"].serial),
        ("s3://b/vol_main.tfstate", Some(41))
    );
    assert!(records.groups["coastal"].managed);
    assert_eq!(records.releases["default"]["node"], "ami-2");
    assert!(records.released.contains("ami-1") && records.released.contains("ami-2"));
    assert!(!records.image_tests["ami-1"]);
    assert_eq!(records.vendor_images["alma9@aws-main"], "ami-7");
    assert_eq!(records.aliases.as_deref(), Some("heron\n"));
}

#[test]
fn a_corrupt_record_is_refused_with_its_line() {
    assert!(refused("pins.yaml", "images:\n  a: [broken\n").starts_with("meta-state/pins.yaml:"));
}

#[test]
fn a_wrong_shape_is_refused_with_its_place_and_path() {
    assert_eq!(
        refused("launch-params.yaml", "instances:\n  node-a:\n    mounts: none\n"),
        "meta-state/launch-params.yaml:3:13: the record `meta-state/launch-params.yaml` cannot be trusted: `instances.node-a.mounts` is a text, where a list belongs"
    );
    assert!(refused("lineage.yaml", "- a\n").contains("a list, where a mapping belongs"));
    assert!(
        refused("lineage.yaml", "builds:\n- {series: node, runtime: aws-main}\n")
            .contains("`builds[0]` has no `build_id`")
    );
    assert!(
        refused("instance-state.yaml", "instances: {a: {generation: {durable: -1}}}\n")
            .contains("instances.a.generation.durable")
    );
    assert!(refused("storage-state.yaml", "storages: {a: {state: retired}}\n").contains("`retired`"));
    assert!(refused("state-locations.yaml", "workspaces: {a: {backend: b}}\n").contains("has no `location`"));
}

#[test]
fn what_cannot_be_read_is_no_empty_record() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("pins.yaml")).expect("a folder in the way");
    std::fs::write(folder.path().join("aliases.txt"), b"\xff\xfe").expect("a file");
    let (_, found) = judge(&Folder(folder.path().to_owned()));
    let said: Vec<_> = found.iter().map(|d| d.message.as_str()).collect();
    assert!(said[0].contains("`meta-state/pins.yaml` cannot be read: it is not a file"), "{said:?}");
    assert!(said[1].contains("`meta-state/aliases.txt` is not UTF-8"), "{said:?}");
}

#[test]
fn a_folder_that_does_not_exist_is_no_records() {
    let (records, found) = judge(&Folder("nowhere/at/all".into()));
    assert_eq!((records, found.0), (Records::default(), Vec::new()));
}

#[test]
fn the_standing_records_of_harbor_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/harbor-standing/meta-state");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the standing records") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        // Fingerprints stand as marks that are filled when the records are laid.
        let laid: Vec<&str> = text.lines().filter(|line| !line.contains(": {") || line.ends_with("{}")).collect();
        files.insert(path.file_name().expect("a name").to_string_lossy().into_owned(), laid.join("\n").into_bytes());
    }
    let (records, found) = judge(&files);
    assert_eq!(found.0, []);
    assert!(records.launches.values().any(|launch| launch.launched));
    assert!(records.storages.values().all(|storage| storage.is_live() && storage.builder.is_some()));
    assert!(records.pins.instances.values().all(|build| records.build(build).is_some()));
    assert!(!records.locations.is_empty());
}
