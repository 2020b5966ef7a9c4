//! The review of a pull request, of a merge queue's group, or of a commit that somebody asks about.

use crate::action::board::{Board, Commenting, Last};
use crate::action::inputs::{CommentInput, DetailInput, Inputs};
use crate::action::publish::{self, Told};
use crate::action::token::TokenFile;
use crate::action::{Begun, allowance, checkout, roles};
use crate::git::{Repository, short};
use crate::judging::{self, FailOn};
use crate::outcome::{Exit, Outcome};
use crate::preview::{self, Change, Compared, Prepared};
use crate::{Invocation, reading};
use csis_engine::{Credentials, Progress};
use csis_github::comments::Conversation;
use csis_github::identity::Minter;
use csis_github::marker::{Marker, State};
use csis_github::{Context, Dispatch, Merging, Pull};
use csis_report::review::{self, RunFacts};
use csis_values::report::Report;
use csis_values::{Diagnostic, sha256};
use std::sync::Arc;
use std::time::Duration;

/// What is reviewed.
pub struct Subject {
    /// The pull request that is spoken to; none for a queue's group.
    pub number: Option<u64>,
    /// The pull request that a queue's group is for.
    pub queued: Option<u64>,
    /// The commit that check runs hang on: the head of the pull request, not its merge commit.
    pub head: String,
    /// The commit it is compared with; none: the tree as it is.
    pub base: Option<BaseCommit>,
    pub private: bool,
    /// Whose change it is where it gets no credential, and so no plan.
    pub stranger: Option<&'static str>,
    pub default_branch: Option<String>,
    /// Why one of this repository is planned without credentials, whatever it holds.
    pub withheld: Option<String>,
}

impl Subject {
    pub fn of_pull(pull: Pull) -> Subject {
        let stranger = if pull.fork {
            Some("a fork")
        } else if pull.dependabot {
            Some("Dependabot")
        } else {
            None
        };
        Subject {
            number: Some(pull.number),
            queued: None,
            head: pull.head,
            base: Some(BaseCommit::OfMerge { branch: pull.base_branch }),
            private: pull.private,
            stranger,
            default_branch: pull.default_branch,
            withheld: None,
        }
    }

    pub fn of_group(group: Merging) -> Subject {
        Subject {
            number: None,
            queued: group.pull,
            head: group.head,
            base: Some(BaseCommit::Commit { commit: group.base }),
            private: group.private,
            stranger: None,
            default_branch: group.default_branch,
            withheld: None,
        }
    }

    /// A tree that nothing is compared with gets no credential but on the default branch: only what that holds was allowed by somebody.
    pub fn by_hand(context: &Context, dispatch: Dispatch) -> Subject {
        let Dispatch { default_branch, private } = dispatch;
        let is_default =
            default_branch.as_ref().is_some_and(|branch| context.reference == format!("refs/heads/{branch}"));
        Subject {
            number: None,
            queued: None,
            head: context.sha.clone(),
            base: None,
            private,
            stranger: None,
            withheld: (!is_default).then(|| format!("{} is not known to be the default branch", context.reference)),
            default_branch,
        }
    }

    /// Whether the base is what the default branch holds, as far as the event tells.
    pub fn is_onto_default(&self) -> bool {
        match &self.base {
            Some(BaseCommit::OfMerge { branch }) => self.default_branch.as_ref() == Some(branch),
            // A queue's group stands on the groups before it.
            Some(BaseCommit::Commit { .. }) | None => false,
        }
    }
}

/// How the base is found.
pub enum BaseCommit {
    /// The first parent of the merge commit that was checked out.
    OfMerge {
        branch: String,
    },
    Commit {
        commit: String,
    },
}

/// What a cancelled run takes at most: the runner kills it after ten seconds.
const LEFT: Duration = Duration::from_secs(7);
/// How its sessions are called in the account's own log.
const SESSION: &str = "csis-review";
/// The executables that the image brings, by kind; csis runs no other.
const ENGINES: &[&str] = &["tofu", "packer"];

pub async fn run(begun: &Begun<'_>, subject: Subject, log: Arc<dyn Progress>) -> Outcome {
    match Box::pin(attempt(begun, subject, log)).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn attempt(begun: &Begun<'_>, subject: Subject, log: Arc<dyn Progress>) -> Result<Outcome, Outcome> {
    let Begun { context, inputs, invocation, client, .. } = begun;
    let stop = &invocation.children.stop;
    let fail_on = FailOn::parse(&inputs.fail_on).map_err(Outcome::usage)?;
    let root = reading::root_of(invocation)?;
    let repository = Repository::find(&root).map_err(|error| {
        Outcome::usage(
            Diagnostic::error("no-checkout", format!("the workspace holds no checkout: {error}"))
                .help("put `actions/checkout` before csis, with the defaults for `ref`"),
        )
    })?;
    let base = find_base(begun, &repository, &subject)?;
    let tree = repository.tree_id("HEAD");
    let facts = RunFacts {
        head: subject.head.clone(),
        run_url: context.run_url(),
        root: (!repository.prefix.is_empty()).then(|| repository.prefix.clone()),
    };
    let untouched = base.as_ref().is_some_and(|base| {
        tree.is_some()
            && repository.tree_id(&base.commit) == tree
            && (repository.prefix.is_empty() || !is_touched_from_outside(invocation, base))
    });
    let mine = Marker {
        key: key(&repository.prefix, &context.job, inputs),
        head: subject.head.clone(),
        run: context.run,
        attempt: context.attempt,
        state: State::Planning,
        tree: tree.unwrap_or_default(),
    };

    let mut told = Told::default();
    if subject.stranger.is_none() && invocation.children.user.is_none() {
        told.findings.push(
            Diagnostic::warning(
                "engine-user",
                "engines run as csis's own user, who can read what this job was given, its token included",
            )
            .help("let the container run as root, its default: csis then gives engines a user of no right"),
        );
    }
    if checkout::keeps_a_token(&repository) {
        told.findings.push(
            Diagnostic::warning("checkout-token", "the checkout keeps a token where engines can read it")
                .help("give actions/checkout `persist-credentials: false`"),
        );
    }
    let board = Board::new(log);
    let conversation = match (subject.number, inputs.comment, client) {
        // A stranger's run has no right to write: its companion speaks.
        (Some(number), CommentInput::On(mode), Some(client)) if subject.stranger.is_none() => {
            let place = Conversation { client: Arc::clone(client), repo: context.repo.clone(), number };
            Some((place, mode))
        }
        _ => None,
    };
    if untouched {
        return Ok(publish::untouched(begun, conversation, mine, &facts, told).await);
    }
    let mut commenting =
        conversation.map(|(place, mode)| Commenting::begin(place, mine, mode, facts.clone(), Arc::clone(&board)));

    let made = {
        let judging = judge(begun, &subject, &repository, base.as_ref(), Arc::clone(&board));
        tokio::pin!(judging);
        tokio::select! {
            biased;
            // First: a plan that was interrupted may end in the same moment, and the comment would stay at planning.
            () = stop.stopped() => {
                let saying = async {
                    if let Some(commenting) = commenting.take() {
                        let last = Last { state: State::Cancelled, text: review::cancelled(&facts) };
                        let _ = commenting.end(last).await;
                    }
                };
                // Seconds are left: the children end while the comment is written, and nothing depends on either's success.
                let _ = tokio::time::timeout(LEFT, async { tokio::join!(saying, &mut judging) }).await;
                None
            }
            made = &mut judging => Some(made),
        }
    };
    let Some(made) = made else {
        publish::cancelled(begun);
        return Ok(Outcome::new(Exit::Failed)
            .findings(vec![Diagnostic::error("cancelled", "the run was cancelled before its plan was complete")]));
    };
    match made {
        Ok(judged) => {
            let exit = judging::exit(&judged.report, subject.stranger.is_some(), fail_on);
            Ok(publish::report(begun, &subject, &repository, judged, exit, commenting, &facts, told).await)
        }
        Err(outcome) => {
            if let Some(commenting) = commenting {
                let last = Last { state: State::Result, text: review::failed(&facts, &outcome.findings) };
                if let Err(error) = commenting.end(last).await {
                    told.refused("comment", &error);
                }
            }
            let told = publish::failed(begun, &subject, &repository, &outcome, &facts, told).await;
            Ok(Outcome { findings: [outcome.findings, told].concat(), ..outcome })
        }
    }
}

/// Whether modules that lie outside of the tree's folder change; a tree that does not load is no other than it was.
fn is_touched_from_outside(invocation: &Invocation, base: &Base) -> bool {
    let compared = Compared::Commit { commit: &base.commit, name: &base.name };
    matches!(preview::prepare(invocation, &compared), Ok(Prepared::Ready(change)) if change.touches_every_root())
}

/// One comment a tree and job: what makes two jobs of a matrix differ is in the key.
fn key(prefix: &str, job: &str, inputs: &Inputs) -> String {
    let given = [&inputs.only_runtime, &inputs.apply_runtime, &inputs.engine];
    let given = given.map(|input| input.as_deref().unwrap_or(""));
    sha256([&[prefix, job][..], &given].concat().join("\n")).get(..16).unwrap_or_default().to_owned()
}

pub struct Base {
    pub commit: String,
    pub name: String,
}

fn find_base(begun: &Begun<'_>, repository: &Repository, subject: &Subject) -> Result<Option<Base>, Outcome> {
    let head = repository.head().unwrap_or_default();
    // What a check run says of a commit must have been judged from that commit.
    if !matches!(subject.base, Some(BaseCommit::OfMerge { .. })) && head != subject.head {
        return Err(Outcome::usage(
            Diagnostic::error(
                "checkout",
                format!("the checkout is at {}, and this run is about {}", short(&head), short(&subject.head)),
            )
            .help("leave `ref` of actions/checkout at its default"),
        ));
    }
    let Some(wanted) = &subject.base else { return Ok(None) };
    let wrong_checkout = || {
        Outcome::usage(
            Diagnostic::error(
                "checkout",
                format!("the checkout is at {}, which is not the merge commit of this pull request", short(&head)),
            )
            .help("leave `ref` of actions/checkout at its default: csis reviews what the merge would make"),
        )
    };
    let (commit, name) = match wanted {
        BaseCommit::OfMerge { branch } => {
            let parents = checkout::parents(repository, "HEAD").unwrap_or_default();
            match parents.as_slice() {
                [base, merged] if *merged == subject.head => (base.clone(), branch.clone()),
                _ => return Err(wrong_checkout()),
            }
        }
        BaseCommit::Commit { commit } => (commit.clone(), short(commit).to_owned()),
    };
    if !checkout::has(repository, &commit) {
        checkout::fetch(repository, begun.context, begun.inputs.token.as_ref(), &commit).map_err(|error| {
            Outcome::usage(
                Diagnostic::error(
                    "no-base",
                    format!("the base {} is not in this checkout, and {error}", short(&commit)),
                )
                .help("check out with `fetch-depth: 2`, or grant `contents: read`"),
            )
        })?;
    }
    Ok(Some(Base { commit, name }))
}

/// What came of judging.
pub struct Judged {
    pub report: Report,
    /// The id of the tree of configuration inputs; empty for a tree that cannot be read.
    pub inputs: String,
}

async fn judge(
    begun: &Begun<'_>,
    subject: &Subject,
    repository: &Repository,
    base: Option<&Base>,
    board: Arc<Board>,
) -> Result<Judged, Outcome> {
    let mut invocation = begun.invocation.clone();
    if let Some(who) = subject.stranger {
        invocation.unplanned = Some(format!("this change gets no credential, because it comes from {who}"));
    }
    let compared = match base {
        Some(Base { commit, name }) => Compared::Commit { commit, name },
        None => Compared::Nothing,
    };
    let mut change = match preview::prepare(&invocation, &compared)? {
        Prepared::Ready(change) => change,
        Prepared::Refused(report) => return Ok(Judged { report: *report, inputs: String::new() }),
    };
    own_engines(&mut change, &mut invocation);
    let tree = &change.reading.tree;
    let beside = crate::reach::modules_beside(&invocation.root, tree);
    let inputs = checkout::inputs(repository, "HEAD", &tree.generation_directory, &beside).unwrap_or_default();
    // The token's file stays until the last child has ended.
    let mut kept = credentials(begun, subject, repository, base, &mut change, &mut invocation).await?;
    let lost = async {
        match &mut kept {
            Some(token) => token.lost().await,
            None => std::future::pending().await,
        }
    };
    let report = tokio::select! {
        report = change.plan(&invocation, board) => report?,
        // Dropped, the plan interrupts its engines.
        error = lost => return Err(Outcome::new(Exit::Failed).findings(vec![
            Diagnostic::error("no-identity", format!("the identity token could not be renewed: {error}"))
                .help("run the job again"),
        ])),
    };
    Ok(Judged { report, inputs })
}

/// In the container the engines are the image's own, by their kind: what a tree names in their place is code that nobody looked at.
fn own_engines(change: &mut Change, invocation: &mut Invocation) {
    for executable in &change.reading.tree.executables {
        if !ENGINES.contains(&executable.kind.as_str())
            || executable.binary == executable.kind
            || invocation.tools.contains_key(&executable.kind)
        {
            continue;
        }
        invocation.tools.insert(executable.name.written.clone(), executable.kind.clone());
        change.reading.findings.push(
            Diagnostic::note(
                "own-engine",
                format!(
                    "the binary `{}` of executable `{}` is not run here: the image's own `{}` is",
                    executable.binary, executable.name.written, executable.kind
                ),
            )
            .at(&executable.at)
            .help("name another with the input `engine`"),
        );
    }
}

/// Decides what the engine's processes get, and keeps the identity token while they need it.
async fn credentials(
    begun: &Begun<'_>,
    subject: &Subject,
    repository: &Repository,
    base: Option<&Base>,
    change: &mut Change,
    invocation: &mut Invocation,
) -> Result<Option<TokenFile>, Outcome> {
    if subject.stranger.is_some() {
        // No root is planned.
        return Ok(None);
    }
    let withheld = match &subject.withheld {
        Some(why) => Some(why.clone()),
        None => allowance::refused(begun, subject, repository, base, change).await,
    };
    if let Some(why) = withheld {
        invocation.children.credentials = Credentials::Nothing { why };
        return Ok(None);
    }
    let strange =
        roles::strange_runtimes(&begun.inputs.allowed_accounts, &change.reading.tree, &change.reading.request);
    if !strange.is_empty() {
        return Err(Outcome::new(Exit::Usage).findings(strange));
    }
    let roles = &begun.inputs.read_role;
    if roles.is_empty() {
        // Credentials that a step before gave the job, as under a runner that mints no tokens.
        return Ok(None);
    }
    let temporary = std::env::temp_dir();
    // Judged before a token is minted: a role of a strange account is never asked for.
    let judged =
        roles::of(roles, &begun.inputs.allowed_accounts, change.judges(), &change.reading.tree, &temporary, SESSION)
            .map_err(|findings| Outcome::new(Exit::Usage).findings(findings))?;
    let Some(minter) = Minter::of(&invocation.environment) else {
        return Err(Outcome::usage(no_identity(&invocation.environment)));
    };
    let token = TokenFile::keep(minter, &temporary, invocation.children.user).await.map_err(|error| {
        Outcome::usage(
            Diagnostic::error("no-identity", error.to_string())
                .help("grant the job `id-token: write`; when it has it, run the job again"),
        )
    })?;
    invocation.children.credentials = Credentials::Roles(csis_engine::Roles { token_file: token.path(), ..judged });
    Ok(Some(token))
}

fn no_identity(environment: &std::collections::BTreeMap<String, String>) -> Diagnostic {
    let finding =
        Diagnostic::error("no-identity", "`aws-read-role` is given, and this job cannot mint an identity token");
    if environment.get("ACT").is_some_and(|value| value == "true") {
        finding.help("`act` mints none: leave the role out, and give the job AWS credentials of your own")
    } else {
        finding.help("add `id-token: write` under `permissions:` of the job")
    }
}

/// How much of the values a comment shows.
pub fn detail(inputs: &Inputs, private: bool) -> csis_report::Detail {
    match (inputs.detail, private) {
        (DetailInput::Values, _) | (DetailInput::Auto, true) => csis_report::Detail::Values,
        (DetailInput::Addresses, _) | (DetailInput::Auto, false) => csis_report::Detail::Addresses,
    }
}
