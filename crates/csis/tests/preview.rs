//! On the bench (`CSIS_BENCH=1`, `scripts/bench up harbor`): whole previews of the standing tree with the real engine. Only here a change of YAML meets a
//! state, and a comment says what came of it.
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
