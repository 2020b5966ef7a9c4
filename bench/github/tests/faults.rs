//! What goes wrong on the way: each fault as a client sees it, and whether GitHub acted.

mod common;

use common::{Bench, REPO};
use csis_bench_github::Fault;
use serde_json::json;
use std::time::Duration;

const COMMENTS: &str = "/repos/*/issues/*/comments";

fn create(bench: &Bench) -> Result<common::Heard, ureq::Error> {
    let place = Bench::at(&format!("/issues/{}/comments", bench.number));
    bench.try_call("POST", &place, Some(json!({ "body": "hello" })), &[])
}

fn count(bench: &Bench) -> usize {
    bench.github.state(|state| state.comments(REPO, bench.number).len())
}

#[test]
fn answers_in_place_of_the_real_one() {
    let bench = Bench::direct();
    let github = &bench.github;
    github.fault(Fault::on("POST", COMMENTS).times(1).status(502).html());
    github.fault(Fault::on("POST", COMMENTS).times(1).rate_limited(7));
    github.fault(Fault::on("POST", COMMENTS).times(1).bare_403());
    let page = create(&bench).unwrap();
    assert_eq!((page.status, page.header("content-type")), (502, Some("text/html; charset=utf-8")));
    assert!(page.text.contains("Unicorn"));
    assert_eq!(github.unmet_faults().len(), 2);
    let slow_down = create(&bench).unwrap();
    assert_eq!((slow_down.status, slow_down.header("retry-after")), (403, Some("7")));
    assert!(slow_down.message().contains("secondary rate limit"));
    let bare = create(&bench).unwrap();
    assert_eq!((bare.status, bare.header("retry-after"), bare.header("x-ratelimit-remaining")), (403, None, None));
    assert!(github.unmet_faults().is_empty());
    assert_eq!(create(&bench).unwrap().status, 201);
    github.fault(Fault::on("GET", "/repos/{o}/{r}").times(1).redirect_to("http://127.0.0.1:1/elsewhere"));
    let moved = bench.get(&Bench::at(""));
    assert_eq!((moved.status, moved.header("location")), (301, Some("http://127.0.0.1:1/elsewhere")));
    assert_eq!(bench.get(&Bench::at("")).status, 200);
    assert_eq!(count(&bench), 1);
    github.fault(Fault::on("POST", COMMENTS).times(1).too_many(429));
    let exhausted = create(&bench).unwrap();
    assert_eq!((exhausted.status, exhausted.header("x-ratelimit-remaining")), (429, Some("0")));
    assert_eq!(create(&bench).unwrap().status, 403);
    github.clock().advance(Duration::from_secs(3601));
    assert_eq!(create(&bench).unwrap().status, 201);
}

#[test]
fn an_answer_that_never_comes() {
    let bench = Bench::direct();
    let github = &bench.github;
    let (short, long) = (Duration::from_millis(200), Duration::from_secs(20));
    for (fault, made) in [
        (Fault::on("POST", COMMENTS).cut(), 0),
        (Fault::on("POST", COMMENTS).act_then_cut(), 1),
        (Fault::on("POST", COMMENTS).truncate(), 2),
        (Fault::on("POST", COMMENTS).hang(short), 2),
        (Fault::on("POST", COMMENTS).act_then_hang(long), 3),
    ] {
        github.fault(fault.times(1));
        assert!(create(&bench).is_err());
        assert_eq!(count(&bench), made, "{}", github.calls());
    }
    let statuses: Vec<Option<u16>> = github.calls().iter().map(|call| call.status).collect();
    assert_eq!(statuses, [None, None, Some(201), None, None]);
    github.fault(Fault::on("POST", COMMENTS).times(1).slow(Duration::from_millis(50)));
    assert_eq!(create(&bench).unwrap().status, 201);
    github.fault(Fault::on("POST", COMMENTS).times(1).status(502).acting());
    assert_eq!(create(&bench).unwrap().status, 502);
    assert_eq!(count(&bench), 5);
}

#[test]
fn a_truncated_answer_has_a_status_and_half_a_body() {
    use std::io::{Read, Write};
    let bench = Bench::direct();
    bench.github.state(|state| state.repo(REPO).private = false);
    bench.github.fault(Fault::on("GET", "*").truncate());
    let mut stream = std::net::TcpStream::connect(bench.github.url().trim_start_matches("http://")).unwrap();
    let path = Bench::at("");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nuser-agent: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(body.len(), length.parse::<usize>().unwrap() / 2);
}

#[test]
fn the_world_changes_between_two_calls() {
    let bench = Bench::direct();
    let (github, number) = (&bench.github, bench.number);
    let id = create(&bench).unwrap().body["id"].as_u64().unwrap();
    let place = Bench::at(&format!("/issues/comments/{id}"));
    // Before the second update somebody deletes the comment.
    github.fault(Fault::on("PATCH", "/repos/*/issues/comments/{id}").after(1).times(1).before(move |state| {
        state.delete_comment(REPO, id);
    }));
    assert_eq!(github.unmet_faults().len(), 1);
    assert_eq!(bench.patch(&place, json!({ "body": "one" })).status, 200);
    assert_eq!(bench.patch(&place, json!({ "body": "two" })).status, 404);
    assert!(github.unmet_faults().is_empty());

    let before = bench.head();
    github.fault(Fault::on("GET", "/repos/*/pulls/{n}").after(1).times(1).before(move |state| {
        state.push(REPO, number);
        state.repo(REPO).issue(number).locked = true;
    }));
    let read = || bench.get(&Bench::at(&format!("/pulls/{number}"))).body;
    assert_eq!(read()["head"]["sha"], before.as_str());
    let after = read();
    assert_ne!(after["head"]["sha"], before.as_str());
    assert_eq!(after["locked"], true);
    assert_eq!(create(&bench).unwrap().status, 403);
}

#[test]
fn a_fault_of_one_graphql_operation() {
    let bench = Bench::direct();
    bench.github.fault(Fault::graphql("minimizeComment").status(500));
    assert_eq!(bench.graphql("{ viewer { login } }", &json!({})).status, 200);
    let fold = "mutation { minimizeComment(input: {subjectId: \"x\", classifier: OUTDATED}) { clientMutationId } }";
    assert_eq!(bench.graphql(fold, &json!({})).status, 500);
}

#[test]
fn too_many_mutations_in_a_minute() {
    let bench = Bench::direct();
    bench.github.state(|state| state.rate.mutations_per_minute = Some(2));
    assert_eq!(create(&bench).unwrap().status, 201);
    assert_eq!(create(&bench).unwrap().status, 201);
    let refused = create(&bench).unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (403, Some("60")));
    assert_eq!(bench.get(&Bench::at("")).status, 200);
    bench.github.clock().advance(Duration::from_secs(61));
    assert_eq!(create(&bench).unwrap().status, 201);
    bench.github.state(|state| state.rate.remaining = 1);
    assert_eq!(bench.get(&Bench::at("")).header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(bench.get(&Bench::at("")).status, 403);
    assert_eq!(bench.get("/rate_limit").body["rate"]["remaining"], 0);
}

#[test]
fn a_call_says_who_made_it_and_never_shows_a_token() {
    let bench = Bench::direct();
    create(&bench).unwrap();
    bench.get(&format!("{}?token={}", Bench::at(""), common::TOKEN));
    let calls = bench.github.calls();
    assert_eq!((calls[0].authorized, calls[0].login.as_deref()), (true, Some("github-actions[bot]")));
    assert_eq!((calls[0].leaked, calls[1].leaked), (false, true));
    assert!(!format!("{:?}", calls[0]).contains(common::TOKEN));
    assert!(calls.to_string().contains("TOKEN LEAKED"));
}
