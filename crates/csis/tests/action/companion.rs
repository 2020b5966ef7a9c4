//! A stranger's change: reviewed without a credential, and spoken of by a companion that believes nothing of what it is handed.

use crate::review::grows;
use crate::stage::{COMPANION, REPO, Ran, Stage};
use crate::support::{Harbor, seal};
use csis_bench_github::{App, NewPull, Permissions};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn fork() -> Stage {
    fork_of(|_| {})
}

/// A fork of a repository whose tree is not the example as it stands.
fn fork_of(base: impl FnOnce(&Harbor)) -> Stage {
    let mut stage = Stage::from_base("", base, grows);
    stage.with_session();
    let head = stage.head.clone();
    stage.github.state(|state| {
        let fork = state.add_repo("mallory/harbor");
        fork.fork_of = Some(REPO.into());
        fork.branches.insert("change".into(), head.clone());
        fork.commits.insert(head);
        let pull = state.repo(REPO).pull(7);
        pull.head_repo = Some("mallory/harbor".into());
    });
    stage.event["pull_request"]["head"]["repo"]["full_name"] = json!("mallory/harbor");
    stage.event["pull_request"]["user"]["login"] = json!("mallory");
    stage.github.token(crate::stage::TOKEN, App::github_actions(), Permissions::of_a_fork());
    stage
}

fn handed(stage: &Stage) -> PathBuf {
    stage.workspace().join("csis-report/report.json")
}

fn companion(stage: &mut Stage) -> Ran {
    let rights = Permissions::new().read("actions").write("pull-requests");
    stage.github.token(COMPANION, App::github_actions(), rights);
    stage
        .input("github-token", COMPANION)
        .set("GITHUB_EVENT_NAME", "workflow_run")
        .set("GITHUB_REF", "refs/heads/main");
    let run = json!({
        "id": 1000, "run_attempt": 1, "event": "pull_request", "head_sha": stage.head, "head_branch": "change",
        "head_repository": {"full_name": "mallory/harbor"}, "pull_requests": [],
    });
    stage.event = json!({"action": "completed", "workflow_run": run, "repository": stage.event["repository"]});
    stage.run()
}

#[test]
fn a_fork_is_judged_without_a_credential_and_its_companion_speaks() {
    let mut stage = fork();
    let ran = stage.run().ends(0);
    assert_eq!(stage.writes(), Vec::<String>::new(), "a fork's token cannot write, and is not asked to");
    assert!(ran.summary.contains("with no credential"), "{}", ran.summary);
    assert_eq!(ran.output("report"), "csis-report/plan.json");
    companion(&mut stage).ends(0);
    let comment = stage.comment();
    for words in ["with no credential", "m7i.xlarge", "instance-image/fleet"] {
        assert!(comment.contains(words), "{words} in {comment}");
    }
}

#[test]
fn the_companion_folds_the_comment_of_a_fork_s_closed_pull_request() {
    let mut stage = fork();
    stage.run().ends(0);
    companion(&mut stage).ends(0);
    assert!(!handed(&stage).exists(), "a workspace that is kept would hand it to the next run");
    stage.github.state(|state| state.repo(REPO).issue(7).open = false);
    companion(&mut stage).ends(0).tells(&["1 of csis's comments folded"]);
    assert!(stage.comments()[0].body.contains("state=closed"), "{}", stage.comment());
}

#[test]
fn a_fork_gets_no_role_even_where_the_job_could_mint() {
    let mut stage = fork();
    stage.with_identity().input("aws-read-role", "arn:aws:iam::123456789012:role/csis-read");
    stage.run().ends(0);
    assert_eq!(stage.github.calls().of("GET", "/oidc/").len(), 0);
}

#[test]
fn dependabot_is_a_stranger_too() {
    let mut stage = Stage::planned(grows);
    stage.set("GITHUB_ACTOR", "dependabot[bot]");
    let ran = stage.run().ends(0);
    assert!(ran.summary.contains("Dependabot"), "{}", ran.summary);
    assert_eq!(stage.writes(), Vec::<String>::new());
}

#[test]
fn an_artifact_that_is_no_report_of_csis_is_refused() {
    type Change = fn(&Stage);
    let cases: &[(&str, Change)] = &[
        ("no json", |stage| fs::write(handed(stage), "<html>").unwrap()),
        ("another shape", |stage| fs::write(handed(stage), r#"{"schema": 1, "roots": "all"}"#).unwrap()),
        ("no report", |stage| fs::write(handed(stage), r#"{"pull": 7, "report": {"schema": 1}}"#).unwrap()),
        ("a link", |stage| {
            let secret = stage.harbor.outside().join("secret");
            fs::copy(handed(stage), &secret).unwrap();
            fs::remove_file(handed(stage)).unwrap();
            std::os::unix::fs::symlink(&secret, handed(stage)).unwrap();
        }),
        ("huge", |stage| fs::write(handed(stage), vec![b' '; 9 << 20]).unwrap()),
    ];
    for (name, change) in cases {
        let mut stage = fork();
        stage.run().ends(0);
        change(&stage);
        let ran = companion(&mut stage).ends(1).tells(&["the report of the run cannot be read"]);
        assert_eq!(stage.comments().len(), 0, "{name}: {}", ran.said.all());
    }
}

#[test]
fn a_report_that_lies_is_counted_anew_and_its_texts_are_inert() {
    let mut stage = fork();
    stage.run().ends(0);
    let mut report: Value = serde_json::from_slice(&fs::read(handed(&stage)).unwrap()).unwrap();
    report["report"]["verdict"] = json!("pass");
    report["report"]["tree"]["id"] = json!("x`</sub> @acme/owners ![](http://x.invalid/a.png)");
    fs::write(handed(&stage), report.to_string()).unwrap();
    companion(&mut stage).ends(0);
    let comment = stage.comment();
    assert!(comment.contains("with no credential"), "{comment}");
    assert!(!comment.contains("Safe to merge") && !comment.contains("![](http"), "{comment}");
}

#[test]
fn a_run_that_left_nothing_or_whose_head_is_gone_is_green() {
    let mut stage = fork();
    companion(&mut stage).ends(0).tells(&["left no report"]);
    let mut stage = fork();
    stage.run().ends(0);
    stage.github.state(|state| state.push(REPO, 7));
    companion(&mut stage).ends(0).tells(&["no open pull request"]);
    assert_eq!(stage.comments().len(), 0);
}

/// The key that opens encrypted values is the team's own: a stranger's run has none, whatever the workflow gave it, and still judges all that is not encrypted.
#[test]
fn a_fork_of_a_tree_with_encrypted_values_is_judged_and_opens_nothing() {
    let secret = seal("s3cr-of-the-team");
    let marker = secret.marker.clone();
    let mut stage = fork_of(move |harbor| {
        harbor.edit("storages/storages.yaml", "{data: ledger}", &format!("{{data: \"{marker}\"}}"));
    });
    for identity in [None, Some(&secret.identity)] {
        if let Some(identity) = identity {
            stage.input("config-identity", identity).set("CSIS_CONFIG_IDENTITY", identity);
        }
        let ran = stage.run().ends(0).hides(&["s3cr-of-the-team", &secret.identity]);
        assert!(ran.summary.contains("m7i.xlarge"), "{}", ran.summary);
        assert!(ran.summary.contains("stay closed"), "{}", ran.summary);
        let report = fs::read_to_string(handed(&stage)).unwrap();
        assert!(!report.contains("s3cr-of-the-team"), "{report}");
    }
}

/// One head of two pull requests, each to a branch of its own: what a run found is said where it was found.
#[test]
fn of_two_pull_requests_of_one_head_each_is_told_its_own() {
    for (pull, told) in [(7, true), (8, false), (9, false)] {
        let mut stage = fork();
        stage.run().ends(0);
        let head = stage.head.clone();
        stage.github.state(|state| {
            state.repo(REPO).branches.insert("other".into(), "3".repeat(40));
            state.add_pull(REPO, NewPull::from("change").by("mallory").at(&head).into("other").number(8));
            state.repo(REPO).pull(8).head_repo = Some("mallory/harbor".into());
        });
        let mut report: Value = serde_json::from_slice(&fs::read(handed(&stage)).unwrap()).unwrap();
        assert_eq!(report["pull"], 7);
        report["pull"] = json!(pull);
        fs::write(handed(&stage), report.to_string()).unwrap();
        companion(&mut stage).ends(i32::from(pull == 9));
        assert_eq!(stage.comments().len(), usize::from(told), "{pull}");
        let other = stage.github.state(|state| state.comments(REPO, 8));
        assert_eq!(other.len(), usize::from(pull == 8), "{pull}");
    }
}

#[test]
fn the_run_of_a_fork_s_closed_pull_request_asks_for_nothing() {
    let mut stage = fork();
    stage.event["action"] = json!("closed");
    stage.run().ends(0).hides(&["permission"]);
    assert_eq!(stage.github.calls().len(), 0);
}
