//! Whole previews of the standing tree. On the bench (`CSIS_BENCH=1`, `scripts/bench up harbor`) with the real engine: only here a change of YAML meets a
//! state, and a comment says what came of it. Without it, what is told of a change before anything is planned.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;
use support::{Harbor, Said, files, run, seal};

const LONG: Duration = Duration::from_mins(5);

/// The standing tree on a branch of its own, or none when the bench is not up.
fn standing() -> Option<Harbor> {
    if std::env::var("CSIS_BENCH").as_deref() != Ok("1") {
        return None;
    }
    let tree = std::env::var("CSIS_BENCH_TREE").unwrap_or_default();
    assert!(std::path::Path::new(&tree).join("cfg").is_dir(), "no standing tree: run `scripts/bench up harbor`");
    let harbor = Harbor::new();
    harbor.add_records();
    harbor.csis(&["init-config", "."]).ends(0);
    harbor.commit("as it stands");
    harbor.git(&["switch", "--quiet", "--create", "change"]);
    Some(harbor)
}

/// csis with the bench's engine, account and stand-in provider.
fn on_bench(harbor: &Harbor, arguments: &[&str]) -> Command {
    let engine = support::engine().unwrap();
    let mut command = harbor.command(&["--tool", &format!("tofu={}", engine.display())]);
    command.args(arguments);
    for (name, value) in std::env::vars() {
        if name.starts_with("AWS_") || name.starts_with("TF_") {
            command.env(name, value);
        }
    }
    command
}

/// What `preview` said of the change: the report as data, and as the comment.
struct Preview {
    said: Said,
    report: Value,
    comment: String,
}

fn preview(harbor: &Harbor, identity: Option<&str>) -> Preview {
    let output = harbor.outside().join("comment.md");
    let arguments = ["preview", "--base", "main", "--format", "json", "--output", output.to_str().unwrap()];
    let mut command = on_bench(harbor, &arguments);
    command.envs(identity.map(|identity| ("CSIS_CONFIG_IDENTITY", identity)));
    let said = run(&mut command, LONG);
    let report = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
    let comment = fs::read_to_string(&output).unwrap();
    assert!(!harbor.path("generated").exists(), "preview writes no emission");
    let status = harbor.git(&["status", "--porcelain", "--untracked-files=all"]).stdout;
    assert!(!status.contains("_private"), "git sees the private copies: {status}");
    Preview { said, report, comment }
}

impl Preview {
    fn root(&self, name: &str) -> &Value {
        let roots = self.report["roots"].as_array().unwrap();
        roots.iter().find(|root| root["name"] == name).unwrap_or_else(|| panic!("no root {name}: {}", self.comment))
    }

    fn first_line(&self) -> &str {
        self.comment.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("<!--")).unwrap_or("")
    }

    /// Action and address of every change of a root that is one.
    fn changes(&self, root: &str) -> Vec<String> {
        let changes = self.root(root)["changes"].as_array().unwrap();
        let of =
            |change: &Value| format!("{} {}", change["action"].as_str().unwrap(), change["address"].as_str().unwrap());
        changes.iter().map(of).filter(|change| !change.starts_with("no-op") && !change.starts_with("read")).collect()
    }
}

#[track_caller]
fn holds(list: &[String], part: &str) {
    assert!(list.iter().any(|item| item.contains(part)), "{part} in {list:?}");
}

#[test]
fn the_change_of_the_demo_reads_as_it_should() {
    let Some(harbor) = standing() else { return };
    let script = support::project().join("scripts/demo-change.py");
    run(Command::new(support::python()).arg(script).arg(&harbor.root), LONG).ends(0);
    let seen = preview(&harbor, None);
    assert_eq!(seen.said.code, Some(0), "{}", seen.said.all());
    let first = seen.first_line();
    assert!(first.contains("loses data") && first.contains("1 S3 bucket") && first.contains("2 of 3 roots"), "{first}");
    assert_eq!(seen.report["verdict"], "pass");
    assert_eq!(seen.root("storage/shares")["status"], "unchanged");
    for root in ["storage/buckets", "storage/volumes", "instance-image/fleet"] {
        assert_eq!(seen.root(root)["status"], "planned", "{root}");
    }
    let [buckets, volumes, fleet] =
        ["storage/buckets", "storage/volumes", "instance-image/fleet"].map(|r| seen.changes(r));
    holds(&buckets, "delete module.storage_public_docs.aws_s3_bucket.this");
    assert_eq!(volumes, ["create module.storage_journal.aws_ebs_volume.this"]);
    holds(&fleet, "update module.instance_api_1.aws_instance.this");
    holds(&fleet, "create module.instance_api_3.aws_instance.this");
    holds(&fleet, "create module.instance_api_3.aws_volume_attachment.this[\"journal\"]");
    assert_eq!(fleet.len(), 3, "{fleet:?}");
    let findings = seen.root("storage/buckets")["findings"].to_string();
    assert!(
        findings.contains("data-loss") && findings.contains("module.storage_public_docs.aws_s3_bucket.this"),
        "{findings}"
    );
    for words in ["`data-loss`", "harbor-public-docs", "m7i.large", "m7i.xlarge", "plan-only"] {
        assert!(seen.comment.contains(words), "{words} in {}", seen.comment);
    }
    let volume = seen.comment.lines().find(|line| line.contains("volume_id") && line.contains("journal"));
    assert!(volume.is_some_and(|line| line.contains("volume of this change")), "{volume:?} in {}", seen.comment);
    assert!(!seen.said.all().contains("csispending") && !seen.comment.contains("vol-0c515"), "{}", seen.comment);
    assert!(seen.comment.len() <= 60_000);
}

/// An operation file, and nothing else: one machine moves onto the newest build of its image.
#[test]
fn an_operation_file_replaces_one_machine() {
    let Some(harbor) = standing() else { return };
    let (old, new) = ("ami-0ba4e000000000a91", "ami-0ba4e000000000a92");
    let lineage = harbor.read("meta-state/lineage.yaml");
    let build = lineage.split("- build_id:").find(|build| build.contains(old)).unwrap().replace(old, new);
    harbor.git(&["switch", "--quiet", "main"]);
    harbor.write("meta-state/lineage.yaml", format!("{lineage}- build_id:{build}"));
    harbor.commit("a newer build");
    harbor.git(&["switch", "--quiet", "--force-create", "change"]);
    harbor.write("operations/upgrade-api-1.yaml", format!("upgrade: {{instance: api-1, to: {new}}}\n"));
    let seen = preview(&harbor, None);
    assert_eq!(seen.said.code, Some(0), "{}", seen.said.all());
    let fleet = seen.changes("instance-image/fleet");
    holds(&fleet, "module.instance_api_1.aws_instance.this");
    // What follows its image moves without being asked.
    let asked =
        |changes: &[String]| changes.iter().filter(|change| !change.contains("instance_api_2")).cloned().collect();
    let asked_for: Vec<String> = asked(&fleet);
    assert_eq!(
        asked_for,
        [
            "replace module.instance_api_1.aws_instance.this",
            "replace module.instance_api_1.aws_volume_attachment.this[\"ledger\"]"
        ]
    );
    let sanctions = seen.report["sanctions"].as_array().unwrap();
    let of =
        |address: &str| sanctions.iter().find(|s| s["address"] == address).map(|s| s["because"]["operation"].clone());
    assert_eq!(of("module.instance_api_1.aws_instance.this").unwrap(), "upgrade");
    // A branch that writes the record itself gets nothing by it.
    fs::remove_dir_all(harbor.path("operations")).unwrap();
    harbor.edit("meta-state/pins.yaml", "pending_replacements: {}", &format!("pending_replacements: {{api-1: {new}}}"));
    let forged = preview(&harbor, None);
    let asked_for: Vec<String> = asked(&forged.changes("instance-image/fleet"));
    assert_eq!(asked_for, Vec::<String>::new());
}

/// Everything moves to another zone; the branch also writes itself a pending replacement. The volume's tag is a secret.
#[test]
fn a_replacement_that_nothing_sanctions_is_refused_whatever_records_the_branch_writes() {
    let Some(harbor) = standing() else { return };
    let secret = "hunter2-Sn0wfall";
    let sealed = seal(secret);
    harbor.edit("storages/storages.yaml", "{data: ledger}", &format!("{{data: \"{}\"}}", sealed.marker));
    let runtime = "cfg/runtime-builders.yml";
    harbor.edit(runtime, "availability_zone: us-west-2a, is_default: true}", "availability_zone: us-west-2a}");
    harbor.edit(runtime, "availability_zone: us-west-2b}", "availability_zone: us-west-2b, is_default: true}");
    let pins = harbor.read("meta-state/pins.yaml");
    let pending = "pending_replacements: {api-1: ami-0ba4e000000000a91}";
    harbor.write("meta-state/pins.yaml", pins.replace("pending_replacements: {}", pending));
    // The same record is a sanction where it may stand.
    let mut believed = harbor.command(&["--offline", "plan", "--format", "json"]);
    let said = run(believed.env("CSIS_CONFIG_IDENTITY", &sealed.identity), LONG).ends(0);
    assert!(said.stdout.contains("module.instance_api_1.aws_instance.this"), "{}", said.stdout);
    fs::remove_dir_all(harbor.path("generated")).unwrap();
    let seen = preview(&harbor, Some(&sealed.identity));
    assert_eq!(seen.said.code, Some(3), "{}", seen.said.all());
    assert!(seen.first_line().contains("Do not merge"), "{}", seen.first_line());
    assert_eq!(seen.report["verdict"], "refused");
    let sanctions = seen.report["sanctions"].as_array().unwrap();
    let gained = sanctions.iter().find(|s| s["because"]["kind"] == "instance" || s["root"] == "storage/volumes");
    assert_eq!(gained, None, "the branch wrote itself a sanction");
    let (volumes, fleet) = (seen.changes("storage/volumes"), seen.changes("instance-image/fleet"));
    holds(&volumes, "module.storage_ledger.aws_ebs_volume.this");
    holds(&fleet, "module.instance_api_1.aws_instance.this");
    holds(&fleet, "module.instance_api_1.aws_volume_attachment.this[\"ledger\"]");
    for root in ["storage/volumes", "instance-image/fleet"] {
        let findings = seen.root(root)["findings"].to_string();
        assert!(findings.contains("\"replace\"") && findings.contains("refuse"), "{root}: {findings}");
    }
    for words in ["`replace`", "records", "pins.yaml", "availability_zone"] {
        assert!(seen.comment.contains(words), "{words} in {}", seen.comment);
    }
    for text in [&seen.said.stdout, &seen.said.stderr, &seen.comment] {
        assert!(!text.contains(secret) && !text.contains(&sealed.identity), "the secret is told: {text}");
    }
    let opened =
        files(&harbor.path("_private")).into_values().any(|bytes| String::from_utf8_lossy(&bytes).contains(secret));
    assert!(opened, "the engine planned with the secret");
}

/// Comments, the order of entries and the files they stand in are nobody's change.
#[test]
fn moving_lines_concerns_no_root() {
    let Some(harbor) = standing() else { return };
    let storages = harbor.read("storages/storages.yaml");
    let (first, vault) = storages.split_once("  - name: vault").unwrap();
    harbor.write("storages/storages.yaml", format!("# Moved about.\n{first}"));
    harbor.write("storages/later.yaml", format!("storages:\n  - name: vault{vault}"));
    harbor.edit("instances/instances.yaml", "instances:\n", "\n\n# Machines\n\ninstances:\n");
    let seen = preview(&harbor, None);
    assert_eq!(seen.said.code, Some(0), "{}", seen.said.all());
    assert_eq!(seen.report["verdict"], "pass");
    for root in seen.report["roots"].as_array().unwrap() {
        assert_eq!((&root["status"], &root["concerned"]), (&"unchanged".into(), &false.into()), "{root}");
    }
    assert_eq!(seen.report["emission"].as_array().map_or(0, Vec::len), 0, "{}", seen.report["emission"]);
}

#[test]
fn without_credentials_nothing_is_judged_and_that_is_no_pass() {
    let Some(harbor) = standing() else { return };
    harbor.edit("instances/instances.yaml", "m7i.large", "m7i.xlarge");
    let without = |arguments: &[&str]| {
        let mut command = on_bench(&harbor, arguments);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_") && !name.contains("ENDPOINT")) {
            command.env_remove(name);
        }
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        run(&mut command, LONG)
    };
    let said = without(&["preview", "--base", "main"]).ends(1).tells(&["not judged", "no credentials", "harbor"]);
    assert!(said.stdout.starts_with('❔'), "{}", said.stdout);
    without(&["preview", "--base", "main", "--fail-on", "gate"]).ends(0).tells(&["not judged"]);
}

#[test]
fn the_standing_tree_plans_to_nothing_and_the_report_is_kept() {
    let Some(harbor) = standing() else { return };
    let said = run(&mut on_bench(&harbor, &["plan", "--format", "json"]), LONG).ends(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["verdict"], "pass");
    for root in report["roots"].as_array().unwrap() {
        assert_eq!(root["status"], "unchanged", "{root}");
    }
    assert_eq!(harbor.read("generated/plan.json"), said.stdout);
    let kept = files(&harbor.path("generated"));
    assert!(kept.keys().filter(|path| path.ends_with(".terraform.lock.hcl")).count() == 4, "{:?}", kept.keys());
    let strange =
        |path: &&String| path.contains("tfplan") || path.contains(".terraform/") || path.contains("auto.tfvars");
    assert_eq!(kept.keys().find(strange), None, "what the engine makes stays in the private copies");
    harbor.csis(&["generate"]).ends(0).tells(&["up to date"]);
}

/// A group's number is in its access point, and in what its machines' launch scripts are given.
#[test]
fn machines_that_lose_a_mount_are_named_and_their_scripts_are_other_ones() {
    let Some(harbor) = standing() else { return };
    harbor.edit("groups/groups.yaml", "gid: 4000", "gid: 4300");
    let seen = preview(&harbor, None);
    let of = |root: &str, rule: &str| {
        let findings = seen.root(root)["findings"].as_array().unwrap();
        let mine = findings.iter().filter(|finding| finding["rule"] == rule);
        mine.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    holds(&seen.changes("storage/shares"), "replace module.storage_depot.aws_efs_access_point.group[\"crew\"]");
    assert_eq!(
        of("storage/shares", "mount-lost"),
        ["instances api-1, api-2 stand and have storage depot mounted: 1 EFS access point is replaced"],
        "{}",
        seen.comment
    );
    let scripts = of("instance-image/fleet", "launch-script");
    holds(&scripts, "launch script of instance api-1 changes");
    holds(&scripts, "launch script of instance api-2 changes");
    assert!(!scripts.iter().any(|said| said.contains("edge-1")), "{scripts:?}");
    assert!(of("storage/shares", "uncompared").is_empty());

    // Without a base nobody knows that the declaration changed.
    let said = run(&mut on_bench(&harbor, &["plan", "--format", "json"]), LONG).ends(seen.said.code.unwrap());
    let plan: Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = plan["roots"].as_array().unwrap().iter().find(|root| root["name"] == "storage/shares").unwrap();
    assert!(findings["findings"].to_string().contains("\"uncompared\""), "{findings}");
}

/// What a run creates and destroys again is counted as created, and said to go.
#[test]
fn an_ephemeral_machine_is_said_to_go_again() {
    let Some(harbor) = standing() else { return };
    let config = harbor.read("cfg/_config.yml");
    let plan_only = config.lines().find(|line| line.trim_start().starts_with("apply_instances:")).unwrap();
    harbor.edit("cfg/_config.yml", plan_only, &plan_only.replace("false", "true"));
    let seen = preview(&harbor, None);
    holds(&seen.changes("instance-image/fleet"), "create module.instance_probe[0].aws_instance.this");
    assert_eq!(seen.root("instance-image/fleet")["ephemeral"], serde_json::json!(["probe"]));
    let first = seen.first_line();
    assert!(first.contains("1 ephemeral machine created (and destroyed again by the same run)"), "{first}");
    assert!(seen.comment.contains("`probe` is created for one run, and destroyed again by it."), "{}", seen.comment);
}

/// A record that the change commits would sanction what the same change destroys.
#[test]
fn a_change_that_commits_what_landings_write_is_refused_with_a_way_back() {
    let harbor = Harbor::standing();
    harbor.write("meta-state/aliases.txt", "anchor\n").commit("names to draw from");
    harbor.git(&["switch", "--quiet", "--create", "change"]);
    harbor.write("meta-state/aliases.txt", "anchor\nbrine\n");
    harbor.edit("instances/instances.yaml", "m7i.large", "m7i.xlarge");
    let pending = "pending_replacements: {api-1: ami-0ba4e000000000a91}";
    harbor.write(
        "meta-state/pins.yaml",
        harbor.read("meta-state/pins.yaml").replace("pending_replacements: {}", pending),
    );
    let offline = ["--offline", "preview", "--base", "main", "--format", "json"];
    let report = |code: i32| serde_json::from_str::<Value>(&harbor.csis(&offline).ends(code).stdout).unwrap();
    let found = |report: &Value, code: &str| {
        let all = report["diagnostics"].as_array().unwrap();
        all.iter().find(|found| found["code"] == code).cloned().unwrap_or_default()
    };
    assert_eq!(found(&report(0), "records-edited")["severity"], "warning", "it is not committed");
    harbor.csis(&["generate"]).ends(0);
    assert_eq!(found(&report(0), "generated-uncommitted")["severity"], "note");

    harbor.commit("with records");
    let refused = report(1);
    assert_eq!(refused["verdict"], "failed");
    let edited = found(&refused, "records-edited");
    assert_eq!(edited["severity"], "error");
    assert!(edited["message"].as_str().unwrap().contains("generated/"), "{edited}");
    assert!(!edited.to_string().contains("aliases.txt"), "{edited}");
    assert!(!refused["roots"].as_array().unwrap().is_empty() && !refused["emission"].as_array().unwrap().is_empty());
    let help = edited["help"].as_str().unwrap();
    let command = help.split('`').find(|part| part.starts_with("git ")).unwrap();
    assert!(command.ends_with(" main -- generated meta-state"), "{help}");
    harbor.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    harbor.commit("taken back");
    let report = report(0);
    assert!(found(&report, "records-edited").is_null() && found(&report, "generated-uncommitted").is_null());
}

#[test]
fn a_tree_without_a_remote_is_told_what_it_is_compared_with() {
    let harbor = Harbor::standing();
    let told = ["base-is-head", "only what is not committed", "--base main"];
    harbor.csis(&["--offline", "preview"]).ends(0).tells(&told);
    harbor.csis(&["--offline", "preview", "--base", "main"]).ends(0).hides(&told[..1]);
}

#[test]
fn another_account_is_told_with_what_stands_in_the_first() {
    let harbor = Harbor::standing();
    harbor.edit("cfg/runtime-builders.yml", "\"123456789012\"", "\"210987654321\"");
    let told = ["account-changed", "cfg/runtime-builders.yml:6:", "210987654321", "storage `depot`"];
    harbor.csis(&["--offline", "preview", "--base", "main"]).ends(0).tells(&told);
}

/// What follows a declaration may be destroyed or replaced: programs see two of the three actions.
#[test]
fn a_sanction_as_data_is_a_destroy_a_replacement_or_a_forget() {
    let harbor = Harbor::standing();
    let said = harbor.csis(&["--offline", "plan", "--format", "json"]).ends(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let sanctions = report["sanctions"].as_array().unwrap();
    let of_points = sanctions.iter().filter(|s| s["address"] == "module.storage_depot.aws_efs_access_point");
    let actions: Vec<&str> = of_points.map(|s| s["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["destroy", "replace"]);
    assert!(
        sanctions[0]["because"]["operation"].as_str().unwrap().contains("compared with nothing"),
        "{}",
        sanctions[0]
    );
}
