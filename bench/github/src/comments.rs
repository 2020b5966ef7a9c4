//! Comments of issues and pull requests.

use crate::access::{self, Caller, Identity, Level, Need};
use crate::clock;
use crate::http::{self, Answer, Ask, Reply, flaw};
use crate::json::{Places, node_id};
use crate::model::{Comment, Repo};
use crate::state::State;
use jiff::Timestamp;
use serde_json::{Value, json};

const READ: Need = Need::read(&[("issues", Level::Read), ("pull_requests", Level::Read)]);
pub(crate) const WRITE: Need = Need::write(&[("issues", Level::Write), ("pull_requests", Level::Write)]);
/// Characters that a body may have.
pub(crate) const LONGEST: usize = 65_536;

/// `GET /repos/{owner}/{repo}/issues/{issue_number}/comments`
pub(crate) fn list(state: &State, ask: &Ask, number: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let number = number.parse().map_err(|_| Answer::not_found())?;
    if !repo.issues.contains_key(&number) {
        return Err(Answer::not_found());
    }
    let since = since(ask)?;
    let fits = |comment: &&Comment| since.is_none_or(|since| comment.updated_at >= since);
    let found: Vec<&Comment> = repo.comments_of(number).into_iter().filter(fits).collect();
    Ok(ask.page(repo.id, &found, |comment| show(Places::new(state, ask), repo, comment), Value::Array))
}

/// `POST /repos/{owner}/{repo}/issues/{issue_number}/comments`
pub(crate) fn create(state: &mut State, ask: &Ask, number: &str) -> Reply {
    let name = access::enter(state, ask, WRITE.open_to_readers())?;
    let number = number.parse().map_err(|_| Answer::not_found())?;
    let body = ask.json()?;
    let text = http::required(&body, "body")?;
    let repo = &state.repos[&name];
    let Some(issue) = repo.issues.get(&number) else { return Err(Answer::not_found()) };
    if issue.pull.is_none() && !repo.has_issues {
        return Err(Answer::error(410, "Issues has been disabled in this repository."));
    }
    if issue.locked && !writes(repo, &ask.caller) {
        return Err(Answer::error(403, "Unable to create comment because issue is locked."));
    }
    // The two ways to a body that does not fit answer in different words: this one from the service, the other from
    // the model.
    if text.trim().is_empty() {
        return Err(Answer::validation(&[flaw("IssueComment", "data", "unprocessable", "Body cannot be blank")]));
    }
    if text.chars().count() > LONGEST {
        let message = format!("Body is too long (maximum is {LONGEST} characters)");
        return Err(Answer::validation(&[flaw("IssueComment", "data", "unprocessable", &message)]));
    }
    let author = ask.caller.login().unwrap_or("ghost").to_owned();
    let id = state.put_comment(&name, number, &author, ask.caller.app().cloned(), text);
    let repo = &state.repos[&name];
    Ok(Answer::created(show(Places::new(state, ask), repo, &repo.comments[&id])))
}

/// `GET /repos/{owner}/{repo}/issues/comments/{comment_id}`
pub(crate) fn get(state: &State, ask: &Ask, id: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let comment = find(repo, id)?;
    Ok(Answer::ok(show(Places::new(state, ask), repo, comment)))
}

/// `PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}`: whoever may write may edit what others wrote, and the
/// author stays.
pub(crate) fn update(state: &mut State, ask: &Ask, id: &str) -> Reply {
    let name = access::enter(state, ask, WRITE)?;
    let id = find(&state.repos[&name], id)?.id;
    let body = ask.json()?;
    let text = http::required(&body, "body")?;
    if text.trim().is_empty() {
        return Err(Answer::validation(&[flaw("IssueComment", "body", "custom", "body cannot be blank")]));
    }
    if text.chars().count() > LONGEST {
        let message = format!("body is too long (maximum is {LONGEST} characters)");
        return Err(Answer::validation(&[flaw("IssueComment", "body", "custom", &message)]));
    }
    let now = state.clock.now();
    if let Some(comment) = state.repo(&name).comments.get_mut(&id) {
        (comment.body, comment.updated_at) = (text.to_owned(), now);
    }
    let repo = &state.repos[&name];
    Ok(Answer::ok(show(Places::new(state, ask), repo, &repo.comments[&id])))
}

/// `DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}`
pub(crate) fn delete(state: &mut State, ask: &Ask, id: &str) -> Reply {
    let name = access::enter(state, ask, WRITE)?;
    let id = find(&state.repos[&name], id)?.id;
    state.delete_comment(&name, id);
    Ok(Answer::no_content())
}

fn find<'a>(repo: &'a Repo, id: &str) -> Result<&'a Comment, Answer> {
    id.parse().ok().and_then(|id| repo.comments.get(&id)).ok_or_else(Answer::not_found)
}

/// A person with write may comment where others may not; an app may not, whatever its permissions.
fn writes(repo: &Repo, caller: &Caller) -> bool {
    match caller {
        Caller::Known(token) => match &token.who {
            Identity::Person(login) => access::level_of(repo, login) >= Level::Write,
            Identity::App(_) => false,
        },
        _ => false,
    }
}

pub(crate) fn since(ask: &Ask) -> Result<Option<Timestamp>, Answer> {
    let Some(text) = ask.param("since") else { return Ok(None) };
    // An offset's plus sign arrives as a blank where a client did not encode it.
    let moment = text.replace(' ', "+").parse();
    moment.map(Some).map_err(|_| Answer::error(422, "The since parameter is not a valid ISO 8601 timestamp"))
}

fn show(places: Places, repo: &Repo, comment: &Comment) -> Value {
    let api = places.repo_api(repo);
    let kind =
        if repo.issues.get(&comment.issue).is_some_and(|issue| issue.pull.is_some()) { "pull" } else { "issues" };
    let url = format!("{api}/issues/comments/{}", comment.id);
    json!({
        "url": url,
        "html_url": format!("{}/{kind}/{}#issuecomment-{}", places.repo_web(repo), comment.issue, comment.id),
        "issue_url": format!("{api}/issues/{}", comment.issue),
        "id": comment.id,
        "node_id": comment.node_id(),
        "user": places.user(&comment.author),
        "created_at": clock::text(comment.created_at),
        "updated_at": clock::text(comment.updated_at),
        "body": comment.body,
        "author_association": repo.association(&comment.author),
        "performed_via_github_app": comment.app.as_ref().map(|app| places.app(app)),
        "minimized": comment.minimized.as_ref().map(|reason| json!({ "reason": reason })),
        "reactions": reactions(&url),
    })
}

pub(crate) fn reactions(url: &str) -> Value {
    let mut counts = json!({ "url": format!("{url}/reactions"), "total_count": 0 });
    for name in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
        counts[name] = json!(0);
    }
    counts
}

/// A label as in answers. GitHub keeps them per repository; here a label is its name.
pub(crate) fn label(places: Places, repo: &Repo, name: &str) -> Value {
    let id = name.bytes().fold(1_000_000_007_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))) >> 24;
    json!({
        "id": id,
        "node_id": node_id("LA", id),
        "url": format!("{}/labels/{}", places.repo_api(repo), percent(name)),
        "name": name,
        "description": "",
        "color": "ededed",
        "default": false,
    })
}

fn percent(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}
