//! Check runs: the verdict beside the commit, with annotations on the lines that it is about.

use crate::transport::encoded;
use crate::{ApiError, Client, Repo};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// GitHub takes so many annotations in one request.
pub const BATCH: usize = 50;
/// Nobody reads more, and each batch is a call.
pub const MOST: usize = 500;
/// GitHub's limit of a check run's summary and text, in characters.
pub const TEXT: usize = 65_535;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// In the repository, with `/`.
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub annotation_level: Level,
    pub title: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Failure,
    Warning,
    Notice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
}

/// What a check run is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub head: String,
    pub external_id: String,
    pub details_url: String,
    pub conclusion: Conclusion,
    pub title: String,
    pub summary: String,
    pub text: String,
    /// In the order in which they matter.
    pub annotations: Vec<Annotation>,
}

/// A check run as GitHub has it.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub head_sha: String,
    #[serde(default)]
    pub external_id: Option<String>,
    #[serde(default)]
    pub details_url: Option<String>,
    #[serde(default)]
    pub conclusion: Option<String>,
    #[serde(default)]
    pub html_url: Option<String>,
    pub output: Output,
    #[serde(default)]
    pub app: Option<App>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Output {
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub annotations_count: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub struct App {
    pub slug: String,
}

/// Makes a finished check run; annotations beyond the first batch are added to it.
pub async fn create(client: &Client, repo: &Repo, check: &Check) -> Result<CheckRun, ApiError> {
    let mut batches = check.annotations[..check.annotations.len().min(MOST)].chunks(BATCH);
    let output = |annotations: &[Annotation]| json!({ "title": check.title, "summary": check.summary, "text": check.text, "annotations": annotations });
    let body = json!({
        "name": check.name,
        "head_sha": check.head,
        "external_id": check.external_id,
        "details_url": check.details_url,
        "status": "completed",
        "conclusion": check.conclusion,
        "output": output(batches.next().unwrap_or_default()),
    });
    let path = repo.path("/check-runs");
    let made: CheckRun = match client.post(&path, &body).await {
        Err(ApiError::Unknown(_)) => match already_made(client, repo, check).await? {
            Some(made) => made,
            None => client.post(&path, &body).await?,
        },
        other => other?,
    };
    let path = repo.path(&format!("/check-runs/{}", made.id));
    let mut there = check.annotations.len().min(BATCH);
    for batch in batches {
        let body = json!({ "output": output(batch) });
        match client.add::<CheckRun>(&path, &body).await {
            // They add up: asked first whether these are among them.
            Err(ApiError::Unknown(_)) => {
                let now: CheckRun = client.get(&path).await?;
                if now.output.annotations_count <= there {
                    client.add::<CheckRun>(&path, &body).await?;
                }
            }
            other => drop(other?),
        }
        there += batch.len();
    }
    Ok(made)
}

/// The check runs of a name at a commit, every attempt's.
pub async fn at(client: &Client, repo: &Repo, head: &str, name: &str) -> Result<Vec<CheckRun>, ApiError> {
    let path = repo.path(&format!("/commits/{head}/check-runs?filter=all&check_name={}", encoded(name)));
    client.pages(&path, Some("check_runs"), 1000).await
}

async fn already_made(client: &Client, repo: &Repo, check: &Check) -> Result<Option<CheckRun>, ApiError> {
    let all = at(client, repo, &check.head, &check.name).await?;
    let same = |run: &CheckRun| {
        run.external_id.as_deref() == Some(&check.external_id)
            && run.details_url.as_deref() == Some(&check.details_url)
            && run.output.text.as_deref().unwrap_or_default() == check.text
    };
    Ok(all.into_iter().find(same))
}
