//! Where a run is: what the runner tells through the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A repository's `owner/name`, checked: both go into the paths of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    pub owner: String,
    pub name: String,
}

impl Repo {
    pub fn parse(text: &str) -> Option<Repo> {
        let (owner, name) = text.split_once('/')?;
        let fits = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && part != "."
                && part != ".."
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        (fits(owner) && fits(name)).then(|| Repo { owner: owner.into(), name: name.into() })
    }

    /// `/repos/OWNER/NAME` and what stands below it.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("/repos/{}/{}{below}", self.owner, self.name)
    }
}

impl std::fmt::Display for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// What a run of an action knows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// `https://api.github.com`, or `https://HOST/api/v3` on an Enterprise Server.
    pub api: String,
    pub graphql: String,
    pub server: String,
    pub repo: Repo,
    pub event: String,
    pub event_path: PathBuf,
    pub workspace: PathBuf,
    /// The commit that was checked out: of a pull request, its merge commit.
    pub sha: String,
    pub reference: String,
    pub run: u64,
    pub attempt: u32,
    pub actor: String,
    pub workflow: String,
    pub job: String,
    /// Where outputs and the summary are written; none where the runner has none.
    pub output: Option<PathBuf>,
    pub summary: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    #[error("{0} is not set")]
    Missing(&'static str),
    #[error("{0} is `{1}`, which is not what a runner sets")]
    Wrong(&'static str, String),
}

impl Context {
    pub fn of(environment: &BTreeMap<String, String>) -> Result<Context, ContextError> {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
        let need = |name: &'static str| get(name).ok_or(ContextError::Missing(name));
        let number = |name: &'static str| {
            let text = need(name)?;
            text.parse::<u64>().map_err(|_| ContextError::Wrong(name, text))
        };
        let repository = need("GITHUB_REPOSITORY")?;
        let repo = Repo::parse(&repository).ok_or(ContextError::Wrong("GITHUB_REPOSITORY", repository))?;
        let attempt = get("GITHUB_RUN_ATTEMPT").unwrap_or_else(|| "1".into());
        let server = get("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".into());
        let api = get("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".into());
        let graphql = get("GITHUB_GRAPHQL_URL").unwrap_or_else(|| {
            // Beside `/api/v3`, not below it.
            api.strip_suffix("/v3").map_or_else(|| format!("{api}/graphql"), |base| format!("{base}/graphql"))
        });
        Ok(Context {
            api,
            graphql,
            server: server.trim_end_matches('/').to_owned(),
            repo,
            event: need("GITHUB_EVENT_NAME")?,
            event_path: need("GITHUB_EVENT_PATH")?.into(),
            workspace: need("GITHUB_WORKSPACE")?.into(),
            sha: get("GITHUB_SHA").unwrap_or_default(),
            reference: get("GITHUB_REF").unwrap_or_default(),
            run: number("GITHUB_RUN_ID")?,
            attempt: attempt.parse().map_err(|_| ContextError::Wrong("GITHUB_RUN_ATTEMPT", attempt))?,
            actor: get("GITHUB_ACTOR").unwrap_or_default(),
            workflow: get("GITHUB_WORKFLOW").unwrap_or_default(),
            job: get("GITHUB_JOB").unwrap_or_default(),
            output: get("GITHUB_OUTPUT").map(PathBuf::from),
            summary: get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        })
    }

    /// The page of this run.
    pub fn run_url(&self) -> String {
        format!("{}/{}/actions/runs/{}", self.server, self.repo, self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let all = [
            ("GITHUB_REPOSITORY", "acme/images"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_EVENT_PATH", "/github/workflow/event.json"),
            ("GITHUB_WORKSPACE", "/github/workspace"),
            ("GITHUB_RUN_ID", "7"),
        ];
        all.iter().chain(pairs).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn an_enterprise_server_has_its_own_places() {
        let context = Context::of(&environment(&[
            ("GITHUB_API_URL", "https://ghes.example/api/v3"),
            ("GITHUB_SERVER_URL", "https://ghes.example/"),
        ]))
        .unwrap();
        assert_eq!(context.graphql, "https://ghes.example/api/graphql");
        assert_eq!(context.run_url(), "https://ghes.example/acme/images/actions/runs/7");
        let plain = Context::of(&environment(&[])).unwrap();
        assert_eq!(plain.graphql, "https://api.github.com/graphql");
    }

    #[test]
    fn what_is_missing_or_odd_is_named() {
        let mut without = environment(&[]);
        without.remove("GITHUB_RUN_ID");
        assert_eq!(Context::of(&without), Err(ContextError::Missing("GITHUB_RUN_ID")));
        for odd in ["acme", "acme/../x", "a/b/c", "acme/ima ges", "acme/..", "../x", "acme/x?y"] {
            let environment = environment(&[("GITHUB_REPOSITORY", odd)]);
            assert!(matches!(Context::of(&environment), Err(ContextError::Wrong("GITHUB_REPOSITORY", _))), "{odd}");
        }
    }
}
