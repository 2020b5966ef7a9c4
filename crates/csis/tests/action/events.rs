//! What each event asks for.

use crate::review::grows;
use crate::stage::{REPO, Stage};
use crate::trust::{allow, reaches};
use csis_bench_github::{App, Fault};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_event_that_is_not_served_says_so_and_is_green() {
    for (name, action) in [("push", "opened"), ("issue_comment", "created"), ("pull_request", "labeled")] {
        let mut stage = Stage::of(|_| {});
        stage.set("GITHUB_EVENT_NAME", name);
        stage.event = stage.pull_event(action);
        stage.run().ends(0).tells(&["nothing"]);
        assert_eq!(stage.github.calls().len(), 0);
    }
}

#[test]
fn the_event_that_hands_secrets_to_strangers_is_refused_by_name() {
    let mut stage = Stage::of(grows);
    stage.set("GITHUB_EVENT_NAME", "pull_request_target");
    stage.run().ends(2).tells(&["pull_request_target", "start this workflow on `pull_request`", "review-forks.yml"]);
    assert_eq!(stage.github.calls().len(), 0);
}

#[test]
fn an_event_file_that_is_missing_or_cut_is_told_by_its_path() {
    let stage = Stage::of(|_| {});
    let mut gone = stage.command();
    gone.env("GITHUB_EVENT_PATH", stage.harbor.outside().join("nowhere.json"));
    let said = crate::support::run(&mut gone, Duration::from_mins(1));
    stage.left(said).ends(2).tells(&["nowhere.json", "help"]);
    let mut cut = stage.command();
    let path = stage.harbor.outside().join("event.json");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let said = crate::support::run(&mut cut, Duration::from_mins(1));
    stage.left(said).ends(2).tells(&["event.json", "not a whole event of `pull_request`"]);
    assert_eq!(stage.github.calls().len(), 0);
}

#[test]
fn outside_of_a_workflow_the_shell_s_command_is_named() {
    let harbor = crate::support::Harbor::new();
    harbor.csis(&["action"]).ends(2).tells(&["no run of a GitHub workflow", "csis preview"]);
}

#[test]
fn closing_folds_the_comment_of_every_tree_and_job() {
    for merged in [false, true] {
        let mut stage = Stage::planned(grows);
        stage.run().ends(0);
        let other = stage.comments()[0].body.replace("key=", "key=f");
        stage.github.state(|state| {
            state.add_app_comment(REPO, 7, &App::github_actions(), &other);
            // A person who copied it keeps their words.
            state.add_comment(REPO, 7, "mona", &other);
        });
        stage.event = stage.pull_event("closed");
        stage.event["pull_request"]["merged"] = json!(merged);
        stage.run().ends(0).tells(&["2 of csis's comments folded"]);
        for comment in stage.comments() {
            let (marker, text) = comment.body.split_once('\n').unwrap();
            assert!(marker.contains("state=closed"), "{marker}");
            assert!(text.contains("<details>") && text.contains("m7i.xlarge"), "{text}");
        }
        let theirs = stage.github.state(|state| state.comments(REPO, 7)).into_iter().find(|c| c.app.is_none());
        assert_eq!(theirs.unwrap().body, other);
        // A second close changes nothing more.
        stage.github.forget_calls();
        stage.run().ends(0);
        assert_eq!(stage.writes(), Vec::<String>::new());
    }
}

/// A run of `closed` that is started again after the pull request was reopened has nothing to say of the newer review.
#[test]
fn an_older_run_of_a_closed_pull_request_folds_nothing_newer() {
    let mut stage = Stage::planned(grows);
    stage.set("GITHUB_RUN_ID", "1002");
    stage.run().ends(0);
    let before = stage.comments()[0].body.clone();
    stage.event = stage.pull_event("closed");
    stage.set("GITHUB_RUN_ID", "1001").set("GITHUB_RUN_ATTEMPT", "2");
    stage.run().ends(0).tells(&["0 of csis's comments folded"]);
    assert_eq!(stage.comments()[0].body, before);
}

#[test]
fn a_draft_is_reviewed() {
    let mut stage = Stage::planned(grows);
    stage.event["pull_request"]["draft"] = json!(true);
    stage.github.state(|state| state.repo(REPO).pull(7).draft = true);
    stage.run().ends(0);
    assert!(stage.comment().contains("m7i.xlarge"));
}

#[test]
fn a_base_that_was_renamed_is_compared_as_it_was_merged() {
    let mut stage = Stage::planned(grows);
    stage.event["pull_request"]["base"]["ref"] = json!("trunk");
    stage.github.state(|state| {
        let repo = state.repo(REPO);
        let main = repo.branches.remove("main").unwrap();
        repo.branches.insert("trunk".into(), main);
        repo.default_branch = "trunk".into();
        repo.pull(7).base_branch = "trunk".into();
    });
    stage.run().ends(0);
    assert!(stage.comment().contains("m7i.xlarge"));
}

#[test]
fn a_merge_queue_gets_its_check_and_no_comment() {
    let mut stage = Stage::planned(grows);
    let merge = stage.queue();
    let ran = stage.run().ends(0);
    assert_eq!(stage.comments().len(), 0);
    let checks = stage.github.state(|state| state.check_runs(REPO, &merge));
    assert_eq!(checks.len(), 1);
    assert!(ran.summary.contains("m7i.xlarge"), "{}", ran.summary);
}

#[test]
fn in_a_queue_a_code_owner_s_word_on_the_pull_request_counts() {
    for allowed in [true, false] {
        let mut stage = Stage::planned(reaches);
        let head = stage.head.clone();
        if allowed {
            allow(&stage, &App::github_actions(), "success", &head, Some(format!("csis-reach {head}")));
        }
        stage.queue();
        let ran = stage.run();
        assert_eq!(ran.output("verdict"), if allowed { "pass" } else { "not-judged" }, "{}", ran.said.all());
    }
}

#[test]
fn in_a_queue_a_word_on_another_head_than_the_queued_one_does_not_count() {
    let mut stage = Stage::planned(reaches);
    stage.queue();
    let head = stage.github.state(|state| state.push(REPO, 7));
    allow(&stage, &App::github_actions(), "success", &head, Some(format!("csis-reach {head}")));
    assert_eq!(stage.run().output("verdict"), "not-judged");
}

/// The group before it may hold what nobody allowed.
#[test]
fn in_a_queue_the_groups_before_are_held_against_the_default_branch() {
    let mut stage = Stage::planned(grows);
    stage.with_origin();
    // As if another change were queued before it.
    stage.git(&["switch", "--quiet", "main"]);
    stage.harbor.write(".github/workflows/other.yml", "on: push\n");
    stage.git(&["add", "--all", ":/"]);
    stage.git(&["commit", "--quiet", "--message", "before"]);
    let before = stage.git(&["rev-parse", "HEAD"]).stdout.trim().to_owned();
    stage.git(&["merge", "--quiet", "--no-ff", "--message", "group", "change"]);
    stage.git(&["switch", "--quiet", "--detach"]);
    stage.git(&["branch", "--quiet", "--force", "main", &stage.base]);
    stage.queue();
    stage.event["merge_group"]["base_sha"] = json!(before);
    let ran = stage.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
}

#[test]
fn a_run_by_hand_reviews_the_tree_as_it_is_and_uses_credentials_on_the_default_branch_alone() {
    let run = |reference: &str| {
        let mut stage = Stage::planned(grows);
        stage.harbor.git(&["switch", "--quiet", "main"]);
        let head = stage.base.clone();
        stage.set("GITHUB_EVENT_NAME", "workflow_dispatch").set("GITHUB_REF", reference).set("GITHUB_SHA", &head);
        stage.event = json!({"repository": stage.event["repository"], "ref": reference, "inputs": Value::Null});
        let ran = stage.run();
        // It compares with nothing, so it leaves nothing that would stand for a review of this commit.
        let checks = stage.github.state(|state| state.check_runs(REPO, &head));
        assert_eq!(checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(), ["csis plan (by hand)"]);
        assert!(!checks[0].text.clone().unwrap_or_default().contains("csis-record"), "{:?}", checks[0].text);
        ran
    };
    let there = run("refs/heads/main").ends(0);
    assert_eq!(there.output("verdict"), "pass", "{}", there.summary);
    let elsewhere = run("refs/heads/mine");
    assert_eq!(elsewhere.output("verdict"), "not-judged");
    assert!(
        elsewhere.summary.contains("refs/heads/mine is not known to be the default branch"),
        "{}",
        elsewhere.summary
    );
}

/// Runs csis with an engine that does not end, interrupts it once the engine works, and tells whether the engine was stopped.
#[track_caller]
fn interrupted(stage: &Stage) -> bool {
    let folder = stage.harbor.outside().join("seen");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let script = format!(
        "#!/bin/sh\ncase $1 in\nversion) echo 'Terraform v1.11.4'; exit ;;\nesac\ntrap 'touch {0}/stopped; exit 1' INT\ntouch {0}/begun\nwhile :; do sleep 0.05; done\n",
        folder.display()
    );
    stage.engine(|_| script);
    let mut command = stage.command();
    let err = stage.harbor.outside().join("err");
    command.stdout(Stdio::null()).stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while !folder.join("begun").exists() {
        assert!(
            began.elapsed() < Duration::from_mins(1) && child.try_wait().unwrap().is_none(),
            "no engine was started"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "the runner would have killed it");
    assert_eq!(status.code(), Some(1), "{}", fs::read_to_string(&err).unwrap());
    folder.join("stopped").exists()
}

#[test]
fn a_cancelled_run_says_so_on_its_comment_and_ends_its_engines() {
    let stage = Stage::planned(grows);
    assert!(interrupted(&stage));
    assert!(stage.comment().to_lowercase().contains("cancelled"), "{}", stage.comment());
    assert!(stage.comments()[0].body.contains("state=cancelled"));
}

#[test]
fn a_run_that_is_cancelled_while_github_is_slow_ends_in_time() {
    let stage = Stage::planned(grows);
    stage.github.fault(Fault::on("GET", "/repos/*/issues/*/comments").times(1).slow(Duration::from_secs(25)));
    assert!(interrupted(&stage));
}
