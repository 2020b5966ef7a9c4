//! A runner of GitHub as far as csis sees one: a checkout at a pull request's merge commit, the event's file, the job's environment, and a GitHub that remembers.

use crate::support::{self, Harbor, Said, run};
use csis_bench_github::{App, Comment, GitHub, NewPull, Permissions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub const REPO: &str = "acme/harbor";
pub const TOKEN: &str = "ghs_tokenOfThisJob00000000000000000000";
/// The token of a run that follows a fork's.
pub const COMPANION: &str = "ghs_tokenOfTheCompanion0000000000000000";
const LONG: Duration = Duration::from_mins(4);

/// What an engine says that has nothing to change, for tests of what is around a plan.
const ENGINE: &str = r#"#!/bin/sh
case $1 in
version) echo 'Terraform v1.11.4' ;;
init) mkdir -p .terraform/providers; : >.terraform.lock.hcl ;;
plan) : >tfplan ;;
show) echo '{"format_version":"1.2","terraform_version":"1.11.4","complete":true,"errored":false,"configuration":{"root_module":{}},"resource_changes":[]}' ;;
esac
"#;

pub struct Stage {
    pub github: GitHub,
    pub harbor: Harbor,
    pub number: u64,
    pub base: String,
    pub head: String,
    /// The branch that the pull request goes to.
    onto: String,
    pub event: Value,
    /// Of the job, beside what every job has.
    pub environment: BTreeMap<String, String>,
}

/// What one run said and left.
pub struct Ran {
    pub said: Said,
    pub outputs: BTreeMap<String, String>,
    pub summary: String,
}

impl Ran {
    #[track_caller]
    pub fn ends(mut self, code: i32) -> Ran {
        self.said = self.said.ends(code);
        self
    }

    #[track_caller]
    pub fn tells(mut self, words: &[&str]) -> Ran {
        self.said = self.said.tells(words);
        self
    }

    #[track_caller]
    pub fn hides(mut self, words: &[&str]) -> Ran {
        self.said = self.said.hides(words);
        self
    }

    pub fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("", String::as_str)
    }
}

impl Stage {
    /// A pull request of the standing tree's repository that makes this change.
    pub fn of(change: impl FnOnce(&Harbor)) -> Stage {
        Stage::below("", change)
    }

    /// The same, the job holding an AWS session of its own, so that every root is planned.
    pub fn planned(change: impl FnOnce(&Harbor)) -> Stage {
        let mut stage = Stage::of(change);
        stage.with_session();
        stage
    }

    /// The same, the tree in a folder of its repository.
    pub fn below(folder: &str, change: impl FnOnce(&Harbor)) -> Stage {
        Stage::from_base(folder, |_| {}, change)
    }

    /// The same, on a base that is not the example as it stands.
    pub fn from_base(folder: &str, base: impl FnOnce(&Harbor), change: impl FnOnce(&Harbor)) -> Stage {
        let mut harbor = Harbor::named("work");
        if !folder.is_empty() {
            let moved = harbor.root.join(folder);
            support::copy(&support::project().join("examples/harbor"), &moved);
            for entry in fs::read_dir(&harbor.root).unwrap().map(Result::unwrap) {
                let name = entry.file_name();
                if name != ".git" && !moved.starts_with(entry.path()) {
                    fs::remove_dir_all(entry.path()).unwrap();
                }
            }
            harbor.root = moved;
        }
        // The children of csis are another user, as in the container.
        fs::set_permissions(harbor.outside(), fs::Permissions::from_mode(0o755)).unwrap();
        // A run that ends takes its workspace along; here the next finds it.
        fs::write(harbor.outside().join("work/.git/info/exclude"), "/csis-report/\n").unwrap();
        harbor.add_records();
        harbor.csis(&["init-config", "."]).ends(0);
        base(&harbor);
        harbor.git(&["add", "--all", ":/"]);
        harbor.commit("as it stands");
        harbor.git(&["switch", "--quiet", "--create", "change"]);
        change(&harbor);
        // From the top: what stands in the tree's folder may not be a place to start git in.
        let top = harbor.outside().join("work");
        support::git(&top, &["add", "--all"]);
        support::git(&top, &["commit", "--quiet", "--allow-empty", "--message", "the change"]);
        let mut stage = Stage {
            github: GitHub::start_blocking(),
            number: 7,
            base: String::new(),
            head: String::new(),
            onto: "main".into(),
            event: Value::Null,
            environment: BTreeMap::new(),
            harbor,
        };
        stage.github.token(TOKEN, App::github_actions(), Permissions::review());
        stage.merged();
        let (base, head) = (stage.base.clone(), stage.head.clone());
        stage.github.state(|state| {
            let repo = state.add_repo(REPO);
            repo.private = true;
            repo.branches.insert("main".into(), base.clone());
            repo.commits.extend([base, head.clone()]);
            state.add_pull(REPO, NewPull::from("change").by("mona").at(&head).number(7));
        });
        stage.event = stage.pull_event("opened");
        stage.engine(|_| ENGINE.to_owned());
        stage.input("engine", stage.place("engine").to_str().unwrap());
        stage
    }

    /// A remote of the repository as it is on GitHub, for runs that fetch from it.
    pub fn with_origin(&mut self) -> &mut Stage {
        let origin = self.place("origin.git");
        if !origin.exists() {
            let (from, to) = (self.workspace(), origin.to_str().unwrap().to_owned());
            self.git(&["clone", "--quiet", "--bare", from.to_str().unwrap(), &to]);
            self.git(&["remote", "add", "origin", &format!("file://{to}")]);
        }
        self.git(&["push", "--quiet", "--force", "origin", "--all"]);
        self
    }

    /// Git at the top of the repository.
    pub fn git(&self, arguments: &[&str]) -> Said {
        support::git(&self.workspace(), arguments)
    }

    /// The pull request goes to another branch.
    pub fn onto(&mut self, branch: &str) {
        branch.clone_into(&mut self.onto);
        self.merged();
        let (head, base, number) = (self.head.clone(), self.base.clone(), self.number);
        self.github.state(|state| {
            let repo = state.repo(REPO);
            repo.commits.extend([head.clone(), base]);
            let pull = repo.pull(number);
            (pull.head_sha, pull.base_branch) = (head, branch.to_owned());
        });
        self.event = self.pull_event("synchronize");
    }

    /// Makes the merge that GitHub tries for the pull request, and checks it out.
    fn merged(&mut self) {
        let name = |reference: &str| self.git(&["rev-parse", reference]).stdout.trim().to_owned();
        (self.base, self.head) = (name(&self.onto), name("change"));
        self.git(&["switch", "--quiet", "--detach", &self.onto]);
        self.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "change"]);
    }

    /// Another commit on the pull request, and the event of the push.
    pub fn push(&mut self, change: impl FnOnce(&Harbor)) -> &mut Stage {
        self.git(&["switch", "--quiet", "change"]);
        change(&self.harbor);
        self.git(&["add", "--all", ":/"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
        self.merged();
        let (head, number) = (self.head.clone(), self.number);
        self.github.state(|state| {
            let repo = state.repo(REPO);
            repo.commits.insert(head.clone());
            repo.pull(number).head_sha = head;
        });
        self.event = self.pull_event("synchronize");
        self.environment.insert("GITHUB_RUN_ID".into(), (self.run_id() + 1).to_string());
        self
    }

    fn run_id(&self) -> u64 {
        self.environment.get("GITHUB_RUN_ID").map_or(1000, |id| id.parse().unwrap())
    }

    pub fn pull_event(&self, action: &str) -> Value {
        let repo = json!({"id": 1, "full_name": REPO, "private": true, "default_branch": "main"});
        json!({
            "action": action, "number": self.number, "repository": repo, "sender": {"login": "mona"},
            "pull_request": {
                "number": self.number, "title": "Change", "draft": false, "merged": false, "user": {"login": "mona"},
                "head": {"ref": "change", "sha": self.head, "repo": repo},
                "base": {"ref": self.onto, "sha": self.base, "repo": repo},
            },
        })
    }

    pub fn input(&mut self, name: &str, value: &str) -> &mut Stage {
        self.set(&format!("INPUT_{}", name.to_uppercase()), value)
    }

    pub fn set(&mut self, name: &str, value: &str) -> &mut Stage {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Makes the engine another one of the one there is.
    pub fn engine(&self, change: impl FnOnce(String) -> String) {
        let path = self.place("engine");
        fs::write(&path, change(fs::read_to_string(&path).unwrap_or_default())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A merge queue asks for the pull request, and tells the commit that it made.
    pub fn queue(&mut self) -> String {
        let merge = self.git(&["rev-parse", "HEAD"]).stdout.trim().to_owned();
        self.github.state(|state| state.repo(REPO).commits.insert(merge.clone()));
        let branch = format!("refs/heads/gh-readonly-queue/main/pr-{}-{}", self.number, self.base);
        let group =
            json!({"head_sha": merge, "base_sha": self.base, "head_ref": branch, "base_ref": "refs/heads/main"});
        self.event =
            json!({"action": "checks_requested", "merge_group": group, "repository": self.event["repository"]});
        self.set("GITHUB_EVENT_NAME", "merge_group").with_origin();
        merge
    }

    /// The job holds an AWS session of its own.
    pub fn with_session(&mut self) -> &mut Stage {
        self.set("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE").set("AWS_SECRET_ACCESS_KEY", "example")
    }

    /// The job can mint identity tokens.
    pub fn with_identity(&mut self) -> &mut Stage {
        let (url, token) = (self.github.oidc_url(), self.github.state(|state| state.oidc.request_token.clone()));
        self.set("ACTIONS_ID_TOKEN_REQUEST_URL", &url).set("ACTIONS_ID_TOKEN_REQUEST_TOKEN", &token)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.harbor.outside().join(name)
    }

    /// The workspace: the top of the repository.
    pub fn workspace(&self) -> PathBuf {
        self.place("work")
    }

    pub fn command(&self) -> Command {
        fs::write(self.place("event.json"), self.event.to_string()).unwrap();
        for file in ["output", "summary"] {
            fs::write(self.place(file), "").unwrap();
        }
        let mut command = support::csis(&["action"]);
        command.current_dir(self.workspace()).env("HOME", self.harbor.outside());
        let sha = self.git(&["rev-parse", "HEAD"]).stdout;
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_API_URL", &self.github.url()),
            ("GITHUB_GRAPHQL_URL", &format!("{}/graphql", self.github.url())),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", REPO),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_SHA", sha.trim()),
            ("GITHUB_REF", "refs/pull/7/merge"),
            ("GITHUB_RUN_ID", "1000"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_ACTOR", "mona"),
            ("GITHUB_WORKFLOW", "csis"),
            ("GITHUB_JOB", "review"),
            ("INPUT_GITHUB-TOKEN", TOKEN),
        ] {
            command.env(name, value);
        }
        command.env("GITHUB_EVENT_PATH", self.place("event.json")).env("GITHUB_WORKSPACE", self.workspace());
        command.env("GITHUB_OUTPUT", self.place("output")).env("GITHUB_STEP_SUMMARY", self.place("summary"));
        command.envs(&self.environment);
        command
    }

    /// Runs csis. Whatever it did: no token stands in what it said, wrote or asked.
    #[track_caller]
    pub fn run(&self) -> Ran {
        let said = run(&mut self.command(), LONG);
        self.left(said)
    }

    #[track_caller]
    pub fn left(&self, said: Said) -> Ran {
        let read = |name: &str| fs::read_to_string(self.place(name)).unwrap();
        let (outputs, summary) = (read("output"), read("summary"));
        let posted = self.github.state(|state| serde_json::to_string(state).unwrap());
        let secrets = [TOKEN, COMPANION, &self.github.state(|state| state.oidc.request_token.clone())];
        for (place, text) in
            [("log", said.all()), ("outputs", outputs.clone()), ("summary", summary.clone()), ("GitHub", posted)]
        {
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "a token stands in the {place}: {text}");
        }
        assert!(!self.github.calls().iter().any(|call| call.leaked), "{}", self.github.calls());
        assert_eq!(self.github.unmet_faults(), Vec::<String>::new(), "{}", self.github.calls());
        Ran { said, outputs: outputs_of(&outputs), summary }
    }

    /// What csis said on the pull request.
    pub fn comments(&self) -> Vec<Comment> {
        let all = self.github.state(|state| state.comments(REPO, self.number));
        all.into_iter().filter(|comment| comment.app.is_some()).collect()
    }

    /// The text of its only comment, without the marker.
    #[track_caller]
    pub fn comment(&self) -> String {
        let comments = self.comments();
        assert_eq!(comments.len(), 1, "{}", self.github.calls());
        let (marker, text) = comments[0].body.split_once('\n').unwrap();
        assert!(marker.starts_with("<!-- csis:comment v1 "), "{marker}");
        text.to_owned()
    }

    /// The check runs on the pull request's head, as data.
    pub fn checks(&self) -> Vec<csis_bench_github::CheckRun> {
        self.github.state(|state| state.check_runs(REPO, &self.head))
    }

    /// The calls that changed something, as `METHOD path`.
    pub fn writes(&self) -> Vec<String> {
        self.github.mutations().iter().map(|call| format!("{} {}", call.method, call.path)).collect()
    }
}

/// `name<<DELIMITER`, lines, `DELIMITER`; or `name=value`: what a runner reads.
fn outputs_of(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((name, end)) = line.split_once("<<") {
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            found.insert(name.to_owned(), value.join("\n"));
        } else if let Some((name, value)) = line.split_once('=') {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    found
}
