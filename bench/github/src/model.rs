//! What GitHub holds, as plain values that a test may read and change.

use crate::access::App;
use crate::clock;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A repository with everything in it.
#[derive(Clone, Debug, Serialize)]
pub struct Repo {
    pub id: u64,
    pub owner: String,
    pub name: String,
    pub private: bool,
    pub archived: bool,
    /// The repository that this one is a fork of.
    pub fork_of: Option<String>,
    /// Off: issues (not pull requests) answer 410.
    pub has_issues: bool,
    pub default_branch: String,
    /// Branch name → commit.
    pub branches: BTreeMap<String, String>,
    /// Every commit that exists here, heads that were pushed away included.
    pub commits: BTreeSet<String>,
    /// Login → `admin`, `maintain`, `write`, `triage`, `read` or `none`. Others may read a public repository.
    pub permissions: BTreeMap<String, String>,
    /// Members of the organisation that owns the repository.
    pub members: BTreeSet<String>,
    /// Issues and pull requests by number; they share numbers and conversations.
    pub issues: BTreeMap<u64, Issue>,
    /// Comments of issues and pull requests by id.
    pub comments: BTreeMap<u64, Comment>,
    pub check_runs: BTreeMap<u64, CheckRun>,
    /// Workflow runs by id.
    pub runs: BTreeMap<u64, WorkflowRun>,
    pub oidc: OidcSubject,
    #[serde(serialize_with = "clock::serialize")]
    pub created_at: Timestamp,
}

impl Repo {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// An issue or the conversation of a pull request. Panics when there is none.
    pub fn issue(&mut self, number: u64) -> &mut Issue {
        let name = self.full_name();
        self.issues.get_mut(&number).unwrap_or_else(|| panic!("{name} has no issue or pull request {number}"))
    }

    /// A pull request. Panics when there is none.
    pub fn pull(&mut self, number: u64) -> &mut Pull {
        let name = self.full_name();
        self.issue(number).pull.as_mut().unwrap_or_else(|| panic!("{name}#{number} is not a pull request"))
    }

    /// The comments of one conversation, oldest first.
    pub fn comments_of(&self, number: u64) -> Vec<&Comment> {
        self.comments.values().filter(|comment| comment.issue == number).collect()
    }

    /// The check runs on a commit, oldest first.
    pub fn check_runs_on(&self, sha: &str) -> Vec<&CheckRun> {
        self.check_runs.values().filter(|run| run.head_sha == sha).collect()
    }

    /// What a person may do here, in GitHub's words.
    pub fn permission_of(&self, login: &str) -> &str {
        if self.owner.eq_ignore_ascii_case(login) {
            return "admin";
        }
        let own = self.permissions.iter().find(|(name, _)| name.eq_ignore_ascii_case(login));
        match own {
            Some((_, permission)) => permission,
            None if self.private => "none",
            None => "read",
        }
    }

    /// How the writer of something stands to the repository.
    pub(crate) fn association(&self, login: &str) -> &'static str {
        if self.owner.eq_ignore_ascii_case(login) {
            "OWNER"
        } else if self.members.iter().any(|member| member.eq_ignore_ascii_case(login)) {
            "MEMBER"
        } else if self.permissions.keys().any(|name| name.eq_ignore_ascii_case(login)) {
            "COLLABORATOR"
        } else {
            let merged = |pull: &Pull| pull.merged_at.is_some();
            let theirs = self.issues.values().filter(|issue| issue.author.eq_ignore_ascii_case(login));
            let contributed = theirs.filter_map(|issue| issue.pull.as_ref()).any(merged);
            if contributed { "CONTRIBUTOR" } else { "NONE" }
        }
    }

    /// What a name (a commit, a branch, `heads/…`) stands for.
    pub(crate) fn resolve(&self, reference: &str) -> Option<String> {
        let name = reference.strip_prefix("refs/").unwrap_or(reference);
        let name = name.strip_prefix("heads/").unwrap_or(name);
        let branch = self.branches.get(name).cloned();
        branch.or_else(|| self.commits.get(reference).cloned())
    }
}

/// An issue, or the conversation of a pull request.
#[derive(Clone, Debug, Serialize)]
pub struct Issue {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    /// The app that opened it.
    pub app: Option<App>,
    pub open: bool,
    /// `completed`, `not_planned` or `reopened`.
    pub state_reason: Option<String>,
    /// Only people with write may comment.
    pub locked: bool,
    pub labels: Vec<String>,
    #[serde(serialize_with = "clock::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "clock::serialize")]
    pub updated_at: Timestamp,
    #[serde(serialize_with = "optional")]
    pub closed_at: Option<Timestamp>,
    pub pull: Option<Pull>,
}

/// What a pull request has beside its conversation.
#[derive(Clone, Debug, Serialize)]
pub struct Pull {
    /// The repository that the head is in; none when that fork was deleted.
    pub head_repo: Option<String>,
    pub head_branch: String,
    pub head_sha: String,
    pub base_branch: String,
    pub base_sha: String,
    pub draft: bool,
    /// None while GitHub has not computed it.
    pub mergeable: Option<bool>,
    #[serde(serialize_with = "optional")]
    pub merged_at: Option<Timestamp>,
    pub merged_by: Option<String>,
    /// The test merge while open, the real commit when merged.
    pub merge_commit_sha: Option<String>,
    /// The commits of the pull request, and those that a merge made of them.
    pub commits: Vec<String>,
    pub files: Vec<ChangedFile>,
}

/// A file that a pull request changes.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedFile {
    pub filename: String,
    /// `added`, `removed`, `modified`, `renamed`, …
    pub status: String,
    pub additions: u64,
    pub deletions: u64,
    pub patch: Option<String>,
    pub previous_filename: Option<String>,
}

impl ChangedFile {
    /// A file with one line changed.
    pub fn modified(filename: &str) -> ChangedFile {
        ChangedFile {
            filename: filename.into(),
            status: "modified".into(),
            additions: 1,
            deletions: 1,
            patch: Some("@@ -1 +1 @@\n-old\n+new".into()),
            previous_filename: None,
        }
    }

    /// The same with another status: `added`, `removed`.
    #[must_use]
    pub fn status(mut self, status: &str) -> ChangedFile {
        self.status = status.into();
        self
    }

    /// A file under a new name.
    pub fn renamed(from: &str, to: &str) -> ChangedFile {
        ChangedFile { previous_filename: Some(from.into()), ..ChangedFile::modified(to).status("renamed") }
    }
}

/// A comment of an issue or pull request.
#[derive(Clone, Debug, Serialize)]
pub struct Comment {
    pub id: u64,
    /// The number of the issue or pull request.
    pub issue: u64,
    pub author: String,
    /// The app that wrote it.
    pub app: Option<App>,
    pub body: String,
    #[serde(serialize_with = "clock::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "clock::serialize")]
    pub updated_at: Timestamp,
    /// The classifier it was minimised with, lower case: `outdated`, `resolved`, …
    pub minimized: Option<String>,
}

impl Comment {
    /// Its id in GraphQL.
    pub fn node_id(&self) -> String {
        crate::json::node_id("IC", self.id)
    }
}

/// A check run.
#[derive(Clone, Debug, Serialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: String,
    /// The app that made it: nobody else may change it.
    pub app: App,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub status: String,
    pub conclusion: Option<String>,
    #[serde(serialize_with = "optional")]
    pub started_at: Option<Timestamp>,
    #[serde(serialize_with = "optional")]
    pub completed_at: Option<Timestamp>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
    pub actions: Vec<Value>,
}

impl CheckRun {
    pub(crate) fn queued(id: u64, name: &str, head_sha: &str, app: App, now: Timestamp) -> CheckRun {
        CheckRun {
            id,
            name: name.into(),
            head_sha: head_sha.into(),
            app,
            external_id: None,
            details_url: None,
            status: "queued".into(),
            conclusion: None,
            started_at: Some(now),
            completed_at: None,
            title: None,
            summary: None,
            text: None,
            annotations: Vec::new(),
            actions: Vec::new(),
        }
    }
}

/// A note that a check run puts beside lines of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Annotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    pub start_column: Option<u64>,
    pub end_column: Option<u64>,
    /// `notice`, `warning` or `failure`.
    pub annotation_level: String,
    pub message: String,
    pub title: Option<String>,
    pub raw_details: Option<String>,
}

/// A run of a workflow.
#[derive(Clone, Debug, Serialize)]
pub struct WorkflowRun {
    pub id: u64,
    pub name: String,
    /// `.github/workflows/review.yml`
    pub path: String,
    pub event: String,
    /// The repository of the head: a fork's run has another one, and its answer lists no pull request.
    pub head_repo: Option<String>,
    pub head_branch: String,
    pub head_sha: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub attempt: u64,
    pub actor: String,
    pub pulls: Vec<u64>,
    #[serde(serialize_with = "clock::serialize")]
    pub created_at: Timestamp,
}

/// How a repository writes the subject of its OIDC tokens.
#[derive(Clone, Debug, Serialize)]
pub struct OidcSubject {
    pub use_default: bool,
    /// The claims that a custom subject is made of, such as `repo`, `context`, `job_workflow_ref`.
    pub include_claim_keys: Vec<String>,
    /// `repo:OWNER@ID/REPO@ID:…` in place of `repo:OWNER/REPO:…`.
    pub immutable: bool,
}

impl Default for OidcSubject {
    fn default() -> OidcSubject {
        OidcSubject { use_default: true, include_claim_keys: Vec::new(), immutable: false }
    }
}

/// Someone with an account.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    pub login: String,
    pub id: u64,
    /// `User`, `Bot` or `Organization`.
    pub kind: String,
}

#[allow(clippy::ref_option, reason = "the signature that serde calls")]
fn optional<S: serde::Serializer>(moment: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    moment.map(clock::text).serialize(to)
}
