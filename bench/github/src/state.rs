//! Everything GitHub knows at one moment, and the short ways to change it.

use crate::access::{App, Caller, Identity, Token};
use crate::clock::Clock;
use crate::limits::RateLimit;
use crate::model::{Account, CheckRun, Comment, Issue, OidcSubject, Pull, Repo, WorkflowRun};
use crate::new_pull::NewPull;
use crate::oidc::Oidc;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Everything GitHub knows. A test reaches it with [`crate::GitHub::state`], a fault's hook is given it.
///
/// The methods that look something up by name panic when it is not there: a test that names what does not exist is
/// wrong.
#[derive(Debug, Serialize)]
pub struct State {
    /// By full name in lower case.
    pub repos: BTreeMap<String, Repo>,
    /// Old full name → new, both in lower case: requests for the old one are redirected.
    pub moved: BTreeMap<String, String>,
    /// By login in lower case.
    pub accounts: BTreeMap<String, Account>,
    /// Where people's pages are (`html_url`); `GITHUB_SERVER_URL` of a run.
    pub server_url: String,
    pub rate: RateLimit,
    pub oidc: Oidc,
    #[serde(skip)]
    pub(crate) tokens: BTreeMap<String, Token>,
    #[serde(skip)]
    pub(crate) clock: Clock,
    last_id: u64,
}

impl State {
    pub(crate) fn new(clock: Clock) -> State {
        let mut state = State {
            repos: BTreeMap::new(),
            moved: BTreeMap::new(),
            accounts: BTreeMap::new(),
            server_url: "https://github.com".into(),
            rate: RateLimit::new(clock.now()),
            oidc: Oidc::default(),
            tokens: BTreeMap::new(),
            clock,
            last_id: 1000,
        };
        state.know_app(&App::github_actions());
        // The owner that every app is shown with.
        let owner = Account { login: "github".into(), id: 9919, kind: "Organization".into() };
        state.accounts.insert("github".into(), owner);
        state
    }

    /// A fresh id, higher than every one before.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// A name for a commit that was never used before.
    pub fn new_sha(&mut self) -> String {
        let id = self.next_id();
        Sha256::digest(format!("commit {id}"))
            .iter()
            .take(20)
            .fold(String::new(), |sha, byte| format!("{sha}{byte:02x}"))
    }

    /// Adds a public repository of an organisation with the branch `main`, and gives it for further settings.
    pub fn add_repo(&mut self, full_name: &str) -> &mut Repo {
        let (owner, name) = full_name.split_once('/').unwrap_or_else(|| panic!("{full_name} is not OWNER/NAME"));
        self.know(owner, "Organization");
        let head = self.new_sha();
        let repo = Repo {
            id: self.next_id(),
            owner: owner.into(),
            name: name.into(),
            private: false,
            archived: false,
            fork_of: None,
            has_issues: true,
            default_branch: "main".into(),
            branches: BTreeMap::from([("main".into(), head.clone())]),
            commits: BTreeSet::from([head]),
            permissions: BTreeMap::new(),
            members: BTreeSet::new(),
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            runs: BTreeMap::new(),
            oidc: OidcSubject::default(),
            created_at: self.clock.now(),
        };
        let key = full_name.to_lowercase();
        self.repos.insert(key.clone(), repo);
        self.repo(&key)
    }

    /// A repository by its full name.
    pub fn repo(&mut self, full_name: &str) -> &mut Repo {
        let found = self.repos.get_mut(&full_name.to_lowercase());
        found.unwrap_or_else(|| panic!("there is no repository {full_name}"))
    }

    /// Gives a repository another name; the old one redirects.
    pub fn rename_repo(&mut self, from: &str, to: &str) {
        let (owner, name) = to.split_once('/').unwrap_or_else(|| panic!("{to} is not OWNER/NAME"));
        let mut repo =
            self.repos.remove(&from.to_lowercase()).unwrap_or_else(|| panic!("there is no repository {from}"));
        self.know(owner, "Organization");
        (repo.owner, repo.name) = (owner.into(), name.into());
        self.repos.insert(to.to_lowercase(), repo);
        self.moved.insert(from.to_lowercase(), to.to_lowercase());
    }

    /// Opens a pull request and tells its number.
    pub fn add_pull(&mut self, full_name: &str, new: NewPull) -> u64 {
        let head_repo = new.fork.clone().unwrap_or_else(|| self.repo(full_name).full_name());
        if !self.repos.contains_key(&head_repo.to_lowercase()) {
            let source = self.repo(full_name);
            let (private, source) = (source.private, source.full_name());
            let fork = self.add_repo(&head_repo);
            fork.private = private;
            fork.fork_of = Some(source);
            let owner = fork.owner.clone();
            self.accounts.remove(&owner.to_lowercase());
            self.know(&owner, "User");
        }
        let head_sha = new.head_sha.unwrap_or_else(|| self.new_sha());
        let merge = self.new_sha();
        let repo = self.repo(full_name);
        let base_branch = new.base.unwrap_or_else(|| repo.default_branch.clone());
        let base_sha = repo.branches.get(&base_branch).cloned();
        let base_sha = base_sha.unwrap_or_else(|| panic!("{full_name} has no branch {base_branch}"));
        repo.commits.extend([head_sha.clone(), merge.clone()]);
        let head = self.repo(&head_repo);
        head.branches.insert(new.branch.clone(), head_sha.clone());
        head.commits.insert(head_sha.clone());
        let number = new.number.unwrap_or_else(|| self.next_number(full_name));
        let issue = NewIssue {
            title: new.title.unwrap_or_else(|| format!("Change {}", new.branch)),
            body: new.body,
            author: new.author,
            app: None,
            labels: new.labels,
        };
        let pull = Pull {
            head_repo: Some(head_repo),
            head_branch: new.branch,
            commits: vec![head_sha.clone()],
            head_sha,
            base_branch,
            base_sha,
            draft: new.draft,
            mergeable: Some(true),
            merged_at: None,
            merged_by: None,
            merge_commit_sha: Some(merge),
            files: new.files,
        };
        self.put_issue(full_name, number, issue, Some(pull));
        number
    }

    /// Opens an issue and tells its number.
    pub fn add_issue(&mut self, full_name: &str, author: &str, title: &str, body: &str) -> u64 {
        let number = self.next_number(full_name);
        let issue = NewIssue {
            title: title.into(),
            body: Some(body.into()),
            author: author.into(),
            app: None,
            labels: Vec::new(),
        };
        self.put_issue(full_name, number, issue, None);
        number
    }

    pub(crate) fn next_number(&mut self, full_name: &str) -> u64 {
        self.repo(full_name).issues.keys().last().map_or(1, |last| last + 1)
    }

    pub(crate) fn put_issue(&mut self, full_name: &str, number: u64, new: NewIssue, pull: Option<Pull>) {
        self.know(&new.author, "User");
        let (id, now) = (self.next_id(), self.clock.now());
        let issue = Issue {
            id,
            number,
            title: new.title,
            body: new.body,
            author: new.author,
            app: new.app,
            open: true,
            state_reason: None,
            locked: false,
            labels: new.labels,
            created_at: now,
            updated_at: now,
            closed_at: None,
            pull,
        };
        self.repo(full_name).issues.insert(number, issue);
    }

    /// Moves the head of a pull request, as a push or a force-push does, and tells the new commit.
    pub fn push(&mut self, full_name: &str, number: u64) -> String {
        let (sha, merge, now) = (self.new_sha(), self.new_sha(), self.clock.now());
        let repo = self.repo(full_name);
        repo.commits.extend([sha.clone(), merge.clone()]);
        repo.issue(number).updated_at = now;
        let pull = repo.pull(number);
        pull.head_sha.clone_from(&sha);
        pull.commits.push(sha.clone());
        pull.merge_commit_sha = Some(merge);
        let (head_repo, branch) = (pull.head_repo.clone(), pull.head_branch.clone());
        if let Some(head) = head_repo {
            let head = self.repo(&head);
            head.branches.insert(branch, sha.clone());
            head.commits.insert(sha.clone());
        }
        sha
    }

    /// Merges a pull request by a merge commit and tells it.
    pub fn merge(&mut self, full_name: &str, number: u64, by: &str) -> String {
        self.know(by, "User");
        let (sha, now) = (self.new_sha(), self.clock.now());
        let repo = self.repo(full_name);
        let pull = repo.pull(number);
        (pull.merged_at, pull.merged_by, pull.merge_commit_sha) = (Some(now), Some(by.into()), Some(sha.clone()));
        pull.commits.push(sha.clone());
        let base = pull.base_branch.clone();
        repo.branches.insert(base, sha.clone());
        repo.commits.insert(sha.clone());
        let issue = repo.issue(number);
        (issue.open, issue.closed_at, issue.updated_at) = (false, Some(now), now);
        sha
    }

    /// Adds a comment of a person and tells its id.
    pub fn add_comment(&mut self, full_name: &str, number: u64, author: &str, body: &str) -> u64 {
        self.know(author, "User");
        self.put_comment(full_name, number, author, None, body)
    }

    /// Adds a comment of an app, as an earlier run of a bot left it, and tells its id.
    pub fn add_app_comment(&mut self, full_name: &str, number: u64, app: &App, body: &str) -> u64 {
        self.know_app(app);
        self.put_comment(full_name, number, &app.login, Some(app.clone()), body)
    }

    pub(crate) fn put_comment(
        &mut self,
        full_name: &str,
        number: u64,
        author: &str,
        app: Option<App>,
        body: &str,
    ) -> u64 {
        let (id, now) = (self.next_id(), self.clock.now());
        let repo = self.repo(full_name);
        repo.issue(number).updated_at = now;
        let comment = Comment {
            id,
            issue: number,
            author: author.into(),
            app,
            body: body.into(),
            created_at: now,
            updated_at: now,
            minimized: None,
        };
        repo.comments.insert(id, comment);
        id
    }

    /// Deletes a comment; nothing happens when it is gone already.
    pub fn delete_comment(&mut self, full_name: &str, id: u64) {
        self.repo(full_name).comments.remove(&id);
    }

    /// The comments of one conversation, oldest first.
    pub fn comments(&mut self, full_name: &str, number: u64) -> Vec<Comment> {
        self.repo(full_name).comments_of(number).into_iter().cloned().collect()
    }

    /// The check runs on a commit, oldest first.
    pub fn check_runs(&mut self, full_name: &str, sha: &str) -> Vec<CheckRun> {
        self.repo(full_name).check_runs_on(sha).into_iter().cloned().collect()
    }

    /// Adds a check run of an app on a commit, in the queue, and gives it for further settings.
    pub fn add_check_run(&mut self, full_name: &str, sha: &str, name: &str, app: &App) -> &mut CheckRun {
        self.know_app(app);
        let (id, now) = (self.next_id(), self.clock.now());
        let run = CheckRun::queued(id, name, sha, app.clone(), now);
        self.repo(full_name).check_runs.entry(id).or_insert(run)
    }

    /// Adds a run of a workflow in progress on a pull request's head, and tells its id.
    pub fn add_run(&mut self, full_name: &str, path: &str, number: u64) -> u64 {
        let (id, now) = (self.next_id(), self.clock.now());
        let repo = self.repo(full_name);
        let actor = repo.issue(number).author.clone();
        let pull = repo.pull(number);
        let run = WorkflowRun {
            id,
            name: path.rsplit('/').next().unwrap_or(path).trim_end_matches(".yml").into(),
            path: path.into(),
            event: "pull_request".into(),
            head_repo: pull.head_repo.clone(),
            head_branch: pull.head_branch.clone(),
            head_sha: pull.head_sha.clone(),
            status: "in_progress".into(),
            conclusion: None,
            attempt: 1,
            actor,
            pulls: vec![number],
            created_at: now,
        };
        repo.runs.insert(id, run);
        id
    }

    /// Makes a person known, with nothing to their name.
    pub fn add_person(&mut self, login: &str) {
        self.know(login, "User");
    }

    pub(crate) fn know(&mut self, login: &str, kind: &str) {
        let key = login.to_lowercase();
        if !self.accounts.contains_key(&key) {
            let id = self.next_id();
            let kind = if login.ends_with("[bot]") { "Bot" } else { kind };
            self.accounts.insert(key, Account { login: login.into(), id, kind: kind.into() });
        }
    }

    pub(crate) fn know_app(&mut self, app: &App) {
        let account = Account { login: app.login.clone(), id: app.user_id, kind: "Bot".into() };
        self.accounts.insert(app.login.to_lowercase(), account);
    }

    pub(crate) fn caller(&self, token: Option<&str>) -> Caller {
        match token {
            None => Caller::Nobody,
            Some(text) => self.tokens.get(text).cloned().map_or(Caller::Unknown, Caller::Known),
        }
    }

    pub(crate) fn put_token(&mut self, text: &str, token: Token) {
        match &token.who {
            Identity::App(app) => self.know_app(&app.clone()),
            Identity::Person(login) => self.know(&login.clone(), "User"),
        }
        self.tokens.insert(text.into(), token);
    }
}

/// What an issue is opened with.
pub(crate) struct NewIssue {
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    pub app: Option<App>,
    pub labels: Vec<String>,
}
