//! Issues and their labels. A pull request is an issue too, and is listed among them.

use crate::access::{self, Caller, Identity, Level, Need, Token};
use crate::clock;
use crate::comments::{self, LONGEST};
use crate::http::{self, Answer, Ask, Reply, flaw};
use crate::json::{Places, node_id};
use crate::model::{Issue, Repo};
use crate::state::{NewIssue, State};
use serde_json::{Map, Value, json};

const READ: Need = Need::read(&[("issues", Level::Read)]);
const READ_ONE: Need = Need::read(&[("issues", Level::Read), ("pull_requests", Level::Read)]);
const WRITE: Need = Need::write(&[("issues", Level::Write)]);

/// `GET /repos/{owner}/{repo}/issues`
pub(crate) fn list(state: &State, ask: &Ask) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let open = ask.open_only();
    let labels: Vec<&str> = ask.param("labels").map_or(Vec::new(), |names| names.split(',').collect());
    let creator = ask.param("creator");
    let since = comments::since(ask)?;
    let fits = |issue: &&Issue| {
        // A repository without issues lists its pull requests still.
        (repo.has_issues || issue.pull.is_some())
            && open.is_none_or(|open| issue.open == open)
            && labels.iter().all(|label| has(issue, label))
            && creator.is_none_or(|creator| issue.author.eq_ignore_ascii_case(creator))
            && since.is_none_or(|since| issue.updated_at >= since)
    };
    let mut found: Vec<&Issue> = repo.issues.values().filter(fits).collect();
    if ask.param("sort") == Some("updated") {
        found.sort_by_key(|issue| issue.updated_at);
    }
    if ask.param("direction") != Some("asc") {
        found.reverse();
    }
    Ok(ask.page(repo.id, &found, |issue| show(Places::new(state, ask), repo, issue), Value::Array))
}

/// `POST /repos/{owner}/{repo}/issues`
pub(crate) fn create(state: &mut State, ask: &Ask) -> Reply {
    let name = access::enter(state, ask, WRITE.open_to_readers())?;
    if !state.repos[&name].has_issues {
        return Err(Answer::error(410, "Issues has been disabled in this repository."));
    }
    let body = ask.json()?;
    let title = http::required(&body, "title")?;
    check(title, http::text(&body, "body")?)?;
    // Who may not write may open an issue; labels are dropped without a word.
    let labels = if writes(&state.repos[&name], &ask.caller) { labels_of(&body)? } else { None };
    let new = NewIssue {
        title: title.into(),
        body: http::text(&body, "body")?.map(str::to_owned),
        author: ask.caller.login().unwrap_or("ghost").into(),
        app: ask.caller.app().cloned(),
        labels: labels.unwrap_or_default(),
    };
    let number = state.next_number(&name);
    state.put_issue(&name, number, new, None);
    let repo = &state.repos[&name];
    Ok(Answer::created(show(Places::new(state, ask), repo, &repo.issues[&number])))
}

/// `GET /repos/{owner}/{repo}/issues/{issue_number}`
pub(crate) fn get(state: &State, ask: &Ask, number: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ_ONE)?];
    Ok(Answer::ok(show(Places::new(state, ask), repo, find(repo, number)?)))
}

/// `PATCH /repos/{owner}/{repo}/issues/{issue_number}`
pub(crate) fn update(state: &mut State, ask: &Ask, number: &str) -> Reply {
    let name = access::enter(state, ask, comments::WRITE)?;
    let mut issue = find(&state.repos[&name], number)?.clone();
    let body = ask.json()?;
    if let Some(title) = http::text(&body, "title")? {
        title.clone_into(&mut issue.title);
    }
    if let Some(text) = http::text(&body, "body")? {
        issue.body = Some(text.into());
    }
    check(&issue.title, issue.body.as_deref())?;
    if let Some(labels) = labels_of(&body)? {
        issue.labels = labels;
    }
    let now = state.clock.now();
    match http::text(&body, "state")? {
        None => {}
        Some("open") => {
            issue.state_reason = if issue.open { issue.state_reason } else { Some("reopened".into()) };
            (issue.open, issue.closed_at) = (true, None);
        }
        Some("closed") => {
            issue.closed_at = issue.closed_at.or(Some(now));
            let reason = http::text(&body, "state_reason")?.unwrap_or("completed");
            (issue.open, issue.state_reason) = (false, Some(reason.into()));
        }
        Some(other) => {
            return Err(Answer::validation(&[flaw("Issue", "state", "invalid", &format!("{other} is not a state"))]));
        }
    }
    issue.updated_at = now;
    let number = issue.number;
    state.repo(&name).issues.insert(number, issue);
    let repo = &state.repos[&name];
    Ok(Answer::ok(show(Places::new(state, ask), repo, &repo.issues[&number])))
}

/// `…/issues/{issue_number}/labels`, and `/{name}` below it
pub(crate) fn labels(state: &mut State, ask: &Ask, number: &str, one: Option<&str>) -> Reply {
    let need = if ask.method == "GET" { READ_ONE } else { comments::WRITE };
    let name = access::enter(state, ask, need)?;
    let mut issue = find(&state.repos[&name], number)?.clone();
    let given = || -> Result<Vec<String>, Answer> {
        let bare: Option<Vec<String>> = serde_json::from_slice(&ask.body).ok();
        match bare {
            Some(names) => Ok(names),
            None => Ok(labels_of(&ask.json()?)?.unwrap_or_default()),
        }
    };
    match (ask.method.as_str(), one) {
        ("GET", None) => {}
        ("POST", None) => {
            for label in given()? {
                if !has(&issue, &label) {
                    issue.labels.push(label);
                }
            }
        }
        ("PUT", None) => issue.labels = given()?,
        ("DELETE", None) => issue.labels.clear(),
        ("DELETE", Some(label)) if has(&issue, label) => {
            issue.labels.retain(|other| !other.eq_ignore_ascii_case(label));
        }
        ("DELETE", Some(_)) => return Err(Answer::error(404, "Label does not exist")),
        _ => return Err(Answer::not_found()),
    }
    let (number, emptied) = (issue.number, ask.method == "DELETE" && one.is_none());
    state.repo(&name).issues.insert(number, issue);
    if emptied {
        return Ok(Answer::no_content());
    }
    let (places, repo) = (Places::new(state, ask), &state.repos[&name]);
    let shown = repo.issues[&number].labels.iter().map(|label| comments::label(places, repo, label)).collect();
    Ok(Answer::ok(Value::Array(shown)))
}

/// `PUT` and `DELETE /repos/{owner}/{repo}/issues/{issue_number}/lock`
pub(crate) fn lock(state: &mut State, ask: &Ask, number: &str) -> Reply {
    let name = access::enter(state, ask, comments::WRITE)?;
    let number = find(&state.repos[&name], number)?.number;
    state.repo(&name).issue(number).locked = ask.method == "PUT";
    Ok(Answer::no_content())
}

fn find<'a>(repo: &'a Repo, number: &str) -> Result<&'a Issue, Answer> {
    let found = number.parse().ok().and_then(|number| repo.issues.get(&number)).ok_or_else(Answer::not_found)?;
    if found.pull.is_none() && !repo.has_issues {
        return Err(Answer::error(410, "Issues are disabled for this repo"));
    }
    Ok(found)
}

fn has(issue: &Issue, label: &str) -> bool {
    issue.labels.iter().any(|other| other.eq_ignore_ascii_case(label))
}

fn writes(repo: &Repo, caller: &Caller) -> bool {
    match caller {
        Caller::Known(Token { who: Identity::Person(login), .. }) => access::level_of(repo, login) >= Level::Write,
        Caller::Known(_) => true,
        Caller::Nobody | Caller::Unknown => false,
    }
}

fn check(title: &str, body: Option<&str>) -> Result<(), Answer> {
    if title.trim().is_empty() {
        return Err(Answer::validation(&[flaw("Issue", "title", "missing_field", "title can't be blank")]));
    }
    if body.is_some_and(|text| text.chars().count() > LONGEST) {
        let message = format!("body is too long (maximum is {LONGEST} characters)");
        return Err(Answer::validation(&[flaw("Issue", "body", "custom", &message)]));
    }
    Ok(())
}

/// The names of `labels`, which may be strings or objects.
fn labels_of(body: &Map<String, Value>) -> Result<Option<Vec<String>>, Answer> {
    let Some(labels) = body.get("labels").and_then(Value::as_array) else { return Ok(None) };
    let name = |label: &Value| label.as_str().or_else(|| label["name"].as_str()).map(str::to_owned);
    let names: Option<Vec<String>> = labels.iter().map(name).collect();
    names.map(Some).ok_or_else(|| Answer::invalid("For 'properties/labels', an item is not a label."))
}

fn show(places: Places, repo: &Repo, issue: &Issue) -> Value {
    let (api, web) = (places.repo_api(repo), places.repo_web(repo));
    let (number, kind) = (issue.number, if issue.pull.is_some() { "pull" } else { "issues" });
    let url = format!("{api}/issues/{number}");
    let mut body = json!({
        "url": url,
        "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "timeline_url": format!("{url}/timeline"),
        "html_url": format!("{web}/{kind}/{number}"),
        "id": issue.id,
        "node_id": node_id(if issue.pull.is_some() { "PR" } else { "I" }, issue.id),
        "number": number,
        "title": issue.title,
        "user": places.user(&issue.author),
        "labels": issue.labels.iter().map(|name| comments::label(places, repo, name)).collect::<Vec<_>>(),
        "state": if issue.open { "open" } else { "closed" },
        "state_reason": issue.state_reason,
        "locked": issue.locked,
        "active_lock_reason": null,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": repo.comments_of(number).len(),
        "created_at": clock::text(issue.created_at),
        "updated_at": clock::text(issue.updated_at),
        "closed_at": issue.closed_at.map(clock::text),
        "author_association": repo.association(&issue.author),
        "body": issue.body,
        "reactions": comments::reactions(&url),
        "performed_via_github_app": issue.app.as_ref().map(|app| places.app(app)),
    });
    if let Some(pull) = &issue.pull {
        body["draft"] = json!(pull.draft);
        body["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"),
            "html_url": format!("{web}/pull/{number}"),
            "diff_url": format!("{web}/pull/{number}.diff"),
            "patch_url": format!("{web}/pull/{number}.patch"),
            "merged_at": pull.merged_at.map(clock::text),
        });
    }
    body
}
