//! Pull requests.

use crate::transport::encoded;
use crate::{ApiError, Client, Repo};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub struct PullRequest {
    pub number: u64,
    pub state: String,
    pub merged_at: Option<String>,
    pub head: End,
    pub base: End,
}

#[derive(Clone, Debug, Deserialize)]
pub struct End {
    pub sha: String,
    #[serde(rename = "ref")]
    pub branch: String,
}

/// Open or closed: a head may have been of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Open,
    Closed,
}

/// A pull request by its number.
pub async fn get(client: &Client, repo: &Repo, number: u64) -> Result<PullRequest, ApiError> {
    client.get(&repo.path(&format!("/pulls/{number}"))).await
}

/// The pull requests whose head is this branch (`owner:branch`) at this commit, each to another base. Asked of GitHub: a run's own word for it is anybody's.
pub async fn of_head(
    client: &Client,
    repo: &Repo,
    label: &str,
    sha: &str,
    which: Which,
) -> Result<Vec<PullRequest>, ApiError> {
    let state = match which {
        Which::Open => "open",
        Which::Closed => "closed",
    };
    let path = repo.path(&format!("/pulls?state={state}&head={}", encoded(label)));
    let mut all: Vec<PullRequest> = client.pages(&path, None, 300).await?;
    all.retain(|pull| pull.head.sha.eq_ignore_ascii_case(sha));
    Ok(all)
}
