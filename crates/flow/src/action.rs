//! `csis action`: the container's entry. Decides by event what to do, and does it.

mod allowance;
mod board;
mod checkout;
mod companion;
mod inputs;
mod publish;
mod record;
mod review;
mod roles;
mod token;
mod widening;

use crate::Invocation;
use crate::invocation::{IDENTITY, TemplateVariables};
use crate::outcome::{Exit, Outcome};
use csis_engine::{ChildUser, Progress};
use csis_github::comments::Conversation;
use csis_github::marker::{Marker, State};
use csis_github::{ApiError, Client, Context, Event, Pace, PullAction, comments};
use csis_values::Diagnostic;
use inputs::{CommentInput, Inputs};
use review::Subject;
use std::path::Path;
use std::sync::Arc;

/// The user that engines run as: of no right but to its own files.
const CHILD: ChildUser = ChildUser { uid: 10001, gid: 10001 };

/// A run that has read where it is and what is asked of it.
struct Begun<'a> {
    context: &'a Context,
    inputs: &'a Inputs,
    invocation: &'a Invocation,
    client: Option<Arc<Client>>,
}

pub async fn run(invocation: &Invocation, log: Arc<dyn Progress>) -> Outcome {
    let context = match Context::of(&invocation.environment) {
        Ok(context) => context,
        Err(error) => {
            return Outcome::usage(
                Diagnostic::error("not-in-a-workflow", format!("this is no run of a GitHub workflow: {error}"))
                    .help("`csis action` is the container's entry; in a shell use `csis preview`"),
            );
        }
    };
    log.step("csis", &format!("{} for {} in {}", env!("CARGO_PKG_VERSION"), context.event, context.repo));
    let inputs = match Inputs::of(&invocation.environment) {
        Ok(inputs) => inputs,
        Err(finding) => return Outcome::usage(finding),
    };
    let event = match Event::read(&context) {
        Ok(event) => event,
        Err(error) => {
            return Outcome::usage(
                Diagnostic::error("event", error.to_string())
                    .help("the runner writes this file; under `act` name a whole one with `-e`"),
            );
        }
    };
    let stranger = matches!(&event, Event::Pull(pull) if pull.fork || pull.dependabot);
    let invocation = match prepared(invocation, &context, &inputs, stranger) {
        Ok(invocation) => invocation,
        Err(finding) => return Outcome::usage(finding),
    };
    let client = match inputs.token.as_ref().map(|token| Client::new(&context, token, Pace::default())).transpose() {
        Ok(client) => client.map(Arc::new),
        Err(error) => {
            return Outcome::usage(
                Diagnostic::error("github", error.to_string()).help("GITHUB_API_URL names the API's address"),
            );
        }
    };
    let begun = Begun { context: &context, inputs: &inputs, invocation: &invocation, client };
    match event {
        Event::Pull(pull) => match pull.action {
            PullAction::Review => {
                let subject = Subject::of_pull(*pull);
                Box::pin(review::run(&begun, subject, log)).await
            }
            // A run that may not write leaves the folding to its companion.
            PullAction::Closed { .. } if pull.fork || pull.dependabot => {
                nothing_to_do("the run that follows this one folds the comment")
            }
            PullAction::Closed { merged } => close(&begun, pull.number, merged).await,
            PullAction::Other => nothing_to_do("this action of a pull request changes nothing that csis reads"),
        },
        Event::Merging(merging) => Box::pin(review::run(&begun, Subject::of_group(merging), log)).await,
        Event::Dispatch(dispatch) => Box::pin(review::run(&begun, Subject::by_hand(&context, dispatch), log)).await,
        Event::Run(run) => companion::run(&begun, &run).await,
        // Green would hide that a stranger's change runs beside the repository's secrets.
        Event::Other { name } if name == "pull_request_target" => Outcome::usage(
            Diagnostic::error(
                "pull-request-target",
                "`pull_request_target` gives a stranger's change the secrets and the token of this repository",
            )
            .help("start this workflow on `pull_request`; examples/workflows/review-forks.yml comments on forks"),
        ),
        Event::Other { name } => nothing_to_do(&format!("csis does nothing on `{name}`")),
    }
}

fn nothing_to_do(why: &str) -> Outcome {
    Outcome::new(Exit::Done).stderr(format!("{why}\n"))
}

/// The invocation that the inputs ask for.
/// `stranger`: whose change it is gets nothing that opens anything, whatever the job was given.
fn prepared(
    invocation: &Invocation,
    context: &Context,
    inputs: &Inputs,
    stranger: bool,
) -> Result<Invocation, Diagnostic> {
    let mut own = invocation.clone();
    let below = Path::new(&inputs.root);
    let stays =
        below.components().all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if !stays {
        return Err(Diagnostic::error(
            "input",
            format!("the input `root` is `{}`, which leaves the workspace", inputs.root),
        )
        .help("name a folder below the repository's top"));
    }
    own.root = context.workspace.join(below);
    // Through a link the check of one tree would say what another one is.
    let mut step = context.workspace.clone();
    for part in below.components() {
        step.push(part);
        if step.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Diagnostic::error(
                "input",
                format!("the input `root` is `{}`, and a link stands in its place in this change", inputs.root),
            )
            .help("make it a folder again, or name the folder that it leads to"));
        }
    }
    own.only_runtime.clone_from(&inputs.only_runtime);
    own.apply_runtime.clone_from(&inputs.apply_runtime);
    if let Some(parallel) = inputs.parallel {
        own.parallel = parallel;
    }
    if let Some(engine) = &inputs.engine {
        if is_in(&context.workspace, engine) {
            return Err(Diagnostic::error(
                "input",
                format!("the input `engine` is `{engine}`, which lies in the workspace: a change would bring its own"),
            )
            .help("put the engine outside of the checkout, e.g. below RUNNER_TEMP"));
        }
        own.tools.insert("tofu".into(), engine.clone());
    }
    if stranger {
        own.environment.remove(IDENTITY);
    } else if let Some(identity) = &inputs.identity {
        own.environment.insert(IDENTITY.into(), identity.clone());
    }
    own.template_variables = TemplateVariables::OfBase;
    own.children.user = CHILD.check().is_ok().then_some(CHILD);
    Ok(own)
}

/// Whether a program is one of the checkout, by its path or by where a link there leads.
fn is_in(workspace: &Path, program: &str) -> bool {
    if !program.contains(std::path::MAIN_SEPARATOR) {
        return false;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = workspace.join(program);
    [path.as_path(), &real(&path)].iter().any(|path| path.starts_with(workspace) || path.starts_with(real(workspace)))
}

/// Folds the comment of a pull request that was closed.
async fn close(begun: &Begun<'_>, number: u64, merged: bool) -> Outcome {
    let Some(client) = begun.client.as_ref().filter(|_| begun.inputs.comment != CommentInput::Off) else {
        return nothing_to_do("there is no comment to fold");
    };
    let place = Conversation { client: Arc::clone(client), repo: begun.context.repo.clone(), number };
    match fold(&place, merged, (begun.context.run, begun.context.attempt)).await {
        Ok(count) => Outcome::new(Exit::Done).stderr(format!("{count} of csis's comments folded\n")),
        Err(error) => {
            let mut told = publish::Told::default();
            told.refused("comment", &error);
            // Folding is for the eye: that it fails is no failure of the run.
            Outcome::new(Exit::Done).findings(told.findings)
        }
    }
}

/// Folds what csis said in a conversation and tells how many comments that were. Every tree's and job's: whoever folds first folds for all.
/// What a later run wrote stays: the pull request was opened again since.
async fn fold(place: &Conversation, merged: bool, run: (u64, u32)) -> Result<usize, ApiError> {
    let all = place.list().await?;
    if !all.iter().any(|comment| comment.marker().is_some()) {
        return Ok(0);
    }
    let login = comments::login(&place.client).await?;
    let mut count = 0;
    for comment in all.iter().filter(|c| c.is_by(&login)) {
        let Some(marker) = comment.marker().filter(|marker| marker.state != State::Closed) else { continue };
        if run < (marker.run, marker.attempt) {
            continue;
        }
        let body = comment.body.as_deref().unwrap_or_default();
        let before = body.split_once('\n').map_or("", |(_, rest)| rest);
        let line = Marker { state: State::Closed, ..marker }.line();
        place.update(comment.id, &(line + &csis_report::review::closed(merged, before))).await?;
        count += 1;
    }
    Ok(count)
}
