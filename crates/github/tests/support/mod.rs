//! A repository on the bench's GitHub with one pull request, and a client that speaks to it.
#![allow(dead_code, clippy::unwrap_used, reason = "each suite uses its part; what cannot be set up cannot be judged")]

use csis_bench_github::{App, Comment, GitHub, NewPull, Permissions};
use csis_github::comments::Conversation;
use csis_github::marker::{Marker, State};
use csis_github::sticky::{Mode, Sticky, Written};
use csis_github::{ApiError, Client, Context, Pace, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub const REPO: &str = "acme/images";
pub const TOKEN: &str = "ghs_token-of-the-run";
pub const KEY: &str = "k1";

pub struct Bench {
    pub github: GitHub,
    pub number: u64,
    pub head: String,
}

pub fn quick() -> Pace {
    let short = Duration::from_millis(5);
    Pace { between_writes: short, call: Duration::from_millis(400), again: short, patience: Duration::from_secs(5) }
}

impl Bench {
    pub async fn start() -> Bench {
        let github = GitHub::start().await;
        let (number, head) = github.state(|state| {
            state.add_repo(REPO).private = true;
            let number = state.add_pull(REPO, NewPull::from("grow").by("alice"));
            (number, state.repo(REPO).pull(number).head_sha.clone())
        });
        github.token(TOKEN, App::github_actions(), Permissions::review());
        Bench { github, number, head }
    }

    pub fn client_at(api: &str, pace: Pace) -> Client {
        let environment = [
            ("GITHUB_REPOSITORY", REPO),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_WORKSPACE", "."),
            ("GITHUB_RUN_ID", "100"),
            ("GITHUB_API_URL", api),
        ];
        let environment: BTreeMap<String, String> =
            environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Client::new(&Context::of(&environment).unwrap(), &Secret::from(TOKEN), pace).unwrap()
    }

    pub fn client(&self) -> Client {
        Bench::client_at(&self.github.url(), quick())
    }

    pub fn conversation(&self) -> Conversation {
        let repo = csis_github::Repo::parse(REPO).unwrap();
        Conversation { client: Arc::new(self.client()), repo, number: self.number }
    }

    /// The comment of a run, found.
    pub async fn find(&self, run: u64, attempt: u32, mode: Mode) -> Result<Sticky, ApiError> {
        Sticky::find(self.conversation(), marker(run, attempt), mode).await.map(|(sticky, _)| sticky)
    }

    /// A whole run: found and written.
    pub async fn writes(&self, run: u64, attempt: u32, text: &str) -> Result<Written, ApiError> {
        self.find(run, attempt, Mode::Update).await?.write(State::Result, text).await
    }

    pub fn comments(&self) -> Vec<Comment> {
        self.github.state(|state| state.comments(REPO, self.number))
    }

    /// The only comment's text below its marker.
    pub fn only(&self) -> String {
        let comments = self.comments();
        assert_eq!(comments.len(), 1, "{comments:#?}\n{}", self.github.calls());
        let unmet = self.github.unmet_faults();
        assert!(unmet.is_empty(), "{unmet:?}");
        comments[0].body.split_once('\n').unwrap().1.to_owned()
    }
}

pub fn marker(run: u64, attempt: u32) -> Marker {
    Marker { key: KEY.into(), head: "1".repeat(40), run, attempt, state: State::Planning, tree: String::new() }
}

/// A comment's text as a run would have left it.
pub fn left_by(run: u64, attempt: u32, text: &str) -> String {
    marker(run, attempt).line() + text
}
