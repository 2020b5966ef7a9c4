//! Manners of the one client and what hangs on commits: only here redirects, entity tags, an Enterprise Server and another app's check run are met over HTTP.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use csis_bench_github::{App, Fault, GitHub, Permissions};
use csis_github::checks::{self, Annotation, Check, Conclusion, Level};
use csis_github::identity::{AWS, Minter};
use csis_github::pulls::{self, Which};
use csis_github::{ApiError, Repo, comments, record};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::{Bench, REPO, TOKEN, quick};

fn repo() -> Repo {
    Repo::parse(REPO).unwrap()
}

#[tokio::test]
async fn the_token_goes_to_the_apis_host_alone() {
    let bench = Bench::start().await;
    let elsewhere = GitHub::start().await;
    let client = bench.client();
    bench.github.fault(Fault::on("GET", "/repos/*/pulls/*").times(1).redirect_to(&format!("{}/x", elsewhere.url())));
    let refused: Result<Value, ApiError> = client.get(&format!("/repos/{REPO}/pulls/{}", bench.number)).await;
    assert!(matches!(refused, Err(ApiError::Elsewhere(_))), "{refused:?}");
    assert_eq!(elsewhere.calls().len(), 0);
    // A repository that was renamed answers with a place on the same host.
    bench.github.state(|state| state.rename_repo(REPO, "acme/renamed"));
    let found: Value = client.get(&format!("/repos/{REPO}/pulls/{}", bench.number)).await.unwrap();
    assert_eq!(found["number"], bench.number);
    assert!(bench.github.calls().iter().all(|call| !call.leaked), "{}", bench.github.calls());
}

#[tokio::test]
async fn what_did_not_change_is_not_sent_again() {
    let bench = Bench::start().await;
    let client = bench.client();
    let path = format!("/repos/{REPO}/issues/{}/comments", bench.number);
    let first: Value = client.get(&path).await.unwrap();
    let second: Value = client.get(&path).await.unwrap();
    assert_eq!(first, second);
    let statuses: Vec<Option<u16>> = bench.github.calls().iter().map(|call| call.status).collect();
    assert_eq!(statuses, [Some(200), Some(304)]);
}

#[tokio::test]
async fn on_an_enterprise_server_graphql_stands_beside_the_api() {
    let bench = Bench::start().await;
    let client = Bench::client_at(&bench.github.enterprise_url(), quick());
    assert_eq!(comments::login(&client).await.unwrap(), "github-actions[bot]");
    let found: Value = client.get(&format!("/repos/{REPO}/pulls/{}", bench.number)).await.unwrap();
    assert_eq!(found["number"], bench.number);
    let paths: Vec<String> = bench.github.calls().iter().map(|call| call.path.clone()).collect();
    assert_eq!(paths[0], "/api/graphql");
    assert!(paths[1].starts_with("/api/v3/repos/"), "{paths:?}");
}

#[tokio::test]
async fn no_error_holds_the_token() {
    let bench = Bench::start().await;
    bench.github.revoke(TOKEN);
    let client = bench.client();
    let refused = client.post::<Value>(&format!("/repos/{REPO}/check-runs"), &json!({})).await.unwrap_err();
    let nobody = Bench::client_at("http://127.0.0.1:9", quick());
    let unreachable = nobody.get::<Value>("/x").await.unwrap_err();
    for text in [format!("{refused:?} {refused}"), format!("{unreachable:?} {unreachable}"), format!("{client:?}")] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    assert!(matches!(refused, ApiError::Unauthorized(_)), "{refused:?}");
    assert!(matches!(unreachable, ApiError::Unavailable(_)), "{unreachable:?}");
}

fn check(head: &str, annotations: usize, text: String) -> Check {
    let annotation = |n: usize| Annotation {
        path: "cfg/a.yml".into(),
        start_line: u32::try_from(n).unwrap() + 1,
        end_line: u32::try_from(n).unwrap() + 1,
        annotation_level: Level::Failure,
        title: "rule".into(),
        message: format!("number {n}"),
    };
    Check {
        name: "csis plan".into(),
        head: head.into(),
        external_id: "digest".into(),
        details_url: "https://h/r".into(),
        conclusion: Conclusion::Failure,
        title: "Do not merge".into(),
        summary: "s".into(),
        text,
        annotations: (0..annotations).map(annotation).collect(),
    }
}

#[tokio::test]
async fn annotations_come_by_fifty_in_order() {
    let bench = Bench::start().await;
    checks::create(&bench.client(), &repo(), &check(&bench.head, 120, String::new())).await.unwrap();
    let runs = bench.github.state(|state| state.check_runs(REPO, &bench.head));
    let lines: Vec<u64> = runs[0].annotations.iter().map(|a| a.start_line).collect();
    assert_eq!((runs.len(), lines), (1, (1..=120).collect()));
    assert_eq!(bench.github.mutations().len(), 3);
}

#[tokio::test]
async fn a_check_run_whose_answer_was_lost_is_made_once() {
    let bench = Bench::start().await;
    bench.github.fault(Fault::on("POST", "/repos/*/check-runs").times(1).act_then_cut());
    checks::create(&bench.client(), &repo(), &check(&bench.head, 60, "t".into())).await.unwrap();
    let runs = bench.github.state(|state| state.check_runs(REPO, &bench.head));
    assert_eq!((runs.len(), runs[0].annotations.len()), (1, 60), "{}", bench.github.calls());
}

#[tokio::test]
async fn annotations_whose_answer_was_lost_are_added_once() {
    // Whether GitHub acted before the answer was lost, or did not.
    for acted in [true, false] {
        let bench = Bench::start().await;
        let fault = Fault::on("PATCH", "/repos/*/check-runs/*").times(1);
        bench.github.fault(if acted { fault.act_then_cut() } else { fault.cut() });
        checks::create(&bench.client(), &repo(), &check(&bench.head, 120, String::new())).await.unwrap();
        let runs = bench.github.state(|state| state.check_runs(REPO, &bench.head));
        let lines: Vec<u64> = runs[0].annotations.iter().map(|a| a.start_line).collect();
        assert_eq!(lines, (1..=120).collect::<Vec<_>>(), "{acted}: {}", bench.github.calls());
    }
}

#[tokio::test]
async fn a_record_is_found_at_its_head_and_only_if_our_app_made_it() {
    let bench = Bench::start().await;
    let client = bench.client();
    // Text that does not deflate: the record takes several check runs.
    let noise: String = (0..4000).map(|n| csis_values::sha256(n.to_string())).collect();
    let kept = json!({ "head": bench.head, "noise": noise });
    let parts = record::parts(&kept);
    assert!(parts.len() > 2);
    for part in parts {
        checks::create(&client, &repo(), &check(&bench.head, 0, part)).await.unwrap();
    }
    bench.github.token("others", App::new("other-bot", 9), Permissions::review());
    let found = record::find(&client, &repo(), "csis plan", &bench.head, "github-actions").await.unwrap().unwrap();
    assert_eq!(found.record, kept);
    let others = record::find(&client, &repo(), "csis plan", &bench.head, "other-bot").await.unwrap();
    assert!(others.is_none());
    // After a push, what was judged for the old head is found at the new one no more.
    let newer = bench.github.state(|state| state.push(REPO, bench.number));
    assert!(record::find(&client, &repo(), "csis plan", &newer, "github-actions").await.unwrap().is_none());
}

#[tokio::test]
async fn the_pull_request_of_a_head_is_github_s_own_word() {
    let bench = Bench::start().await;
    let client = bench.client();
    let found = pulls::of_head(&client, &repo(), "acme:grow", &bench.head, Which::Open).await.unwrap().remove(0);
    assert_eq!(found.number, bench.number);
    assert!(
        pulls::of_head(&client, &repo(), "acme:grow", &"2".repeat(40), Which::Open).await.unwrap().is_empty(),
        "an older head"
    );
    assert!(pulls::of_head(&client, &repo(), "mallory:grow", &bench.head, Which::Open).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_job_mints_its_identity_for_one_audience() {
    let bench = Bench::start().await;
    let bearer = bench.github.state(|state| state.oidc.request_token.clone());
    let environment = |bearer: &str| {
        BTreeMap::from([
            ("ACTIONS_ID_TOKEN_REQUEST_URL".to_owned(), bench.github.oidc_url()),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(), bearer.to_owned()),
        ])
    };
    let minted = Minter::of(&environment(&bearer)).unwrap().mint(AWS).await.unwrap();
    assert!(minted.claims.sub.starts_with("repo:") && minted.claims.exp > minted.claims.iat, "{:?}", minted.claims);
    let refused = Minter::of(&environment("wrong-bearer")).unwrap().mint(AWS).await.err().unwrap().to_string();
    assert!(!refused.contains("wrong-bearer"), "{refused}");
}
