//! Texts, names and files on their way into the emission.

use super::{Harbor, refuses};
use crate::support::{self, files, run};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_tag_is_a_text_whatever_it_holds() {
    let harbor = Harbor::new();
    let tags = r#"{a: "data.science", b: "var.x", c: "x\"y", d: "back\\slash", e: "${path.root}", f: "%{if true}", g: "local.x", h: "each.key", i: "module.m.x", j: "count.index"}"#;
    harbor.edit("storages/storages.yaml", "{data: ledger}", tags);
    harbor.edit("instances/instances.yaml", "{tier: api}", tags);
    harbor.csis(&["generate"]).ends(0);
    for file in ["storage-ledger.tf", "instance-api_1.tf"] {
        let text = harbor.emitted(file);
        let texts = [
            r#""data.science""#,
            r#""var.x""#,
            r#""x\"y""#,
            r#""back\\slash""#,
            r#""$${path.root}""#,
            r#""%%{if true}""#,
            r#""local.x""#,
            r#""each.key""#,
            r#""module.m.x""#,
            r#""count.index""#,
        ];
        for literal in texts {
            assert!(text.contains(&format!(" = {literal}\n")), "{literal} in {text}");
        }
    }
    support::formatted(&harbor.path("generated"));
}

#[test]
fn userdata_reaches_the_machine_as_it_is_written() {
    let harbor = Harbor::new();
    harbor.edit(
        "instances/instances.yaml",
        "      systemctl restart api\n",
        "      echo \"${VAR:-x}\" '${ebs}' %{ if } $${y} \\${z}\n      curl -w '%{http_code}' localhost\n",
    );
    harbor.csis(&["generate"]).ends(0);
    let template = harbor.emitted("user-data-api_1.sh.tftpl");
    assert!(template.contains("\"$${VAR:-x}\" '$${ebs}' %%{ if }"), "{template}");
    assert!(template.contains("curl -w '%%{http_code}' localhost\n"), "{template}");
    run(
        Command::new("bash")
            .arg("-n")
            .arg(harbor.path("generated/instance-image/fleet/instance-generation/user-data-api_1.sh.tftpl")),
        Duration::from_secs(5),
    )
    .ends(0);
}

#[test]
fn a_mount_point_is_a_path_and_no_shell() {
    for path in [
        "/mnt/a'b",
        "/mnt/$(id)",
        "/mnt/`id`",
        "/mnt/a;b",
        "/mnt/a b",
        "/mnt/../etc",
        "/mnt/a\\\\nb",
        "/",
        "",
        "/mnt/${x}",
        "/etc",
    ] {
        let harbor = Harbor::new();
        harbor.edit("instances/instances.yaml", "mount_point: /mnt/vault", &format!("mount_point: \"{path}\""));
        let said = harbor.csis(&["generate"]);
        if said.code == Some(0) {
            let template = harbor.emitted("user-data-edge_1.sh.tftpl");
            assert!(!template.contains("$(id)") && !template.contains("`id`"), "{path}: {template}");
            panic!("{path} is taken for a mount point");
        }
        said.ends(1).tells(&["edge-1", "mount", "instances/instances.yaml:"]);
    }
}

#[test]
fn names_that_give_one_address_are_refused() {
    let pairs = [("open-data", "open_data"), ("a.b", "a-b"), ("a+b", "a@b"), ("Same", "same"), ("a b", "a:b")];
    for (one, other) in pairs {
        let harbor = Harbor::new();
        harbor.write(
            "storages/more.yaml",
            format!("storages:\n  - {{name: \"{one}\", groups: [crew]}}\n  - {{name: \"{other}\", groups: [crew]}}\n"),
        );
        harbor.csis(&["validate"]).ends(1).tells(&["storages/more.yaml:3:", one, other]);
    }
    let harbor = Harbor::new();
    harbor.edit("cfg/storage-builders.yml", "  - name: shares", "  - {name: vol-umes, type: tf-aws-ebs, runtime: aws-west, executable: engine}\n  - {name: vol_umes, type: tf-aws-ebs, runtime: aws-west, executable: engine}\n  - name: shares");
    harbor.csis(&["validate"]).ends(1).tells(&["vol-umes", "vol_umes"]);
}

#[test]
fn files_of_one_name_or_from_outside_are_refused() {
    let harbor = Harbor::new();
    harbor.write("playbooks/b/tools.yml", "- hosts: all\n");
    harbor.edit("images/images.yaml", "[playbooks/tools.yml]", "[playbooks/tools.yml, playbooks/b/tools.yml]");
    harbor.csis(&["validate"]).ends(1).tells(&["tools.yml", "images/images.yaml:"]);
    for outside in ["../x.yml", "/etc/passwd", "playbooks/../../x.yml"] {
        refuses(
            &[("images/images.yaml", "[playbooks/tools.yml]", &format!("[{outside}]"))],
            &[outside, "images/images.yaml:"],
        );
    }
}

#[test]
fn a_name_that_no_template_knows_is_an_error_in_every_field() {
    for (file, find, replace) in [
        ("storages/storages.yaml", "{data: ledger}", "{data: \"{{ nope }}\"}"),
        ("storages/storages.yaml", "{data: ledger}", "{data: \"{{ storage.nope }}\"}"),
        ("instances/instances.yaml", "{tier: api}", "{tier: \"{{ instance.nope }}\"}"),
        ("instances/instances.yaml", "the standing api", "\"{{ image.nope }}\""),
        ("cfg/runtime-builders.yml", "{{ this.name }} in", "{{ this.nope }} in"),
        ("groups/groups.yaml", "{{ group.name }} of", "{{ group.nope }} of"),
        ("cfg/storage-builders.yml", "{team: harbor}", "{team: \"{{ config.nope }}\"}"),
        ("cfg/storage-builders.yml", "{team: harbor}", "{team: \"{{ ENV.nope }}\"}"),
    ] {
        refuses(&[(file, find, replace)], &["nope", &format!("{file}:")]);
    }
}

#[test]
fn a_root_reads_only_states_that_there_are() {
    let harbor = Harbor::new();
    harbor.csis(&["generate"]).ends(0);
    for (path, bytes) in files(&harbor.path("generated")) {
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("posix"), "{path} speaks of a root that is never read");
        for line in text.lines().filter_map(|line| line.strip_prefix("data \"terraform_remote_state\" \"")) {
            let name = line.split('"').next().unwrap();
            assert!(harbor.path("generated/storage").join(name).is_dir(), "{path} reads {name}, which is no root");
        }
    }
    // Without state backends, what needs a state says so of the roots that have one.
    harbor.edit("cfg/_config.yml", "use_state_backends: true", "use_state_backends: false");
    let said = harbor.csis(&["validate"]);
    assert!(!said.all().contains("posix"), "{}", said.all());
}
