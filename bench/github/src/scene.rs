//! A scene: what GitHub holds at the start, as JSON for runs that are not written in Rust.

use crate::access::{App, Identity, Level, Permissions, Token};
use crate::model::ChangedFile;
use crate::new_pull::NewPull;
use crate::state::State;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    #[serde(default)]
    repositories: Vec<Repository>,
    #[serde(default)]
    tokens: Vec<SceneToken>,
    oidc: Option<SceneOidc>,
    server_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repository {
    name: String,
    id: Option<u64>,
    #[serde(default)]
    private: bool,
    /// The commit of the default branch.
    head: Option<String>,
    default_branch: Option<String>,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    commits: Vec<String>,
    #[serde(default)]
    pulls: Vec<ScenePull>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenePull {
    number: Option<u64>,
    branch: String,
    head: Option<String>,
    base: Option<String>,
    /// The test merge, which a run of `pull_request` checks out.
    merge: Option<String>,
    author: Option<String>,
    title: Option<String>,
    body: Option<String>,
    fork: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    locked: bool,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    comments: Vec<SceneComment>,
    /// The path of a workflow with a run in progress, and the run's id.
    run: Option<SceneRun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneRun {
    id: u64,
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneComment {
    /// A person's login; a comment without one is of `github-actions`.
    author: Option<String>,
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneToken {
    token: String,
    /// A person's token; an app's otherwise.
    person: Option<String>,
    app: Option<SceneApp>,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneApp {
    slug: String,
    id: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneOidc {
    request_token: Option<String>,
    repository: Option<String>,
    #[serde(rename = "ref")]
    git_ref: Option<String>,
    event_name: Option<String>,
    environment: Option<String>,
    workflow: Option<String>,
}

/// Lays a scene on top of what is there.
pub(crate) fn load(state: &mut State, json: &str) -> Result<(), String> {
    let scene: Scene = serde_json::from_str(json).map_err(|error| format!("the scene cannot be read: {error}"))?;
    if let Some(url) = scene.server_url {
        state.server_url = url;
    }
    for repository in scene.repositories {
        lay(state, repository)?;
    }
    for token in scene.tokens {
        let mut permissions = Permissions::new();
        for (scope, level) in &token.permissions {
            let level = match level.as_str() {
                "none" => Level::None,
                "read" => Level::Read,
                "write" => Level::Write,
                other => return Err(format!("permission {scope} is {other}; write none, read or write")),
            };
            permissions = permissions.set(scope, level);
        }
        let app = token.app.map_or_else(App::github_actions, |app| App::new(&app.slug, app.id));
        let who = token.person.map_or(Identity::App(app), Identity::Person);
        state.put_token(&token.token, Token { who, permissions, repository: token.repository });
    }
    if let Some(given) = scene.oidc {
        let oidc = &mut state.oidc;
        let put = |place: &mut String, value: Option<String>| *place = value.unwrap_or(std::mem::take(place));
        put(&mut oidc.request_token, given.request_token);
        put(&mut oidc.repository, given.repository);
        put(&mut oidc.git_ref, given.git_ref);
        put(&mut oidc.event_name, given.event_name);
        put(&mut oidc.workflow, given.workflow);
        oidc.environment = given.environment.or(oidc.environment.take());
    }
    Ok(())
}

fn lay(state: &mut State, scene: Repository) -> Result<(), String> {
    let name = scene.name;
    if name.split('/').filter(|part| !part.is_empty()).count() != 2 {
        return Err(format!("the repository's name is {name}; write OWNER/NAME"));
    }
    let repo = state.add_repo(&name);
    repo.private = scene.private;
    repo.id = scene.id.unwrap_or(repo.id);
    repo.permissions = scene.permissions;
    let head = scene.head.or_else(|| repo.branches.remove("main")).unwrap_or_default();
    repo.default_branch = scene.default_branch.unwrap_or_else(|| "main".into());
    repo.branches = BTreeMap::from([(repo.default_branch.clone(), head.clone())]);
    repo.commits.extend(scene.commits);
    repo.commits.insert(head);
    for login in repo.permissions.keys().cloned().collect::<Vec<_>>() {
        state.add_person(&login);
    }
    for pull in scene.pulls {
        let mut new = NewPull::from(&pull.branch).by(pull.author.as_deref().unwrap_or("octocat"));
        new = pull.number.into_iter().fold(new, NewPull::number);
        new = pull.head.iter().fold(new, |new, sha| new.at(sha));
        new = pull.base.iter().fold(new, |new, base| new.into(base));
        new = pull.title.iter().fold(new, |new, title| new.title(title));
        new = pull.body.iter().fold(new, |new, body| new.body(body));
        new = pull.fork.iter().fold(new, |new, fork| new.fork(fork));
        new = pull.labels.iter().fold(new, |new, label| new.label(label));
        new = pull.files.iter().fold(new, |new, file| new.file(ChangedFile::modified(file)));
        new = if pull.draft { new.draft() } else { new };
        if pull.base.as_ref().is_some_and(|base| !state.repo(&name).branches.contains_key(base)) {
            let sha = state.new_sha();
            state.repo(&name).branches.extend(pull.base.clone().map(|base| (base, sha)));
        }
        let number = state.add_pull(&name, new);
        let repo = state.repo(&name);
        repo.issue(number).locked = pull.locked;
        if let Some(merge) = pull.merge {
            repo.commits.insert(merge.clone());
            repo.pull(number).merge_commit_sha = Some(merge);
        }
        for comment in pull.comments {
            match comment.author {
                Some(author) => state.add_comment(&name, number, &author, &comment.body),
                None => state.add_app_comment(&name, number, &App::github_actions(), &comment.body),
            };
        }
        if let Some(run) = pull.run {
            let made = state.add_run(&name, &run.path, number);
            let repo = state.repo(&name);
            if let Some(mut made) = repo.runs.remove(&made) {
                made.id = run.id;
                repo.runs.insert(run.id, made);
            }
        }
    }
    Ok(())
}
