//! Destroys and applies: what lets them pass, and what does not.

use super::{Harbor, RUN_MACHINES, judged, plan, refuses};
use crate::support::{files, run};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::time::Duration;

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
