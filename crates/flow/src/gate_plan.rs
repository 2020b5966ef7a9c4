//! `gate-plan`: the gate for scripts. One plan, what the command line allows, and the receipts in the folder.

mod plan_file;
mod receipts;

use crate::outcome::why;
use crate::{Exit, Invocation, Outcome};
use csis_engine::Redactor;
use csis_engine::plan::Reading;
use csis_gate::{Filed, Moment, Question, Settings};
use csis_values::Diagnostic;
use csis_values::diagnostic::Severity;
use csis_values::plan::{Document, Plan};
use csis_values::sanction::{Allowed, Because, Obligation, Sanction};
use csis_values::verdict::{Finding, Verdict, Weight};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What `gate-plan` is given. Relative paths are below `directory`, where the receipts lie too.
#[derive(Clone, Debug, Default)]
pub struct GatePlanArgs {
    /// The folder the command runs in; empty for the present one.
    pub directory: PathBuf,
    pub plan_json: Option<PathBuf>,
    pub planfile: Option<PathBuf>,
    /// The engine that reads the plan file.
    pub tofu: String,
    pub allow_destroy: Vec<String>,
    pub allow_destroy_from: Vec<PathBuf>,
    pub allow_replace: Vec<String>,
    pub allow_forget: Vec<String>,
    /// `INSTANCE:STORAGE`.
    pub require_unmounted: Vec<String>,
    pub run: Option<String>,
    pub strict: bool,
    /// ISO date-time in UTC; the time the process began when absent.
    pub now: Option<String>,
}

/// Judges one plan. Exit: done, usage, or refused by the gate.
pub fn run(invocation: &Invocation, args: &GatePlanArgs) -> Outcome {
    match judge(invocation, args) {
        Ok(outcome) => outcome,
        Err(finding) => Outcome::usage(*finding),
    }
}

fn judge(invocation: &Invocation, args: &GatePlanArgs) -> Result<Outcome, Box<Diagnostic>> {
    let redactor = Redactor::new([]);
    asked_properly(args)?;
    let required = args.require_unmounted.iter().map(|pair| receipts::pair(pair)).collect::<Result<Vec<_>, _>>()?;
    let filed: Vec<Filed> = required
        .iter()
        .filter_map(|(instance, storage)| receipts::read(&args.directory, instance, storage, &redactor))
        .collect();
    let obligations: Vec<Obligation> = required
        .into_iter()
        .map(|(instance, storage)| Obligation::Unmounted { instance, storage, mount_point: String::new() })
        .collect();
    let mut told = Vec::new();
    if let (Some(_), Some(json)) = (&args.planfile, &args.plan_json) {
        let json = plain(&json.to_string_lossy());
        told.push(Diagnostic::note("usage", format!("the plan file is judged; {json} is left alone")));
    }
    let exact = from_files(args, &mut told);
    let plan = plan(args, &invocation.environment, &redactor)?;
    let settings = Settings {
        confirm_data_loss: false,
        strict: args.strict,
        made_types: csis_kinds::registry::resource_types().into_iter().map(str::to_owned).collect(),
        ..Settings::default()
    };
    let now = match &args.now {
        Some(now) => now.clone(),
        None => invocation.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let written = plan_file::inputs_written(&folder_of_inputs(args), args.planfile.is_some());
    let sanctions = from_arguments(args);
    let question = Question {
        moment: Moment::Script,
        sanctions: &sanctions,
        exact: &exact,
        obligations: &obligations,
        receipts: &filed,
        run: args.run.as_deref(),
        now: Some(&now),
        inputs_written: written.as_deref(),
        ..Question::new(&plan, &settings)
    };
    let verdict = csis_gate::judge(&question);
    Ok(said(&plan, &verdict, &exact, told))
}

/// What can only be a slip of whoever calls: nothing may be judged as if it had been meant.
fn asked_properly(args: &GatePlanArgs) -> Result<(), Box<Diagnostic>> {
    let usage = |message: String, help: &str| Err(Box::new(Diagnostic::error("usage", message).help(help)));
    for (option, texts) in [
        ("--allow-destroy", &args.allow_destroy),
        ("--allow-replace", &args.allow_replace),
        ("--allow-forget", &args.allow_forget),
    ] {
        // An empty address would lie above every other.
        if texts.iter().any(|text| text.trim().is_empty()) {
            return usage(format!("{option} was given no address"), "name an address, or leave the option out");
        }
    }
    // An unset variable of a script: it would make any receipt one of this run.
    if args.run.as_ref().is_some_and(|run| run.trim().is_empty()) {
        return usage("--run was given no run id".into(), "name the run, or leave the option out");
    }
    Ok(())
}

fn plan(
    args: &GatePlanArgs,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<Plan, Box<Diagnostic>> {
    if let Some(path) = &args.planfile {
        return plan_file::read(&args.directory, path, &args.tofu, environment, redactor);
    }
    let Some(path) = &args.plan_json else {
        return Err(Box::new(
            Diagnostic::error("usage", "gate-plan was given no plan")
                .help("name a plan file (`--planfile tfplan`), or what `show -json` printed for one"),
        ));
    };
    let source = plain(&path.to_string_lossy());
    let file = std::fs::File::open(args.directory.join(path))
        .and_then(|file| if file.metadata()?.is_dir() { Err(io::Error::other("it is a folder")) } else { Ok(file) });
    let file = file.map_err(|error| {
        Box::new(
            Diagnostic::error("plan-unreadable", format!("the plan {source} cannot be opened: {}", why(&error)))
                .help("name the file that holds what `show -json` printed"),
        )
    })?;
    let reading = Reading { source: &source, redactor, tokens: None, ours: false };
    Ok(csis_engine::plan::read(file, reading).0)
}

fn folder_of_inputs(args: &GatePlanArgs) -> PathBuf {
    let below = args.planfile.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    args.directory.join(below)
}

fn allowance(text: &str, action: Allowed, option: &str) -> Sanction {
    let (address, deposed) = csis_gate::parse_address(text);
    let because = Because { operation: option.to_owned(), kind: String::new(), name: String::new(), at: None };
    Sanction { root: String::new(), address, deposed, action, because }
}

fn from_arguments(args: &GatePlanArgs) -> Vec<Sanction> {
    let lists = [
        (&args.allow_destroy, Allowed::DestroyOrReplace, "--allow-destroy"),
        (&args.allow_replace, Allowed::Replace, "--allow-replace"),
        (&args.allow_forget, Allowed::Forget, "--allow-forget"),
    ];
    let each = lists.into_iter().flat_map(|(list, action, option)| list.iter().map(move |text| (text, action, option)));
    each.map(|(text, action, option)| allowance(text, action, option)).collect()
}

/// The lines of the sanction files. A file that is not there allows nothing, and neither does one that cannot be read.
fn from_files(args: &GatePlanArgs, told: &mut Vec<Diagnostic>) -> Vec<Sanction> {
    let mut sanctions = Vec::new();
    for path in &args.allow_destroy_from {
        match std::fs::read_to_string(args.directory.join(path)) {
            Ok(text) => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                sanctions.extend(lines.map(|line| allowance(line, Allowed::DestroyOrReplace, "--allow-destroy-from")));
            }
            // Scripts name the file whether or not there was anything to sanction.
            Err(error) if error.kind() == io::ErrorKind::NotFound => told.push(Diagnostic::note(
                "sanctions-missing",
                format!("{} allows nothing: it does not exist", plain(&path.to_string_lossy())),
            )),
            Err(error) => told.push(
                Diagnostic::warning(
                    "sanctions-unreadable",
                    format!("{} allows nothing: it cannot be read ({})", plain(&path.to_string_lossy()), why(&error)),
                )
                .help("make it a readable text file with one address a line"),
            ),
        }
    }
    sanctions
}

/// The verdict in the words of a script's log: lines with fixed beginnings, then each finding with its remedy.
fn said(plan: &Plan, verdict: &Verdict, exact: &[Sanction], told: Vec<Diagnostic>) -> Outcome {
    let refused = verdict.is_refused();
    let mut stderr = String::new();
    for finding in verdict.findings.iter().filter(|finding| finding.weight == Weight::Refuse) {
        if let Some(line) = fixed_line(plan, finding) {
            stderr.push_str(&plain(&line));
            stderr.push('\n');
        }
    }
    let mut stdout = String::new();
    if !refused {
        for change in &plan.changes {
            let destroys = change.mode != "data"
                && (change.action == csis_values::plan::Action::Delete || change.action.is_replace());
            if destroys && exact.iter().any(|s| s.address == change.address && s.deposed == change.deposed) {
                stdout.push_str(&plain(&format!("Destroy sanctioned by the declaration: {}", change.address)));
                stdout.push('\n');
            }
        }
        stdout.push_str("Plan passes the apply gate.\n");
    }
    let findings = told.into_iter().chain(verdict.findings.iter().map(diagnostic)).collect();
    Outcome::new(if refused { Exit::Gate } else { Exit::Done }).stdout(stdout).stderr(stderr).findings(findings)
}

fn fixed_line(plan: &Plan, finding: &Finding) -> Option<String> {
    let address = finding.address.as_deref().unwrap_or_default();
    match finding.rule.as_str() {
        "unmounted" => Some(format!("DETACH NOT UNMOUNTED: {}", finding.message)),
        "stale" => Some(format!("STALE PLANFILE: {}", finding.message)),
        "not-a-plan" if plan.document == Document::Missing => Some(format!("STALE PLANFILE: {}", finding.message)),
        "destroy" | "replace" | "tainted" | "deposed" => Some(format!("DESTROY NOT WHITELISTED: {address}")),
        _ => None,
    }
}

fn diagnostic(finding: &Finding) -> Diagnostic {
    let severity = match finding.weight {
        Weight::Refuse => Severity::Error,
        Weight::Confirm | Weight::Warn => Severity::Warning,
        Weight::Note => Severity::Note,
    };
    let message = match &finding.address {
        Some(address) => format!("{address}: {}", finding.message),
        None => finding.message.clone(),
    };
    let mut diagnostic = Diagnostic::new(severity, "gate", plain(&message)).help(plain(&finding.remedy));
    diagnostic.code = finding.rule.clone().into();
    diagnostic.at.clone_from(&finding.at);
    diagnostic
}

/// Text of a plan in one line of a terminal: nothing in it moves the cursor or turns the writing round.
fn plain(text: &str) -> String {
    let odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if odd(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests;
