//! Which operation a request is.

use crate::checks;
use crate::comments;
use crate::http::{Answer, Ask, Reply};
use crate::issues;
use crate::pulls;
use crate::repos;
use crate::runs;
use crate::state::State;

/// Serves a REST call. What GitHub has and the bench has not answers 418: no test takes
/// that for GitHub's 404, no client tries it again, and no proxy makes an answer up, as the referee does at a 501.
pub(crate) fn serve(state: &mut State, ask: &Ask) -> Reply {
    let all: Vec<&str> = ask.segments.iter().map(String::as_str).collect();
    match (ask.method.as_str(), all.as_slice()) {
        ("GET", ["user"]) => repos::user(state, ask),
        ("GET", ["rate_limit"]) => Ok(repos::rate_limit(state)),
        (_, ["repos", _, _, ..] | ["repositories", _, ..]) => in_repo(state, ask),
        _ => Err(unserved(ask)),
    }
}

fn in_repo(state: &mut State, ask: &Ask) -> Reply {
    match (ask.method.as_str(), ask.rest().as_slice()) {
        ("GET", []) => repos::get(state, ask),
        ("GET", ["collaborators", login, "permission"]) => repos::permission(state, ask, login),

        ("GET", ["pulls"]) => pulls::list(state, ask),
        ("GET", ["pulls", number]) => pulls::get(state, ask, number),
        ("GET", ["pulls", number, "files"]) => pulls::files(state, ask, number),
        ("GET", ["commits", sha, "pulls"]) => pulls::of_commit(state, ask, sha),

        ("GET", ["issues", "comments", id]) => comments::get(state, ask, id),
        ("PATCH", ["issues", "comments", id]) => comments::update(state, ask, id),
        ("DELETE", ["issues", "comments", id]) => comments::delete(state, ask, id),
        // Some clients update a comment by POST; GitHub has no such operation.
        ("POST" | "PUT", ["issues", "comments", _]) => Err(Answer::not_found()),
        ("GET", ["issues", number, "comments"]) => comments::list(state, ask, number),
        ("POST", ["issues", number, "comments"]) => comments::create(state, ask, number),

        ("GET", ["issues"]) => issues::list(state, ask),
        ("POST", ["issues"]) => issues::create(state, ask),
        ("GET", ["issues", number]) => issues::get(state, ask, number),
        ("PATCH", ["issues", number]) => issues::update(state, ask, number),
        (_, ["issues", number, "labels"]) => issues::labels(state, ask, number, None),
        ("DELETE", ["issues", number, "labels", name]) => issues::labels(state, ask, number, Some(name)),
        ("PUT" | "DELETE", ["issues", number, "lock"]) => issues::lock(state, ask, number),

        ("POST", ["check-runs"]) => checks::create(state, ask),
        ("GET", ["check-runs", id]) => checks::get(state, ask, id),
        ("PATCH", ["check-runs", id]) => checks::update(state, ask, id),
        ("GET", ["check-runs", id, "annotations"]) => checks::annotations(state, ask, id),
        // A branch's name may have slashes.
        ("GET", ["commits", reference @ .., "check-runs"]) => checks::of_commit(state, ask, &reference.join("/")),

        ("GET", ["actions", "runs", id]) => runs::get(state, ask, id),
        ("GET", ["actions", "oidc", "customization", "sub"]) => runs::oidc_subject(state, ask),
        _ => Err(unserved(ask)),
    }
}

fn unserved(ask: &Ask) -> Answer {
    Answer::error(418, &format!("the bench does not serve {} {}", ask.method, ask.path))
}
