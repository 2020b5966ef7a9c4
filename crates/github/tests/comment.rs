//! The one comment on bad days: only here a stateful GitHub deletes, locks, limits and answers twice while the comment is written.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use csis_bench_github::{App, Fault, Permissions};
use csis_github::marker::State;
use csis_github::sticky::{Mode, Written};
use csis_github::{ApiError, Pace};
use std::time::{Duration, Instant};
use support::{Bench, REPO, TOKEN, left_by, quick};

const CREATE: &str = "/repos/*/issues/*/comments";
const ONE: &str = "/repos/*/issues/comments/*";

fn done(written: &Result<Written, ApiError>) -> bool {
    matches!(written, Ok(Written::Done { .. }))
}

#[tokio::test]
async fn one_comment_is_brought_up_to_date_in_place() {
    let bench = Bench::start().await;
    assert!(done(&bench.writes(100, 1, "one").await));
    let id = bench.comments()[0].id;
    assert!(done(&bench.writes(101, 1, "two").await));
    assert_eq!(bench.only(), "two");
    assert_eq!(bench.comments()[0].id, id);
}

#[tokio::test]
async fn the_comment_is_found_over_all_pages_and_never_by_its_marker_alone() {
    let bench = Bench::start().await;
    let ours = bench.github.state(|state| {
        for n in 0..130 {
            state.add_comment(REPO, bench.number, "mallory", &left_by(100 + n, 1, "copied"));
        }
        let ours = state.add_app_comment(REPO, bench.number, &App::github_actions(), &left_by(90, 1, "old"));
        state.add_app_comment(REPO, bench.number, &App::new("other-bot", 7), &left_by(300, 1, "another bot's"));
        for _ in 0..130 {
            state.add_comment(REPO, bench.number, "alice", "words");
        }
        ours
    });
    assert!(done(&bench.writes(100, 1, "new").await));
    let comments = bench.comments();
    assert_eq!(comments.len(), 262, "none was made, none was taken away");
    let ours = comments.iter().find(|c| c.id == ours).unwrap();
    assert!(ours.body.ends_with("new"), "{}", ours.body);
    assert_eq!(comments.iter().filter(|c| c.body.contains("copied")).count(), 130);
}

#[tokio::test]
async fn a_key_of_another_tree_is_left_alone() {
    let bench = Bench::start().await;
    let other = left_by(90, 1, "infra").replace("key=k1", "key=k2");
    bench.github.state(|state| state.add_app_comment(REPO, bench.number, &App::github_actions(), &other));
    assert!(done(&bench.writes(100, 1, "mine").await));
    let bodies: Vec<String> = bench.comments().into_iter().map(|c| c.body).collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], other);
}

#[tokio::test]
async fn an_older_run_and_an_earlier_attempt_give_way() {
    let bench = Bench::start().await;
    assert!(done(&bench.writes(100, 2, "newer").await));
    assert_eq!(bench.writes(100, 1, "earlier attempt").await, Ok(Written::GaveWay));
    assert_eq!(bench.writes(99, 5, "older run").await, Ok(Written::GaveWay));
    assert_eq!(bench.only(), "newer");
}

#[tokio::test]
async fn a_run_that_was_overtaken_while_it_planned_gives_way() {
    let bench = Bench::start().await;
    let mut older = bench.find(100, 1, Mode::Update).await.unwrap();
    older.write(State::Planning, "planning the old head").await.unwrap();
    assert!(done(&bench.writes(101, 1, "the new head").await));
    assert_eq!(older.write(State::Result, "the old head").await, Ok(Written::GaveWay));
    assert_eq!(bench.only(), "the new head");
}

#[tokio::test]
async fn of_two_runs_that_race_the_oldest_comment_stays() {
    let bench = Bench::start().await;
    let number = bench.number;
    // The other run's comment is made after this run looked and before it writes.
    bench.github.fault(Fault::on("POST", CREATE).times(1).before(move |state| {
        state.add_app_comment(REPO, number, &App::github_actions(), &left_by(99, 1, "the other"));
    }));
    assert!(done(&bench.writes(100, 1, "this one").await));
    assert_eq!(bench.only(), "this one", "the oldest comment stays, with what the newer run says");
}

#[tokio::test]
async fn in_a_race_the_older_run_takes_its_own_away() {
    let bench = Bench::start().await;
    let number = bench.number;
    bench.github.fault(Fault::on("POST", CREATE).times(1).before(move |state| {
        state.add_app_comment(REPO, number, &App::github_actions(), &left_by(101, 1, "the newer"));
    }));
    assert_eq!(bench.writes(100, 1, "the older").await, Ok(Written::GaveWay));
    assert_eq!(bench.only(), "the newer");
}

#[tokio::test]
async fn a_comment_deleted_between_find_and_update_is_made_anew() {
    let bench = Bench::start().await;
    bench.writes(100, 1, "first").await.unwrap();
    let id = bench.comments()[0].id;
    bench.github.fault(Fault::on("PATCH", ONE).times(1).before(move |state| state.delete_comment(REPO, id)));
    assert!(done(&bench.writes(101, 1, "second").await));
    assert_eq!(bench.only(), "second");
}

#[tokio::test]
async fn a_comment_that_is_not_yet_known_everywhere_is_waited_for() {
    let bench = Bench::start().await;
    let mut sticky = bench.find(100, 1, Mode::Update).await.unwrap();
    sticky.write(State::Planning, "planning").await.unwrap();
    bench.github.fault(Fault::on("GET", ONE).times(2).status(404));
    assert!(done(&sticky.write(State::Result, "result").await));
    assert_eq!(bench.only(), "result", "it was not made a second time");
}

#[tokio::test]
async fn an_answer_that_never_came_does_not_make_a_second_comment() {
    for acting in [true, false] {
        let bench = Bench::start().await;
        let silence = Duration::from_secs(2);
        let fault = Fault::on("POST", CREATE).times(1);
        bench.github.fault(if acting { fault.act_then_hang(silence) } else { fault.hang(silence) });
        assert!(done(&bench.writes(100, 1, "once").await), "{}", bench.github.calls());
        assert_eq!(bench.only(), "once");
    }
}

#[tokio::test]
async fn a_page_of_html_is_looked_behind() {
    for acting in [true, false] {
        let bench = Bench::start().await;
        let fault = Fault::on("POST", CREATE).times(1).status(502).html();
        bench.github.fault(if acting { fault.acting() } else { fault });
        assert!(done(&bench.writes(100, 1, "once").await));
        assert_eq!(bench.only(), "once");
    }
    // An update may be made again as it is.
    let bench = Bench::start().await;
    bench.writes(100, 1, "one").await.unwrap();
    bench.github.fault(Fault::on("PATCH", ONE).times(2).status(502).html());
    assert!(done(&bench.writes(101, 1, "two").await));
    assert_eq!(bench.only(), "two");
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let bench = Bench::start().await;
    bench.github.fault(Fault::on("POST", CREATE).times(1).truncate());
    assert!(done(&bench.writes(100, 1, "once").await));
    assert_eq!(bench.only(), "once");
}

#[tokio::test]
async fn limits_are_waited_for_and_long_ones_are_told() {
    let bench = Bench::start().await;
    bench.github.fault(Fault::on("POST", CREATE).times(1).rate_limited(1));
    let began = Instant::now();
    assert!(done(&bench.writes(100, 1, "after the limit").await));
    assert!(began.elapsed() >= Duration::from_secs(1), "the wait that was asked for was not kept");
    assert_eq!(bench.only(), "after the limit");
    for long in [Fault::on("PATCH", ONE).times(1).rate_limited(600), Fault::on("PATCH", ONE).times(1).too_many(429)] {
        bench.github.fault(long);
        let refused = bench.writes(101, 1, "x").await;
        assert!(matches!(refused, Err(ApiError::Limited { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_bare_403_is_told_and_not_repeated() {
    let bench = Bench::start().await;
    bench.github.fault(Fault::on("POST", CREATE).bare_403());
    let refused = bench.writes(100, 1, "x").await;
    assert!(matches!(refused, Err(ApiError::Forbidden { accepted: None, .. })), "{refused:?}");
    assert_eq!(bench.github.calls().of("POST", "/comments").len(), 1);
}

#[tokio::test]
async fn a_locked_conversation_and_a_missing_right_are_told_apart() {
    let bench = Bench::start().await;
    bench.github.state(|state| state.repo(REPO).issue(bench.number).locked = true);
    assert_eq!(bench.writes(100, 1, "x").await, Err(ApiError::Locked));
    bench.github.state(|state| state.repo(REPO).issue(bench.number).locked = false);
    bench.github.token(TOKEN, App::github_actions(), Permissions::new().read("contents").read("pull-requests"));
    match bench.writes(100, 1, "x").await {
        Err(ApiError::Forbidden { accepted: Some(accepted), .. }) => {
            assert!(accepted.contains("pull_requests=write"), "{accepted}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_body_at_the_limit_with_wide_characters_is_taken() {
    let bench = Bench::start().await;
    let text = "𝄞".repeat(15_000);
    assert!(done(&bench.writes(100, 1, &text).await));
    assert_eq!(bench.only(), text);
}

#[tokio::test]
async fn what_an_earlier_version_left_twice_becomes_one() {
    let bench = Bench::start().await;
    let old = "<!-- csis:comment v0 key=k1 -->\nold";
    let oldest = bench.github.state(|state| {
        let app = App::github_actions();
        let oldest = state.add_app_comment(REPO, bench.number, &app, old);
        state.add_app_comment(REPO, bench.number, &app, old);
        oldest
    });
    assert!(done(&bench.writes(100, 1, "new").await));
    assert_eq!(bench.only(), "new");
    assert_eq!(bench.comments()[0].id, oldest);
}

#[tokio::test]
async fn in_mode_new_each_run_has_a_comment_and_the_last_is_folded() {
    let bench = Bench::start().await;
    for run in [100, 101, 102] {
        let mut sticky = bench.find(run, 1, Mode::New).await.unwrap();
        sticky.write(State::Planning, "planning").await.unwrap();
        sticky.write(State::Result, &format!("of {run}")).await.unwrap();
    }
    let told: Vec<(bool, bool)> = bench
        .comments()
        .iter()
        .map(|c| (c.minimized.as_deref() == Some("outdated"), c.body.contains("of 10")))
        .collect();
    assert_eq!(told, [(true, true), (true, true), (false, true)]);
}

#[tokio::test]
async fn writes_are_a_second_apart() {
    let bench = Bench::start().await;
    let pace = Pace { between_writes: Duration::from_secs(1), ..quick() };
    let client = Bench::client_at(&bench.github.url(), pace);
    for n in 0..3 {
        let _: serde_json::Value = client
            .post(
                &format!("/repos/{REPO}/issues/{}/comments", bench.number),
                &serde_json::json!({"body": n.to_string()}),
            )
            .await
            .unwrap();
    }
    let times: Vec<i64> = bench.github.mutations().iter().map(|call| call.at.as_millisecond()).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 990), "{times:?}");
}
