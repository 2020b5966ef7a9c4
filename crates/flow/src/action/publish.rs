//! What a run leaves behind: the comment, the check run with its record, the summary, the outputs. What the token may not do is told, and the rest is done.

use crate::action::Begun;
use crate::action::board::{Commenting, Last};
use crate::action::inputs::Inputs;
use crate::action::{record, review};
use crate::git::Repository;
use crate::outcome::{Exit, Outcome};
use csis_engine::Owner;
use csis_github::checks::{self, Annotation, Check, Conclusion, Level};
use csis_github::comments::Conversation;
use csis_github::marker::{Marker, State};
use csis_github::sticky::{Mode, Sticky, Written};
use csis_github::{ApiError, Client, outputs};
use csis_report::MarkdownOptions;
use csis_report::inert::one_line;
use csis_report::markdown::Links;
use csis_report::review::{Mark, RunFacts};
use csis_values::report::{Outcome as Verdict, Report};
use csis_values::verdict::Weight;
use csis_values::{Diagnostic, Severity};
use serde_json::{Value, json};
use std::path::Path;

/// Room below GitHub's limit of a summary for what is around the report.
const SUMMARY: usize = outputs::SUMMARY - 4096;
/// Where the report as data is put, in the workspace: a later step takes it from there.
const REPORT: &str = "csis-report/plan.json";
/// The report as it is handed to a companion run; beside the other, so that one folder is the artifact.
pub const HANDED: &str = "csis-report/report.json";
/// The longest title of a check run that is shown whole, in characters.
const TITLE: usize = 250;
/// Annotations in a log beyond these are dropped by the runner.
const LOGGED: usize = 10;

/// What could not be told, and why.
#[derive(Default)]
pub struct Told {
    pub findings: Vec<Diagnostic>,
}

impl Told {
    /// A write that GitHub did not take: by name what is missing, and the line that grants it.
    pub fn refused(&mut self, what: &str, error: &ApiError) {
        let right = if what == "comment" { "pull-requests: write" } else { "checks: write" };
        let finding = match error {
            ApiError::Forbidden { accepted, .. } => {
                let also = accepted.as_ref().map(|a| format!(" (GitHub asks for {a})")).unwrap_or_default();
                Diagnostic::warning("permission", format!("the {what} is not written: the token lacks `{right}`{also}"))
                    .help(format!("add `{right}` under `permissions:` of the job"))
            }
            ApiError::Locked => {
                Diagnostic::warning("locked", format!("the {what} is not written: the conversation is locked"))
                    .help("unlock the conversation, or read the job's summary")
            }
            ApiError::NotFound => Diagnostic::warning(
                "permission",
                format!("the {what} is not written: GitHub shows this token no such pull request or commit"),
            )
            .help(format!("add `{right}` and `contents: read` under `permissions:` of the job")),
            other => Diagnostic::warning("github", format!("the {what} is not written: {other}"))
                .help("run the job again; the job's summary has the report"),
        };
        self.findings.push(finding);
    }
}

/// The name of the check run, one for each tree of a repository and job of a matrix. A run by hand compares with nothing: what it finds must not stand for the
/// review of a pull request of the same commit.
fn check_name(begun: &Begun<'_>, subject: &review::Subject, prefix: &str) -> String {
    let Inputs { only_runtime, apply_runtime, .. } = begun.inputs;
    let by_hand = subject.base.is_none().then_some("by hand");
    let parts = [Some(prefix).filter(|prefix| !prefix.is_empty()), only_runtime.as_deref(), apply_runtime.as_deref()];
    let parts: Vec<&str> = parts.into_iter().chain([by_hand]).flatten().collect();
    if parts.is_empty() { "csis plan".into() } else { format!("csis plan ({})", parts.join(", ")) }
}

#[expect(clippy::too_many_arguments, reason = "the last step of a review holds all that the steps before it made")]
pub async fn report(
    begun: &Begun<'_>,
    subject: &review::Subject,
    repository: &Repository,
    mut judged: review::Judged,
    exit: Exit,
    commenting: Option<Commenting>,
    facts: &RunFacts,
    mut told: Told,
) -> Outcome {
    let salt = record::salt();
    if let Some(salt) = &salt {
        // A digest that is bound to a value nobody can guess cannot be searched for short values.
        csis_report::digest::stamp(&mut judged.report, salt);
    }
    let report = &judged.report;
    let detail = review::detail(begun.inputs, subject.private);
    let above = subject.stranger.map(csis_report::review::without_credentials).unwrap_or_default();
    let foot = facts.foot();
    let options =
        |limit: usize| MarkdownOptions { limit: limit - above.len() - foot.len(), detail, links: links(begun) };
    let comment = format!("{above}{}{foot}", csis_report::markdown(report, &options(MarkdownOptions::default().limit)));
    let summary = format!("{above}{}{foot}", csis_report::markdown(report, &options(SUMMARY)));

    let mut comment_url = None;
    let mut gave_way = false;
    if let Some(commenting) = commenting {
        match commenting.end(Last { state: State::Result, text: comment }).await {
            Ok(Written::Done { url }) => comment_url = Some(url),
            Ok(Written::GaveWay) => gave_way = true,
            Err(error) => told.refused("comment", &error),
        }
    }
    if gave_way {
        told.findings.push(
            Diagnostic::note("newer-run", "a newer run has the comment; this one leaves it as it is")
                .help("read the newer run"),
        );
    }
    let marks = csis_report::review::marks(report);
    let mut checked = false;
    if let (None, Some(client)) = (subject.stranger, &begun.client) {
        // Of a tree that is compared with nothing there is no change to land.
        let kept =
            salt.filter(|_| subject.base.is_some()).map(|salt| record::of(begun, subject, repository, &judged, &salt));
        let check = check(begun, subject, repository, report, exit, &marks);
        match send(client, begun, check, kept.as_ref()).await {
            Ok(()) => checked = true,
            Err(error) => told.refused("check run", &error),
        }
    }
    let mut stdout = String::new();
    if !checked {
        let log = marks.iter().take(LOGGED).map(|mark| {
            let level = if mark.severity == Severity::Error { "error" } else { "warning" };
            let path = in_repository(repository, &mark.at.file);
            outputs::annotation(level, Some((&path, mark.at.line, mark.at.column)), &mark.title, &mark.message)
        });
        stdout.extend(log);
    }
    write_summary(begun, &summary, &mut told);
    let kept = keep(begun, REPORT, csis_report::json(report).as_bytes(), &mut told);
    if subject.stranger.is_some() {
        let handed = serde_json::to_vec(&json!({ "pull": subject.number, "report": report })).unwrap_or_default();
        keep(begun, HANDED, &handed, &mut told);
    }
    let reason = reason(report, exit);
    let counts = serde_json::to_string(&report.totals()).unwrap_or_default();
    set_outputs(
        begun,
        &[
            ("verdict", verdict(report.verdict)),
            ("digest", &report.digest),
            ("changes", &counts),
            ("report", kept.unwrap_or_default()),
            ("comment-url", comment_url.as_deref().unwrap_or_default()),
            ("drift", &json!({ "objects": report.drift.len() }).to_string()),
            ("failure-reason", &reason),
        ],
        &mut told,
    );
    let mut findings = told.findings;
    findings.extend(report.diagnostics.iter().filter(|d| d.severity != Severity::Note).cloned());
    let headline = csis_report::review::headline(report);
    Outcome { exit, stdout, stderr: format!("{headline}\n"), findings, report: None }
}

/// Nothing of the tree is in the change: green everywhere, and no comment where there was none.
pub async fn untouched(
    begun: &Begun<'_>,
    conversation: Option<(Conversation, Mode)>,
    mine: Marker,
    facts: &RunFacts,
    mut told: Told,
) -> Outcome {
    let text = csis_report::review::untouched(facts);
    if let Some((place, mode)) = conversation {
        let outcome = async {
            let (mut sticky, found) = Sticky::find(place, mine, mode).await?;
            if found.is_some() { sticky.write(State::Result, &text).await.map(Some) } else { Ok(None) }
        };
        if let Err(error) = outcome.await {
            told.refused("comment", &error);
        }
    }
    write_summary(begun, &text, &mut told);
    set_outputs(
        begun,
        &[("verdict", "pass"), ("changes", "{}"), ("drift", r#"{"objects":0}"#), ("failure-reason", "")],
        &mut told,
    );
    Outcome::new(Exit::Done).stderr("nothing of csis changed\n").findings(told.findings)
}

pub fn cancelled(begun: &Begun<'_>) {
    let mut told = Told::default();
    set_outputs(begun, &[("verdict", "failed"), ("failure-reason", "cancelled")], &mut told);
}

/// A run that could not do its work. An older run's green check on this commit does not speak for it.
pub async fn failed(
    begun: &Begun<'_>,
    subject: &review::Subject,
    repository: &Repository,
    outcome: &Outcome,
    facts: &RunFacts,
    mut told: Told,
) -> Vec<Diagnostic> {
    write_summary(begun, &csis_report::review::failed(facts, &outcome.findings), &mut told);
    if let (None, Some(client)) = (subject.stranger, &begun.client) {
        let first = outcome.findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        let check = Check {
            name: check_name(begun, subject, &repository.prefix),
            head: subject.head.clone(),
            external_id: format!("failed {}.{}", begun.context.run, begun.context.attempt),
            details_url: begun.context.run_url(),
            conclusion: Conclusion::Failure,
            title: one_line(&first, TITLE),
            summary: "The summary of the run says what to do.".into(),
            text: String::new(),
            annotations: Vec::new(),
        };
        if let Err(error) = send(client, begun, check, None).await {
            told.refused("check run", &error);
        }
    }
    let reason = outcome.findings.first().map(|f| f.code.to_string()).unwrap_or_default();
    set_outputs(begun, &[("verdict", "failed"), ("failure-reason", &reason)], &mut told);
    told.findings
}

fn check(
    begun: &Begun<'_>,
    subject: &review::Subject,
    repository: &Repository,
    report: &Report,
    exit: Exit,
    marks: &[Mark],
) -> Check {
    let conclusion = match (exit, report.verdict) {
        (Exit::Done, Verdict::Pass) => Conclusion::Success,
        (Exit::Done, _) => Conclusion::Neutral,
        _ => Conclusion::Failure,
    };
    Check {
        name: check_name(begun, subject, &repository.prefix),
        head: subject.head.clone(),
        external_id: report.digest.clone(),
        details_url: begun.context.run_url(),
        conclusion,
        title: one_line(&csis_report::review::headline(report), TITLE),
        summary: "The comment on the pull request and the summary of the run have the report.".into(),
        text: String::new(),
        annotations: marks.iter().map(|mark| annotation(repository, mark)).collect(),
    }
}

/// Makes the check run, and further ones of its name where the record is longer than one holds.
async fn send(client: &Client, begun: &Begun<'_>, mut check: Check, kept: Option<&Value>) -> Result<(), ApiError> {
    let mut parts = kept.map(csis_github::record::parts).unwrap_or_default().into_iter();
    check.text = parts.next().unwrap_or_default();
    checks::create(client, &begun.context.repo, &check).await?;
    check.annotations.clear();
    for part in parts {
        check.text = part;
        checks::create(client, &begun.context.repo, &check).await?;
    }
    Ok(())
}

fn annotation(repository: &Repository, mark: &Mark) -> Annotation {
    Annotation {
        path: in_repository(repository, &mark.at.file),
        start_line: mark.at.line.max(1),
        end_line: mark.at.line.max(1),
        annotation_level: match mark.severity {
            Severity::Error => Level::Failure,
            Severity::Warning => Level::Warning,
            Severity::Note => Level::Notice,
        },
        title: mark.title.clone(),
        message: mark.message.clone(),
    }
}

fn in_repository(repository: &Repository, file: &str) -> String {
    if repository.prefix.is_empty() { file.to_owned() } else { format!("{}/{file}", repository.prefix) }
}

fn links(begun: &Begun<'_>) -> Links {
    let context = begun.context;
    let root = begun.inputs.root.trim_start_matches("./").trim_end_matches('/');
    let below = if matches!(root, "" | ".") { String::new() } else { format!("/{root}") };
    Links { docs: None, source: Some(format!("{}/{}/blob/{}{below}", context.server, context.repo, context.sha)) }
}

pub fn write_summary(begun: &Begun<'_>, text: &str, told: &mut Told) {
    let Some(file) = &begun.context.summary else { return };
    if let Err(error) = outputs::summary(file, text) {
        told.findings.push(Diagnostic::warning("summary", format!("the job's summary cannot be written: {error}")));
    }
}

pub fn set_outputs(begun: &Begun<'_>, all: &[(&str, &str)], told: &mut Told) {
    let Some(file) = &begun.context.output else { return };
    for (name, value) in all {
        if let Err(error) = outputs::set(file, name, value) {
            told.findings.push(Diagnostic::warning("outputs", format!("the outputs cannot be written: {error}")));
            return;
        }
    }
}

/// Puts the report as data into the workspace, in the hands of whom the workspace belongs to.
fn keep(begun: &Begun<'_>, path: &'static str, bytes: &[u8], told: &mut Told) -> Option<&'static str> {
    let place = begun.context.workspace.join(path);
    let written = (|| {
        let folder = place.parent().unwrap_or(Path::new("."));
        // A checkout that brings a link of this name would have csis write where it leads.
        if let Ok(found) = std::fs::symlink_metadata(folder)
            && !found.is_dir()
        {
            return Err(std::io::Error::other("something that is no folder has its place"));
        }
        fs_err::create_dir_all(folder)?;
        if std::fs::symlink_metadata(&place).is_ok() {
            fs_err::remove_file(&place)?;
        }
        fs_err::write(&place, bytes)?;
        if begun.invocation.children.user.is_some() {
            let owner = Owner::of(&begun.context.workspace)?;
            owner.take(folder)?;
            owner.take(&place)?;
        }
        Ok(())
    })();
    match written {
        Ok(()) => Some(path),
        Err(error) => {
            told.findings.push(Diagnostic::warning("report", format!("the report as data is not kept: {error}")));
            None
        }
    }
}

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::NotJudged => "not-judged",
        Verdict::Failed => "failed",
        Verdict::Refused => "refused",
    }
}

/// One word for a script: the rule that refused, else what failed.
fn reason(report: &Report, exit: Exit) -> String {
    if exit == Exit::Done {
        return String::new();
    }
    let refusing = report.roots.iter().flat_map(|root| &root.findings).find(|f| f.weight == Weight::Refuse);
    let error = || report.diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.code.to_string());
    refusing.map(|f| f.rule.clone()).or_else(error).unwrap_or_else(|| verdict(report.verdict).to_owned())
}
