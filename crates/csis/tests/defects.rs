//! What the original tool got wrong, one test for each kind of fault, each named after what must hold. Only here every fault that was seen is held against
//! the whole product.
//!
//! Later work, and not held here: scripts that archive and restore volumes and whose volumes they touch; whether and from which parent an image bakes, and
//! what is recorded of it; the order of imported builds; run scripts of releases and retention; what is written into an image (tests, ensured files, Debian
//! upgrades, the on-image bundle, roles beside a playbook); times in run ids and refresh intervals; `encrypt`, `describe`, and the check before publishing.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::time::Duration;
use support::{Harbor, Said, files, run};

const RUN_MACHINES: &str = "instance-image/run-instance-image.sh";

fn refuses(edits: &[(&str, &str, &str)], words: &[&str]) -> Said {
    let harbor = Harbor::new();
    for (file, find, replace) in edits {
        harbor.edit(file, find, replace);
    }
    harbor.csis(&["validate"]).ends(1).tells(words)
}

/// A plan document with these changes, judged in a folder of its own.
fn judged(plan: &Value, arguments: &[&str], zone: &str) -> Said {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.json"), plan.to_string()).unwrap();
    let mut command = support::csis(&["gate-plan", "p.json"]);
    command.args(arguments).current_dir(folder.path()).env("TZ", zone);
    run(&mut command, Duration::from_secs(20))
}

fn plan(actions: &[&str]) -> Value {
    let change = json!({ "actions": actions, "before": {}, "after": {}, "after_unknown": {}, "before_sensitive": {}, "after_sensitive": {} });
    json!({ "format_version": "1.2", "terraform_version": "1.11.4", "complete": true, "errored": false, "resource_changes": [{
        "address": "module.storage_a.aws_ebs_volume.this", "mode": "managed", "type": "aws_ebs_volume", "name": "this",
        "provider_name": "registry.terraform.io/hashicorp/aws", "change": change,
    }]})
}

// Safety of destroys and applies

#[test]
fn what_is_no_whole_plan_is_refused() {
    judged(&plan(&["update"]), &[], "UTC").ends(0);
    let mut errored = plan(&["update"]);
    errored["errored"] = json!(true);
    let state = json!({ "format_version": "1.0", "terraform_version": "1.11.4", "values": { "root_module": {} } });
    for document in
        [json!({}), json!([]), json!(null), state, errored, plan(&["forget"]), plan(&["explode"]), plan(&[])]
    {
        judged(&document, &[], "UTC").ends(3);
    }
}

#[test]
fn a_detach_sanctions_its_own_attachment_alone() {
    let harbor = Harbor::standing();
    harbor.edit("instances/instances.yaml", "      - {name: ledger, mount_point: /mnt/ledger}\n", "");
    harbor.csis(&["--overlay", "overlays/launch.yaml", "generate"]).ends(0);
    let script = harbor.emitted(RUN_MACHINES);
    assert_eq!(script.matches("--allow-destroy 'module.instance_api_1").count(), 1, "{script}");
    assert!(!script.contains("--allow-destroy module.instance_api_1"), "{script}");
    assert!(
        script.contains(r#"--allow-destroy 'module.instance_api_1.aws_volume_attachment.this["ledger"]'"#),
        "{script}"
    );
    assert!(script.contains("--require-unmounted api-1:ledger"), "{script}");
}

#[test]
fn dropping_a_mount_without_an_attachment_sanctions_nothing() {
    let harbor = Harbor::standing();
    harbor.edit(
        "instances/instances.yaml",
        "      - {name: depot, mount_point: /mnt/depot}\n    userdata",
        "    userdata",
    );
    harbor.csis(&["generate"]).ends(0);
    assert!(!harbor.emitted(RUN_MACHINES).contains("--allow-destroy"), "{}", harbor.emitted(RUN_MACHINES));
}

#[test]
fn looking_at_an_overlay_leaves_no_trace_in_the_records_or_in_later_runs() {
    let harbor = Harbor::standing();
    harbor.csis(&["generate"]).ends(0);
    let before = files(&harbor.root);
    harbor.write("overlays/trial.yaml", "instances:\n  - name: trial-1\n    image: harbor-api\n    type: fleet\n");
    for command in [&["validate"][..], &["generate"], &["--offline", "preview"], &["--offline", "plan"]] {
        let arguments = [&["--overlay", "overlays/trial.yaml"], command].concat();
        harbor.csis(&arguments);
    }
    assert_eq!(files(&harbor.path("meta-state")).len(), 7);
    fs::remove_file(harbor.path("overlays/trial.yaml")).unwrap();
    harbor.csis(&["generate"]).ends(0);
    fs::remove_file(harbor.path("generated/plan.json")).ok();
    assert_eq!(files(&harbor.root), before);
}

#[test]
fn a_group_that_was_only_looked_at_may_leave() {
    let harbor = Harbor::standing();
    harbor.write("groups/more.yaml", "groups:\n  - {name: guests, gid: 4200, members: [lena]}\n");
    harbor.csis(&["generate"]).ends(0);
    harbor.csis(&["--offline", "preview"]).ends(0);
    fs::remove_file(harbor.path("groups/more.yaml")).unwrap();
    harbor.csis(&["validate"]).ends(0);
}

#[test]
fn flags_that_are_no_boolean_and_no_list_allow_nothing() {
    let harbor = Harbor::new();
    for flag in
        ["\"false\"", "\"no\"", "\"true\"", "1", "0", "1.0", "{aws-west: false}", "{aws-west: true}", "[]", "~", "[1]"]
    {
        harbor.write("cfg/_config.yml", format!("id: harbor\nconfig:\n  apply_storage: {flag}\n"));
        for root in [&[][..], &["--root", "volumes"], &["--root", "volumes", "--root-alias", "aws-west"]] {
            let arguments = [&["apply-check", "--lifecycle", "storage"], root].concat();
            harbor.csis(&arguments).ends(3).tells(&["apply_storage"]);
        }
    }
    for (flag, root) in [("true", "volumes"), ("[volumes]", "volumes"), ("volumes", "volumes")] {
        harbor.write("cfg/_config.yml", format!("id: harbor\nconfig:\n  apply_storage: {flag}\n"));
        harbor.csis(&["apply-check", "--lifecycle", "storage", "--root", root]).ends(0);
    }
}

#[test]
fn apply_check_reads_every_file_of_the_configuration() {
    let harbor = Harbor::new();
    harbor.edit("cfg/_config.yml", "  apply_storage: [aws-west]\n", "");
    let check = ["apply-check", "--lifecycle", "storage", "--root", "volumes", "--root-alias", "aws-west"];
    harbor.csis(&check).ends(3);
    harbor.write("cfg/zz.yml", "config:\n  apply_storage: [aws-west]\n");
    harbor.csis(&check).ends(0);
}

#[test]
fn a_receipt_counts_by_its_content_and_its_age_in_any_zone() {
    let harbor = Harbor::new();
    harbor.write("p.json", plan(&["update"]).to_string());
    let receipt = |at: &str, run: &str| {
        json!({ "ok": true, "instance": "a", "storage": "data", "time": at, "run": run }).to_string()
    };
    let judge = |text: String, extra: &[&str], zone: &str| {
        harbor.write("unmount-receipts/a__data.json", text);
        let mut command = harbor.command(&["gate-plan", "p.json", "--require-unmounted", "a:data"]);
        run(command.args(extra).env("TZ", zone), Duration::from_secs(20)).code
    };
    let now = ["--now", "2026-03-01T12:00:00Z"];
    for zone in ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"] {
        assert_eq!(judge(receipt("2026-03-01T11:30:00Z", "r"), &now, zone), Some(0), "{zone}");
        assert_eq!(judge(receipt("2026-03-01T09:30:00Z", "r"), &now, zone), Some(3), "{zone}");
        assert_eq!(judge(receipt("2026-03-02T09:30:00Z", "r"), &now, zone), Some(3), "{zone}");
    }
    let of = |run: &'static str| [now[0], now[1], "--run", run];
    assert_eq!(judge(receipt("2026-03-01T11:30:00Z", "mine"), &of("mine"), "UTC"), Some(0));
    assert_eq!(judge(receipt("2026-03-01T11:30:00Z", "theirs"), &of("mine"), "UTC"), Some(3));
    let other = receipt("2026-03-01T11:30:00Z", "r").replace("\"a\"", "\"b\"");
    assert_eq!(judge(other, &now, "UTC"), Some(3));
}

/// A plan file with a stand-in for the engine that shows it, judged from another folder.
#[test]
fn a_plan_older_than_any_of_its_inputs_is_stale_from_wherever_it_is_judged() {
    let harbor = Harbor::new();
    harbor.write(
        "engine",
        format!(
            "#!/bin/sh\ncase $1 in version) echo Terraform v1.11.4 ;; *) cat <<'END'\n{}\nEND\nesac\n",
            plan(&["update"])
        ),
    );
    run(Command::new("chmod").arg("755").arg(harbor.path("engine")), Duration::from_secs(5)).ends(0);
    harbor.write("work/main.tf", "").write("work/tfplan", "binary");
    let age = |file: &str, time: &str| {
        let mut touch = Command::new("touch");
        run(touch.args(["-d", time]).arg(harbor.path(file)), Duration::from_secs(5)).ends(0);
    };
    let judge = || {
        let engine = harbor.path("engine");
        harbor.csis(&["gate-plan", "--planfile", "work/tfplan", "--tofu", engine.to_str().unwrap()])
    };
    age("work/main.tf", "2026-01-01T10:00:00Z");
    age("work/tfplan", "2026-01-01T11:00:00Z");
    judge().ends(0);
    for input in
        ["user-data.sh.tftpl", "x.tfvars", "x.auto.tfvars.json", ".terraform.lock.hcl", "x.tf.json", "sub/deep.tf"]
    {
        let file = format!("work/{input}");
        harbor.write(&file, "");
        age(&file, "2026-01-01T12:00:00Z");
        judge().ends(3).tells(&["stale"]);
        fs::remove_file(harbor.path(&file)).unwrap();
    }
    age("work/main.tf", "2026-01-01T11:00:00Z");
    judge().ends(3);
}

#[test]
fn two_storages_never_share_a_bucket() {
    let fallback = [("storages/storages.yaml", "    bucket_name: harbor-vault\n", "")];
    let harbor = Harbor::new();
    harbor.edit(fallback[0].0, fallback[0].1, fallback[0].2);
    harbor.csis(&["validate"]).ends(0);
    refuses(
        &[fallback[0], ("storages/storages.yaml", "bucket_name: harbor-public-docs", "bucket_name: harbor-default")],
        &["harbor-default", "vault", "public-docs", "storages/storages.yaml:"],
    );
}

/// git keeps no empty folder: a script that enters one works only where it was made.
#[test]
fn every_script_finds_its_folders_in_a_fresh_clone() {
    let harbor = Harbor::standing();
    harbor.csis(&["generate"]).ends(0);
    harbor.commit("generated");
    let clone = harbor.outside().join("clone");
    harbor.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let mut entered = 0;
    for (path, bytes) in files(&clone.join("generated")) {
        if path.rsplit_once('/').is_some_and(|(_, name)| name.starts_with("run-")) {
            let script = clone.join("generated").join(&path);
            for line in String::from_utf8(bytes).unwrap().lines().filter_map(|line| line.strip_prefix("( cd ")) {
                let folder = script.parent().unwrap().join(line.split_whitespace().next().unwrap());
                assert!(folder.is_dir(), "{path} enters {}", folder.display());
                entered += 1;
            }
        }
    }
    assert!(entered > 10);
}

// Launched instances

/// The standing tree whose machine api-1 also mounts two more volumes, on the next devices.
fn three_volumes() -> Harbor {
    let harbor = Harbor::new();
    harbor.add_records();
    let mount = |name: &str| format!("      - {{name: {name}, mount_point: /mnt/{name}}}\n");
    harbor.write(
        "storages/more.yaml",
        "storages:\n  - {name: second, groups: [crew]}\n  - {name: third, groups: [crew]}\n",
    );
    harbor.edit("instances/instances.yaml", &mount("ledger"), &(mount("ledger") + &mount("second") + &mount("third")));
    let records = harbor.read("meta-state/launch-params.yaml");
    let (before, after) = records.split_once("    - builder: shares\n").unwrap();
    let recorded = |name: &str, device: &str| {
        format!(
            "    - builder: volumes\n      device: {device}\n      group: crew\n      mount_point: /mnt/{name}\n      public_read: false\n      share_mode: '2770'\n      storage: {name}\n      type: ebs\n"
        )
    };
    let more = recorded("second", "/dev/xvdg") + &recorded("third", "/dev/xvdh");
    harbor.write("meta-state/launch-params.yaml", format!("{before}{more}    - builder: shares\n{after}"));
    harbor.csis(&["validate"]).ends(0);
    harbor
}

#[test]
fn any_volume_may_be_detached_and_the_others_keep_their_devices() {
    for gone in ["ledger", "second", "third"] {
        let harbor = three_volumes();
        harbor.edit("instances/instances.yaml", &format!("      - {{name: {gone}, mount_point: /mnt/{gone}}}\n"), "");
        harbor.csis(&["generate"]).ends(0);
        let machine = harbor.emitted("instance-api_1.tf");
        for (name, device) in [("ledger", "xvdf"), ("second", "xvdg"), ("third", "xvdh")] {
            assert_eq!(machine.contains(&format!("/dev/{device}")), name != gone, "{gone} goes: {machine}");
        }
    }
}

#[test]
fn a_new_mount_takes_the_first_free_device() {
    let harbor = three_volumes();
    harbor.edit(
        "instances/instances.yaml",
        "{name: second, mount_point: /mnt/second}",
        "{name: fourth, mount_point: /mnt/fourth}",
    );
    harbor.edit("storages/more.yaml", "  - {name: third", "  - {name: fourth, groups: [crew]}\n  - {name: third");
    let said = harbor.csis(&["generate"]);
    if said.code == Some(0) {
        let machine = harbor.emitted("instance-api_1.tf");
        assert!(machine.contains("/dev/xvdg") && machine.contains("fourth"), "{machine}");
    } else {
        // A launched machine's parameters may not grow a mount without being said to be replaced.
        said.ends(1).tells(&["api-1", "fourth"]);
    }
}

#[test]
fn the_order_of_mounts_and_a_share_mode_are_no_launch_parameters() {
    let harbor = Harbor::standing();
    harbor.edit(
        "instances/instances.yaml",
        "      - {name: ledger, mount_point: /mnt/ledger}\n      - {name: depot, mount_point: /mnt/depot}\n    userdata",
        "      - {name: depot, mount_point: /mnt/depot}\n      - {name: ledger, mount_point: /mnt/ledger}\n    userdata",
    );
    harbor.edit("storages/storages.yaml", "2775", "2770");
    harbor.csis(&["validate"]).ends(0);
    harbor.csis(&["generate"]).ends(0);
    assert!(harbor.emitted("instance-api_1.tf").contains("/dev/xvdf"));
}

#[test]
fn a_machine_has_as_many_volumes_as_there_are_devices() {
    let with = |volumes: usize| {
        let harbor = Harbor::new();
        let (mut storages, mut mounts) = (String::new(), String::new());
        for n in 1..=volumes {
            let _ = writeln!(storages, "  - {{name: v{n}, groups: [crew]}}");
            let _ = writeln!(mounts, "      - {{name: v{n}, mount_point: /mnt/v{n}}}");
        }
        harbor.write("storages/more.yaml", format!("storages:\n{storages}"));
        harbor.edit("instances/instances.yaml", "      - {name: ledger, mount_point: /mnt/ledger}\n", &mounts);
        harbor
    };
    let full = with(21);
    full.csis(&["generate"]).ends(0);
    let machine = full.emitted("instance-api_1.tf");
    assert!(machine.contains("/dev/xvdz") && !machine.contains("/dev/xvd{"), "{machine}");
    with(22).csis(&["generate"]).ends(1).tells(&["api-1", "21", "instances/instances.yaml:"]);
}

// Emission and quoting

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

// Access model

/// Harbor with a machine of the group audit on an image that can mount everything.
fn with_reader(storage: &str) -> Harbor {
    let harbor = Harbor::new();
    harbor.write(
        "images/reader.yaml",
        "images:\n  - {name: reader, group: audit, source_image: alma9, description: x, runtimes: [{image_builder: bake}]}\n",
    );
    harbor.write(
        "instances/reader.yaml",
        format!("instances:\n  - name: reader-1\n    image: reader\n    storages: [{{name: {storage}, mount_point: /mnt/x}}]\n"),
    );
    harbor
}

/// The line that mounts what is mounted at /mnt/x.
fn mount_line(harbor: &Harbor) -> String {
    let script = harbor.emitted("user-data-reader_1.sh.tftpl");
    let lines: Vec<&str> = script.lines().filter(|line| line.contains("'/mnt/x'")).collect();
    lines.join("\n")
}

#[test]
fn a_public_share_is_read_only_for_others_and_whole_for_its_groups() {
    let harbor = with_reader("depot");
    harbor.edit("storages/storages.yaml", "    groups: [crew, audit]\n", "    groups: [crew]\n    public_read: true\n");
    harbor.csis(&["generate"]).ends(0);
    let reader = harbor.emitted("instance-reader_1.tf");
    assert!(reader.contains("public_read"), "{reader}");
    assert!(mount_line(&harbor).split([',', '"', ' ']).any(|option| option == "ro"), "{}", mount_line(&harbor));
    let owner = harbor.emitted("instance-api_2.tf");
    assert!(owner.contains(r#"access_point_ids["crew"]"#) && !owner.contains("public_read"), "{owner}");
    let script = harbor.emitted("user-data-api_2.sh.tftpl");
    assert!(!script.split([',', '"', ' ', '\n']).any(|option| option == "ro"), "{script}");
}

#[test]
fn a_public_volume_is_read_only_for_others_who_get_no_folder_of_their_own() {
    let harbor = with_reader("library");
    harbor.write("storages/more.yaml", "storages:\n  - {name: library, groups: [crew], public_read: true}\n");
    harbor.csis(&["generate"]).ends(0);
    let lines = mount_line(&harbor);
    assert!(lines.split([',', '"', ' ', '\n']).any(|option| option == "ro"), "{lines}");
    assert!(!lines.contains("csis_subtree"), "{lines}");
}

#[test]
fn a_groups_files_belong_to_who_wrote_them() {
    let harbor = Harbor::new();
    harbor.csis(&["init-config", "."]).ends(0);
    let module = harbor.read("tfmodules/aws_storage_efs/main.tf");
    let code: String = module.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    assert!(code.contains("aws_efs_access_point") && !code.contains("posix_user"), "{module}");
}

// Validation

#[test]
fn config_of_a_second_file_is_added() {
    let harbor = Harbor::new();
    harbor.edit("cfg/_config.yml", "  apply_instances: false\n", "");
    harbor.write("cfg/zz.yml", "config:\n  apply_instances: [aws-west]\n");
    harbor.csis(&["apply-check", "--lifecycle", "instances", "--root", "fleet", "--root-alias", "aws-west"]).ends(0);
    harbor.csis(&["apply-check", "--lifecycle", "storage", "--root", "volumes", "--root-alias", "aws-west"]).ends(0);
}

#[test]
fn a_storage_is_mounted_once() {
    refuses(
        &[(
            "instances/instances.yaml",
            "      - {name: ledger, mount_point: /mnt/ledger}\n",
            "      - {name: ledger, mount_point: /mnt/ledger}\n      - {name: ledger, mount_point: /mnt/again}\n",
        )],
        &["api-1", "ledger", "instances/instances.yaml:"],
    );
}

#[test]
fn a_public_key_that_is_none_is_refused() {
    for key in [
        "ssh-ed25519 AAAA mira",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd",
        "hello",
        "ssh-ed25519 not base64!",
    ] {
        let good = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd mira";
        refuses(&[("groups/users.yaml", good, key)], &["mira", "key", "groups/users.yaml:"]);
    }
}

#[test]
fn a_text_where_a_list_belongs_is_refused() {
    for (file, find, replace) in [
        ("images/images.yaml", "packages: [git]", "packages: git"),
        ("images/images.yaml", "scripts: [scripts/site.sh]", "scripts: scripts/site.sh"),
        ("storages/storages.yaml", "groups: [crew, audit]", "groups: crew"),
        ("groups/groups.yaml", "members: [lena]", "members: lena"),
    ] {
        refuses(&[(file, find, replace)], &["list", &format!("{file}:")]);
    }
}

#[test]
fn an_alias_is_nobody_elses_name() {
    refuses(
        &[("cfg/storage-builders.yml", "name: shares\n", "name: shares\n    aliases: [volumes]\n")],
        &["volumes", "shares", "cfg/storage-builders.yml:"],
    );
}

#[test]
fn a_machine_its_image_and_its_storages_are_on_one_runtime() {
    let east = r#"runtime_builders:
  - name: aws-east
    type: aws
    account_id: "123456789012"
    region: us-east-1
    default_machine_type: t3.small
    credentials: {profile_name: harbor}
    networking:
      network: vpc-0ab00000000000002
      subnets: [{name: a, subnet_id: subnet-0ab0000000000002a, availability_zone: us-east-1a, is_default: true}]
storage_builders:
  - {name: east-volumes, type: tf-aws-ebs, runtime: aws-east, executable: engine}
instance_builders:
  - {name: east-fleet, type: tofu, runtime: aws-east, executable: engine}
"#;
    let harbor = Harbor::new();
    harbor.write("cfg/east.yml", east);
    harbor.csis(&["validate"]).ends(0);
    let machine = |extra: &str| format!("instances:\n  - name: far-1\n    image: harbor-api\n    {extra}\n");
    harbor.write("instances/far.yaml", machine("type: east-fleet\n    runtime: aws-east"));
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "harbor-api", "aws-east", "instances/far.yaml:"]);
    harbor.write("instances/far.yaml", machine("type: east-fleet\n    runtime: aws-west"));
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "aws-west", "instances/far.yaml:"]);
    harbor.write("instances/far.yaml", machine("storages: [{name: away, mount_point: /mnt/away}]"));
    harbor.write("storages/far.yaml", "storages:\n  - {name: away, type: east-volumes, groups: [crew]}\n");
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "away", "aws-east", "instances/far.yaml:"]);
}

#[test]
fn a_deadline_is_longer_than_nothing() {
    for time in ["0m", "0s", "0h", "-5m", "soon", "5"] {
        refuses(
            &[("instances/instances.yaml", "teardown_after: 45m", &format!("teardown_after: \"{time}\""))],
            &["teardown_after", "instances/instances.yaml:"],
        );
    }
}

#[test]
fn variables_of_images_do_not_clash() {
    let base = ("images/images.yaml", "    tags: {role: base}\n", "    tags: {role: base}\n    variables: {");
    let api = (
        "images/images.yaml",
        "    parent_policy: follow\n",
        "    parent_policy: follow\n    variables: {level: other}\n",
    );
    let with = |text: &str| format!("{}{text}}}\n", base.2);
    for text in ["release: x", "base_image_version: x", "level: [a, b]", "\"0bad\": x"] {
        refuses(
            &[(base.0, base.1, &with(text))],
            &[text.trim_matches('"').split(['"', ':']).next().unwrap(), "images/images.yaml:"],
        );
    }
    refuses(&[(base.0, base.1, &with("level: one")), api], &["level", "harbor-base", "harbor-api"]);
}

/// What only the account can tell is judged from a snapshot, and said to be not judged without one.
#[test]
fn the_account_is_judged_from_a_snapshot() {
    let harbor = Harbor::new();
    harbor.csis(&["validate"]).ends(0).tells(&["not judged", "security groups"]);
    let network = "vpc-0ab00000000000001";
    let subnets: serde_json::Map<String, Value> =
        ["subnet-0ab0000000000000a", "subnet-0ab0000000000000b", "subnet-0ab0000000000001a"]
            .into_iter()
            .zip(["us-west-2a", "us-west-2b", "us-west-2a"])
            .map(|(id, zone)| (id.to_owned(), json!({ "network": network, "availability_zone": zone })))
            .collect();
    let snapshot = |account: &str, groups: &[&str]| {
        json!({ "schema": 1, "time": "2026-03-01T12:00:00Z", "runtimes": { "aws-west": {
            "account": account, "region": "us-west-2", "networks": { "known": { network: {} } },
            "subnets": { "known": subnets }, "security_groups": { "known": groups },
        }}})
        .to_string()
    };
    let judge = |text: String| {
        harbor.write("snapshot.json", text);
        harbor.csis(&["--snapshot", "snapshot.json", "validate"])
    };
    judge(snapshot("123456789012", &["sg-0ab00000000000011"])).ends(0);
    judge(snapshot("123456789012", &[])).ends(1).tells(&["sg-0ab00000000000011", "cfg/runtime-builders.yml:"]);
    judge(snapshot("999999999999", &["sg-0ab00000000000011"])).ends(1).tells(&["999999999999", "123456789012"]);
    judge("{}".into()).ends(2);
}

// Messages

#[test]
fn a_fault_of_a_file_is_a_few_lines_that_name_file_and_item() {
    for (file, find, replace, words) in [
        ("storages/storages.yaml", "share_mode:", "sharemode:", &["sharemode", "share_mode", "depot"][..]),
        ("storages/storages.yaml", "type: shares", "type: sharess", &["sharess", "shares"]),
        ("instances/instances.yaml", "on_failure: teardown", "on_failure: explode", &["explode", "teardown", "probe"]),
        ("groups/groups.yaml", "members: [lena]", "members: [nobody]", &["nobody", "audit"]),
        ("groups/groups.yaml", "gid: 4100", "gid: many", &["gid", "many", "audit"]),
        ("cfg/os-builders.yml", "type: ubuntu", "type: ubunto", &["ubunto", "ubuntu"]),
        ("cfg/state-backends.yml", "bucket: harbor-state, ", "", &["bucket", "state-main"]),
        ("images/images.yaml", "  - name: harbor-edge\n", "  - naem: harbor-edge\n", &["name"]),
        ("images/images.yaml", "images:\n", "images:\n  - name: [\n", &[]),
    ] {
        let said = refuses(&[(file, find, replace)], words).tells(&[&format!("{file}:"), "help:"]);
        for help in said.stderr.lines().filter_map(|line| line.trim().strip_prefix("help: ")) {
            assert!(
                !help.starts_with(char::is_uppercase) && !help.ends_with('.'),
                "not in the style of the others: {help}"
            );
        }
        let lines = said.stderr.lines().count();
        assert!(lines <= 30, "{lines} lines:\n{}", said.stderr);
    }
}

#[test]
fn a_message_names_the_right_kind_and_both_names() {
    let harbor = Harbor::new();
    harbor.write(
        "storages/more.yaml",
        "storages:\n  - {name: Vault, type: buckets, bucket_name: other, groups: [crew]}\n",
    );
    let said = harbor.csis(&["validate"]).ends(1).tells(&["storage", "`Vault`", "`vault`"]);
    assert!(!said.stderr.contains("image files"), "{}", said.stderr);
    refuses(&[("instances/instances.yaml", "- name: api-2", "- name: API-1")], &["`API-1`", "`api-1`"]);
}

#[test]
fn a_member_is_found_however_its_name_is_written() {
    let harbor = Harbor::new();
    harbor.write(
        "groups/more.yaml",
        "users:\n  - {name: Emery, first_name: E, last_name: M, uid: 4009}\ngroups:\n  - {name: Guests, gid: 4300, members: [Emery, LENA]}\n",
    );
    let said = harbor.csis(&["validate"]);
    assert!(!said.stderr.contains("not in the list"), "{}", said.stderr);
    said.ends(0);
}

#[test]
fn there_is_a_version_and_an_unknown_entry_is_no_warning() {
    let harbor = Harbor::new();
    harbor.csis(&["--version"]).ends(0).tells(&["csis 0."]);
    for entry in ["instance:nope", "nope", "nope:api-1", "instance:", ":"] {
        harbor.csis(&["--undeclare", entry, "validate"]).ends(2).tells(&["undeclare"]);
    }
}
