//! Whether a change that widens its reach was allowed: by a code owner, for that very commit.

use crate::action::review::{Base, Subject};
use crate::action::{Begun, checkout, widening};
use crate::git::{Repository, short};
use crate::preview::{self, Change, Compared, Prepared};
use csis_github::{checks, pulls};
use csis_values::{Diagnostic, Severity};

/// The check run by which a code owner's word on a commit is kept.
const REACH: &str = "csis / reach";
/// The app whose token a job has by itself.
const ACTIONS: &str = "github-actions";

/// Why the change gets no credentials although it is one of this repository; none when it stays in its reach, or a code owner allowed this commit.
pub async fn refused(
    begun: &Begun<'_>,
    subject: &Subject,
    repository: &Repository,
    base: Option<&Base>,
    change: &mut Change,
) -> Option<String> {
    let base = base?;
    let mut what = widened(repository, base, change);
    if !subject.is_onto_default() {
        // What the base brought on top of the default branch was allowed by nobody yet, and its code runs all the same.
        match beyond_default(begun, subject, repository, base) {
            Ok(more) => what.extend(more),
            Err(why) => what.push(format!("what cannot be compared with the default branch ({why})")),
        }
        what.sort();
        what.dedup();
    }
    if what.is_empty() {
        return None;
    }
    let widened = what.join(", ");
    if is_allowed(begun, subject, repository).await {
        change.reading.findings.push(Diagnostic::new(
            Severity::Note,
            "reach",
            format!("this change widens its reach: {widened}; a code owner allowed this commit"),
        ));
        return None;
    }
    change.reading.findings.push(
        Diagnostic::warning(
            "reach",
            format!("this change widens its reach, so it is planned without credentials: {widened}"),
        )
        .help(format!(
            "a code owner reads it as code, allows commit `{}` with the workflow `allow-reach.yml`, and runs this job again",
            subject.head
        )),
    );
    Some(format!(
        "this change widens its reach ({widened}), and no code owner has allowed commit {}",
        short(&subject.head)
    ))
}

fn widened(repository: &Repository, base: &Base, change: &Change) -> Vec<String> {
    let workflows = repository
        .changed_between(&base.commit, "HEAD", &[repository.top.join(".github")])
        // What cannot be told is not taken for nothing.
        .unwrap_or_else(|_| vec![".github".into()]);
    match &change.before {
        Some((before, _)) => widening::of(before, &change.reading.tree, &change.reading.findings.0, &workflows),
        None => vec!["a tree whose base does not load".into()],
    }
}

/// What is wider than on the default branch, where the base is not that branch.
fn beyond_default(
    begun: &Begun<'_>,
    subject: &Subject,
    repository: &Repository,
    base: &Base,
) -> Result<Vec<String>, String> {
    let branch = subject.default_branch.as_deref().ok_or("the event does not name it")?;
    let tip = checkout::fetch(repository, begun.context, begun.inputs.token.as_ref(), &format!("refs/heads/{branch}"))
        .map_err(|error| error.to_string())?;
    if tip == base.commit {
        return Ok(Vec::new());
    }
    let tip = Base { commit: tip, name: branch.to_owned() };
    match preview::prepare(begun.invocation, &Compared::Commit { commit: &tip.commit, name: &tip.name }) {
        Ok(Prepared::Ready(change)) => Ok(widened(repository, &tip, &change)),
        Ok(Prepared::Refused(_)) => Err("the tree is refused beside it".into()),
        Err(outcome) => Err(outcome.findings.first().map(|finding| finding.message.clone()).unwrap_or_default()),
    }
}

async fn is_allowed(begun: &Begun<'_>, subject: &Subject, repository: &Repository) -> bool {
    let Some(client) = &begun.client else { return false };
    // A queue makes commits of its own: the word was given on the pull request's, which leaves the queue with its next push.
    let head = match subject.queued {
        Some(number) => match pulls::get(client, &begun.context.repo, number).await {
            Ok(pull) => pull.head.sha,
            Err(_) => return false,
        },
        None => subject.head.clone(),
    };
    if subject.queued.is_some() && !stands_on(repository, &head) {
        return false;
    }
    // A job of this name is a check run as well; what a job does not choose is the external id.
    let word = format!("csis-reach {head}");
    let of_ours = |run: &checks::CheckRun| {
        run.app.as_ref().is_some_and(|app| app.slug == ACTIONS)
            && run.head_sha.eq_ignore_ascii_case(&head)
            && run.external_id.as_deref() == Some(word.as_str())
    };
    let Ok(mut runs) = checks::at(client, &begun.context.repo, &head, REACH).await else { return false };
    runs.retain(of_ours);
    // The newest word counts: an owner may take it back.
    runs.iter().max_by_key(|run| run.id).is_some_and(|run| run.conclusion.as_deref() == Some("success"))
}

/// Whether a queue's commit is made of this head. One that squashes or rebases does not name it: such a queue drops a pull request whose head moves.
fn stands_on(repository: &Repository, head: &str) -> bool {
    match checkout::parents(repository, "HEAD").as_deref() {
        Ok([_, merged]) => merged.eq_ignore_ascii_case(head),
        Ok(_) => true,
        Err(_) => false,
    }
}
