//! Pull requests and the files they change.

use crate::access::{self, Level, Need};
use crate::clock;
use crate::comments;
use crate::http::{Answer, Ask, Reply};
use crate::json::{Places, node_id};
use crate::model::{ChangedFile, Issue, Pull, Repo};
use crate::repos;
use crate::state::State;
use serde_json::{Value, json};

const READ: Need = Need::read(&[("pull_requests", Level::Read)]);
/// A pull request may change more files than GitHub lists.
const MOST_FILES: usize = 3000;

/// `GET /repos/{owner}/{repo}/pulls/{pull_number}`
pub(crate) fn get(state: &State, ask: &Ask, number: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let (issue, pull) = find(repo, number)?;
    let mut body = simple(Places::new(state, ask), repo, issue, pull);
    let mergeable_state = match pull.mergeable {
        None => "unknown",
        Some(false) => "dirty",
        Some(true) if pull.draft => "draft",
        Some(true) => "clean",
    };
    let more = json!({
        "merged": pull.merged_at.is_some(),
        "merged_by": pull.merged_by.as_ref().map(|by| Places::new(state, ask).user(by)),
        "mergeable": pull.mergeable,
        "mergeable_state": mergeable_state,
        "rebaseable": pull.mergeable,
        "maintainer_can_modify": false,
        "comments": repo.comments_of(issue.number).len(),
        "review_comments": 0,
        "commits": pull.commits.len(),
        "additions": pull.files.iter().map(|file| file.additions).sum::<u64>(),
        "deletions": pull.files.iter().map(|file| file.deletions).sum::<u64>(),
        "changed_files": pull.files.len(),
    });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    Ok(Answer::ok(body))
}

/// `GET /repos/{owner}/{repo}/pulls`
pub(crate) fn list(state: &State, ask: &Ask) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let open = ask.open_only();
    // Without `OWNER:` the filter is not a filter: GitHub ignores it and lists everything.
    let head = ask.param("head").filter(|head| head.contains(':'));
    let base = ask.param("base");
    let fits = |(issue, pull): &(&Issue, &Pull)| {
        open.is_none_or(|open| issue.open == open)
            && head.is_none_or(|head| label_of(repo, pull).eq_ignore_ascii_case(head))
            && base.is_none_or(|base| pull.base_branch == base)
    };
    let mut found: Vec<(&Issue, &Pull)> = all(repo).filter(fits).collect();
    if ask.param("sort") == Some("updated") {
        found.sort_by_key(|(issue, _)| issue.updated_at);
    }
    if ask.param("direction") != Some("asc") {
        found.reverse();
    }
    let show = |(issue, pull): &(&Issue, &Pull)| simple(Places::new(state, ask), repo, issue, pull);
    Ok(ask.page(repo.id, &found, show, Value::Array))
}

/// `GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls`
pub(crate) fn of_commit(state: &State, ask: &Ask, sha: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let Some(sha) = repo.resolve(sha) else {
        return Err(Answer::error(422, &format!("No commit found for SHA: {sha}")));
    };
    let holds = |(_, pull): &(&Issue, &Pull)| pull.commits.contains(&sha);
    let found: Vec<(&Issue, &Pull)> = all(repo).filter(holds).collect();
    let show = |(issue, pull): &(&Issue, &Pull)| simple(Places::new(state, ask), repo, issue, pull);
    Ok(ask.page(repo.id, &found, show, Value::Array))
}

/// `GET /repos/{owner}/{repo}/pulls/{pull_number}/files`
pub(crate) fn files(state: &State, ask: &Ask, number: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let (_, pull) = find(repo, number)?;
    let listed = &pull.files[..pull.files.len().min(MOST_FILES)];
    let (api, web, sha) = (ask.base.as_str(), Places::new(state, ask).repo_web(repo), &pull.head_sha);
    let show = |file: &ChangedFile| {
        let mut entry = json!({
            "sha": sha,
            "filename": file.filename,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{web}/blob/{sha}/{}", file.filename),
            "raw_url": format!("{web}/raw/{sha}/{}", file.filename),
            "contents_url": format!("{api}/repos/{}/contents/{}?ref={sha}", repo.full_name(), file.filename),
        });
        // A large or binary file has no patch, not an empty one.
        if let Some(patch) = &file.patch {
            entry["patch"] = json!(patch);
        }
        if let Some(before) = &file.previous_filename {
            entry["previous_filename"] = json!(before);
        }
        entry
    };
    Ok(ask.page(repo.id, listed, show, Value::Array))
}

fn all(repo: &Repo) -> impl Iterator<Item = (&Issue, &Pull)> {
    repo.issues.values().filter_map(|issue| Some((issue, issue.pull.as_ref()?)))
}

fn find<'a>(repo: &'a Repo, number: &str) -> Result<(&'a Issue, &'a Pull), Answer> {
    let issue = number.parse().ok().and_then(|number| repo.issues.get(&number));
    let found = issue.and_then(|issue| Some((issue, issue.pull.as_ref()?)));
    found.ok_or_else(Answer::not_found)
}

/// `OWNER:BRANCH` of the head.
fn label_of(repo: &Repo, pull: &Pull) -> String {
    let owner = pull.head_repo.as_ref().and_then(|name| name.split('/').next());
    format!("{}:{}", owner.unwrap_or(&repo.owner), pull.head_branch)
}

/// A pull request as in lists.
fn simple(places: Places, repo: &Repo, issue: &Issue, pull: &Pull) -> Value {
    let (api, web) = (places.repo_api(repo), places.repo_web(repo));
    let (number, url) = (issue.number, format!("{api}/pulls/{}", issue.number));
    let head_repo = pull.head_repo.as_ref().and_then(|name| places.state.repos.get(&name.to_lowercase()));
    let head_owner = head_repo.map_or(&issue.author, |head| &head.owner);
    json!({
        "url": url,
        "id": issue.id,
        "node_id": node_id("PR", issue.id),
        "html_url": format!("{web}/pull/{number}"),
        "diff_url": format!("{web}/pull/{number}.diff"),
        "patch_url": format!("{web}/pull/{number}.patch"),
        "issue_url": format!("{api}/issues/{number}"),
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{api}/issues/{number}/comments"),
        "statuses_url": format!("{api}/statuses/{}", pull.head_sha),
        "number": number,
        "state": if issue.open { "open" } else { "closed" },
        "locked": issue.locked,
        "title": issue.title,
        "user": places.user(&issue.author),
        "body": issue.body,
        "labels": issue.labels.iter().map(|name| comments::label(places, repo, name)).collect::<Vec<_>>(),
        "milestone": null,
        "active_lock_reason": null,
        "created_at": clock::text(issue.created_at),
        "updated_at": clock::text(issue.updated_at),
        "closed_at": issue.closed_at.map(clock::text),
        "merged_at": pull.merged_at.map(clock::text),
        "merge_commit_sha": pull.merge_commit_sha,
        "assignee": null,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": {
            "label": label_of(repo, pull),
            "ref": pull.head_branch,
            "sha": pull.head_sha,
            "user": places.user(head_owner),
            "repo": head_repo.map(|head| repos::whole(places, head)),
        },
        "base": {
            "label": format!("{}:{}", repo.owner, pull.base_branch),
            "ref": pull.base_branch,
            "sha": pull.base_sha,
            "user": places.user(&repo.owner),
            "repo": repos::whole(places, repo),
        },
        "_links": links(&api, &web, number, &pull.head_sha),
        "author_association": repo.association(&issue.author),
        "auto_merge": null,
        "draft": pull.draft,
    })
}

fn links(api: &str, web: &str, number: u64, sha: &str) -> Value {
    let link = |href: String| json!({ "href": href });
    json!({
        "self": link(format!("{api}/pulls/{number}")),
        "html": link(format!("{web}/pull/{number}")),
        "issue": link(format!("{api}/issues/{number}")),
        "comments": link(format!("{api}/issues/{number}/comments")),
        "review_comments": link(format!("{api}/pulls/{number}/comments")),
        "review_comment": link(format!("{api}/pulls/comments{{/number}}")),
        "commits": link(format!("{api}/pulls/{number}/commits")),
        "statuses": link(format!("{api}/statuses/{sha}")),
    })
}

/// A pull request as inside check runs and workflow runs.
pub(crate) fn minimal(places: Places, repo: &Repo, issue: &Issue, pull: &Pull) -> Value {
    let short = |it: &Repo| json!({ "id": it.id, "url": places.repo_api(it), "name": it.name });
    let head = pull.head_repo.as_ref().and_then(|name| places.state.repos.get(&name.to_lowercase()));
    json!({
        "id": issue.id,
        "number": issue.number,
        "url": format!("{}/pulls/{}", places.repo_api(repo), issue.number),
        "head": { "ref": pull.head_branch, "sha": pull.head_sha, "repo": short(head.unwrap_or(repo)) },
        "base": { "ref": pull.base_branch, "sha": pull.base_sha, "repo": short(repo) },
    })
}

/// The open pull requests of this repository's own branches that have a commit as their head. A fork's are not among
/// them, as on GitHub.
pub(crate) fn with_head(places: Places, repo: &Repo, sha: &str) -> Vec<Value> {
    let own = |pull: &Pull| pull.head_repo.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&repo.full_name()));
    let fits = |(issue, pull): &(&Issue, &Pull)| issue.open && pull.head_sha == sha && own(pull);
    all(repo).filter(fits).map(|(issue, pull)| minimal(places, repo, issue, pull)).collect()
}
