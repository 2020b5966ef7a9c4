//! What a newcomer is told who gets something wrong: the cause, once and first, where it stands, and what to do. Only the whole binary shows what stands beside
//! a cause.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use std::fs;
use std::time::Duration;
use support::{Harbor, Said, run};

const SOON: Duration = Duration::from_mins(1);

/// The only error of the tree with this edit.
#[track_caller]
fn alone(file: &str, find: &str, replace: &str, words: &[&str]) {
    let harbor = Harbor::new();
    harbor.edit(file, find, replace);
    let said = harbor.csis(&["validate"]).ends(1).tells(words).tells(&[&format!("--> {file}:"), "help:"]);
    assert_eq!(said.stderr.matches("error[").count(), 1, "{file}: {replace}: {}", said.stderr);
    assert!(said.stderr.starts_with("error["), "{}", said.stderr);
}

const LISTS: [(&str, &str); 14] = [
    ("cfg/executables.yml", "executables"),
    ("cfg/identity.yml", "group_builders"),
    ("cfg/image-builders.yml", "image_builders"),
    ("cfg/instance-builders.yml", "instance_builders"),
    ("cfg/mod-builders.yml", "mod_builders"),
    ("cfg/os-builders.yml", "os_builders"),
    ("cfg/runtime-builders.yml", "runtime_builders"),
    ("cfg/state-backends.yml", "state_backends"),
    ("cfg/storage-builders.yml", "storage_builders"),
    ("groups/groups.yaml", "groups"),
    ("groups/users.yaml", "users"),
    ("images/images.yaml", "images"),
    ("instances/instances.yaml", "instances"),
    ("storages/storages.yaml", "storages"),
];

#[test]
fn a_misspelt_list_is_the_only_error() {
    for (file, key) in LISTS {
        let misspelt = format!("{}z:\n", &key[..key.len() - 1]);
        alone(file, &format!("{key}:\n"), &misspelt, &[&format!("write `{key}`")]);
    }
    alone("cfg/_config.yml", "config:\n", "confg:\n", &["`confg`", "write `config`"]);
    alone("cfg/_config.yml", "id: harbor\n", "idd: harbor\n", &["`idd`", "write `id`"]);
}

#[test]
fn a_list_that_nobody_can_place_hides_what_it_may_hold() {
    for (file, key) in LISTS {
        alone(file, &format!("{key}:\n"), "something_else:\n", &["something_else"]);
    }
    alone("cfg/_config.yml", "config:\n", "settings:\n", &["`settings`"]);
    let harbor = Harbor::new();
    harbor.write("cfg/more.yml", "storages:\n  - {name: late, groups: [crew]}\n");
    let mount = "      - {name: ledger, mount_point: /mnt/ledger}\n";
    harbor.edit("instances/instances.yaml", mount, &mount.replace("ledger", "late"));
    let said = harbor.csis(&["validate"]).ends(1).tells(&["cfg/more.yml:1:1", "a file of `storages/`"]);
    assert_eq!(said.stderr.matches("error[").count(), 1, "{}", said.stderr);
}

#[test]
fn a_type_that_is_not_there_is_the_only_error() {
    for (file, find, misspelt, right) in [
        ("cfg/storage-builders.yml", "type: tf-aws-ebs", "type: tf-aws-ebz", "tf-aws-ebs"),
        ("cfg/image-builders.yml", "type: packer-ebs", "type: packer-ebz", "packer-ebs"),
        ("cfg/instance-builders.yml", "type: tofu", "type: tofoo", "tofu"),
        ("cfg/os-builders.yml", "type: rhel", "type: rhal", "rhel"),
        ("cfg/runtime-builders.yml", "type: aws\n", "type: awz\n", "aws"),
        ("cfg/state-backends.yml", "type: s3", "type: s4", "s3"),
        ("cfg/identity.yml", "posix-groups, type: posix", "posix-groups, type: posx", "posix"),
        ("cfg/mod-builders.yml", "type: ansible", "type: ansibel", "ansible"),
    ] {
        alone(file, find, misspelt, &["unknown-type", &format!("write `{right}`")]);
        alone(file, find, &find.replace(&format!("type: {right}"), "type: quite-another"), &["unknown-type", right]);
    }
}

#[test]
fn an_entry_whose_name_is_not_read_is_the_only_error() {
    for (file, name) in [
        ("cfg/storage-builders.yml", "volumes"),
        ("cfg/os-builders.yml", "alma9"),
        ("cfg/runtime-builders.yml", "aws-west"),
        ("groups/groups.yaml", "crew"),
        ("images/images.yaml", "harbor-api"),
        ("storages/storages.yaml", "ledger"),
        ("instances/instances.yaml", "api-1"),
    ] {
        let find = format!("  - name: {name}\n");
        alone(file, &find, &find.replace("name", "naem"), &["`naem`", "write `name`"]);
        alone(file, &find, &find.replace("name", "title"), &["no `name`"]);
        alone(file, &find, &format!("  - name: [{name}]\n"), &["the name of entry"]);
    }
}

#[test]
fn a_default_that_is_not_said_properly_is_the_only_error() {
    alone(
        "cfg/runtime-builders.yml",
        "    is_default: true\n    aliases",
        "    is_default: ture\n    aliases",
        &["`ture`"],
    );
    alone("cfg/runtime-builders.yml", "    is_default: true\n    aliases", "    aliases", &["no-default", "aws-west"]);
    alone("cfg/storage-builders.yml", "    is_default: true\n", "", &["no-default", "volumes"]);
    alone(
        "cfg/storage-builders.yml",
        "type: tf-aws-efs\n",
        "type: tf-aws-efs\n    is_default: true\n",
        &["two-defaults"],
    );
}

#[test]
fn what_a_broken_file_holds_is_not_said_to_be_missing() {
    for (file, _) in LISTS {
        let harbor = Harbor::new();
        harbor.write(file, harbor.read(file) + "\t- x: [\n");
        let said = harbor.csis(&["validate"]).ends(1).tells(&["yaml-syntax", file]);
        assert_eq!(said.stderr.matches("error[").count(), 1, "{}", said.stderr);
    }
    alone(
        "cfg/_config.yml",
        "  apply_identity: false\n",
        "   apply_identity: false\n",
        &["indented deeper than line 6"],
    );
    alone(
        "instances/instances.yaml",
        "description: the standing api",
        "description: the standing api: one of two",
        &["5:34", "put the text in quotes"],
    );
}

#[test]
fn what_only_the_broken_file_could_answer_does_not_keep_a_report_from_being_made() {
    let harbor = Harbor::standing();
    harbor.edit("storages/storages.yaml", "storages:\n", "storages:\n\t- x\n");
    let said = harbor.csis(&["--offline", "preview"]).ends(1);
    assert!(said.stdout.contains("storages/storages.yaml:2:1"), "{}", said.all());
}

#[test]
fn errors_come_before_warnings_and_those_before_notes() {
    let harbor = Harbor::new();
    harbor.edit("cfg/_config.yml", "  apply_identity: false\n", "  apply_identity: false\n  colour: blue\n");
    harbor.edit("storages/storages.yaml", "2775", "2777").edit("groups/groups.yaml", "[lena]", "[lenna]");
    let text = harbor.csis(&["validate"]).ends(1).stderr;
    let json = harbor.csis(&["--log", "json", "validate"]).ends(1).stderr;
    let order = ["lenna", "2777", "`colour`", "not judged"];
    for said in [text, json] {
        let at: Vec<usize> =
            order.iter().map(|word| said.find(word).unwrap_or_else(|| panic!("{word}: {said}"))).collect();
        assert!(at.is_sorted(), "{said}");
    }
}

#[test]
fn an_entry_is_counted_within_its_file() {
    let harbor = Harbor::new();
    harbor.write("storages/more.yaml", "storages:\n  - {name: one, groups: [crew]}\n  - {groups: [crew]}\n  - text\n");
    harbor.write("storages/zz/more.yaml", "storages:\n  - {groups: [crew]}\n");
    harbor.csis(&["validate"]).ends(1).tells(&[
        "entry 2 of `storages` has no `name`\n --> storages/more.yaml:3:5",
        "entry 3 of `storages` is a text",
        "entry 1 of `storages` has no `name`\n --> storages/zz/more.yaml:2:5",
    ]);
}

#[test]
fn a_key_that_the_builder_decides_is_pointed_to_it() {
    let ledger = "  - name: ledger\n";
    let with = |line: &str| format!("{ledger}    {line}\n");
    alone("storages/storages.yaml", ledger, &with("size: 20"), &["`ledger`", "`size`", "storage builder `volumes`"]);
    alone("storages/storages.yaml", ledger, &with("sise: 20"), &["`ledger`", "`sise`", "the fields are"]);
}

// What is named on the command line

/// None of the words in which a system or a library tells of an error.
#[track_caller]
fn in_words(said: Said) -> Said {
    said.hides(&["os error", "failed to ", "failed:", "No such file", "canonicalize"])
}

#[test]
fn a_root_that_is_none_says_what_is_wanted() {
    let harbor = Harbor::new();
    let validate = |root: &str| in_words(harbor.csis(&["--root", root, "validate"]).ends(2));
    validate("cfg/_config.yml").tells(&["cfg/_config.yml is a file", "the folder that holds `cfg/`"]);
    validate("no/such/place").tells(&["no/such/place", "does not exist", "--root"]);
    validate("cfg/_config.yml/x").tells(&["no folder", "--root"]);
    validate("cfg").tells(&["no folder `cfg`", "--root"]);
}

#[test]
fn files_that_are_not_there_are_told_in_words() {
    let harbor = Harbor::standing();
    in_words(harbor.csis(&["--snapshot", "gone.json", "validate"]).ends(2)).tells(&["gone.json", "does not exist"]);
    in_words(harbor.csis(&["--snapshot", "cfg", "validate"]).ends(2)).tells(&["cfg", "it is a folder"]);
    in_words(harbor.csis(&["--overlay", "gone.yaml", "validate"]).ends(2)).tells(&["gone.yaml", "does not exist"]);
    let mut command = harbor.command(&["validate"]);
    let said = run(command.env("CSIS_CONFIG_IDENTITY", "/no/such/identity"), SOON);
    in_words(said.ends(2)).tells(&["CSIS_CONFIG_IDENTITY", "does not exist"]);
    harbor.git(&["checkout", "--quiet", "--orphan", "alone"]);
    harbor.commit("no ancestor");
    in_words(harbor.csis(&["--offline", "preview", "--base", "main"]).ends(2)).tells(&["common ancestor", "help:"]);
}

#[test]
fn an_overlay_is_found_from_the_tree_and_from_here() {
    let harbor = Harbor::new();
    harbor.write("overlays/more.yaml", "storages:\n  - {name: extra, groups: [crew]}\n");
    let from = |folder: &str, overlay: &str| {
        let mut command = support::csis(&["--root", harbor.root.to_str().unwrap(), "--overlay", overlay, "generate"]);
        run(command.current_dir(harbor.path(folder)).env("HOME", harbor.outside()), SOON)
    };
    let whole = harbor.path("overlays/more.yaml");
    for (folder, overlay) in [
        (".", "overlays/more.yaml"),
        ("overlays", "overlays/more.yaml"),
        ("overlays", "more.yaml"),
        ("cfg", "../overlays/more.yaml"),
        ("cfg", whole.to_str().unwrap()),
    ] {
        from(folder, overlay).ends(0).tells(&["generated: "]);
        assert!(harbor.emitted("run-storage.sh").contains("--overlay overlays/more.yaml "), "{folder} {overlay}");
        fs::remove_dir_all(harbor.path("generated")).unwrap();
    }
    fs::write(harbor.outside().join("out.yaml"), "storages: []\n").unwrap();
    from("cfg", "../../out.yaml").ends(2).tells(&["out.yaml", "outside", "put it into the tree"]);
}

#[test]
fn a_gate_is_asked_for_one_plan_with_addresses_that_are_some() {
    let folder = tempfile::tempdir().unwrap();
    let plan = r#"{"format_version":"1.2","complete":true,"errored":false,"resource_changes":[]}"#;
    fs::write(folder.path().join("p.json"), plan).unwrap();
    fs::write(folder.path().join("tfplan"), "x").unwrap();
    let gate =
        |arguments: &[&str]| run(support::csis(&[&["gate-plan"], arguments].concat()).current_dir(folder.path()), SOON);
    gate(&["p.json", "--planfile", "tfplan", "--tofu", "/nope"]).ends(2).tells(&["/nope"]);
    gate(&["p.json", "--run", ""]).ends(2).tells(&["--run", "no run id"]);
    for option in ["--allow-destroy", "--allow-replace", "--allow-forget"] {
        gate(&["p.json", option, ""]).ends(2).tells(&[option, "no address"]);
    }
    in_words(gate(&["--planfile", "tfplan", "--tofu", "/nope"]).ends(2))
        .tells(&["/nope", "no such file"])
        .hides(&["not on PATH"]);
    in_words(gate(&["gone.json"]).ends(2)).tells(&["gone.json", "does not exist"]);
    // Scripts name the file whether or not it was written: it allows nothing, and the gate stays open to what needs nothing.
    gate(&["p.json", "--allow-destroy-from", "gone.txt"]).ends(0).tells(&["note[sanctions-missing]", "gone.txt"]);
}

#[test]
fn help_says_what_there_is() {
    // However wide the terminal is.
    let help = |arguments: &[&str]| {
        let said = run(&mut support::csis(arguments), SOON).ends(0).stdout;
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for command in ["preview", "plan"] {
        let said = help(&[command, "--help"]);
        assert!(said.contains("gate (a refusal; always on)"), "{said}");
        assert!(said.contains(" Tree: --") && said.contains(" Run: --"), "{said}");
    }
    let said = help(&["--help"]);
    assert!(said.contains(" Tree: --") && said.contains("else at the present folder"), "{said}");
    let said = help(&["materialize", "--help"]);
    assert!(said.contains("csis materialize generated/storage/volumes/storage-generation"), "{said}");
}
