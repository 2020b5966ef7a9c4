//! Who calls, and what they may: apps, people, tokens and permissions.

use crate::http::{Answer, Ask};
use crate::model::Repo;
use crate::state::State;
use serde::Serialize;
use std::collections::BTreeMap;

/// A GitHub App, as it acts through an installation token. `GITHUB_TOKEN` is one of [`App::github_actions`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct App {
    pub slug: String,
    pub id: u64,
    /// The account that its comments stand under: `slug[bot]`.
    pub login: String,
    pub user_id: u64,
}

impl App {
    /// The app behind `GITHUB_TOKEN`.
    pub fn github_actions() -> App {
        App { slug: "github-actions".into(), id: 15368, login: "github-actions[bot]".into(), user_id: 41_898_282 }
    }

    /// Another app; its login is `slug[bot]`.
    pub fn new(slug: &str, id: u64) -> App {
        App { slug: slug.into(), id, login: format!("{slug}[bot]"), user_id: 100_000_000 + id }
    }
}

/// How far a permission reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    None,
    Read,
    Write,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Read => "read",
            Level::Write => "write",
        }
    }
}

/// The permissions of an app's token by scope. Scopes may be written as in a workflow (`pull-requests`) or as in the
/// API (`pull_requests`). `metadata: read` is always there, as on GitHub; what is not named is `none`.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Permissions(BTreeMap<String, Level>);

impl Permissions {
    /// Nothing but metadata.
    pub fn new() -> Permissions {
        Permissions::default().read("metadata")
    }

    /// What a review workflow asks for: contents, actions read; issues, pull requests, checks write.
    pub fn review() -> Permissions {
        Permissions::new().read("contents").read("actions").write("issues").write("pull-requests").write("checks")
    }

    /// What GitHub leaves of any `permissions` in a pull request's run from a fork: read everywhere.
    pub fn of_a_fork() -> Permissions {
        Permissions::new().read("contents").read("actions").read("issues").read("pull-requests").read("checks")
    }

    pub fn set(mut self, scope: &str, level: Level) -> Permissions {
        self.0.insert(scope.replace('-', "_"), level);
        self
    }

    pub fn read(self, scope: &str) -> Permissions {
        self.set(scope, Level::Read)
    }

    pub fn write(self, scope: &str) -> Permissions {
        self.set(scope, Level::Write)
    }

    pub fn none(self, scope: &str) -> Permissions {
        self.set(scope, Level::None)
    }

    /// The level of a scope.
    pub fn level(&self, scope: &str) -> Level {
        self.0.get(&scope.replace('-', "_")).copied().unwrap_or(Level::None)
    }
}

/// What stands behind a token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub who: Identity,
    pub permissions: Permissions,
    /// The only repository it is for; none means all.
    pub repository: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Identity {
    App(App),
    Person(String),
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Nobody,
    /// An authorisation that GitHub does not know.
    Unknown,
    Known(Token),
}

impl Caller {
    pub fn login(&self) -> Option<&str> {
        match self {
            Caller::Known(Token { who: Identity::App(app), .. }) => Some(&app.login),
            Caller::Known(Token { who: Identity::Person(login), .. }) => Some(login),
            Caller::Nobody | Caller::Unknown => None,
        }
    }

    pub fn app(&self) -> Option<&App> {
        match self {
            Caller::Known(Token { who: Identity::App(app), .. }) => Some(app),
            _ => None,
        }
    }
}

/// What an operation needs: for an app one of the alternatives, for a person a level in the repository.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub app: &'static [(&'static str, Level)],
    pub person: Level,
    /// Whether a public repository answers without any of it.
    pub public: bool,
}

impl Need {
    pub const fn read(app: &'static [(&'static str, Level)]) -> Need {
        Need { app, person: Level::Read, public: true }
    }

    pub const fn write(app: &'static [(&'static str, Level)]) -> Need {
        Need { app, person: Level::Write, public: false }
    }

    /// The same, open to any person who can see the repository.
    pub const fn open_to_readers(mut self) -> Need {
        self.person = Level::Read;
        self
    }

    /// The same, with a token even where the repository is public.
    pub const fn never_public(mut self) -> Need {
        self.public = false;
        self
    }

    /// The value of `X-Accepted-GitHub-Permissions`: alternatives stand apart by semicolons.
    pub fn header(&self) -> String {
        let all: Vec<String> = self.app.iter().map(|(scope, level)| format!("{scope}={}", level.name())).collect();
        all.join("; ")
    }
}

/// The repository that a request names, when its caller may do there what `need` says; otherwise GitHub's refusal.
pub(crate) fn enter(state: &State, ask: &Ask, need: Need) -> Result<String, Answer> {
    let Some(repo) = state.repos.get(&ask.repo) else {
        return Err(moved(state, ask).unwrap_or_else(Answer::not_found));
    };
    if !sees(repo, &ask.caller) {
        return Err(Answer::not_found());
    }
    let write = need.app.iter().any(|(_, level)| *level == Level::Write);
    let allowed = match &ask.caller {
        Caller::Nobody | Caller::Unknown if need.public => true,
        Caller::Nobody | Caller::Unknown => return Err(Answer::error(401, "Requires authentication")),
        Caller::Known(token) => may(repo, token, need, ask),
    };
    if !allowed {
        let message = match &ask.caller {
            Caller::Known(Token { who: Identity::Person(_), .. }) => "Must have admin rights to Repository.",
            _ => "Resource not accessible by integration",
        };
        return Err(Answer::error(403, message).header("x-accepted-github-permissions", &need.header()));
    }
    if write && repo.archived {
        return Err(Answer::error(403, "Repository was archived so is read-only."));
    }
    Ok(ask.repo.clone())
}

/// Whether a caller may know that a repository exists.
pub(crate) fn sees(repo: &Repo, caller: &Caller) -> bool {
    !repo.private
        || match caller {
            Caller::Known(token) => match &token.who {
                Identity::App(_) => covers(repo, token),
                Identity::Person(login) => level_of(repo, login) >= Level::Read,
            },
            Caller::Nobody | Caller::Unknown => false,
        }
}

pub(crate) fn may(repo: &Repo, token: &Token, need: Need, ask: &Ask) -> bool {
    if need.public && !repo.private {
        return true;
    }
    match &token.who {
        Identity::App(_) => {
            covers(repo, token)
                && need.app.iter().any(|(scope, level)| {
                    fits(repo, scope, about(repo, ask)) && token.permissions.level(scope) >= *level
                })
        }
        Identity::Person(login) => level_of(repo, login) >= need.person,
    }
}

/// The issue or pull request that a request is about.
fn about(repo: &Repo, ask: &Ask) -> Option<u64> {
    match ask.rest().as_slice() {
        ["issues", "comments", id, ..] => repo.comments.get(&id.parse().ok()?).map(|comment| comment.issue),
        ["issues" | "pulls", number, ..] => number.parse().ok(),
        _ => None,
    }
}

/// An operation that lists `pull_requests` as an alternative accepts it for pull requests only: an issue stays
/// closed to a token that may write pull requests.
fn fits(repo: &Repo, scope: &str, number: Option<u64>) -> bool {
    let issue = number.and_then(|number| repo.issues.get(&number));
    scope != "pull_requests" || issue.is_none_or(|issue| issue.pull.is_some())
}

fn covers(repo: &Repo, token: &Token) -> bool {
    token.repository.as_ref().is_none_or(|only| only.eq_ignore_ascii_case(&repo.full_name()))
}

/// What a person may do in a repository.
pub(crate) fn level_of(repo: &Repo, login: &str) -> Level {
    match repo.permission_of(login) {
        "admin" | "maintain" | "write" => Level::Write,
        "triage" | "read" => Level::Read,
        _ => Level::None,
    }
}

/// A renamed repository: GitHub sends the caller on, by the id.
fn moved(state: &State, ask: &Ask) -> Option<Answer> {
    let repo = state.repos.get(state.moved.get(&ask.repo)?)?;
    if !sees(repo, &ask.caller) {
        return None;
    }
    let status = if ask.method == "GET" { 301 } else { 307 };
    Some(Answer::redirect(status, &ask.by_id(repo.id)))
}
