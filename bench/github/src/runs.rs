//! Workflow runs, and how a repository writes the subject of its OIDC tokens.

use crate::access::{self, Level, Need};
use crate::clock;
use crate::http::{Answer, Ask, Reply};
use crate::json::{Places, node_id};
use crate::model::{Repo, WorkflowRun};
use crate::pulls;
use crate::repos;
use crate::state::State;
use serde_json::{Value, json};

const READ: Need = Need::read(&[("actions", Level::Read)]);

/// `GET /repos/{owner}/{repo}/actions/runs/{run_id}`
pub(crate) fn get(state: &State, ask: &Ask, id: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let run = id.parse().ok().and_then(|id| repo.runs.get(&id)).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(show(Places::new(state, ask), repo, run)))
}

/// `GET /repos/{owner}/{repo}/actions/oidc/customization/sub`
pub(crate) fn oidc_subject(state: &State, ask: &Ask) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ.never_public())?];
    let mut body = json!({
        "use_default": repo.oidc.use_default,
        "use_immutable_subject": repo.oidc.immutable,
        "sub_claim_prefix": crate::oidc::prefix(state, repo),
    });
    if !repo.oidc.use_default {
        body["include_claim_keys"] = json!(repo.oidc.include_claim_keys);
    }
    Ok(Answer::ok(body))
}

fn show(places: Places, repo: &Repo, run: &WorkflowRun) -> Value {
    let api = places.repo_api(repo);
    let url = format!("{api}/actions/runs/{}", run.id);
    let (created, suite) = (clock::text(run.created_at), run.id + 500_000);
    let head = run.head_repo.as_ref().and_then(|name| places.state.repos.get(&name.to_lowercase())).unwrap_or(repo);
    // A run from a fork names no pull request: whoever needs it looks for the head.
    let pull = |number: &u64| {
        let issue = repo.issues.get(number).filter(|_| head.id == repo.id)?;
        Some(pulls::minimal(places, repo, issue, issue.pull.as_ref()?))
    };
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": node_id("WFR", run.id),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.path,
        "display_title": run.name,
        "run_number": 1,
        "run_attempt": run.attempt,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.id + 700_000,
        "check_suite_id": suite,
        "check_suite_node_id": node_id("CS", suite),
        "url": url,
        "html_url": format!("{}/actions/runs/{}", places.repo_web(repo), run.id),
        "pull_requests": run.pulls.iter().filter_map(pull).collect::<Vec<_>>(),
        "created_at": created,
        "updated_at": created,
        "run_started_at": created,
        "actor": places.user(&run.actor),
        "triggering_actor": places.user(&run.actor),
        "referenced_workflows": [],
        "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"),
        "check_suite_url": format!("{api}/check-suites/{suite}"),
        "artifacts_url": format!("{url}/artifacts"),
        "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"),
        "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/{}", run.id + 700_000),
        "head_commit": {
            "id": run.head_sha,
            "tree_id": run.head_sha,
            "message": run.name,
            "timestamp": created,
            "author": { "name": run.actor, "email": "octocat@example.com" },
            "committer": { "name": "GitHub", "email": "noreply@example.com" },
        },
        "repository": repos::minimal(places, repo),
        "head_repository": repos::minimal(places, head),
    })
}
