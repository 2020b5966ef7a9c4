//! Comments as a bot meets them: pages, limits, locks, and what other hands do to them.

mod common;

use common::{Bench, REPO, TOKEN};
use csis_bench_github::{App, GitHub, Permissions, Timestamp};
use serde_json::json;
use std::time::Duration;

fn conversation(bench: &Bench) -> String {
    Bench::at(&format!("/issues/{}/comments", bench.number))
}

#[test]
fn a_comment_is_made_changed_and_deleted() {
    let bench = Bench::start();
    bench.github.clock().stop_at("2026-11-02T10:00:00Z".parse::<Timestamp>().unwrap());
    let body = "<!-- csis {\"a\":1} -->\nMerging applies **2** roots. \u{1f6a2}";
    let made = bench.post(&conversation(&bench), json!({ "body": body }));
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.body["body"], body);
    assert_eq!(made.body["user"]["login"], "github-actions[bot]");
    assert_eq!(made.body["user"]["type"], "Bot");
    assert_eq!(made.body["performed_via_github_app"]["id"], 15368);
    assert_eq!(made.body["author_association"], "NONE");
    assert_eq!(made.body["created_at"], "2026-11-02T10:00:00Z");
    assert_eq!(made.header("location"), made.body["url"].as_str());

    bench.github.clock().advance(Duration::from_secs(61));
    let place = Bench::at(&format!("/issues/comments/{}", made.body["id"]));
    let changed = bench.patch(&place, json!({ "body": "second" }));
    assert_eq!((changed.status, &changed.body["body"]), (200, &json!("second")));
    assert_eq!(changed.body["created_at"], "2026-11-02T10:00:00Z");
    assert_eq!(changed.body["updated_at"], "2026-11-02T10:01:01Z");
    assert_eq!(bench.post(&place, json!({ "body": "by POST" })).status, 404);
    assert_eq!(bench.get(&place).body["body"], "second");

    assert_eq!(bench.call("DELETE", &place, None).status, 204);
    assert_eq!(bench.get(&place).status, 404);
    assert_eq!(bench.patch(&place, json!({ "body": "third" })).status, 404);
    let all = bench.github.calls();
    assert_eq!(bench.github.mutations().len(), 5, "{all}");
    assert!(all.to_string().contains("201  POST   /repos/acme/harbor/issues/1/comments"), "{all}");
}

#[test]
fn a_long_conversation_has_pages() {
    let bench = Bench::start();
    let ids: Vec<u64> = bench.github.state(|state| {
        (0..205).map(|n| state.add_comment(REPO, bench.number, "bob", &format!("comment {n}"))).collect()
    });
    assert!(ids.is_sorted());
    let (mut place, mut seen, mut pages) = (format!("{}?per_page=100", conversation(&bench)), Vec::new(), 0);
    loop {
        let page = bench.get(&place);
        assert_eq!(page.status, 200);
        pages += 1;
        seen.extend(page.body.as_array().unwrap().iter().map(|comment| comment["id"].as_u64().unwrap()));
        let link = page.header("link").unwrap().to_owned();
        if pages == 1 {
            assert!(link.contains("rel=\"last\"") && link.contains("page=3>"), "{link}");
            // GitHub names the repository by its id here: who builds the address by hand differs.
            assert!(link.contains("/repositories/"), "{link}");
        }
        let Some(next) = link.split(", ").find(|part| part.ends_with("rel=\"next\"")) else { break };
        place = next[1..next.find('>').unwrap()].to_owned();
    }
    assert_eq!((pages, seen), (3, ids));
    assert_eq!(bench.get(&conversation(&bench)).body.as_array().unwrap().len(), 30);
    assert_eq!(bench.get(&format!("{}?per_page=500", conversation(&bench))).body.as_array().unwrap().len(), 100);
    assert_eq!(bench.get(&format!("{}?per_page=100&page=9", conversation(&bench))).body, json!([]));
}

#[test]
fn since_tells_what_was_changed_later() {
    let bench = Bench::start();
    bench.github.clock().stop_at("2026-11-02T10:00:00Z".parse::<Timestamp>().unwrap());
    bench.github.state(|state| state.add_comment(REPO, bench.number, "bob", "old"));
    bench.github.clock().advance(Duration::from_mins(1));
    bench.github.state(|state| state.add_comment(REPO, bench.number, "bob", "new"));
    let found = bench.get(&format!("{}?since=2026-11-02T10:00:30Z", conversation(&bench)));
    assert_eq!(found.body.as_array().unwrap().len(), 1);
    assert_eq!(found.body[0]["body"], "new");
}

#[test]
fn a_body_has_a_limit_and_is_not_empty() {
    let bench = Bench::start();
    let place = conversation(&bench);
    assert_eq!(bench.post(&place, json!({ "body": "ä".repeat(65_536) })).status, 201);
    let long = bench.post(&place, json!({ "body": "a".repeat(65_537) }));
    assert_eq!((long.status, long.message()), (422, "Validation Failed"));
    assert_eq!(long.body["errors"][0]["message"], "Body is too long (maximum is 65536 characters)");
    assert_eq!(long.body["errors"][0]["field"], "data");
    let empty = bench.post(&place, json!({ "body": " " }));
    assert_eq!((empty.status, &empty.body["errors"][0]["message"]), (422, &json!("Body cannot be blank")));
    assert_eq!(bench.post(&place, json!({})).status, 422);

    let comment = Bench::at(&format!("/issues/comments/{}", bench.get(&place).body[0]["id"]));
    let long = bench.patch(&comment, json!({ "body": "a".repeat(65_537) }));
    assert_eq!(long.body["errors"][0]["field"], "body");
    assert_eq!(long.body["errors"][0]["message"], "body is too long (maximum is 65536 characters)");
}

#[test]
fn a_locked_conversation_is_open_to_people_with_write_alone() {
    let bench = Bench::start();
    bench.github.state(|state| state.repo(REPO).issue(bench.number).locked = true);
    let refused = bench.post(&conversation(&bench), json!({ "body": "hello" }));
    assert_eq!((refused.status, refused.message()), (403, "Unable to create comment because issue is locked."));
    bench.github.person("token-of-alice", "alice");
    let body = Some(json!({ "body": "hello" }));
    let hers = bench.try_call("POST", &conversation(&bench), body, &[("authorization", "token token-of-alice")]);
    assert_eq!(hers.unwrap().status, 201);
}

#[test]
fn a_token_without_the_permission_is_told_which_one() {
    let bench = Bench::start();
    bench.github.token(TOKEN, App::github_actions(), Permissions::of_a_fork());
    let refused = bench.post(&conversation(&bench), json!({ "body": "hello" }));
    assert_eq!((refused.status, refused.message()), (403, "Resource not accessible by integration"));
    assert_eq!(refused.header("x-accepted-github-permissions"), Some("issues=write; pull_requests=write"));
    assert_eq!(bench.get(&conversation(&bench)).status, 200);

    // Pull requests may be commented with either, issues only with `issues`.
    bench.github.token(TOKEN, App::github_actions(), Permissions::new().write("pull-requests"));
    let issue = bench.github.state(|state| state.add_issue(REPO, "bob", "Drift", "found"));
    assert_eq!(bench.post(&conversation(&bench), json!({ "body": "hello" })).status, 201);
    assert_eq!(bench.post(&Bench::at(&format!("/issues/{issue}/comments")), json!({ "body": "hello" })).status, 403);
}

#[test]
fn who_is_not_known_sees_nothing_private_and_writes_nothing() {
    let bench = Bench::start();
    let nobody = [("authorization", "")];
    let place = conversation(&bench);
    assert_eq!(bench.try_call("GET", &place, None, &nobody).unwrap().status, 404);
    bench.github.state(|state| state.repo(REPO).private = false);
    assert_eq!(bench.try_call("GET", &place, None, &nobody).unwrap().status, 200);
    let body = || Some(json!({ "body": "hello" }));
    assert_eq!(bench.try_call("POST", &place, body(), &nobody).unwrap().status, 401);
    let wrong = bench.try_call("GET", &place, None, &[("authorization", "Bearer of nothing")]).unwrap();
    assert_eq!((wrong.status, wrong.message()), (401, "Bad credentials"));
    bench.github.token_for("acme/other", "elsewhere", App::github_actions(), Permissions::review());
    let elsewhere = [("authorization", "Bearer elsewhere")];
    assert_eq!(bench.try_call("GET", &place, None, &elsewhere).unwrap().status, 200);
    assert_eq!(bench.try_call("POST", &place, body(), &elsewhere).unwrap().status, 403);
    bench.github.state(|state| state.repo(REPO).private = true);
    assert_eq!(bench.try_call("GET", &place, None, &elsewhere).unwrap().status, 404);
}

#[test]
fn what_the_caller_has_already_is_not_sent_again_and_costs_nothing() {
    let bench = Bench::start();
    bench.github.state(|state| state.add_comment(REPO, bench.number, "bob", "hello"));
    let first = bench.get(&conversation(&bench));
    let tag = first.header("etag").unwrap().to_owned();
    let left = bench.github.state(|state| state.rate.remaining);
    let again = || bench.try_call("GET", &conversation(&bench), None, &[("if-none-match", &tag)]).unwrap();
    let second = again();
    assert_eq!((second.status, second.text.as_str()), (304, ""));
    assert_eq!(bench.github.state(|state| state.rate.remaining), left);
    bench.github.state(|state| state.add_comment(REPO, bench.number, "bob", "again"));
    assert_eq!(again().status, 200);
}

#[test]
fn a_comment_is_folded_and_unfolded() {
    let bench = Bench::start();
    let id = bench.github.state(|state| state.add_app_comment(REPO, bench.number, &App::github_actions(), "old plan"));
    let node = bench.get(&Bench::at(&format!("/issues/comments/{id}"))).body["node_id"].clone();
    let fold = "mutation Fold($id: ID!, $why: ReportedContentClassifiers!) {
        minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized minimizedReason } }
    }";
    let folded = bench.graphql(fold, &json!({ "id": node, "why": "OUTDATED" }));
    let expected = json!({ "isMinimized": true, "minimizedReason": "outdated" });
    assert_eq!(folded.body, json!({ "data": { "minimizeComment": { "minimizedComment": expected } } }));
    assert_eq!(bench.get(&Bench::at(&format!("/issues/comments/{id}"))).body["minimized"]["reason"], "outdated");
    assert_eq!(bench.github.mutations()[0].operations, ["minimizeComment"]);

    let unfold =
        "mutation($id: ID!) { unminimizeComment(input: {subjectId: $id}) { unminimizedComment { isMinimized } } }";
    let unfolded = bench.graphql(unfold, &json!({ "id": node }));
    assert_eq!(unfolded.body["data"]["unminimizeComment"]["unminimizedComment"]["isMinimized"], false);

    let missing = bench.graphql(fold, &json!({ "id": "IC_nothing", "why": "OUTDATED" }));
    assert_eq!((missing.status, &missing.body["errors"][0]["type"]), (200, &json!("NOT_FOUND")));
    assert_eq!(missing.body["data"], json!({ "minimizeComment": null }));
    let reason = bench.graphql(fold, &json!({ "id": node, "why": "BORING" }));
    assert!(reason.body.get("data").is_none(), "{}", reason.text);

    bench.github.token(TOKEN, App::github_actions(), Permissions::of_a_fork());
    let refused = bench.graphql(fold, &json!({ "id": node, "why": "OUTDATED" }));
    assert_eq!((refused.status, &refused.body["errors"][0]["type"]), (200, &json!("FORBIDDEN")));
}

#[test]
fn a_viewer_is_the_app_and_has_no_user() {
    let bench = Bench::start();
    let viewer = bench.graphql("query { viewer { login } }", &json!({}));
    assert_eq!(viewer.body, json!({ "data": { "viewer": { "login": "github-actions[bot]" } } }));
    assert_eq!(bench.get("/user").status, 403);
    let conversation = bench.graphql(
        "query($number: Int!) { repository(owner: \"acme\", name: \"harbor\") { pullRequest(number: $number) {
            comments(last: 1) { nodes { databaseId isMinimized author { login ... on Bot { __typename } } } } } } }",
        &json!({ "number": bench.number }),
    );
    assert_eq!(conversation.body["data"]["repository"]["pullRequest"]["comments"]["nodes"], json!([]));
    let unknown = bench.graphql("{ viewer { shoeSize } }", &json!({}));
    assert_eq!(unknown.body["errors"][0]["extensions"]["code"], "undefinedField");
    let enterprise = bench.try_call("POST", "/api/graphql", Some(json!({ "query": "{ viewer { login } }" })), &[]);
    assert_eq!(enterprise.unwrap().body["data"]["viewer"]["login"], "github-actions[bot]");
}

#[test]
fn enterprise_server_stands_under_its_prefix() {
    let bench = Bench::direct();
    let place = format!("{}{}", bench.github.enterprise_url(), conversation(&bench));
    let made = bench.post(&place, json!({ "body": "hello" }));
    assert_eq!(made.status, 201);
    assert!(made.body["url"].as_str().unwrap().starts_with(&bench.github.enterprise_url()), "{}", made.text);
}

#[tokio::test]
async fn it_starts_inside_a_runtime_and_stops_when_dropped() {
    let github = GitHub::start().await;
    let url = github.url();
    let address = url.trim_start_matches("http://").to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok());
    drop(github);
    assert!(std::net::TcpStream::connect(&address).is_err());
}
