//! What GitHub does on its worst days, through the whole review. What a single call meets is in the tests of crates/github.

use crate::review::grows;
use crate::stage::{REPO, Stage, TOKEN};
use csis_bench_github::{App, ChangedFile, Fault, Permissions};

#[test]
fn a_token_that_only_reads_names_what_it_lacks_and_the_log_has_the_rest() {
    let stage = Stage::of(|harbor| {
        harbor.edit("instances/instances.yaml", "machine_type: m7i.large", "machine_typ: m7i.large");
    });
    stage.github.token(TOKEN, App::github_actions(), Permissions::new().read("contents"));
    let ran = stage.run().ends(1);
    let ran = ran.tells(&["`pull-requests: write`", "`checks: write`", "under `permissions:` of the job"]);
    assert!(
        ran.said
            .stdout
            .contains("file=instances/instances.yaml,line=4,col=5::instance `api-1` has no field `machine_typ`"),
        "{}",
        ran.said.stdout
    );
    assert!(ran.summary.contains("machine_typ"), "{}", ran.summary);
    assert_eq!(stage.comments().len() + stage.checks().len(), 0);
}

#[test]
fn without_a_token_the_report_is_in_the_summary() {
    let mut stage = Stage::planned(grows);
    stage.input("github-token", "");
    let ran = stage.run().ends(0);
    assert!(ran.summary.contains("m7i.xlarge"), "{}", ran.summary);
    assert_eq!(stage.github.calls().len(), 0);
}

#[test]
fn a_comment_deleted_while_it_plans_is_made_anew() {
    let stage = Stage::planned(grows);
    // Between the finding and the result.
    stage.github.fault(Fault::on("PATCH", "/repos/*/issues/comments/*").times(1).before(|state| {
        let ids: Vec<u64> = state.comments(REPO, 7).iter().map(|comment| comment.id).collect();
        for id in ids {
            state.delete_comment(REPO, id);
        }
    }));
    stage.run().ends(0);
    assert!(stage.comment().contains("m7i.xlarge"));
}

#[test]
fn a_locked_conversation_still_gets_its_check_run() {
    let stage = Stage::planned(grows);
    stage.github.state(|state| state.repo(REPO).issue(7).locked = true);
    stage.github.fault(
        Fault::on("POST", "/repos/*/issues/*/comments")
            .times(1)
            .status(403)
            .json(serde_json::json!({"message": "Unable to create comment because issue is locked."})),
    );
    stage.run().ends(0).tells(&["the conversation is locked"]);
    assert_eq!(stage.comments().len(), 0);
    assert_eq!(stage.checks().len(), 1);
}

#[test]
fn a_head_that_was_pushed_away_during_the_run_keeps_what_is_newer() {
    let stage = Stage::planned(grows);
    // The newer head's run has already written when this one comes with its result.
    let newer = "<!-- csis:comment v1 key=KEY head=9999999999999999999999999999999999999999 run=2000.1 state=result tree= -->\nnewer";
    stage.github.fault(Fault::on("GET", "/repos/*/issues/comments/*").times(1).before(move |state| {
        state.push(REPO, 7);
        let comment = state.repo(REPO).comments.values_mut().next().unwrap();
        let key = comment.body.split("key=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        comment.body = newer.replace("KEY", &key);
    }));
    let ran = stage.run().ends(0);
    assert_eq!(stage.comment(), "newer", "{}", stage.github.calls());
    ran.tells(&["newer run"]);
    // What was judged stays with the commit that it was judged for.
    assert_eq!(stage.checks().len(), 1);
}

/// Where only the head changed nothing is written until the end: what another run wrote meanwhile is seen all the same.
#[test]
fn a_run_that_had_nothing_to_announce_keeps_what_is_newer() {
    let mut stage = Stage::planned(grows);
    stage.run().ends(0);
    stage.push(|_| {});
    let newer = "<!-- csis:comment v1 key=KEY head=9999999999999999999999999999999999999999 run=2000.1 state=result tree= -->\nnewer";
    slow(&stage, 1);
    // While the engine plans.
    stage.github.fault(Fault::on("GET", "/repos/*/issues/comments/*").times(1).before(move |state| {
        let comment = state.repo(REPO).comments.values_mut().next().unwrap();
        let key = comment.body.split("key=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        comment.body = newer.replace("KEY", &key);
    }));
    let ran = stage.run().ends(0);
    assert_eq!(stage.comment(), "newer", "{}", stage.github.calls());
    ran.tells(&["newer run"]);
}

/// An older green check of this commit must not speak for a run that failed.
#[test]
fn a_run_that_fails_says_so_in_the_summary_and_in_the_check() {
    let mut stage = Stage::planned(grows);
    stage.run().ends(0);
    stage.input("aws-read-role", "arn:aws:iam::123456789012:role/csis-read");
    let ran = stage.run().ends(2);
    assert!(ran.summary.contains("`id-token: write`"), "{}", ran.summary);
    let newest = stage.checks().into_iter().max_by_key(|check| check.id).unwrap();
    assert_eq!((newest.name.as_str(), newest.conclusion.as_deref()), ("csis plan", Some("failure")));
}

#[test]
fn three_thousand_files_cost_no_call_more() {
    let stage = Stage::planned(|harbor| {
        grows(harbor);
        for n in 0..3000 {
            harbor.write(&format!("docs/{n}.txt"), "words\n");
        }
    });
    stage.github.state(|state| {
        state.repo(REPO).pull(7).files = (0..3000).map(|n| ChangedFile::modified(&format!("docs/{n}.txt"))).collect();
    });
    stage.run().ends(0);
    let calls = stage.github.calls();
    assert!(calls.len() <= 12, "{calls}");
    assert!(stage.comment().contains("m7i.xlarge"));
}

#[test]
fn what_fails_for_a_moment_is_tried_again_and_makes_nothing_twice() {
    let stage = Stage::planned(grows);
    stage.github.fault(Fault::on("GET", "/repos/*/issues/*/comments").times(1).status(502).html());
    stage.github.fault(Fault::on("POST", "/repos/*/issues/*/comments").times(1).act_then_cut());
    stage.github.fault(Fault::on("POST", "/repos/*/check-runs").times(1).act_then_cut());
    stage.run().ends(0);
    assert!(stage.comment().contains("m7i.xlarge"));
    assert_eq!(stage.checks().len(), 1, "{}", stage.github.calls());
}

#[test]
fn a_marker_that_somebody_copied_is_theirs() {
    let stage = Stage::planned(grows);
    stage.run().ends(0);
    let ours = stage.comments()[0].clone();
    let stage = Stage::planned(grows);
    stage.github.state(|state| state.add_comment(REPO, 7, "mallory", &ours.body));
    stage.run().ends(0);
    assert_eq!(stage.comments().len(), 1);
    let theirs = stage.github.state(|state| state.comments(REPO, 7)).into_iter().find(|c| c.author == "mallory");
    assert_eq!(theirs.unwrap().body, ours.body);
}

#[test]
fn an_enterprise_server_is_called_at_its_own_places() {
    let mut stage = Stage::planned(grows);
    let (api, graphql) = (stage.github.enterprise_url(), format!("{}/api/graphql", stage.github.url()));
    stage
        .set("GITHUB_API_URL", &api)
        .set("GITHUB_GRAPHQL_URL", &graphql)
        .set("GITHUB_SERVER_URL", "https://ghes.example");
    stage.run().ends(0);
    let calls = stage.github.calls();
    assert!(calls.iter().all(|call| call.path.starts_with("/api/v3/")), "{calls}");
    assert!(stage.comment().contains("https://ghes.example/acme/harbor/actions/runs/1000"));
}

#[test]
fn trouble_around_the_first_comment_does_not_keep_the_result_from_it() {
    // A reading is tried four times, and a comment made twice.
    for (what, times) in [("GET", 4), ("POST", 2)] {
        let stage = Stage::planned(grows);
        stage.github.fault(Fault::on(what, "/repos/*/issues/*/comments").times(times).status(502));
        // Longer than the trouble lasts.
        slow(&stage, 5);
        let ran = stage.run().ends(0);
        assert!(stage.comment().contains("m7i.xlarge"), "{what}: {}\n{}", ran.said.all(), stage.github.calls());
    }
    // The look for a second one, just after the first was made.
    let stage = Stage::planned(grows);
    stage.github.fault(Fault::on("GET", "/repos/*/issues/*/comments").after(1).times(4).status(502));
    stage.run().ends(0);
    assert!(stage.comment().contains("m7i.xlarge"), "{}", stage.github.calls());
}

#[test]
fn a_limit_that_asks_for_no_wait_is_not_hammered() {
    let stage = Stage::planned(grows);
    stage.github.fault(Fault::on("GET", "/repos/*/issues/*/comments").times(3).rate_limited(0));
    stage.run().ends(0);
    let calls = stage.github.calls();
    let asked: Vec<i64> =
        calls.of("GET", "/issues/7/comments").iter().take(4).map(|call| call.at.as_millisecond()).collect();
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= 900), "{asked:?}");
}

/// An engine that takes so many seconds for a plan.
fn slow(stage: &Stage, seconds: u32) {
    stage.engine(|script| script.replacen("plan) ", &format!("plan) sleep {seconds}; "), 1));
}
