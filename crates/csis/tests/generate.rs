//! `csis generate` on a real folder: what it states, where it writes, and that nothing but the tree decides the bytes. Only here the emission meets a disk.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::{Harbor, files, run};

const SOON: Duration = Duration::from_secs(30);

fn emission(harbor: &Harbor) -> BTreeMap<String, Vec<u8>> {
    harbor.csis(&["generate"]).ends(0);
    let emitted = files(&harbor.path("generated"));
    assert!(emitted.len() > 20, "{:?}", emitted.keys());
    emitted
}

#[test]
fn every_fact_of_the_storage_and_instance_roots_is_stated() {
    let harbor = Harbor::new();
    emission(&harbor);
    let mut known = Command::new(support::python());
    known.args(["-c", "import hcl2"]);
    if run(&mut known, SOON).code != Some(0) {
        assert!(!support::in_ci(), "CSIS_PYTHON has no python-hcl2; see tests/tools/requirements.txt");
        eprintln!("not judged: CSIS_PYTHON has no python-hcl2");
        return;
    }
    let project = support::project();
    let mut compare = Command::new(support::python());
    compare
        .arg(project.join("tests/tools/facts.py"))
        .arg("compare")
        .arg(project.join("tests/cases/harbor/facts.json"))
        .arg(harbor.path("generated"))
        .args(["--only", "storage", "--only", "instance-image/fleet"]);
    let said = run(&mut compare, SOON);
    assert_eq!(said.code, Some(0), "{}", said.all());
    let held: usize = said.stdout.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(held > 100, "{}", said.stdout);
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let harbor = Harbor::new();
    let first = emission(&harbor);
    let root = harbor.path("generated/storage/volumes/storage-generation");
    let written = fs::metadata(&root).unwrap().ino();
    let said = harbor.csis(&["generate"]).ends(0);
    assert_eq!(files(&harbor.path("generated")), first);
    assert_eq!(fs::metadata(&root).unwrap().ino(), written, "a root that did not change is not written anew");
    assert!(!said.stderr.contains("added") && !said.stderr.contains("changed"), "{}", said.stderr);
}

#[test]
fn another_folder_another_user_and_another_day_give_the_same_bytes() {
    let here = Harbor::new();
    let expected = emission(&here);
    let there = Harbor::named("another place/much further/down");
    let mut command = support::csis(&["--root", there.root.to_str().unwrap(), "generate"]);
    command.current_dir("/");
    for (name, value) in [
        ("HOME", "/nonexistent"),
        ("USER", "somebody"),
        ("LOGNAME", "somebody"),
        ("HOSTNAME", "elsewhere"),
        ("TZ", "Pacific/Kiritimati"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("AWS_REGION", "eu-north-1"),
        ("AWS_PROFILE", "other"),
        ("TF_VAR_region", "eu-north-1"),
        ("CI", "true"),
        ("COLUMNS", "40"),
    ] {
        command.env(name, value);
    }
    // Runs differ in their time and run id; nothing else can tell a day from another.
    std::thread::sleep(Duration::from_millis(1100));
    run(&mut command, SOON).ends(0);
    let got = files(&there.path("generated"));
    assert_eq!(got.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (path, bytes) in &expected {
        assert_eq!(String::from_utf8_lossy(&got[path]), String::from_utf8_lossy(bytes), "{path}");
    }
}

#[test]
fn no_file_holds_a_time_a_path_or_a_name_of_this_machine() {
    let harbor = Harbor::new();
    let emitted = emission(&harbor);
    let today = run(Command::new("date").args(["-u", "+%Y-%m-%d %Y_%m_%d %Y%m%d"]), SOON).ends(0).stdout;
    let place = harbor.root.to_string_lossy().into_owned();
    let top = harbor.outside().to_string_lossy().into_owned();
    let mut foreign: Vec<&str> = today.split_whitespace().collect();
    foreign.extend([place.as_str(), top.as_str(), "/tmp/", "/home/", "/root/"]);
    for (path, bytes) in emitted {
        let text = String::from_utf8(bytes).expect("the emission is UTF-8");
        for part in &foreign {
            assert!(!text.contains(part), "{path} holds {part}");
        }
        assert!(!text.contains('\r') && text.ends_with('\n'), "{path} is no plain text");
    }
}

#[test]
fn the_engine_would_format_it_the_same() {
    let harbor = Harbor::new();
    emission(&harbor);
    support::formatted(&harbor.path("generated"));
}

#[test]
fn it_writes_below_generated_alone() {
    let harbor = Harbor::standing();
    let before = files(&harbor.root);
    harbor.csis(&["validate"]).ends(0);
    assert_eq!(files(&harbor.root), before, "validate writes nothing");
    harbor.csis(&["generate"]).ends(0);
    let mut after = files(&harbor.root);
    after.retain(|path, _| !path.starts_with("generated/"));
    assert_eq!(after, before);
}

#[test]
fn it_needs_no_tool_no_home_and_no_environment() {
    let harbor = Harbor::standing();
    let expected = emission(&harbor);
    fs::remove_dir_all(harbor.path("generated")).unwrap();
    let empty = harbor.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    for command in ["validate", "generate"] {
        let mut bare = Command::new(support::CSIS);
        bare.args(["--root", ".", command]).current_dir(&harbor.root).env_clear().env("PATH", &empty);
        run(&mut bare, SOON).ends(0);
    }
    assert_eq!(files(&harbor.path("generated")), expected);
}

#[test]
fn a_root_keeps_its_provider_lock_and_loses_what_is_no_longer_stated() {
    let harbor = Harbor::new();
    emission(&harbor);
    let root = "generated/storage/buckets/storage-generation";
    harbor.write(&format!("{root}/.terraform.lock.hcl"), "# a lock\n").write(&format!("{root}/stray.tf"), "");
    harbor.edit(
        "storages/storages.yaml",
        "  - name: public-docs\n    type: buckets\n    bucket_name: harbor-public-docs\n    public_read: true\n",
        "",
    );
    harbor.csis(&["generate"]).ends(0);
    let left = files(&harbor.path(root));
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".terraform.lock.hcl",
            "buckets-storage-generation-storage-vault.tf",
            "buckets-storage-generation.tf",
            "buckets-storage-generation.tfbackend.hcl"
        ]
    );
    assert_eq!(left[".terraform.lock.hcl"], b"# a lock\n");
}

#[test]
fn a_root_whose_builder_is_gone_goes() {
    let harbor = Harbor::new();
    emission(&harbor);
    harbor.write("generated/storage/buckets/storage-generation/.terraform.lock.hcl", "# a lock\n");
    harbor.edit("cfg/storage-builders.yml", "name: buckets", "name: pails");
    let storages = harbor.read("storages/storages.yaml").replace("type: buckets", "type: pails");
    harbor.write("storages/storages.yaml", storages);
    harbor.csis(&["generate"]).ends(0);
    assert!(!harbor.path("generated/storage/buckets").exists());
    assert!(harbor.path("generated/storage/pails/storage-generation").is_dir());
    assert!(!harbor.emitted("run-storage.sh").contains("buckets"));
}

#[test]
fn what_this_build_does_not_emit_is_left_and_named() {
    let harbor = Harbor::new();
    let packer = [
        "generated/instance-image/bake/image-generation/block-000/harbor.pkr.hcl",
        "generated/base-image/bake/image-generation/block-000/alma9.pkr.hcl",
    ];
    for file in packer {
        harbor.write(file, "source {}\n");
    }
    let said = harbor.csis(&["generate"]).ends(0);
    said.tells(&["instance-image/bake/image-generation", "base-image/bake/image-generation", "left as it is"]);
    for file in packer {
        assert_eq!(harbor.read(file), "source {}\n");
    }
}

#[test]
fn named_lifecycles_are_written_and_the_others_are_left() {
    let harbor = Harbor::new();
    harbor.csis(&["generate", "storage"]).ends(0);
    let written = files(&harbor.path("generated"));
    assert!(written.keys().any(|path| path.starts_with("storage/volumes/")));
    assert!(!written.keys().any(|path| path.starts_with("instance-image/")), "{:?}", written.keys());
    harbor.csis(&["generate"]).ends(0);
    let all = files(&harbor.path("generated"));
    harbor.edit("instances/instances.yaml", "m7i.large", "m7i.xlarge");
    harbor.csis(&["generate", "storage"]).ends(0);
    assert_eq!(files(&harbor.path("generated")), all, "a change of a machine is not written with the storages");
}

#[test]
fn a_refused_tree_changes_nothing() {
    let harbor = Harbor::standing();
    emission(&harbor);
    let before = files(&harbor.root);
    harbor.edit("storages/storages.yaml", "2775", "2777");
    for command in ["generate", "validate"] {
        harbor.csis(&[command]).ends(1).tells(&["2777"]);
    }
    let mut after = files(&harbor.root);
    after.insert("storages/storages.yaml".into(), before["storages/storages.yaml"].clone());
    assert_eq!(after, before);
}

fn put(harbor: &Harbor, file: &str) {
    harbor.write(file, "mine\n");
}

/// Each puts something where the emission would go.
#[test]
fn something_in_the_way_is_told_and_nothing_is_half_written() {
    type Prepare = fn(&Harbor);
    let cases: [(&str, Prepare, &str); 7] = [
        ("a file for the generation folder", |h| put(h, "generated"), "generated"),
        ("a file for a lifecycle", |h| put(h, "generated/storage"), "storage"),
        ("a file for a builder", |h| put(h, "generated/storage/volumes"), "volumes"),
        ("a file for a root", |h| put(h, "generated/storage/volumes/storage-generation"), "storage-generation"),
        ("a folder for a script", |h| put(h, "generated/storage/run-storage.sh/mine"), "run-storage.sh"),
        (
            "a link for the generation folder",
            |h| {
                fs::create_dir(h.outside().join("away")).unwrap();
                symlink(h.outside().join("away"), h.path("generated")).unwrap();
            },
            "link",
        ),
        (
            "a link for a lifecycle",
            |h| {
                fs::create_dir(h.outside().join("away")).unwrap();
                fs::create_dir(h.path("generated")).unwrap();
                symlink(h.outside().join("away"), h.path("generated/storage")).unwrap();
            },
            "link",
        ),
    ];
    for (what, prepare, names) in cases {
        let harbor = Harbor::new();
        prepare(&harbor);
        let before = (files(&harbor.root), files(harbor.outside()));
        let said = harbor.csis(&["generate"]);
        assert_eq!(said.code, Some(1), "{what}: {}", said.all());
        assert!(said.stderr.contains(names) && said.stderr.contains("help:"), "{what}: {}", said.stderr);
        let after = (files(&harbor.root), files(harbor.outside()));
        assert_eq!(after.0.keys().collect::<Vec<_>>(), before.0.keys().collect::<Vec<_>>(), "{what}");
        assert_eq!(after, before, "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_left_whole() {
    let harbor = Harbor::new();
    emission(&harbor);
    harbor.edit("storages/storages.yaml", "{data: ledger}", "{data: other}");
    let before = files(&harbor.path("generated"));
    lock(&harbor.path("generated"), 0o555);
    let mut command = harbor.command(&["generate"]);
    if fs::write(harbor.path("generated/probe"), "").is_ok() {
        // To root, rights are no barrier: csis runs as somebody else, from where that one can reach it.
        fs::remove_file(harbor.path("generated/probe")).unwrap();
        fs::set_permissions(harbor.outside(), fs::Permissions::from_mode(0o755)).unwrap();
        let reachable = harbor.outside().join("csis");
        // Not copied by this process: one that forks meanwhile would hold it open for writing.
        run(Command::new("cp").arg(support::CSIS).arg(&reachable), SOON).ends(0);
        command = Command::new(reachable);
        command.arg("generate").current_dir(&harbor.root).env_clear().uid(65534).gid(65534);
    }
    let said = run(&mut command, SOON);
    lock(&harbor.path("generated"), 0o755);
    said.ends(1).tells(&["could not be written", "ermission denied", "help:"]);
    assert_eq!(files(&harbor.path("generated")), before);
}

/// Sets the rights of a folder and of every folder below it.
fn lock(folder: &Path, mode: u32) {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    for below in entries {
        lock(&below, mode);
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_lifecycle_that_is_not_emitted_writes_nothing() {
    let harbor = Harbor::new();
    for lifecycles in [&["release"][..], &["identity", "retention"]] {
        let said = harbor.csis(&[&["generate"], lifecycles].concat()).ends(0);
        said.tells(&["Nothing was written", "not-emitted", lifecycles[0]]).hides(&["added"]);
        assert!(!harbor.path("generated").exists(), "{lifecycles:?}");
    }
    harbor.csis(&["generate", "storage", "release"]).ends(0).tells(&["added", "not-emitted", "release"]);
}

#[test]
fn a_file_of_somebody_else_that_goes_is_named() {
    let harbor = Harbor::new();
    harbor.csis(&["generate"]).ends(0).hides(&["foreign-file"]);
    let root = "generated/storage/volumes/storage-generation";
    harbor.write(&format!("{root}/mine.tf"), "# mine\n").write(&format!("{root}/.terraform/a/b"), "x");
    harbor.write(&format!("{root}/.terraform.lock.hcl"), "lock");
    let said = harbor.csis(&["generate"]).ends(0);
    said.tells(&["warning[foreign-file]", &format!("{root}/mine.tf"), &format!("`{root}/.terraform/`"), "outside of"])
        .hides(&["lock.hcl", ".terraform/a"]);
    // What csis itself wrote goes without a word.
    harbor.edit("cfg/storage-builders.yml", "  - name: buckets", "  - name: cellars");
    for storage in ["harbor-vault", "harbor-public-docs"] {
        harbor.edit(
            "storages/storages.yaml",
            &format!("type: buckets\n    bucket_name: {storage}"),
            &format!("type: cellars\n    bucket_name: {storage}"),
        );
    }
    harbor.csis(&["generate"]).ends(0).tells(&["removed"]).hides(&["foreign-file"]);
    harbor.write("generated/storage/cellars/storage-generation/notes.txt", "x");
    harbor.edit("cfg/storage-builders.yml", "  - name: cellars", "  - name: depots");
    for storage in ["harbor-vault", "harbor-public-docs"] {
        harbor.edit(
            "storages/storages.yaml",
            &format!("type: cellars\n    bucket_name: {storage}"),
            &format!("type: depots\n    bucket_name: {storage}"),
        );
    }
    harbor.csis(&["generate"]).ends(0).tells(&["foreign-file", "cellars/storage-generation/notes.txt"]);
}
