//! The event that started a run. Its file is hostile: titles, branch names and logins in it are anybody's text.

use crate::{Context, Repo};
use serde::Deserialize;
use std::path::Path;

/// GitHub's own events stay far below this.
const LARGEST: u64 = 32 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Pull(Box<Pull>),
    /// A merge queue asks for its required checks.
    Merging(Merging),
    /// Started by hand.
    Dispatch(Dispatch),
    /// Another workflow's run is over: the companion of reviews that may not write.
    Run(Box<Run>),
    /// None that csis serves.
    Other {
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullAction {
    /// Opened, pushed to, reopened, ready for review, or given another base.
    Review,
    Closed {
        merged: bool,
    },
    /// Labels and the like.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    pub action: PullAction,
    pub number: u64,
    pub head: String,
    pub base: String,
    pub base_branch: String,
    pub default_branch: Option<String>,
    pub draft: bool,
    /// The repository is not one that everybody reads.
    pub private: bool,
    /// The head is in another repository, or in one that is gone.
    pub fork: bool,
    /// Opened or pushed to by Dependabot: its runs have a fork's rights.
    pub dependabot: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merging {
    pub head: String,
    /// The pull request that is queued, as the queue's branch names it.
    pub pull: Option<u64>,
    pub base: String,
    pub default_branch: Option<String>,
    pub private: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// None where the event does not say, as under `act` without an event file.
    pub default_branch: Option<String>,
    pub private: bool,
}

/// The run that a companion reports for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: u64,
    pub attempt: u32,
    pub event: String,
    pub head: String,
    /// `owner:branch`, as a list of pull requests is filtered by; none when the repository is gone.
    pub head_label: Option<String>,
    pub private: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("the event file {path} cannot be read: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("the event file {path} is not a whole event of `{event}`: {why}")]
    Content { path: String, event: String, why: String },
}

impl Event {
    pub fn read(context: &Context) -> Result<Event, EventError> {
        let path = context.event_path.display().to_string();
        let bytes = bounded(&context.event_path).map_err(|source| EventError::Read { path: path.clone(), source })?;
        parse(&context.event, &context.repo, &context.actor, &bytes).map_err(|why| EventError::Content {
            path,
            event: context.event.clone(),
            why,
        })
    }
}

fn bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(std::io::Error::other("it is larger than any event"));
    }
    Ok(bytes)
}

#[derive(Deserialize)]
struct Payload {
    action: Option<String>,
    pull_request: Option<RawPull>,
    merge_group: Option<RawGroup>,
    workflow_run: Option<RawRun>,
    repository: RawRepository,
    /// What an `edited` pull request was before.
    changes: Option<Changes>,
}

#[derive(Deserialize)]
struct Changes {
    base: Option<serde::de::IgnoredAny>,
}

/// One that cannot be read says nothing: then nothing is allowed for it either.
#[derive(Default, Deserialize)]
struct DispatchPayload {
    repository: RawRepository,
}

#[derive(Default, Deserialize)]
struct RawRepository {
    /// One that does not say is taken for public: its values are then not shown.
    #[serde(default)]
    private: bool,
    #[serde(default)]
    default_branch: Option<String>,
}

#[derive(Deserialize)]
struct RawPull {
    number: u64,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    merged: bool,
    head: RawEnd,
    base: RawEnd,
    user: Option<RawUser>,
}

#[derive(Deserialize)]
struct RawEnd {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<RawName>,
}

#[derive(Deserialize)]
struct RawName {
    full_name: String,
}

#[derive(Deserialize)]
struct RawUser {
    login: String,
}

#[derive(Deserialize)]
struct RawGroup {
    head_sha: String,
    base_sha: String,
    #[serde(default)]
    head_ref: String,
}

#[derive(Deserialize)]
struct RawRun {
    id: u64,
    #[serde(default = "one")]
    run_attempt: u32,
    event: String,
    head_sha: String,
    #[serde(default)]
    head_branch: Option<String>,
    head_repository: Option<RawName>,
}

fn one() -> u32 {
    1
}

const DEPENDABOT: &str = "dependabot[bot]";

fn parse(name: &str, repo: &Repo, actor: &str, bytes: &[u8]) -> Result<Event, String> {
    if !matches!(name, "pull_request" | "merge_group" | "workflow_run" | "workflow_dispatch") {
        return Ok(Event::Other { name: name.to_owned() });
    }
    if name == "workflow_dispatch" {
        let payload: DispatchPayload = serde_json::from_slice(bytes).unwrap_or_default();
        let RawRepository { private, default_branch } = payload.repository;
        return Ok(Event::Dispatch(Dispatch { default_branch, private }));
    }
    let payload: Payload = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let RawRepository { private, default_branch } = payload.repository;
    let lacks = |what: &str| format!("it has no `{what}`");
    match name {
        "pull_request" => {
            let raw = payload.pull_request.ok_or_else(|| lacks("pull_request"))?;
            let action = match payload.action.as_deref() {
                Some("opened" | "synchronize" | "reopened" | "ready_for_review") => PullAction::Review,
                // Another base is another question; another title is none.
                Some("edited") if payload.changes.is_some_and(|c| c.base.is_some()) => PullAction::Review,
                Some("closed") => PullAction::Closed { merged: raw.merged },
                _ => PullAction::Other,
            };
            let from = raw.head.repo.as_ref().map(|r| r.full_name.to_ascii_lowercase());
            let author = raw.user.map(|user| user.login).unwrap_or_default();
            Ok(Event::Pull(Box::new(Pull {
                action,
                number: raw.number,
                head: commit(&raw.head.sha)?,
                base: commit(&raw.base.sha)?,
                base_branch: raw.base.branch,
                default_branch,
                draft: raw.draft,
                private,
                fork: from != Some(repo.to_string().to_ascii_lowercase()),
                dependabot: actor == DEPENDABOT || author == DEPENDABOT,
            })))
        }
        "merge_group" => {
            let raw = payload.merge_group.ok_or_else(|| lacks("merge_group"))?;
            let (head, base) = (commit(&raw.head_sha)?, commit(&raw.base_sha)?);
            Ok(Event::Merging(Merging { head, pull: queued(&raw.head_ref), base, default_branch, private }))
        }
        _ => {
            let raw = payload.workflow_run.ok_or_else(|| lacks("workflow_run"))?;
            let owner = raw.head_repository.as_ref().and_then(|r| Repo::parse(&r.full_name)).map(|r| r.owner);
            Ok(Event::Run(Box::new(Run {
                id: raw.id,
                attempt: raw.run_attempt,
                event: raw.event,
                head: commit(&raw.head_sha)?,
                head_label: owner.zip(raw.head_branch).map(|(owner, branch)| format!("{owner}:{branch}")),
                private,
            })))
        }
    }
}

/// The number in `refs/heads/gh-readonly-queue/BRANCH/pr-NUMBER-COMMIT`. Branches of that name are GitHub's own.
fn queued(reference: &str) -> Option<u64> {
    let name = reference.strip_prefix("refs/heads/gh-readonly-queue/")?.rsplit('/').next()?;
    name.strip_prefix("pr-")?.split('-').next()?.parse().ok()
}

/// A commit's id goes into paths of calls and into git's arguments.
fn commit(text: &str) -> Result<String, String> {
    let fits = (text.len() == 40 || text.len() == 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if fits { Ok(text.to_ascii_lowercase()) } else { Err("it names a commit by something that is no commit id".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const HEAD: &str = "1111111111111111111111111111111111111111";
    const BASE: &str = "2222222222222222222222222222222222222222";

    fn pull(action: &str) -> Value {
        json!({
            "action": action,
            "repository": {"private": true},
            "pull_request": {
                "number": 7, "draft": false, "merged": false, "user": {"login": "mona"},
                "head": {"sha": HEAD, "ref": "x", "repo": {"full_name": "Acme/images"}},
                "base": {"sha": BASE, "ref": "main", "repo": {"full_name": "acme/images"}},
            },
        })
    }

    fn read(name: &str, actor: &str, payload: &Value) -> Result<Event, String> {
        parse(name, &Repo::parse("acme/images").unwrap(), actor, payload.to_string().as_bytes())
    }

    fn read_pull(actor: &str, payload: &Value) -> Pull {
        match read("pull_request", actor, payload) {
            Ok(Event::Pull(pull)) => *pull,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_pull_request_event_asks_for() {
        for action in ["opened", "synchronize", "reopened", "ready_for_review"] {
            assert_eq!(read_pull("mona", &pull(action)).action, PullAction::Review, "{action}");
        }
        assert_eq!(read_pull("mona", &pull("labeled")).action, PullAction::Other);
        assert_eq!(read_pull("mona", &pull("closed")).action, PullAction::Closed { merged: false });
        let mut edited = pull("edited");
        assert_eq!(read_pull("mona", &edited).action, PullAction::Other, "another title");
        edited["changes"] = json!({"base": {"ref": {"from": "old"}}});
        assert_eq!(read_pull("mona", &edited).action, PullAction::Review, "another base");
    }

    #[test]
    fn a_fork_and_dependabot_are_known_by_more_than_one_sign() {
        assert!(!read_pull("mona", &pull("opened")).fork, "case does not matter");
        let mut fork = pull("opened");
        fork["pull_request"]["head"]["repo"]["full_name"] = json!("mallory/images");
        assert!(read_pull("mona", &fork).fork);
        fork["pull_request"]["head"]["repo"] = Value::Null;
        assert!(read_pull("mona", &fork).fork, "a repository that is gone is no repository of ours");
        assert!(read_pull("dependabot[bot]", &pull("synchronize")).dependabot);
        let mut by = pull("opened");
        by["pull_request"]["user"]["login"] = json!("dependabot[bot]");
        assert!(read_pull("mona", &by).dependabot);
    }

    #[test]
    fn an_event_that_is_cut_or_odd_is_refused_in_words() {
        let repo = Repo::parse("acme/images").unwrap();
        let whole = pull("opened").to_string();
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            assert!(parse("pull_request", &repo, "", &whole.as_bytes()[..cut]).is_err(), "{cut}");
        }
        assert_eq!(read("pull_request", "", &json!({"repository": {}})).unwrap_err(), "it has no `pull_request`");
        let mut odd = pull("opened");
        odd["pull_request"]["head"]["sha"] = json!("--upload-pack=evil");
        assert!(read("pull_request", "", &odd).unwrap_err().contains("no commit id"));
    }

    #[test]
    fn a_queue_s_group_names_its_pull_request() {
        for (reference, number) in [
            ("refs/heads/gh-readonly-queue/main/pr-7-0123456789abcdef0123456789abcdef01234567", Some(7)),
            ("refs/heads/gh-readonly-queue/release/1.x/pr-12-0123", Some(12)),
            ("refs/heads/main/pr-7-0123", None),
            ("refs/heads/gh-readonly-queue/main/pr-x", None),
            ("", None),
        ] {
            assert_eq!(queued(reference), number, "{reference}");
        }
    }

    #[test]
    fn what_is_not_served_is_named() {
        assert_eq!(read("push", "", &json!({})), Ok(Event::Other { name: "push".into() }));
        assert_eq!(read("workflow_dispatch", "", &json!(null)), Ok(Event::Dispatch(Dispatch::default())));
        let told = json!({"repository": {"private": true, "default_branch": "main"}});
        let dispatch = Dispatch { default_branch: Some("main".into()), private: true };
        assert_eq!(read("workflow_dispatch", "", &told), Ok(Event::Dispatch(dispatch)));
    }
}
