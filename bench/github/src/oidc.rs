//! The identity tokens of a workflow's job. Not part of GitHub's API: the runner names the address.

use crate::http::{Answer, Ask, Reply};
use crate::limits::later;
use crate::model::Repo;
use crate::state::State;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The job that asks for identity tokens. A test sets what its subject is made of through `state.oidc`.
///
/// The tokens are signed with a key that everybody knows, so nothing real believes them.
#[derive(Clone, Debug, Serialize)]
pub struct Oidc {
    /// `OWNER/NAME`; the first repository when empty.
    pub repository: String,
    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN` of the job.
    #[serde(skip)]
    pub request_token: String,
    /// `refs/pull/7/merge`, `refs/heads/main`, …
    pub git_ref: String,
    pub event_name: String,
    pub actor: String,
    /// The environment of the job: it wins over every other subject.
    pub environment: Option<String>,
    /// The workflow's file, `.github/workflows/review.yml`.
    pub workflow: String,
    pub sha: String,
    pub run_id: u64,
    /// Seconds that a token lives.
    pub lifetime: i64,
    pub issuer: String,
}

impl Default for Oidc {
    fn default() -> Oidc {
        Oidc {
            repository: String::new(),
            request_token: "request-token-of-the-job".into(),
            git_ref: "refs/pull/1/merge".into(),
            event_name: "pull_request".into(),
            actor: "octocat".into(),
            environment: None,
            workflow: ".github/workflows/review.yml".into(),
            sha: "0".repeat(40),
            run_id: 1,
            lifetime: 300,
            issuer: "https://token.actions.githubusercontent.com".into(),
        }
    }
}

/// `GET /oidc/token?audience=…`
pub(crate) fn token(state: &State, ask: &Ask, bearer: Option<&str>) -> Reply {
    if bearer != Some(state.oidc.request_token.as_str()) {
        return Err(Answer::error(401, "The request token is not valid"));
    }
    let job = &state.oidc;
    let repo = state.repos.get(&job.repository.to_lowercase());
    let Some(repo) = repo.or_else(|| state.repos.values().next()) else { return Err(Answer::not_found()) };
    let now = state.clock.now();
    let id = |login: &str| state.accounts.get(&login.to_lowercase()).map_or(0, |account| account.id).to_string();
    let kind = if job.git_ref.starts_with("refs/tags/") { "tag" } else { "branch" };
    let workflow_ref = format!("{}/{}@{}", repo.full_name(), job.workflow, job.git_ref);
    let audience = ask.param("audience").map_or_else(|| format!("{}/{}", state.server_url, repo.owner), str::to_owned);
    let mut claims = json!({
        "jti": format!("bench-{}", now.as_nanosecond()),
        "aud": audience,
        "iss": job.issuer,
        "iat": now.as_second(),
        "nbf": later(now, -600).as_second(),
        "exp": later(now, job.lifetime).as_second(),
        "ref": job.git_ref,
        "ref_type": kind,
        "ref_protected": "false",
        "sha": job.sha,
        "repository": repo.full_name(),
        "repository_id": repo.id.to_string(),
        "repository_owner": repo.owner,
        "repository_owner_id": id(&repo.owner),
        "repository_visibility": if repo.private { "private" } else { "public" },
        "actor": job.actor,
        "actor_id": id(&job.actor),
        "event_name": job.event_name,
        "workflow": job.workflow,
        "workflow_ref": workflow_ref,
        "workflow_sha": job.sha,
        "job_workflow_ref": workflow_ref,
        "job_workflow_sha": job.sha,
        "run_id": job.run_id.to_string(),
        "run_number": "1",
        "run_attempt": "1",
        "runner_environment": "github-hosted",
        "head_ref": "",
        "base_ref": "",
    });
    if let Some(environment) = &job.environment {
        claims["environment"] = json!(environment);
    }
    claims["sub"] = json!(subject(state, repo, &claims));
    Ok(Answer::ok(json!({ "count": 1, "value": sign(&claims) })))
}

/// What every subject of a repository begins with.
pub(crate) fn prefix(state: &State, repo: &Repo) -> String {
    if repo.oidc.immutable {
        let owner = state.accounts.get(&repo.owner.to_lowercase()).map_or(0, |account| account.id);
        format!("repo:{}@{owner}/{}@{}", repo.owner, repo.name, repo.id)
    } else {
        format!("repo:{}", repo.full_name())
    }
}

fn subject(state: &State, repo: &Repo, claims: &Value) -> String {
    let job = &state.oidc;
    let context = match (&job.environment, job.event_name.as_str()) {
        (Some(environment), _) => format!("environment:{}", environment.replace(':', "%3A")),
        (None, "pull_request") => "pull_request".to_owned(),
        (None, _) => format!("ref:{}", job.git_ref.replace(':', "%3A")),
    };
    if repo.oidc.use_default {
        return format!("{}:{context}", prefix(state, repo));
    }
    let part = |key: &String| match key.as_str() {
        "repo" => prefix(state, repo),
        "context" => context.clone(),
        other => format!("{other}:{}", claims[other].as_str().unwrap_or_default().replace(':', "%3A")),
    };
    repo.oidc.include_claim_keys.iter().map(part).collect::<Vec<_>>().join(":")
}

/// A JWT by HS256 with a key of the bench.
fn sign(claims: &Value) -> String {
    let header = json!({ "alg": "HS256", "typ": "JWT", "kid": "bench" });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(claims));
    let signature = hmac(b"the bench's key, known to everybody", text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}
