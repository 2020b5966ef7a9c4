//! Check runs: whose they are, what they hold, and which of them a list shows.

mod common;

use common::{Bench, REPO, TOKEN};
use csis_bench_github::{App, Permissions};
use serde_json::{Value, json};

fn notes(count: usize) -> Vec<Value> {
    let note = |line| json!({ "path": "cfg/a.yml", "start_line": line, "end_line": line, "annotation_level": "failure", "message": "no" });
    (1..=count).map(note).collect()
}

#[test]
fn a_check_run_is_made_in_steps_and_annotations_add_up() {
    let bench = Bench::start();
    let head = bench.head();
    let begin = json!({ "name": "csis", "head_sha": head, "status": "in_progress", "external_id": "digest" });
    let made = bench.post(&Bench::at("/check-runs"), begin);
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!((&made.body["status"], &made.body["conclusion"]), (&json!("in_progress"), &Value::Null));
    assert_eq!(made.body["app"]["slug"], "github-actions");
    assert_eq!(made.body["pull_requests"][0]["number"], bench.number);
    let place = Bench::at(&format!("/check-runs/{}", made.body["id"]));

    let output =
        |count| json!({ "title": "2 refused", "summary": "why", "text": "record", "annotations": notes(count) });
    let step = bench.patch(&place, json!({ "output": output(50) }));
    assert_eq!((step.status, &step.body["output"]["annotations_count"]), (200, &json!(50)), "{}", step.text);
    let end = bench.patch(&place, json!({ "conclusion": "failure", "output": output(7) }));
    assert_eq!((&end.body["status"], &end.body["conclusion"]), (&json!("completed"), &json!("failure")));
    assert_eq!(end.body["external_id"], "digest");
    assert_eq!(bench.get(&place).body["output"]["annotations_count"], 57);
    let listed =
        bench.get(&format!("{}?per_page=100", Bench::at(&format!("/check-runs/{}/annotations", made.body["id"]))));
    assert_eq!(listed.body.as_array().unwrap().len(), 57);

    let many = bench.patch(&place, json!({ "output": output(51) }));
    assert_eq!(many.status, 422);
    assert_eq!(many.message(), "Invalid request.\n\nNo more than 50 items are allowed; 51 were supplied.");
    assert_eq!(bench.get(&place).body["output"]["annotations_count"], 57);
}

#[test]
fn an_output_has_a_limit_in_characters_and_one_in_bytes() {
    let bench = Bench::start();
    let head = bench.head();
    let make = |summary: String| {
        let output = json!({ "title": "t", "summary": summary });
        bench.post(&Bench::at("/check-runs"), json!({ "name": "csis", "head_sha": head, "output": output }))
    };
    assert_eq!(make("a".repeat(65_535)).status, 201);
    let long = make("a".repeat(65_536));
    let said = "Invalid request.\n\nOnly 65535 characters are allowed; 65536 were supplied.";
    assert_eq!((long.status, long.message()), (422, said));
    let wide = make("ä".repeat(40_000));
    assert_eq!(wide.status, 422);
    assert_eq!(wide.body["errors"][0]["message"], "summary exceeds a maximum bytesize of 65535");
}

#[test]
fn only_the_app_that_made_it_changes_a_check_run() {
    let bench = Bench::start();
    let made = bench.post(&Bench::at("/check-runs"), json!({ "name": "csis", "head_sha": bench.head() }));
    bench.github.token("token-of-another", App::new("other", 77), Permissions::review());
    bench.github.person("token-of-alice", "alice");
    let place = Bench::at(&format!("/check-runs/{}", made.body["id"]));
    let change = |authorization| {
        let body = Some(json!({ "conclusion": "success" }));
        bench.try_call("PATCH", &place, body, &[("authorization", authorization)]).unwrap()
    };
    let refused = change("Bearer token-of-another");
    assert_eq!(refused.status, 403);
    let said = "Invalid app_id `15368` - check run can only be modified by the GitHub App that created it.";
    assert_eq!(refused.message(), said);
    assert_eq!(change("Bearer token-of-alice").message(), "You must authenticate via a GitHub App.");
    assert_eq!(bench.get(&place).body["conclusion"], Value::Null);
    bench.github.token(TOKEN, App::github_actions(), Permissions::review().read("checks"));
    let refused = bench.patch(&place, json!({ "conclusion": "success" }));
    assert_eq!((refused.status, refused.header("x-accepted-github-permissions")), (403, Some("checks=write")));
}

#[test]
fn a_commit_lists_the_latest_of_each_name_or_all() {
    let bench = Bench::start();
    let head = bench.head();
    bench.github.token("token-of-another", App::new("other", 77), Permissions::review());
    for (name, authorization) in [("csis", TOKEN), ("csis", TOKEN), ("lint", TOKEN), ("csis", "token-of-another")] {
        let body = Some(json!({ "name": name, "head_sha": head }));
        let authorization = format!("Bearer {authorization}");
        let made = bench.try_call("POST", &Bench::at("/check-runs"), body, &[("authorization", &authorization)]);
        assert_eq!(made.unwrap().status, 201);
    }
    let count = |query: &str| {
        let listed = bench.get(&format!("{}{query}", Bench::at(&format!("/commits/{head}/check-runs"))));
        assert_eq!(listed.status, 200, "{}", listed.text);
        assert_eq!(listed.body["total_count"], listed.body["check_runs"].as_array().unwrap().len());
        listed.body["total_count"].as_u64().unwrap()
    };
    assert_eq!(count(""), 3);
    assert_eq!(count("?filter=all"), 4);
    assert_eq!(count("?check_name=csis"), 2);
    assert_eq!(count("?check_name=csis&app_id=15368"), 1);
    assert_eq!(count("?check_name=csis&app_id=15368&filter=all"), 2);
    let unknown = bench.post(&Bench::at("/check-runs"), json!({ "name": "csis", "head_sha": "f".repeat(40) }));
    assert_eq!(unknown.status, 422);
    // A force-push leaves the old commit and its runs where they were.
    let moved = bench.github.state(|state| state.push(REPO, bench.number));
    assert_eq!(count("?filter=all"), 4);
    assert_eq!(bench.get(&Bench::at(&format!("/commits/{moved}/check-runs"))).body["total_count"], 0);
}
