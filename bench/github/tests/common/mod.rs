//! A bench for the bench: the stand-in with one repository and one pull request, and a small blocking client.
//!
//! With `CSIS_REFEREE_URL` and `CSIS_REFEREE_UPSTREAM` (the port that the referee forwards to) the client's REST calls
//! go through a proxy that holds every answer against GitHub's own API description. `scripts/referee` sets both.

#![allow(dead_code, clippy::expect_used, clippy::unwrap_used, reason = "each test file uses its part, and is a test")]

use csis_bench_github::{App, GitHub, NewPull, Permissions};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub const REPO: &str = "acme/harbor";
pub const TOKEN: &str = "token-of-the-review";

/// The referee forwards to one port, so its tests take turns.
static TURN: Mutex<()> = Mutex::new(());

pub struct Bench {
    pub github: GitHub,
    pub number: u64,
    base: String,
    refereed: bool,
    _turn: Option<MutexGuard<'static, ()>>,
}

pub struct Heard {
    pub status: u16,
    pub body: Value,
    pub text: String,
    headers: ureq::http::HeaderMap,
}

impl Heard {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

impl Bench {
    /// `acme/harbor`, private, with a pull request of alice's and a token that may review.
    pub fn start() -> Bench {
        match (std::env::var("CSIS_REFEREE_URL"), std::env::var("CSIS_REFEREE_UPSTREAM")) {
            (Ok(base), Ok(port)) => {
                let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
                let github = GitHub::start_on(port.parse().expect("CSIS_REFEREE_UPSTREAM is a port"));
                Bench::lay(github, base, true, Some(turn))
            }
            _ => Bench::direct(),
        }
    }

    /// The same, never through the referee: for answers that GitHub's description does not have.
    pub fn direct() -> Bench {
        let github = GitHub::start_blocking();
        let base = github.url();
        Bench::lay(github, base, false, None)
    }

    fn lay(github: GitHub, base: String, refereed: bool, turn: Option<MutexGuard<'static, ()>>) -> Bench {
        let number = github.state(|state| {
            let repo = state.add_repo(REPO);
            repo.private = true;
            repo.permissions.insert("alice".into(), "write".into());
            state.add_pull(REPO, NewPull::from("grow-ledger").by("alice").label("infra"))
        });
        github.token(TOKEN, App::github_actions(), Permissions::review());
        Bench { github, number, base, refereed, _turn: turn }
    }

    pub fn head(&self) -> String {
        self.github.state(|state| state.repo(REPO).pull(self.number).head_sha.clone())
    }

    /// A path below the repository.
    pub fn at(path: &str) -> String {
        format!("/repos/{REPO}{path}")
    }

    pub fn get(&self, path: &str) -> Heard {
        self.call("GET", path, None)
    }

    pub fn post(&self, path: &str, body: Value) -> Heard {
        self.call("POST", path, Some(body))
    }

    pub fn patch(&self, path: &str, body: Value) -> Heard {
        self.call("PATCH", path, Some(body))
    }

    pub fn call(&self, method: &str, path: &str, body: Option<Value>) -> Heard {
        self.try_call(method, path, body, &[]).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub fn graphql(&self, query: &str, variables: &Value) -> Heard {
        self.post("/graphql", json!({ "query": query, "variables": variables }))
    }

    /// A call that the referee judges.
    pub fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Result<Heard, ureq::Error> {
        let heard = self.hear(method, path, body, headers)?;
        if self.refereed && described(path) {
            judge(method, path, &heard);
        }
        Ok(heard)
    }

    /// A call with headers of its own; `authorization` among them replaces the token, an empty one leaves it out.
    pub fn hear(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Result<Heard, ureq::Error> {
        let judged = self.refereed && described(path);
        let url = match path {
            whole if whole.starts_with("http") => whole.to_owned(),
            _ if judged => format!("{}{path}", self.base),
            _ => format!("{}{path}", self.github.url()),
        };
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        let token = format!("Bearer {TOKEN}");
        let authorization = headers.iter().find(|(name, _)| *name == "authorization").map_or(token.as_str(), |it| it.1);
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers.iter().filter(|(name, _)| *name != "authorization") {
            request = request.header(*name, *value);
        }
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_secs(if judged { 30 } else { 2 })))
            .user_agent("csis-test")
            .build()
            .into();
        let mut response = match body {
            Some(body) => agent.run(request.header("content-type", "application/json").body(body.to_string())?)?,
            None => agent.run(request.body(())?)?,
        };
        let text = response.body_mut().read_to_string()?;
        let heard = Heard {
            status: response.status().as_u16(),
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
            headers: response.headers().clone(),
        };
        Ok(heard)
    }
}

/// Whether GitHub's API description has it. GraphQL, identity tokens and whole addresses go past the referee.
fn described(path: &str) -> bool {
    path.starts_with("/repos/") || path == "/user" || path == "/rate_limit"
}

/// Fails on what the referee holds against an answer. What it holds against requests is ours: tests send bad ones.
fn judge(method: &str, path: &str, heard: &Heard) {
    let text: String = heard.text.chars().take(2000).collect();
    let refused = heard.body["type"].as_str().unwrap_or_default().contains("prism/errors");
    assert!(!refused, "the referee did not pass on {method} {path}: {text}");
    let wrong: Vec<Value> = violations(heard);
    assert!(wrong.is_empty(), "{method} {path} answered {}: {wrong:#?}\n{text}", heard.status);
}

pub fn violations(heard: &Heard) -> Vec<Value> {
    let report = heard.header("sl-violations").unwrap_or("[]");
    let mut all: Vec<Value> = serde_json::from_str(report).unwrap_or_else(|_| panic!("{report}"));
    all.retain(|it| it["location"][0] == "response");
    // What GitHub answers everywhere (304, 401, 403, 404) is not written down for each operation.
    let unlisted = "Unable to match the returned status code";
    all.retain(|it| heard.status < 300 || !it["message"].as_str().unwrap_or_default().starts_with(unlisted));
    all
}
