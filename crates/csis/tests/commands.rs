//! Exit codes and words of the commands around the tree, and what goes to which stream. Only the binary joins arguments, environment and streams.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::Duration;
use support::{Harbor, Said, files, run, seal};

const SOON: Duration = Duration::from_mins(1);

/// A folder for PATH that holds git and nothing else.
fn only_git(harbor: &Harbor) -> std::path::PathBuf {
    let folder = harbor.outside().join("only-git");
    fs::create_dir_all(&folder).unwrap();
    let git = run(Command::new("sh").args(["-c", "command -v git"]), SOON).ends(0).stdout;
    std::os::unix::fs::symlink(git.trim(), folder.join("git")).unwrap();
    folder
}

// schema

#[test]
fn schemas_are_json_and_an_unknown_one_names_those_there_are() {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(&run(&mut support::csis(&["schema"]), SOON).ends(0).stdout).unwrap();
    for name in ["report", "storages", "instances", "images", "groups"] {
        assert!(all.contains_key(name), "{name} among {:?}", all.keys());
    }
    for name in all.keys() {
        let said = run(&mut support::csis(&["schema", name]), SOON).ends(0);
        assert_eq!(said.stderr, "");
        assert_eq!(&serde_json::from_str::<Value>(&said.stdout).unwrap(), &all[name]);
    }
    run(&mut support::csis(&["schema", "storagez"]), SOON).ends(2).tells(&["storagez", "storages", "report"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let script = format!("'{}' schema | head -c 5; '{}' --help | head -c 5", support::CSIS, support::CSIS);
    let said = run(Command::new("bash").args(["-c", &script]), SOON);
    assert_eq!(said.stderr, "", "{}", said.stderr);
}

// init-config

#[test]
fn modules_are_written_once_and_an_edited_one_is_kept_unless_forced() {
    let harbor = Harbor::new();
    harbor.csis(&["init-config", "."]).ends(0).tells(&["16 module files", "tfmodules"]);
    harbor.edit("cfg/_config.yml", "module_source_base: tfmodules", "module_source_base: ./overlays/.././tfmodules/");
    let plain = harbor.path("tfmodules");
    harbor.csis(&["init-config"]).ends(0).tells(&["0 module files", &format!("below {}.", plain.display())]);
    harbor.edit("cfg/_config.yml", "./overlays/.././tfmodules/", "tfmodules");
    let written = files(&harbor.path("tfmodules"));
    assert_eq!(written, files(&support::project().join("tfmodules")));
    harbor.csis(&["init-config"]).ends(0).tells(&["0 module files"]);
    harbor.write("tfmodules/aws_instance/outputs.tf", "# mine\n");
    harbor.csis(&["init-config"]).ends(1).tells(&["aws_instance/outputs.tf", "edited", "--force"]);
    assert_eq!(harbor.read("tfmodules/aws_instance/outputs.tf"), "# mine\n");
    harbor.csis(&["init-config", "--force"]).ends(0);
    assert_eq!(files(&harbor.path("tfmodules")), written);
    let elsewhere = harbor.outside().join("no-tree");
    fs::create_dir(&elsewhere).unwrap();
    harbor.csis(&["init-config", elsewhere.to_str().unwrap()]).ends(2);
}

#[test]
fn a_copy_of_an_older_release_is_a_warning_and_a_missing_one_is_not_validations_to_tell() {
    let harbor = Harbor::new();
    harbor.csis(&["validate"]).ends(0).hides(&["modules"]);
    harbor.csis(&["init-config"]).ends(0);
    harbor.csis(&["validate"]).ends(0).hides(&["modules"]);
    harbor.write("tfmodules/aws_instance/main.tf", "# an old one\n");
    harbor.csis(&["validate"]).ends(0).tells(&["warning[modules-older]", "aws_instance", "init-config"]);
}

// materialize

const SECRET: &str = "s3cr\"et ${path.root} %{if x} \\ tail";

/// The tree with a secret in a tag, generated.
fn with_secret() -> (Harbor, String) {
    let sealed = seal(SECRET);
    let harbor = Harbor::new();
    harbor.edit("storages/storages.yaml", "{data: ledger}", &format!("{{data: \"{}\"}}", sealed.marker));
    let said = run(harbor.command(&["generate"]).env("CSIS_CONFIG_IDENTITY", &sealed.identity), SOON).ends(0);
    said.hides(&["s3cr", &sealed.identity]);
    (harbor, sealed.identity)
}

const ROOT: &str = "generated/storage/volumes/storage-generation";

#[test]
fn a_secret_is_opened_in_the_private_copy_alone() {
    let (harbor, identity) = with_secret();
    let materialize = || run(harbor.command(&["materialize", ROOT]).env("CSIS_CONFIG_IDENTITY", &identity), SOON);
    let said = materialize().ends(0);
    let copy = harbor.path("_private/storage/volumes/storage-generation");
    assert_eq!(said.stdout.trim_end(), copy.to_str().unwrap());
    assert_eq!(fs::metadata(harbor.path("_private")).unwrap().permissions().mode() & 0o777, 0o700);
    let opened =
        harbor.read("_private/storage/volumes/storage-generation/volumes-storage-generation-storage-ledger.tf");
    assert!(opened.contains(r#""s3cr\"et $${path.root} %%{if x} \\ tail""#), "{opened}");
    support::formatted(&copy);
    for (path, bytes) in files(&harbor.path("generated")) {
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("s3cr"), "{path} holds the secret");
    }
    said.hides(&["s3cr"]);
    let status = harbor.git(&["status", "--porcelain", "--untracked-files=all"]).stdout;
    assert!(!status.contains("_private"), "git sees the private copy: {status}");
}

/// The scripts ask for the copy before each step: a plan made in one must still be there, and fresh, at the next.
#[test]
fn a_second_copy_changes_nothing_and_keeps_what_the_engine_made() {
    let (harbor, identity) = with_secret();
    let materialize =
        || run(harbor.command(&["materialize", ROOT]).env("CSIS_CONFIG_IDENTITY", &identity), SOON).ends(0);
    materialize();
    let copy = harbor.path("_private/storage/volumes/storage-generation");
    let times = || -> BTreeMap<String, (i64, i64)> {
        let of = |path: &String| {
            let about = fs::metadata(copy.join(path)).unwrap();
            (about.mtime(), about.mtime_nsec())
        };
        files(&copy).keys().map(|path| (path.clone(), of(path))).collect()
    };
    for made in ["tfplan", ".terraform/providers/x", ".terraform.lock.hcl", "unmount-receipts/a__b.json"] {
        harbor.write(&format!("_private/storage/volumes/storage-generation/{made}"), "made");
    }
    let before = (files(&copy), times());
    materialize();
    assert_eq!((files(&copy), times()), before);
    harbor.write("_private/storage/volumes/storage-generation/stray.tf", "resource {}\n");
    materialize();
    assert!(!copy.join("stray.tf").exists(), "what the emission does not hold must not be planned");
}

#[test]
fn without_the_right_identity_nothing_is_opened() {
    let (harbor, _) = with_secret();
    fs::remove_dir_all(harbor.path("_private")).ok();
    let other = seal("x").identity;
    for identity in [None, Some(other.as_str()), Some("/no/such/file"), Some("AGE-SECRET-KEY-1BROKEN")] {
        for arguments in [&["materialize", ROOT][..], &["validate"], &["generate"]] {
            let mut command = harbor.command(arguments);
            if let Some(identity) = identity {
                command.env("CSIS_CONFIG_IDENTITY", identity);
            }
            run(&mut command, SOON).ends(2).tells(&["CSIS_CONFIG_IDENTITY", "help:"]).hides(&["s3cr", other.as_str()]);
        }
    }
    assert!(!harbor.path("_private").exists());
}

/// All refusals of a tree come at once, also where values stay closed.
#[test]
fn a_missing_identity_hides_no_other_refusal() {
    let (harbor, _) = with_secret();
    harbor.edit("instances/instances.yaml", "image: harbor-edge", "image: nowhere");
    for arguments in [&["validate"][..], &["generate"]] {
        harbor.csis(arguments).ends(1).tells(&["marker-identity", "nowhere"]);
    }
    // Who is read before anything is opened cannot be encrypted, whatever key there is.
    let (harbor, _) = with_secret();
    let marker = seal("x").marker;
    harbor.edit("cfg/runtime-builders.yml", "profile_name: harbor", &format!("profile_name: \"{marker}\""));
    harbor.csis(&["validate"]).ends(1).tells(&["marker-place", "marker-identity"]);
    assert!(!harbor.path("_private").exists());
}

#[test]
fn what_an_option_names_may_be_an_alias() {
    let harbor = Harbor::new();
    harbor.csis(&["validate", "--only-runtime", "west"]).ends(0);
    harbor.csis(&["validate", "--apply-runtime", "West"]).ends(0);
    harbor.csis(&["validate", "--only-runtime", "east"]).ends(2).tells(&["--only-runtime", "`east`", "aws-west"]);
    harbor.edit("storages/storages.yaml", "  - name: public-docs\n", "  - name: public-docs\n    aliases: [docs]\n");
    harbor.csis(&["validate", "--undeclare", "storage:Docs"]).ends(0).tells(&["3 storages"]);
}

#[test]
fn an_identity_may_be_a_key_a_file_or_a_folder() {
    let (harbor, identity) = with_secret();
    harbor.write("keys/mine.age-identity", format!("# mine\n{identity}\n")).write("keys/notes.txt", "hello");
    fs::rename(harbor.path("keys"), harbor.outside().join("keys")).unwrap();
    let keys = harbor.outside().join("keys");
    for place in [keys.clone(), keys.join("mine.age-identity")] {
        run(harbor.command(&["materialize", ROOT]).env("CSIS_CONFIG_IDENTITY", place), SOON).ends(0);
    }
}

#[test]
fn only_a_root_of_the_emission_has_a_copy() {
    let harbor = Harbor::new();
    harbor.csis(&["generate"]).ends(0);
    for place in ["generated", "generated/storage", ".", "cfg", "no/such/place", "/"] {
        harbor.csis(&["materialize", place]).ends(2).tells(&["no root", "csis generate"]);
    }
    let mut inside = support::csis(&["--root", "../../../..", "materialize", "."]);
    let said = run(inside.current_dir(harbor.path(ROOT)), SOON).ends(0);
    assert_eq!(said.stdout.trim_end(), harbor.path("_private/storage/volumes/storage-generation").to_str().unwrap());
}

/// A script of a run with an overlay lays its copies with that overlay.
#[test]
fn a_script_materializes_what_was_generated_whatever_the_runs_options() {
    let harbor = Harbor::new();
    harbor.write("overlays/more.yaml", "storages:\n  - {name: extra, groups: [crew]}\n");
    harbor.csis(&["--overlay", "overlays/more.yaml", "--undeclare", "instance:probe", "generate"]).ends(0);
    let script = harbor.emitted("run-storage.sh");
    let line = script.lines().find(|line| line.contains("cd volumes/") && line.contains("rm -f tfplan")).unwrap();
    let bin = harbor.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(support::CSIS, bin.join("csis")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-ceu", line])
        .current_dir(harbor.path("generated/storage"))
        .env("CSIS_ROOT", &harbor.root)
        .env("PATH", path);
    run(&mut bash, SOON).ends(0);
    let copied = files(&harbor.path("_private/storage/volumes/storage-generation"));
    assert!(copied.keys().any(|path| path.ends_with("storage-extra.tf")), "{:?}", copied.keys());
}

// apply-check and what comes later

#[test]
fn apply_check_says_why_not() {
    let harbor = Harbor::new();
    let check = |arguments: &[&str]| harbor.csis(&[&["apply-check"], arguments].concat());
    check(&["--lifecycle", "storage", "--root", "volumes", "--root-alias", "aws-west"]).ends(0);
    check(&["--lifecycle", "storage", "--root", "volumes"]).ends(0).tells(&["apply_storage"]);
    harbor.edit("cfg/_config.yml", "apply_storage: [aws-west]", "apply_storage: [shares]");
    check(&["--lifecycle", "storage", "--root", "volumes"]).ends(3).tells(&["not applying", "apply_storage", "help:"]);
    check(&["--lifecycle", "storage", "--root", "volume"]).ends(2).tells(&["`volume`", "--root volumes"]);
    check(&["--lifecycle", "storage", "--root", "nothing"]).ends(2).tells(&["volumes, shares, buckets"]);
    check(&["--lifecycle", "instances", "--root", "fleet", "--root-alias", "aws-west"])
        .ends(3)
        .tells(&["apply_instances", "cfg/_config.yml:"]);
    check(&[
        "--lifecycle",
        "instances",
        "--root",
        "fleet",
        "--root-alias",
        "aws-west",
        "--overlay",
        "overlays/launch.yaml",
    ])
    .ends(0);
    check(&["--lifecycle", "nope"]).ends(2).tells(&["nope", "storage"]);
    check(&[]).ends(2).tells(&["--lifecycle"]);
}

#[test]
fn commands_that_come_later_say_so() {
    let harbor = Harbor::new();
    for arguments in
        [&["unmount", "storage", "--instance", "a"][..], &["verify", "instance", "a"], &["unmount"], &["verify"]]
    {
        harbor.csis(arguments).ends(2).tells(&["comes with Land"]);
    }
}

#[test]
fn what_cannot_be_started_ends_with_two() {
    let harbor = Harbor::new();
    for arguments in [
        &["nope"][..],
        &[],
        &["--nope", "validate"],
        &["generate", "storagee"],
        &["plan", "storagee"],
        &["--only-runtime", "nope", "validate"],
        &["--apply-runtime", "nope", "generate"],
        &["--snapshot", "no/such.json", "validate"],
        &["--parallel", "0", "validate"],
        &["--offline", "preview", "--fail-on", "nope"],
        &["--offline", "preview", "--format", "nope"],
        &["gate-plan"],
        &["gate-plan", "no/such.json"],
    ] {
        let said = harbor.csis(arguments).ends(2);
        assert!(!said.stderr.is_empty() && said.stdout.is_empty(), "{arguments:?}: {}", said.all());
    }
    assert!(!harbor.path("generated").exists());
}

// --log json

#[test]
fn with_json_each_line_of_stderr_is_json() {
    let harbor = Harbor::new();
    let each = |said: &Said| {
        for line in said.stderr.lines() {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let severity = value["severity"].as_str().unwrap_or("");
            assert!(["error", "warning", "note", "progress"].contains(&severity), "{line}");
            assert!(value["message"].is_string(), "{line}");
        }
    };
    let json = |arguments: &[&str]| harbor.csis(&[&["--log", "json"], arguments].concat());
    harbor.write("p.json", "{}");
    for arguments in [&["validate"][..], &["generate"], &["doctor"], &["--offline", "preview"], &["init-config"]] {
        each(&json(arguments));
    }
    for arguments in [&["gate-plan", "p.json"][..], &["materialize", "cfg"], &["verify"], &["--offline", "plan"]] {
        each(&json(arguments));
    }
    harbor.edit("storages/storages.yaml", "2775", "2777");
    for arguments in [&["validate"][..], &["generate"], &["--offline", "preview"], &["--offline", "plan"]] {
        each(&json(arguments));
    }
}

// preview without an engine

#[test]
fn offline_nothing_is_judged_and_that_is_said() {
    let harbor = Harbor::standing();
    let before = files(&harbor.root);
    let said = harbor.csis(&["--offline", "preview"]).ends(0).tells(&["not judged", "--offline"]);
    assert!(said.stdout.contains("not judged") && !said.stdout.starts_with('✅'), "{}", said.stdout);
    assert_eq!(files(&harbor.root), before, "preview leaves the tree as it is");
    let said = harbor.csis(&["--offline", "preview", "--format", "json"]).ends(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((report["schema"].as_u64(), report["verdict"].as_str()), (Some(1), Some("not-judged")));
    assert_eq!(report["roots"].as_array().map(Vec::len), Some(4));
    let markdown = harbor.csis(&["--offline", "preview", "--format", "markdown"]).ends(0).stdout;
    let output = harbor.outside().join("comment.md");
    harbor.csis(&["--offline", "preview", "--output", output.to_str().unwrap()]).ends(0);
    assert_eq!(fs::read_to_string(output).unwrap(), markdown);
    harbor
        .csis(&["--offline", "preview", "--output", "no/such/folder/x.md"])
        .ends(2)
        .tells(&["cannot-write", "no/such/folder"])
        .hides(&["reading it", "os error"]);
    assert!(!harbor.csis(&["--offline", "plan", "-o", "cfg"]).ends(2).stdout.contains("root"));
    assert!(!harbor.path("generated").exists(), "nothing is planned for a report that cannot be kept");
}

#[test]
fn without_a_base_the_tree_is_shown_alone() {
    let harbor = Harbor::new();
    harbor.csis(&["--offline", "preview"]).ends(0).tells(&["no commit yet", "shown alone"]);
    let mut bare = harbor.command(&["--offline", "preview"]);
    run(bare.env("PATH", harbor.outside().join("nothing")), SOON).ends(0).tells(&["git is not on PATH", "shown alone"]);
    fs::remove_dir_all(harbor.path(".git")).unwrap();
    harbor.csis(&["--offline", "preview"]).ends(0).tells(&["no git repository", "shown alone"]);
    harbor.csis(&["--offline", "preview", "--base", "main"]).ends(2).tells(&["no git repository"]);
}

#[test]
fn a_base_that_git_does_not_know_ends_with_two() {
    let harbor = Harbor::standing();
    for base in ["nope", "0123456789", "HEAD~7", "--help", "-x", "main..main", ""] {
        harbor.csis(&["--offline", "preview", &format!("--base={base}")]).ends(2).tells(&["no commit", "--base"]);
    }
    harbor.git(&["checkout", "--quiet", "--orphan", "alone"]);
    harbor.commit("no ancestor");
    harbor.csis(&["--offline", "preview", "--base", "main"]).ends(2).tells(&["share no commit"]);
}

#[test]
fn a_base_that_does_not_load_is_one_line() {
    let harbor = Harbor::new();
    harbor.edit("storages/storages.yaml", "2775", "2777").commit("a broken base");
    harbor.edit("storages/storages.yaml", "2777", "2775");
    let said = harbor.csis(&["--offline", "preview"]).ends(0);
    said.tells(&["does not load", "nothing to compare with", "2777"]);
}

#[test]
fn a_refused_tree_is_a_report_of_its_refusals() {
    let harbor = Harbor::standing();
    harbor.edit("storages/storages.yaml", "2775", "2777").edit("groups/groups.yaml", "[lena]", "[lenna]");
    let said = harbor.csis(&["--offline", "preview"]).ends(1);
    for word in ["2777", "lenna", "storages/storages.yaml:", "groups/groups.yaml:"] {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    let said = harbor.csis(&["--offline", "preview", "--format", "json"]).ends(1);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["verdict"], "failed");
}

#[test]
fn the_change_of_the_working_tree_is_told_offline_too() {
    let harbor = Harbor::standing();
    harbor.git(&["checkout", "--quiet", "-b", "change"]);
    harbor.edit("instances/instances.yaml", "m7i.large", "m7i.xlarge").commit("larger");
    harbor.edit("storages/storages.yaml", "{data: ledger}", "{data: other}");
    let said = harbor.csis(&["--offline", "preview", "--base", "main", "--format", "json"]).ends(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let changed: Vec<&str> =
        report["emission"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()).collect();
    assert!(changed.iter().any(|path| path.ends_with("instance-api_1.tf")), "{changed:?}");
    assert!(changed.iter().any(|path| path.ends_with("storage-ledger.tf")), "an uncommitted edit counts: {changed:?}");
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert_eq!(report["tree"]["dirty"], true);
}

#[test]
fn a_tree_below_the_top_of_its_repository_has_its_base_too() {
    let outer = Harbor::named("outer/infra/tree");
    fs::remove_dir_all(outer.path(".git")).unwrap();
    let top = outer.outside().join("outer");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]).args(arguments).current_dir(&top);
        run(&mut command, SOON).ends(0)
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "all"]);
    outer.edit("instances/instances.yaml", "m7i.large", "m7i.xlarge");
    let said = outer.csis(&["--offline", "preview", "--format", "json"]).ends(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["tree"]["root"], "infra/tree");
    assert_eq!(report["emission"].as_array().map(Vec::len), Some(1), "{}", report["emission"]);
}

#[test]
fn a_plan_needs_an_engine_and_the_modules() {
    let harbor = Harbor::standing();
    harbor.csis(&["preview"]).ends(2).tells(&["modules", "init-config"]);
    harbor.csis(&["init-config"]).ends(0);
    for command in ["preview", "plan"] {
        let mut bare = harbor.command(&[command]);
        run(bare.env("PATH", only_git(&harbor)), SOON).ends(2).tells(&["no engine", "tofu", "--tool"]);
        fs::remove_dir_all(harbor.outside().join("only-git")).unwrap();
    }
}

/// Git runs filters and helpers of whoever wrote its configuration; what the run holds is none of theirs.
#[test]
fn git_is_given_no_key_of_the_run() {
    let harbor = Harbor::standing();
    let bin = harbor.outside().join("spy");
    fs::create_dir(&bin).unwrap();
    let git = run(Command::new("sh").args(["-c", "command -v git"]), SOON).ends(0).stdout;
    let seen = harbor.outside().join("seen");
    let script = format!("#!/bin/sh\nenv >> '{}'\nexec '{}' \"$@\"\n", seen.display(), git.trim());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let hidden = [
        "INPUT_GITHUB-TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "MY_PASSWORD",
    ];
    let mut command = harbor.command(&["--offline", "preview", "--base", "main"]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    command
        .env("https_proxy", "http://proxy.invalid")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(hidden.map(|name| (name, "s3cr3t")));
    run(&mut command, SOON).ends(0);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.contains("s3cr3t"), "{seen}");
    for passed in ["https_proxy=", "GIT_CONFIG_NOSYSTEM=", "HOME=", "PATH="] {
        assert!(seen.contains(passed), "{passed} in {seen}");
    }
}
