//! GraphQL, as far as a bot goes: who it is, and comments folded and unfolded.

use crate::access::{self, Caller, Need};
use crate::comments;
use crate::document::{Document, Field};
use crate::http::{Answer, Ask, Reply};
use crate::json::{Places, node_id};
use crate::model::{Comment, Issue, Repo};
use crate::state::State;
use serde_json::{Map, Value, json};

const CLASSIFIERS: [&str; 7] = ["SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED", "LOW_QUALITY"];

/// Answers a document: 200 with `data`, `errors` or both.
pub(crate) fn answer(state: &mut State, ask: &Ask, document: &Result<Document, String>) -> Reply {
    if !matches!(ask.caller, Caller::Known(_)) {
        return Err(Answer::error(401, "This endpoint requires you to be authenticated."));
    }
    let document = match document {
        Ok(document) => document,
        Err(message) => return Ok(Answer::ok(json!({ "errors": [{ "message": message }] }))),
    };
    let kind = if document.mutation { "mutation" } else { "query" };
    let (mut data, mut errors) = (Map::new(), Vec::new());
    for field in &document.fields {
        let value = match (document.mutation, field.name.as_str()) {
            (false, "viewer") => Ok(viewer(state, ask)),
            (false, "node") => node(state, ask, field),
            (false, "repository") => repository(state, ask, field),
            (true, "minimizeComment") => minimize(state, ask, field, true),
            (true, "unminimizeComment") => minimize(state, ask, field, false),
            _ => Err(Trouble::Unknown(kind.into(), field.name.clone())),
        };
        match value.and_then(|value| select(&value, field)) {
            Ok(value) => _ = data.insert(field.alias.clone(), value),
            Err(trouble) => {
                let unknown = matches!(trouble, Trouble::Unknown(..) | Trouble::Argument(_));
                errors.push(trouble.show(field));
                if unknown {
                    // A document that does not fit the schema is not run at all.
                    return Ok(Answer::ok(json!({ "errors": errors })));
                }
                data.insert(field.alias.clone(), Value::Null);
            }
        }
    }
    let mut body = json!({ "data": data });
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    Ok(Answer::ok(body))
}

enum Trouble {
    NotFound(String),
    Forbidden,
    Unprocessable(String),
    /// The type and the field that it does not have.
    Unknown(String, String),
    Argument(String),
}

impl Trouble {
    fn show(self, field: &Field) -> Value {
        let mut error = json!({
            "path": [field.alias],
            "locations": [{ "line": field.line, "column": field.column }],
        });
        let message = match self {
            Trouble::NotFound(message) => {
                error["type"] = json!("NOT_FOUND");
                message
            }
            Trouble::Forbidden => {
                error["type"] = json!("FORBIDDEN");
                error["extensions"] = json!({ "saml_failure": false });
                "Resource not accessible by integration".to_owned()
            }
            Trouble::Unprocessable(message) => {
                error["type"] = json!("UNPROCESSABLE");
                message
            }
            Trouble::Unknown(kind, name) => {
                error["extensions"] = json!({ "code": "undefinedField", "typeName": kind, "fieldName": name });
                format!("Field '{name}' doesn't exist on type '{kind}'")
            }
            Trouble::Argument(message) => {
                error["extensions"] = json!({ "code": "argumentLiteralsIncompatible" });
                message
            }
        };
        error["message"] = json!(message);
        error
    }
}

/// What a selection picks of a value.
fn select(value: &Value, field: &Field) -> Result<Value, Trouble> {
    if field.fields.is_empty() {
        return Ok(value.clone());
    }
    match value {
        Value::Array(items) => {
            items.iter().map(|item| select(item, field)).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            let mut picked = Map::new();
            for wanted in &field.fields {
                let kind = map.get("__typename").and_then(Value::as_str).unwrap_or(&field.name);
                let unknown = || Trouble::Unknown(kind.to_owned(), wanted.name.clone());
                let found = map.get(&wanted.name).ok_or_else(unknown)?;
                picked.insert(wanted.alias.clone(), select(found, wanted)?);
            }
            Ok(Value::Object(picked))
        }
        other => Ok(other.clone()),
    }
}

fn viewer(state: &State, ask: &Ask) -> Value {
    let login = ask.caller.login().unwrap_or("ghost");
    let user = Places::new(state, ask).user(login);
    json!({ "__typename": "User", "login": login, "id": user["node_id"], "databaseId": user["id"] })
}

fn node(state: &State, ask: &Ask, field: &Field) -> Result<Value, Trouble> {
    let id = field.arguments.get("id").and_then(Value::as_str).unwrap_or_default();
    let (repo, comment) = find(state, ask, id)?;
    Ok(show(Places::new(state, ask), repo, comment))
}

fn repository(state: &State, ask: &Ask, field: &Field) -> Result<Value, Trouble> {
    let text = |name: &str| field.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{}/{}", text("owner"), text("name"));
    let found = state.repos.get(&name.to_lowercase()).filter(|repo| access::sees(repo, &ask.caller));
    let missing = || Trouble::NotFound(format!("Could not resolve to a Repository with the name '{name}'."));
    let repo = found.ok_or_else(missing)?;
    let mut body = json!({
        "__typename": "Repository",
        "id": node_id("R", repo.id),
        "databaseId": repo.id,
        "nameWithOwner": repo.full_name(),
        "isPrivate": repo.private,
    });
    for wanted in field.fields.iter().filter(|wanted| matches!(wanted.name.as_str(), "pullRequest" | "issue")) {
        let number = wanted.arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
        let missing = || Trouble::NotFound(format!("Could not resolve to a node with the number of {number}."));
        let issue = repo.issues.get(&number).filter(|issue| issue.pull.is_some() == (wanted.name == "pullRequest"));
        body[&wanted.name] = conversation(Places::new(state, ask), repo, issue.ok_or_else(missing)?, wanted);
    }
    Ok(body)
}

/// An issue or pull request with the page of its comments that is asked for: `first` or `last`, no cursors.
fn conversation(places: Places, repo: &Repo, issue: &Issue, field: &Field) -> Value {
    let all = repo.comments_of(issue.number);
    let wanted = field.fields.iter().find(|wanted| wanted.name == "comments");
    let count = |name: &str| {
        let given = wanted.and_then(|wanted| wanted.arguments.get(name)).and_then(Value::as_u64);
        given.and_then(|count| usize::try_from(count.min(100)).ok())
    };
    let page = match (count("first"), count("last")) {
        (Some(first), _) => &all[..all.len().min(first)],
        (None, Some(last)) => &all[all.len().saturating_sub(last)..],
        (None, None) => &all[..],
    };
    let nodes: Vec<Value> = page.iter().map(|comment| show(places, repo, comment)).collect();
    let more = page.len() < all.len();
    json!({
        "__typename": if issue.pull.is_some() { "PullRequest" } else { "Issue" },
        "id": node_id(if issue.pull.is_some() { "PR" } else { "I" }, issue.id),
        "number": issue.number,
        "title": issue.title,
        "isDraft": issue.pull.as_ref().is_some_and(|pull| pull.draft),
        "headRefOid": issue.pull.as_ref().map(|pull| &pull.head_sha),
        "comments": {
            "__typename": "IssueCommentConnection",
            "totalCount": all.len(),
            "nodes": nodes,
            "pageInfo": {
                "__typename": "PageInfo",
                "hasNextPage": more && count("first").is_some(),
                "hasPreviousPage": more && count("first").is_none(),
            },
        },
    })
}

fn minimize(state: &mut State, ask: &Ask, field: &Field, fold: bool) -> Result<Value, Trouble> {
    let input = field.arguments.get("input").cloned().unwrap_or_default();
    let kind = if fold { "MinimizeCommentInput" } else { "UnminimizeCommentInput" };
    let Some(id) = input["subjectId"].as_str() else {
        let message = format!("Argument 'subjectId' on InputObject '{kind}' is required. Expected type ID!");
        return Err(Trouble::Argument(message));
    };
    let classifier = input["classifier"].as_str().unwrap_or_default();
    if fold && !CLASSIFIERS.contains(&classifier) {
        let message = format!(
            "Argument 'classifier' on InputObject '{kind}' has an invalid value ({classifier}). Expected type \
             'ReportedContentClassifiers!'."
        );
        return Err(Trouble::Argument(message));
    }
    let (repo, comment) = find(state, ask, id)?;
    if !may_fold(repo, comment, ask) {
        return Err(Trouble::Forbidden);
    }
    if repo.archived {
        return Err(Trouble::Unprocessable("Repository was archived so is read-only.".into()));
    }
    let (name, number) = (repo.full_name(), comment.id);
    if let Some(comment) = state.repo(&name).comments.get_mut(&number) {
        comment.minimized = fold.then(|| classifier.to_lowercase().replace('_', "-"));
    }
    let repo = &state.repos[&name.to_lowercase()];
    let payload = if fold { "minimizedComment" } else { "unminimizedComment" };
    let shown = show(Places::new(state, ask), repo, &repo.comments[&number]);
    Ok(json!({ payload: shown, "clientMutationId": input["clientMutationId"] }))
}

fn may_fold(repo: &Repo, comment: &Comment, ask: &Ask) -> bool {
    let need: Need = comments::WRITE;
    let path = ["repos", &repo.owner, &repo.name, "issues", "comments", &comment.id.to_string()].map(str::to_owned);
    let Caller::Known(token) = &ask.caller else { return false };
    access::may(repo, token, need, &Ask { segments: path.into(), ..ask.bare() })
}

fn find<'a>(state: &'a State, ask: &Ask, id: &str) -> Result<(&'a Repo, &'a Comment), Trouble> {
    let visible = state.repos.values().filter(|repo| access::sees(repo, &ask.caller));
    let mut comments = visible.flat_map(|repo| repo.comments.values().map(move |comment| (repo, comment)));
    let missing = || Trouble::NotFound(format!("Could not resolve to a node with the global id of '{id}'."));
    comments.find(|(_, comment)| comment.node_id() == id).ok_or_else(missing)
}

fn show(places: Places, repo: &Repo, comment: &Comment) -> Value {
    let bot = comment.author.strip_suffix("[bot]");
    let kind =
        if repo.issues.get(&comment.issue).is_some_and(|issue| issue.pull.is_some()) { "pull" } else { "issues" };
    json!({
        "__typename": "IssueComment",
        "id": comment.node_id(),
        "databaseId": comment.id,
        "fullDatabaseId": comment.id.to_string(),
        "body": comment.body,
        "url": format!("{}/{kind}/{}#issuecomment-{}", places.repo_web(repo), comment.issue, comment.id),
        "isMinimized": comment.minimized.is_some(),
        "minimizedReason": comment.minimized,
        "createdAt": crate::clock::text(comment.created_at),
        "updatedAt": crate::clock::text(comment.updated_at),
        // GraphQL leaves out the `[bot]` that REST writes.
        "author": {
            "__typename": if bot.is_some() { "Bot" } else { "User" },
            "login": bot.unwrap_or(&comment.author),
        },
    })
}
