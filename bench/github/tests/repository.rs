//! Repositories, pull requests, issues, runs and identity tokens: every other operation, by its happy way and its
//! refusals.

mod common;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::{Bench, REPO, TOKEN};
use csis_bench_github::{App, ChangedFile, NewPull, OidcSubject, Permissions};
use serde_json::{Value, json};

#[test]
fn a_repository_and_who_may_do_what() {
    let bench = Bench::start();
    let repo = bench.get(&Bench::at(""));
    assert_eq!((repo.status, &repo.body["full_name"]), (200, &json!(REPO)));
    assert_eq!((&repo.body["private"], &repo.body["default_branch"]), (&json!(true), &json!("main")));
    assert!(repo.body["id"].is_u64() && repo.body["owner"]["id"].is_u64());
    bench.github.state(|state| {
        state.add_person("bob");
        state.repo(REPO).permissions.insert("carol".into(), "maintain".into());
        state.add_person("carol");
    });
    let of = |login: &str| bench.get(&Bench::at(&format!("/collaborators/{login}/permission")));
    assert_eq!(of("alice").body["permission"], "write");
    assert_eq!(
        (&of("carol").body["permission"], &of("carol").body["role_name"]),
        (&json!("write"), &json!("maintain"))
    );
    assert_eq!(of("bob").body["permission"], "none");
    assert_eq!(of("nobody-at-all").status, 404);
    assert_eq!(bench.get("/repos/acme/nothing").status, 404);
    bench.github.person("token-of-alice", "alice");
    let user = bench.try_call("GET", "/user", None, &[("authorization", "Bearer token-of-alice")]).unwrap();
    assert_eq!((user.status, &user.body["login"]), (200, &json!("alice")));
    assert_eq!(bench.get(&Bench::at("/branches")).status, 418);
}

#[test]
fn a_renamed_repository_sends_its_callers_on() {
    // A proxy would follow by itself.
    let bench = Bench::direct();
    bench.github.state(|state| state.rename_repo(REPO, "acme/port"));
    let moved = bench.get(&Bench::at(""));
    assert_eq!(moved.status, 301);
    assert_eq!(bench.get(moved.header("location").unwrap()).body["full_name"], "acme/port");
    let place = Bench::at(&format!("/issues/{}/comments", bench.number));
    assert_eq!(bench.post(&place, json!({ "body": "hello" })).status, 307);
}

#[test]
fn pull_requests_are_found_by_head_commit_and_number() {
    let bench = Bench::start();
    let fork = NewPull::from("grow-ledger").by("mallory").fork("mallory/harbor").draft().title("From outside");
    let theirs = bench.github.state(|state| state.add_pull(REPO, fork));
    let list = |query: &str| {
        let listed = bench.get(&format!("{}{query}", Bench::at("/pulls")));
        listed.body.as_array().unwrap().iter().map(|pull| pull["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(list(""), [theirs, bench.number]);
    assert_eq!(list("?head=acme:grow-ledger"), [bench.number]);
    assert_eq!(list("?head=mallory:grow-ledger"), [theirs]);
    // Without an owner GitHub filters nothing.
    assert_eq!(list("?head=grow-ledger"), [theirs, bench.number]);
    assert_eq!(list("?state=closed"), [0_u64; 0]);

    let pull = bench.get(&Bench::at(&format!("/pulls/{theirs}"))).body;
    assert_eq!((&pull["draft"], &pull["head"]["repo"]["fork"]), (&json!(true), &json!(true)));
    assert_eq!(pull["head"]["repo"]["full_name"], "mallory/harbor");
    assert_eq!(pull["base"]["repo"]["full_name"], REPO);
    assert_eq!(bench.get(&Bench::at("/pulls/99")).status, 404);

    let merged = bench.github.state(|state| state.merge(REPO, bench.number, "alice"));
    let of = bench.get(&Bench::at(&format!("/commits/{merged}/pulls")));
    assert_eq!(of.body.as_array().unwrap().len(), 1);
    assert_eq!((&of.body[0]["merge_commit_sha"], &of.body[0]["state"]), (&json!(merged), &json!("closed")));
    assert!(of.body[0]["merged_at"].is_string());
    assert_eq!(list("?state=closed"), [bench.number]);
    let pull = bench.get(&Bench::at(&format!("/pulls/{}", bench.number))).body;
    assert_eq!((&pull["merged"], &pull["merged_by"]["login"]), (&json!(true), &json!("alice")));
    assert_eq!(bench.get(&Bench::at(&format!("/commits/{}/pulls", "f".repeat(40)))).status, 422);
}

#[test]
fn files_have_pages_and_an_end() {
    let bench = Bench::start();
    bench.github.state(|state| {
        let files = &mut state.repo(REPO).pull(bench.number).files;
        files.push(ChangedFile::renamed("cfg/old.yml", "cfg/new.yml"));
        files.push(ChangedFile { patch: None, ..ChangedFile::modified("cfg/large.yml").status("added") });
        files.extend((0..3100).map(|n| ChangedFile::modified(&format!("cfg/{n}.yml"))));
    });
    let page = |number: usize| {
        let place = format!("/pulls/{}/files?per_page=100&page={number}", bench.number);
        bench.get(&Bench::at(&place))
    };
    let first = page(1);
    assert_eq!(first.body[0]["previous_filename"], "cfg/old.yml");
    assert!(first.body[1].get("patch").is_none());
    assert!(first.header("link").unwrap().contains("page=30>; rel=\"last\""));
    assert_eq!(page(30).body.as_array().unwrap().len(), 100);
    assert!(!page(30).header("link").unwrap().contains("rel=\"next\""));
    assert_eq!(page(31).body, json!([]));
    assert_eq!(bench.get(&Bench::at(&format!("/pulls/{}", bench.number))).body["changed_files"], 3102);
}

#[test]
fn issues_open_close_and_carry_labels() {
    let bench = Bench::start();
    let made = bench.post(&Bench::at("/issues"), json!({ "title": "Drift", "body": "two", "labels": ["csis-drift"] }));
    assert_eq!((made.status, &made.body["labels"][0]["name"]), (201, &json!("csis-drift")), "{}", made.text);
    let place = Bench::at(&format!("/issues/{}", made.body["number"]));
    let found = bench.get(&format!("{}?labels=csis-drift&creator=github-actions[bot]", Bench::at("/issues")));
    assert_eq!(found.body.as_array().unwrap().len(), 1);
    // Pull requests are among the issues.
    let all = bench.get(&Bench::at("/issues?state=all")).body;
    assert_eq!(all.as_array().unwrap().iter().filter(|issue| issue.get("pull_request").is_some()).count(), 1);

    let closed = bench.patch(&place, json!({ "state": "closed", "state_reason": "not_planned", "body": "one" }));
    assert_eq!((&closed.body["state"], &closed.body["state_reason"]), (&json!("closed"), &json!("not_planned")));
    let opened = bench.patch(&place, json!({ "state": "open" }));
    assert_eq!((&opened.body["state_reason"], &opened.body["closed_at"]), (&json!("reopened"), &Value::Null));
    let labels = bench.post(&format!("{place}/labels"), json!({ "labels": ["a b", "csis-drift"] }));
    assert_eq!(labels.body.as_array().unwrap().len(), 2);
    assert_eq!(bench.get(&format!("{place}/labels")).body.as_array().unwrap().len(), 2);
    assert_eq!(bench.call("DELETE", &format!("{place}/labels/a%20b"), None).body.as_array().unwrap().len(), 1);
    assert_eq!(bench.call("DELETE", &format!("{place}/labels/none"), None).status, 404);
    assert_eq!(bench.call("PUT", &format!("{place}/lock"), None).status, 204);
    assert_eq!(bench.get(&place).body["locked"], true);
    let long = bench.patch(&place, json!({ "body": "a".repeat(65_537) }));
    assert_eq!((long.status, &long.body["errors"][0]["resource"]), (422, &json!("Issue")));

    bench.github.state(|state| state.repo(REPO).has_issues = false);
    assert_eq!(bench.post(&Bench::at("/issues"), json!({ "title": "Drift" })).status, 410);
    assert_eq!(bench.get(&place).status, 410);
    assert_eq!(bench.get(&Bench::at(&format!("/issues/{}", bench.number))).status, 200);
}

#[test]
fn a_run_and_the_subject_of_its_tokens() {
    let bench = Bench::start();
    let run = bench.github.state(|state| state.add_run(REPO, ".github/workflows/review.yml", bench.number));
    let found = bench.get(&Bench::at(&format!("/actions/runs/{run}")));
    assert_eq!((found.status, &found.body["path"]), (200, &json!(".github/workflows/review.yml")), "{}", found.text);
    assert_eq!(found.body["pull_requests"][0]["number"], bench.number);
    let from_a_fork = bench.github.state(|state| {
        let theirs = state.add_pull(REPO, NewPull::from("patch").by("mallory").fork("mallory/harbor"));
        state.add_run(REPO, ".github/workflows/review.yml", theirs)
    });
    let theirs = bench.get(&Bench::at(&format!("/actions/runs/{from_a_fork}"))).body;
    assert_eq!(theirs["pull_requests"], json!([]));
    assert_eq!(theirs["head_repository"]["full_name"], "mallory/harbor");
    let subject = || bench.get(&Bench::at("/actions/oidc/customization/sub"));
    assert_eq!((subject().status, &subject().body["use_default"]), (200, &json!(true)));
    bench.github.token(TOKEN, App::github_actions(), Permissions::new().read("contents"));
    assert_eq!((subject().status, subject().header("x-accepted-github-permissions")), (403, Some("actions=read")));
}

#[test]
fn identity_tokens_say_who_the_job_is() {
    let bench = Bench::direct();
    let claims = |authorization: &str| {
        let url = format!("{}&audience=sts.amazonaws.com", bench.github.oidc_url());
        let heard = bench.try_call("GET", &url, None, &[("authorization", authorization)]).unwrap();
        let value = heard.body["value"].as_str().unwrap_or_default().to_owned();
        let payload = value.split('.').nth(1).map(|part| URL_SAFE_NO_PAD.decode(part).unwrap());
        (heard.status, payload.map_or(Value::Null, |bytes| serde_json::from_slice::<Value>(&bytes).unwrap()))
    };
    assert_eq!(claims("bearer wrong").0, 401);
    let (status, token) = claims("bearer request-token-of-the-job");
    assert_eq!(
        (status, &token["sub"], &token["aud"]),
        (200, &json!("repo:acme/harbor:pull_request"), &json!("sts.amazonaws.com"))
    );
    assert_eq!(token["exp"].as_i64().unwrap() - token["iat"].as_i64().unwrap(), 300);
    bench.github.state(|state| {
        state.oidc.event_name = "push".into();
        state.oidc.git_ref = "refs/heads/main".into();
    });
    assert_eq!(claims("bearer request-token-of-the-job").1["sub"], "repo:acme/harbor:ref:refs/heads/main");
    bench.github.state(|state| {
        state.oidc.environment = Some("production".into());
        state.repo(REPO).oidc.immutable = true;
    });
    let token = claims("bearer request-token-of-the-job").1;
    let ids = (token["repository_owner_id"].as_str().unwrap(), token["repository_id"].as_str().unwrap());
    assert_eq!(token["sub"], format!("repo:acme@{}/harbor@{}:environment:production", ids.0, ids.1));
    bench.github.state(|state| {
        let keys = vec!["repository_owner".into(), "context".into()];
        state.repo(REPO).oidc = OidcSubject { use_default: false, include_claim_keys: keys, immutable: false };
    });
    assert_eq!(claims("bearer request-token-of-the-job").1["sub"], "repository_owner:acme:environment:production");
    assert_eq!(bench.github.calls().of("GET", "/oidc/token").len(), 5);
}

#[test]
fn a_scene_of_json() {
    let bench = Bench::direct();
    let scene = json!({
        "repositories": [{
            "name": "acme/quay", "private": true, "head": "a".repeat(40), "permissions": { "dora": "write" },
            "pulls": [{
                "number": 12, "branch": "b", "head": "b".repeat(40), "author": "dora", "files": ["cfg/a.yml"],
                "comments": [{ "author": "dora", "body": "hi" }, { "body": "the bot's" }],
                "run": { "id": 4242, "path": ".github/workflows/review.yml" },
            }],
        }],
        "tokens": [{ "token": "of-the-scene", "permissions": { "pull-requests": "write" }, "repository": "acme/quay" }],
    });
    bench.github.load_scene(&scene.to_string()).unwrap();
    let get = |path: &str| bench.try_call("GET", path, None, &[("authorization", "Bearer of-the-scene")]).unwrap();
    assert_eq!(get("/repos/acme/quay/pulls/12").body["head"]["sha"], "b".repeat(40));
    assert_eq!(get("/repos/acme/quay/issues/12/comments").body[1]["user"]["login"], "github-actions[bot]");
    assert_eq!(get(&Bench::at("")).status, 404);
    let shown = bench.get("/_bench/state").body;
    assert_eq!(shown["repos"]["acme/quay"]["runs"]["4242"]["head_sha"], "b".repeat(40));
    assert!(!shown.to_string().contains("of-the-scene"));
    assert_eq!(bench.get("/_bench/calls").body.as_array().unwrap().len(), 3);
    assert!(bench.github.load_scene("{\"repos\":[]}").unwrap_err().contains("unknown field"));
}
