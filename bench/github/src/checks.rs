//! Check runs: only the app that made one may change it.

use crate::access::{self, App, Caller, Level, Need};
use crate::clock;
use crate::http::{self, Answer, Ask, Reply, flaw};
use crate::json::{Places, node_id};
use crate::model::{Annotation, CheckRun, Repo};
use crate::pulls;
use crate::state::State;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const READ: Need = Need::read(&[("checks", Level::Read)]);
const WRITE: Need = Need::write(&[("checks", Level::Write)]);
const MOST_ANNOTATIONS: usize = 50;
/// Of `summary` and `text`: so many characters, and then so many bytes.
const LONGEST: usize = 65_535;
const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "waiting", "requested", "pending"];
const CONCLUSIONS: [&str; 7] =
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"];

/// `POST /repos/{owner}/{repo}/check-runs`
pub(crate) fn create(state: &mut State, ask: &Ask) -> Reply {
    let name = access::enter(state, ask, WRITE)?;
    let app = the_app(&ask.caller)?.clone();
    let body = ask.json()?;
    let title = http::required(&body, "name")?;
    let sha = http::required(&body, "head_sha")?;
    if !state.repos[&name].commits.contains(sha) {
        return Err(Answer::error(422, &format!("No commit found for SHA: {sha}")));
    }
    let now = state.clock.now();
    let mut run = CheckRun::queued(state.next_id(), title, sha, app, now);
    fill(&mut run, &body, now, true)?;
    let id = run.id;
    state.repo(&name).check_runs.insert(id, run);
    let repo = &state.repos[&name];
    Ok(Answer::created(show(Places::new(state, ask), repo, &repo.check_runs[&id])))
}

/// `PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}`
pub(crate) fn update(state: &mut State, ask: &Ask, id: &str) -> Reply {
    let name = access::enter(state, ask, WRITE)?;
    let app = the_app(&ask.caller)?;
    let mut run = find(&state.repos[&name], id)?.clone();
    if run.app.id != app.id {
        let message = format!(
            "Invalid app_id `{}` - check run can only be modified by the GitHub App that created it.",
            run.app.id
        );
        return Err(Answer::error(403, &message));
    }
    let body = ask.json()?;
    if let Some(title) = http::text(&body, "name")? {
        run.name = title.into();
    }
    fill(&mut run, &body, state.clock.now(), false)?;
    let id = run.id;
    state.repo(&name).check_runs.insert(id, run);
    let repo = &state.repos[&name];
    Ok(Answer::ok(show(Places::new(state, ask), repo, &repo.check_runs[&id])))
}

/// `GET /repos/{owner}/{repo}/check-runs/{check_run_id}`
pub(crate) fn get(state: &State, ask: &Ask, id: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    Ok(Answer::ok(show(Places::new(state, ask), repo, find(repo, id)?)))
}

/// `GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations`
pub(crate) fn annotations(state: &State, ask: &Ask, id: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let run = find(repo, id)?;
    let web = Places::new(state, ask).repo_web(repo);
    let show = |annotation: &Annotation| {
        let mut entry = json!(annotation);
        entry["blob_href"] = json!(format!("{web}/blob/{}/{}", run.head_sha, annotation.path));
        entry
    };
    Ok(ask.page(repo.id, &run.annotations, show, Value::Array))
}

/// `GET /repos/{owner}/{repo}/commits/{ref}/check-runs`
pub(crate) fn of_commit(state: &State, ask: &Ask, reference: &str) -> Reply {
    let repo = &state.repos[&access::enter(state, ask, READ)?];
    let Some(sha) = repo.resolve(reference) else {
        return Err(Answer::error(422, &format!("No commit found for SHA: {reference}")));
    };
    let (title, app, status) = (ask.param("check_name"), ask.param("app_id"), ask.param("status"));
    let fits = |run: &&&CheckRun| {
        title.is_none_or(|title| run.name == title)
            && app.is_none_or(|app| run.app.id.to_string() == app)
            && status.is_none_or(|status| run.status == status)
    };
    let mut found: Vec<&CheckRun> = repo.check_runs_on(&sha).iter().filter(fits).copied().collect();
    // Of several runs with one name by one app, `latest` (the default) shows the last one only.
    if ask.param("filter") != Some("all") {
        let latest: BTreeMap<(u64, &str), u64> =
            found.iter().map(|run| ((run.app.id, run.name.as_str()), run.id)).collect();
        found.retain(|run| latest.values().any(|id| *id == run.id));
    }
    found.reverse();
    let total = found.len();
    let wrap = |runs| json!({ "total_count": total, "check_runs": runs });
    Ok(ask.page(repo.id, &found, |run| show(Places::new(state, ask), repo, run), wrap))
}

fn the_app(caller: &Caller) -> Result<&App, Answer> {
    caller.app().ok_or_else(|| Answer::error(403, "You must authenticate via a GitHub App."))
}

fn find<'a>(repo: &'a Repo, id: &str) -> Result<&'a CheckRun, Answer> {
    id.parse().ok().and_then(|id| repo.check_runs.get(&id)).ok_or_else(Answer::not_found)
}

fn fill(run: &mut CheckRun, body: &Map<String, Value>, now: Timestamp, new: bool) -> Result<(), Answer> {
    if let Some(id) = http::text(body, "external_id")? {
        run.external_id = Some(id.into());
    }
    if let Some(url) = http::text(body, "details_url")? {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let message = "details_url must use http or https scheme";
            return Err(Answer::validation(&[flaw("CheckRun", "details_url", "custom", message)]));
        }
        run.details_url = Some(url.into());
    }
    if let Some(status) = http::text(body, "status")? {
        one_of("status", status, &STATUSES)?;
        run.status = status.into();
    }
    if let Some(at) = moment(body, "started_at")? {
        run.started_at = Some(at);
    }
    let completed_at = moment(body, "completed_at")?;
    match http::text(body, "conclusion")? {
        // A conclusion completes the run, whatever `status` says.
        Some(conclusion) => {
            one_of("conclusion", conclusion, &CONCLUSIONS)?;
            (run.conclusion, run.status) = (Some(conclusion.into()), "completed".into());
            run.completed_at = Some(completed_at.unwrap_or(now));
        }
        None if run.status == "completed" && run.conclusion.is_none() => {
            return Err(Answer::invalid("\"conclusion\" wasn't supplied."));
        }
        // Opened again.
        None if run.status != "completed" => (run.conclusion, run.completed_at) = (None, None),
        None => {}
    }
    if let Some(actions) = body.get("actions").and_then(Value::as_array) {
        at_most(actions.len(), 3)?;
        run.actions.clone_from(actions);
    }
    match body.get("output") {
        Some(Value::Object(output)) => fill_output(run, output, new),
        None | Some(Value::Null) => Ok(()),
        Some(other) => Err(Answer::invalid(&format!("For 'properties/output', {other} is not an object."))),
    }
}

fn fill_output(run: &mut CheckRun, output: &Map<String, Value>, new: bool) -> Result<(), Answer> {
    let title = if new { Some(http::required(output, "title")?) } else { http::text(output, "title")? };
    let summary = http::required(output, "summary")?;
    let text = http::text(output, "text")?;
    for (field, value) in [("summary", Some(summary)), ("text", text)] {
        let value = value.unwrap_or_default();
        let characters = value.chars().count();
        if characters > LONGEST {
            let what = format!("Only {LONGEST} characters are allowed; {characters} were supplied.");
            return Err(Answer::invalid(&what));
        }
        if value.len() > LONGEST {
            let message = format!("{field} exceeds a maximum bytesize of {LONGEST}");
            return Err(Answer::validation(&[flaw("CheckRun", field, "custom", &message)]));
        }
    }
    let empty = Vec::new();
    let annotations = output.get("annotations").and_then(Value::as_array).unwrap_or(&empty);
    at_most(annotations.len(), MOST_ANNOTATIONS)?;
    let annotations = annotations.iter().map(annotation).collect::<Result<Vec<_>, _>>()?;
    if let Some(title) = title {
        run.title = Some(title.into());
    }
    run.summary = Some(summary.into());
    run.text = text.map(Into::into);
    // They add up over the requests; nothing takes one away.
    run.annotations.extend(annotations);
    Ok(())
}

fn annotation(value: &Value) -> Result<Annotation, Answer> {
    let Value::Object(fields) = value else {
        return Err(Answer::invalid(&format!("For 'links/4/schema', {value} is not an object.")));
    };
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let line = |name: &str| number(name).ok_or_else(|| Answer::invalid(&format!("\"{name}\" wasn't supplied.")));
    let owned = |name: &str| http::text(fields, name).map(|text| text.map(str::to_owned));
    let level = http::required(fields, "annotation_level")?;
    one_of("annotation_level", level, &["notice", "warning", "failure"])?;
    let found = Annotation {
        path: http::required(fields, "path")?.into(),
        start_line: line("start_line")?,
        end_line: line("end_line")?,
        start_column: number("start_column"),
        end_column: number("end_column"),
        annotation_level: level.into(),
        message: http::required(fields, "message")?.into(),
        title: owned("title")?,
        raw_details: owned("raw_details")?,
    };
    if found.message.len() > 64 * 1024 {
        let message = "message exceeds a maximum bytesize of 65536";
        return Err(Answer::validation(&[flaw("CheckAnnotation", "message", "custom", message)]));
    }
    if found.start_line != found.end_line && (found.start_column.is_some() || found.end_column.is_some()) {
        let message = "columns cannot be given for an annotation of several lines";
        return Err(Answer::validation(&[flaw("CheckAnnotation", "start_column", "custom", message)]));
    }
    Ok(found)
}

fn at_most(given: usize, most: usize) -> Result<(), Answer> {
    if given <= most {
        return Ok(());
    }
    Err(Answer::invalid(&format!("No more than {most} items are allowed; {given} were supplied.")))
}

fn one_of(field: &str, value: &str, allowed: &[&str]) -> Result<(), Answer> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(Answer::invalid(&format!("For 'properties/{field}', \"{value}\" is not a member of {allowed:?}.")))
}

fn moment(body: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, Answer> {
    let Some(text) = http::text(body, name)? else { return Ok(None) };
    let flawed = |_| Answer::invalid(&format!("For 'properties/{name}', \"{text}\" is not a valid date-time."));
    text.parse().map(Some).map_err(flawed)
}

fn show(places: Places, repo: &Repo, run: &CheckRun) -> Value {
    let (api, web) = (places.repo_api(repo), places.repo_web(repo));
    let url = format!("{api}/check-runs/{}", run.id);
    // A suite is what one app has on one commit; its id follows from its first run's.
    let of_suite = |other: &&CheckRun| other.head_sha == run.head_sha && other.app.id == run.app.id;
    let suite = repo.check_runs.values().find(of_suite).map_or(run.id, |first| first.id) + 500_000;
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": node_id("CR", run.id),
        "head_sha": run.head_sha,
        "external_id": run.external_id.as_deref().unwrap_or_default(),
        "url": url,
        "html_url": format!("{web}/runs/{}", run.id),
        "details_url": run.details_url.clone().unwrap_or_else(|| format!("https://apps.example/{}", run.app.slug)),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at.map(clock::text),
        "completed_at": run.completed_at.map(clock::text),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{url}/annotations"),
        },
        "check_suite": { "id": suite },
        "app": places.app(&run.app),
        "pull_requests": pulls::with_head(places, repo, &run.head_sha),
    })
}
