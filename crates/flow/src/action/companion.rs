//! The companion of a review that had no right to write: it posts what that run found.
//!
//! The run it speaks for was a stranger's, so its artifact is hostile: of it only the report is read, every figure is counted anew, every text is made inert,
//! and which pull request is spoken to is asked of GitHub alone.

use crate::action::Begun;
use crate::action::inputs::CommentInput;
use crate::action::publish::{self, HANDED, Told};
use crate::outcome::{Exit, Outcome};
use csis_github::Run;
use csis_github::comments::Conversation;
use csis_github::marker::{Marker, State};
use csis_github::pulls::{self, Which};
use csis_github::sticky::{Sticky, Written};
use csis_report::review::{self, RunFacts};
use csis_report::{Detail, MarkdownOptions};
use csis_values::{Diagnostic, sha256};
use serde::Deserialize;
use serde_json::Value;
use std::io::Read as _;
use std::sync::Arc;

/// A report is far smaller.
const LARGEST: u64 = 8 << 20;

pub async fn run(begun: &Begun<'_>, run: &Run) -> Outcome {
    match attempt(begun, run).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn attempt(begun: &Begun<'_>, run: &Run) -> Result<Outcome, Outcome> {
    let quiet = |why: &str| Outcome::new(Exit::Done).stderr(format!("{why}\n"));
    if run.event != "pull_request" {
        return Err(quiet("the run was not one of a pull request"));
    }
    let CommentInput::On(mode) = begun.inputs.comment else { return Err(quiet("comments are off")) };
    let Some(client) = &begun.client else {
        return Err(Outcome::usage(
            Diagnostic::error("no-token", "there is no token to comment with")
                .help("leave the input `github-token` at its default"),
        ));
    };
    let Some(label) = &run.head_label else { return Err(quiet("the head's repository is gone")) };
    let mut told = Told::default();
    let Some(bytes) = read(begun)? else {
        // The run that a closed pull request starts may write as little as the others.
        let folded = async {
            let mut count = 0;
            for pull in pulls::of_head(client, &begun.context.repo, label, &run.head, Which::Closed).await? {
                let place =
                    Conversation { client: Arc::clone(client), repo: begun.context.repo.clone(), number: pull.number };
                count += super::fold(&place, pull.merged_at.is_some(), (run.id, run.attempt)).await?;
            }
            Ok(count)
        };
        return match folded.await {
            Ok(0) => Err(quiet("the run left no report: it was not a stranger's, or it failed")),
            Ok(count) => Ok(quiet(&format!("{count} of csis's comments folded"))),
            Err(error) => {
                told.refused("comment", &error);
                Err(Outcome::new(Exit::Done).findings(told.findings))
            }
        };
    };
    let open = match pulls::of_head(client, &begun.context.repo, label, &run.head, Which::Open).await {
        Ok(open) if open.is_empty() => {
            return Err(quiet("no open pull request has this commit as its head any more"));
        }
        Ok(open) => open,
        Err(error) => {
            told.refused("comment", &error);
            return Err(Outcome::new(Exit::Failed).findings(told.findings));
        }
    };
    let unreadable = |why: String| {
        Outcome::new(Exit::Failed).findings(vec![
            Diagnostic::error("artifact", format!("the report of the run cannot be read: {why}"))
                .help("run csis of the same release in both workflows"),
        ])
    };
    let mut handed: Handed = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let report = csis_report::from_json(handed.report.take().to_string()).map_err(|e| unreadable(e.to_string()))?;
    // Of several with this very head, the artifact's word decides: whose head it is may speak to each of them.
    let pull = match open.as_slice() {
        [only] => only,
        several => several
            .iter()
            .find(|pull| handed.pull == Some(pull.number))
            .ok_or_else(|| unreadable("it is of none of the pull requests with this head".into()))?,
    };
    let facts = RunFacts {
        head: run.head.clone(),
        run_url: format!("{}/{}/actions/runs/{}", begun.context.server, begun.context.repo, run.id),
        root: None,
    };
    let above = review::without_credentials("outside this repository");
    let foot = facts.foot();
    let detail = if run.private { Detail::Values } else { Detail::Addresses };
    let limit = MarkdownOptions::default().limit - above.len() - foot.len();
    let options = MarkdownOptions { limit, detail, ..MarkdownOptions::default() };
    let text = format!("{above}{}{foot}", csis_report::markdown(&report, &options));
    let mine = Marker {
        // Apart from the comments of runs that may write themselves.
        key: sha256("companion").get(..16).unwrap_or_default().to_owned(),
        head: run.head.clone(),
        run: run.id,
        attempt: run.attempt,
        state: State::Result,
        tree: String::new(),
    };
    let place = Conversation { client: Arc::clone(client), repo: begun.context.repo.clone(), number: pull.number };
    let written = async {
        let (mut sticky, _) = Sticky::find(place, mine, mode).await?;
        sticky.write(State::Result, &text).await
    };
    match written.await {
        Ok(Written::Done { url }) => {
            publish::set_outputs(begun, &[("comment-url", &url), ("verdict", "not-judged")], &mut told);
            Ok(quiet("the comment is written").findings(told.findings))
        }
        Ok(Written::GaveWay) => Ok(quiet("a newer run has the comment")),
        Err(error) => {
            told.refused("comment", &error);
            Ok(Outcome::new(Exit::Failed).findings(told.findings))
        }
    }
}

/// What the run of a stranger hands over.
#[derive(Deserialize)]
struct Handed {
    #[serde(default)]
    pull: Option<u64>,
    report: Value,
}

/// The artifact's report; none when the run left none. It is taken away: a workspace that is kept would hand it to the next run.
fn read(begun: &Begun<'_>) -> Result<Option<Vec<u8>>, Outcome> {
    let path = begun.context.workspace.join(HANDED);
    let bad = |why: String| {
        Outcome::new(Exit::Failed)
            .findings(vec![Diagnostic::error("artifact", format!("the report of the run cannot be read: {why}"))])
    };
    match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(bad("it is no file".into())),
        Err(_) => return Ok(None),
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| bad(error.to_string()))?;
    // Where it cannot be removed nothing else is lost.
    let _ = std::fs::remove_file(&path);
    if bytes.len() as u64 > LARGEST {
        return Err(bad(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(Some(bytes))
}
