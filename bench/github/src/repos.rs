//! Repositories, who may do what in them, and the caller itself.

use crate::access::{self, Caller, Identity, Level, Need, Token};
use crate::clock;
use crate::http::{Answer, Ask, Reply};
use crate::json::{Places, node_id};
use crate::model::Repo;
use crate::state::State;
use serde_json::{Value, json};

const METADATA: Need = Need::read(&[("metadata", Level::Read)]);

/// `GET /repos/{owner}/{repo}`
pub(crate) fn get(state: &State, ask: &Ask) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, METADATA)?];
    let mut body = whole(Places::new(state, ask), repo);
    body["network_count"] = json!(0);
    body["subscribers_count"] = json!(1);
    if let Caller::Known(token) = &ask.caller {
        let level = match &token.who {
            Identity::App(_) => token.permissions.level("contents"),
            Identity::Person(login) => access::level_of(repo, login),
        };
        let (push, pull) = (level >= Level::Write, level >= Level::Read || !repo.private);
        let admin = matches!(&token.who, Identity::Person(login) if repo.permission_of(login) == "admin");
        body["permissions"] = json!({ "admin": admin, "maintain": admin, "push": push, "triage": push, "pull": pull });
    }
    Ok(Answer::ok(body))
}

/// `GET /repos/{owner}/{repo}/collaborators/{username}/permission`
pub(crate) fn permission(state: &State, ask: &Ask, login: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, METADATA.never_public())?];
    if !state.accounts.contains_key(&login.to_lowercase()) {
        return Err(Answer::error(404, &format!("{login} is not a user")));
    }
    let role = repo.permission_of(login);
    // The old field knows four words only.
    let permission = match role {
        "maintain" => "write",
        "triage" => "read",
        other => other,
    };
    let at_least = |roles: &[&str]| roles.contains(&role);
    let mut user = Places::new(state, ask).user(login);
    user["role_name"] = json!(role);
    user["permissions"] = json!({
        "pull": role != "none",
        "triage": at_least(&["triage", "write", "maintain", "admin"]),
        "push": at_least(&["write", "maintain", "admin"]),
        "maintain": at_least(&["maintain", "admin"]),
        "admin": role == "admin",
    });
    Ok(Answer::ok(json!({ "permission": permission, "role_name": role, "user": user })))
}

/// `GET /user`: for people; an app's token has no user.
pub(crate) fn user(state: &State, ask: &Ask) -> Reply {
    match &ask.caller {
        Caller::Known(Token { who: Identity::Person(login), .. }) => {
            let mut user = Places::new(state, ask).user(login);
            for nothing in ["bio", "blog", "company", "email", "hireable", "location", "name"] {
                user[nothing] = Value::Null;
            }
            for none in ["followers", "following", "public_gists", "public_repos"] {
                user[none] = json!(0);
            }
            user["created_at"] = json!("2011-01-25T18:44:36Z");
            user["updated_at"] = user["created_at"].clone();
            Ok(Answer::ok(user))
        }
        Caller::Known(_) => Err(Answer::error(403, "Resource not accessible by integration")),
        Caller::Nobody | Caller::Unknown => Err(Answer::error(401, "Requires authentication")),
    }
}

/// `GET /rate_limit`
pub(crate) fn rate_limit(state: &State) -> Answer {
    let rate = &state.rate;
    let core = json!({
        "limit": rate.limit,
        "used": rate.limit.saturating_sub(rate.remaining),
        "remaining": rate.remaining,
        "reset": rate.reset_at.as_second(),
    });
    Answer::ok(json!({ "resources": { "core": core, "search": core, "graphql": core }, "rate": core }))
}

/// A repository as inside other answers.
pub(crate) fn whole(places: Places, repo: &Repo) -> Value {
    let mut body = minimal(places, repo);
    let (api, web) = (places.repo_api(repo), places.repo_web(repo));
    let (created, open) = (clock::text(repo.created_at), repo.issues.values().filter(|issue| issue.open).count());
    let more = json!({
        "clone_url": format!("{web}.git"),
        "git_url": format!("git:{}.git", web.split_once(':').map_or("", |(_, rest)| rest)),
        "ssh_url": format!("git@{}:{}.git", places.web.split("//").last().unwrap_or_default(), repo.full_name()),
        "svn_url": web,
        "mirror_url": null,
        "homepage": null,
        "language": "HCL",
        "license": null,
        "default_branch": repo.default_branch,
        "visibility": if repo.private { "private" } else { "public" },
        "archived": repo.archived,
        "disabled": false,
        "has_issues": repo.has_issues,
        "has_projects": false,
        "has_wiki": false,
        "has_pages": false,
        "has_discussions": false,
        "has_downloads": true,
        "forks": 0,
        "forks_count": 0,
        "open_issues": open,
        "open_issues_count": open,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "size": 108,
        "created_at": created,
        "updated_at": created,
        "pushed_at": created,
        "topics": [],
        "is_template": false,
        "allow_forking": true,
        "web_commit_signoff_required": false,
        "url": api,
    });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}

/// A repository as inside a workflow run.
pub(crate) fn minimal(places: Places, repo: &Repo) -> Value {
    let (api, web) = (places.repo_api(repo), places.repo_web(repo));
    let mut body = json!({
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name(),
        "private": repo.private,
        "owner": places.user(&repo.owner),
        "html_url": web,
        "description": null,
        "fork": repo.fork_of.is_some(),
        "url": api,
    });
    for (name, path) in PATHS {
        body[format!("{name}_url")] = json!(format!("{api}/{path}"));
    }
    body
}

/// The addresses below a repository that every answer lists.
const PATHS: [(&str, &str); 36] = [
    ("archive", "{archive_format}{/ref}"),
    ("assignees", "assignees{/user}"),
    ("blobs", "git/blobs{/sha}"),
    ("branches", "branches{/branch}"),
    ("collaborators", "collaborators{/collaborator}"),
    ("comments", "comments{/number}"),
    ("commits", "commits{/sha}"),
    ("compare", "compare/{base}...{head}"),
    ("contents", "contents/{+path}"),
    ("contributors", "contributors"),
    ("deployments", "deployments"),
    ("downloads", "downloads"),
    ("events", "events"),
    ("forks", "forks"),
    ("git_commits", "git/commits{/sha}"),
    ("git_refs", "git/refs{/sha}"),
    ("git_tags", "git/tags{/sha}"),
    ("hooks", "hooks"),
    ("issue_comment", "issues/comments{/number}"),
    ("issue_events", "issues/events{/number}"),
    ("issues", "issues{/number}"),
    ("keys", "keys{/key_id}"),
    ("labels", "labels{/name}"),
    ("languages", "languages"),
    ("merges", "merges"),
    ("milestones", "milestones{/number}"),
    ("notifications", "notifications{?since,all,participating}"),
    ("pulls", "pulls{/number}"),
    ("releases", "releases{/id}"),
    ("stargazers", "stargazers"),
    ("statuses", "statuses/{sha}"),
    ("subscribers", "subscribers"),
    ("subscription", "subscription"),
    ("tags", "tags"),
    ("teams", "teams"),
    ("trees", "git/trees{/sha}"),
];
