//! Planning every root, letting the gate judge each, and assembling the report: what `plan` and `preview` share.

use crate::Invocation;
use crate::outcome::{Exit, Outcome};
use crate::reading::Reading;
use csis_engine::{PlanJob, Progress, RootOutcome, RootResult};
use csis_gate::{Moment, Question, Settings, StandingMount};
use csis_kinds::registry;
use csis_values::emission::Emission;
use csis_values::intent::{Content, Intent, Root};
use csis_values::plan::{Action, Change, Counts, Plan};
use csis_values::records::{Launch, Records};
use csis_values::report::{DriftLine, FileChange, Outcome as ReportOutcome, Report, RootReport, RootStatus, TreeFacts};
use csis_values::tree::{Instance, Tree};
use csis_values::verdict::{Finding, Verdict, Weight};
use csis_values::{Class, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long one step of the engine may take before it is stopped.
const STEP_LIMIT: Duration = Duration::from_mins(30);

/// What is planned and judged.
pub struct Case<'a> {
    pub invocation: &'a Invocation,
    pub reading: &'a Reading,
    pub intent: Intent,
    pub emission: Emission,
    /// The tree whose settings judge: the base's, when there is one.
    pub judges: &'a Tree,
    pub facts: TreeFacts,
    /// None when there is no base, and every root is concerned.
    pub effect: Option<Effect>,
    /// Provider locks are carried back to the generation directory.
    pub keep_locks: bool,
}

/// What a change does to the emission.
pub struct Effect {
    pub files: Vec<FileChange>,
    /// The roots it concerns.
    pub concerned: BTreeSet<String>,
    /// Modules of machines whose launch script is given other values.
    pub launched_otherwise: BTreeSet<String>,
}

/// Plans, gates and assembles. `Err` is the command's end: nothing could be started.
pub async fn report(case: Case<'_>, progress: Arc<dyn Progress>) -> Result<Report, Outcome> {
    let Case { invocation, reading, intent, emission, judges, facts, effect, keep_locks } = case;
    let mut report = Report { schema: 1, csis: env!("CARGO_PKG_VERSION").into(), tree: facts, ..Report::default() };
    report.diagnostics.clone_from(&reading.findings.0);
    report.bakes.clone_from(&intent.bakes);
    report.lineage.clone_from(&intent.lineage);
    let scripts = effect.as_ref().map_or_else(Vec::new, |effect| launch_scripts_changed(effect, reading));
    let (files, concerned) = effect.map_or_else(|| (Vec::new(), None), |effect| (effect.files, Some(effect.concerned)));
    report.emission = files;
    let mounts = standing_mounts(&reading.tree, &reading.records);
    let intent = Arc::new(intent);
    let results = if let Some(why) = invocation.why_unplanned() {
        report.not_judged.push(format!("{why}, so no root was planned"));
        intent.roots.iter().map(|root| unplanned(root, &why)).collect()
    } else {
        plan(invocation, reading, &intent, emission, keep_locks, progress).await?
    };

    let settings: Vec<Settings> = intent.roots.iter().map(|root| settings(root, judges, reading)).collect();
    let losses: Vec<u64> = intent
        .roots
        .iter()
        .zip(&results)
        .zip(&settings)
        .map(|((root, result), settings)| losses(root, result, settings))
        .collect();
    let known = known_ids(reading);
    for (index, (root, result)) in intent.roots.iter().zip(results).enumerate() {
        let elsewhere = losses.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, n)| n).sum();
        let is_concerned = concerned.as_ref().is_none_or(|c| c.contains(&root.id));
        let mut entry = entry(root, is_concerned);
        match result.outcome {
            RootOutcome::Planned(plan) => {
                let question = Question {
                    moment: Moment::Review,
                    known_ids: Some(&known),
                    launch_scripts_changed: &scripts,
                    standing_mounts: &mounts,
                    losses_elsewhere: elsewhere,
                    now: Some(&reading.request.now),
                    ..Question::of_root(&plan, root, &settings[index])
                };
                let verdict = csis_gate::judge(&question);
                judged(&mut entry, *plan, verdict, &mut report.drift);
            }
            RootOutcome::NotJudged { why, .. } => {
                entry.status = RootStatus::NotJudged;
                entry.why = Some(why);
            }
            RootOutcome::Failed { why } => {
                entry.status = RootStatus::Failed;
                entry.why = Some(why);
            }
            ref outcome @ RootOutcome::NeedsUnapplied { .. } => {
                entry.status = RootStatus::NotJudged;
                needs_unapplied(&mut entry, outcome);
            }
        }
        report.sanctions.extend(root.sanctions.iter().cloned());
        report.diagnostics.extend(result.notes.iter().map(|note| Diagnostic::note("engine", note.clone())));
        report.roots.push(entry);
    }
    report.diagnostics.dedup();
    report.verdict = report.worst();
    // The salt must not move with commits, or equal change sets would have unequal digests.
    csis_report::digest::stamp(&mut report, &reading.tree.id.value);
    Ok(report)
}

async fn plan(
    invocation: &Invocation,
    reading: &Reading,
    intent: &Arc<Intent>,
    emission: Emission,
    keep_locks: bool,
    progress: Arc<dyn Progress>,
) -> Result<Vec<RootResult>, Outcome> {
    if let Some(missing) = modules_missing(&reading.root, &reading.tree) {
        return Err(Outcome::usage(missing));
    }
    let job = PlanJob {
        tree: reading.root.clone(),
        generation: reading.tree.generation_directory.clone(),
        emission: Arc::new(emission),
        intent: Arc::clone(intent),
        only: None,
        tools: invocation.tools.clone(),
        environment: invocation.environment.clone(),
        secrets: opened(invocation, reading),
        hidden: reading.hidden(),
        parallel: invocation.parallel,
        limit: STEP_LIMIT,
        keep_locks,
        stop: invocation.children.stop.clone(),
        user: invocation.children.user,
        credentials: invocation.children.credentials.clone(),
        progress: Arc::clone(&progress),
    };
    let planned = csis_engine::plan_all(job).await.map_err(|error| {
        let finding = Diagnostic::error("engine", error.to_string()).help(error.help());
        match error {
            csis_engine::EngineError::Interrupted => Outcome::new(Exit::Failed).findings(vec![finding]),
            _ => Outcome::usage(finding),
        }
    })?;
    progress.step(
        "all roots",
        &format!(
            "planned in {:.1} s; the engine's longest chain took {:.1} s",
            planned.wall.as_secs_f64(),
            planned.longest_chain.as_secs_f64()
        ),
    );
    Ok(planned.roots)
}

/// Encrypted values are opened only for plans that get credentials: code that nobody allowed yet would carry them off as well.
fn opened(invocation: &Invocation, reading: &Reading) -> BTreeMap<String, String> {
    match invocation.children.credentials {
        csis_engine::Credentials::Nothing { .. } => BTreeMap::new(),
        _ => reading.plaintexts(),
    }
}

/// A report of a tree that its rules refuse: nothing is planned, and the refusals are what a reader needs.
pub fn refused_tree(findings: Vec<Diagnostic>, facts: TreeFacts) -> Report {
    Report {
        schema: 1,
        csis: env!("CARGO_PKG_VERSION").into(),
        tree: facts,
        verdict: ReportOutcome::Failed,
        diagnostics: findings,
        not_judged: vec!["no root was planned, because the tree is refused".into()],
        ..Report::default()
    }
}

/// The exit code of a report: refused 3, failed 1; a root that was not judged is 1 unless asked otherwise.
pub fn exit(report: &Report, offline: bool, fail_on: FailOn) -> Exit {
    match report.verdict {
        ReportOutcome::Refused => Exit::Gate,
        ReportOutcome::Failed => Exit::Failed,
        ReportOutcome::NotJudged if fail_on.unavailable && !offline => Exit::Failed,
        ReportOutcome::NotJudged | ReportOutcome::Pass if fail_on.drift && !report.drift.is_empty() => Exit::Failed,
        ReportOutcome::NotJudged | ReportOutcome::Pass => Exit::Done,
    }
}

/// What besides refusals and failures ends a run with a non-zero exit code.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailOn {
    pub unavailable: bool,
    pub drift: bool,
}

impl FailOn {
    /// `gate` (always on), `unavailable`, `drift`.
    pub fn parse(words: &[String]) -> Result<FailOn, Diagnostic> {
        let mut fail_on = FailOn::default();
        for word in words {
            match word.as_str() {
                "gate" | "" => {}
                "unavailable" => fail_on.unavailable = true,
                "drift" => fail_on.drift = true,
                other => {
                    return Err(Diagnostic::error("fail-on", format!("--fail-on does not know `{other}`"))
                        .help("list any of: gate, unavailable, drift"));
                }
            }
        }
        Ok(fail_on)
    }
}

fn unplanned(root: &Root, why: &str) -> RootResult {
    RootResult {
        id: root.id.clone(),
        outcome: RootOutcome::NotJudged { why: why.to_owned(), producer: None },
        timing: csis_engine::Timing::default(),
        engine: String::new(),
        notes: Vec::new(),
    }
}

fn modules_missing(root: &Path, tree: &Tree) -> Option<Diagnostic> {
    let (missing, _) = crate::modules::state(root, tree);
    if missing.is_empty() {
        return None;
    }
    let base = &tree.config.module_source_base;
    Some(
        Diagnostic::error(
            "modules-missing",
            format!("the Terraform modules {} are not below {}", missing.join(", "), base.value),
        )
        .at(&base.at)
        .help("run `csis init-config` with the same `--root` and commit what it writes"),
    )
}

fn settings(root: &Root, judges: &Tree, reading: &Reading) -> Settings {
    // A shell that lists no extra types, profiles or accounts leaves the rules their defaults.
    let runtime = root.runtime.as_deref().and_then(|name| judges.builder(Class::Runtime, name));
    let kind = runtime.and_then(registry::runtime);
    let gate = crate::settings::of(judges);
    Settings {
        confirm_data_loss: gate.confirm_data_loss,
        max_data_losses: gate.max_data_losses,
        extra_types: gate.extra_types,
        made_types: Vec::new(),
        profiles: runtime.zip(kind).map(|(runtime, kind)| kind.instance_profiles(runtime)),
        prefix_lists: Vec::new(),
        accounts: runtime.zip(kind).and_then(|(runtime, kind)| kind.account(runtime)).into_iter().collect(),
        config_id: Some(reading.tree.config_tag.clone()),
        // By the base where it has the root: a change does not sanction its own providers.
        providers: Some(match csis_kinds::head::provider_sources(judges, root) {
            known if known.is_empty() => csis_kinds::head::provider_sources(&reading.tree, root),
            known => known,
        }),
        strict: false,
    }
}

fn losses(root: &Root, result: &RootResult, settings: &Settings) -> u64 {
    match &result.outcome {
        // A plan-only root loses nothing by this merge.
        RootOutcome::Planned(plan) if root.applies.applies => {
            csis_gate::losses(&Question::of_root(plan, root, settings)).len() as u64
        }
        _ => 0,
    }
}

/// Ids of cloud objects that the records know.
fn known_ids(reading: &Reading) -> Vec<String> {
    let machines = reading.records.generations.values().filter_map(|g| g.instance_id.clone());
    machines.chain(reading.records.builds.iter().map(|b| b.build_id.clone())).collect()
}

/// The machines of the tree that stand.
fn launched<'a>(tree: &'a Tree, records: &'a Records) -> impl Iterator<Item = (&'a Instance, &'a Launch)> {
    let of = |instance: &'a Instance| Some((instance, records.launches.get(&instance.name.safe)?));
    tree.instances.iter().filter_map(of).filter(|(_, launch)| launch.launched)
}

/// Launched machines whose launch script the change edits, or gives other values.
fn launch_scripts_changed(effect: &Effect, reading: &Reading) -> Vec<String> {
    let is_changed = |label: &str| {
        let script = format!("/user-data-{label}.sh.tftpl");
        effect.launched_otherwise.contains(&format!("instance_{label}"))
            || effect.files.iter().any(|f| f.path.ends_with(&script))
    };
    launched(&reading.tree, &reading.records)
        .filter(|(instance, _)| is_changed(&instance.name.label))
        .map(|(instance, _)| instance.name.safe.clone())
        .collect()
}

/// What machines that stand were launched with, and what the tree says they mount.
fn standing_mounts(tree: &Tree, records: &Records) -> Vec<StandingMount> {
    let mut mounts = Vec::new();
    for (instance, launch) in launched(tree, records) {
        let recorded = launch.mounts.iter().map(|mount| (&mount.storage, mount.group.clone()));
        let declared = instance.mounts.iter().map(|mount| (&mount.storage.value, None));
        let unrecorded = declared.filter(|(name, _)| launch.mounts.iter().all(|m| m.storage != **name));
        mounts.extend(recorded.chain(unrecorded).map(|(storage, group)| StandingMount {
            storage: storage.clone(),
            machine: instance.name.safe.clone(),
            group,
        }));
    }
    mounts
}

fn entry(root: &Root, concerned: bool) -> RootReport {
    RootReport {
        name: root.id.clone(),
        lifecycle: root.lifecycle.name().into(),
        builder: root.builder.written.clone(),
        runtime: root.runtime.clone(),
        status: RootStatus::Unchanged,
        why: None,
        counts: Counts::default(),
        digest: String::new(),
        applies: root.applies.clone(),
        concerned,
        changes: Vec::new(),
        findings: Vec::new(),
        obligations: Vec::new(),
        actions: root.actions.clone(),
        outputs_changed: Vec::new(),
        names: names(root),
        ephemeral: ephemeral(root),
    }
}

/// The machines of a root that stand for one run only.
fn ephemeral(root: &Root) -> Vec<String> {
    let Content::Instances { instances } = &root.content else { return Vec::new() };
    instances.iter().filter(|i| i.ephemeral).map(|i| i.name.written.clone()).collect()
}

/// The written names of what a root holds, and of what it held: a sanction names what is gone.
fn names(root: &Root) -> BTreeMap<String, String> {
    let gone = root
        .sanctions
        .iter()
        .map(|s| (format!("{}_{}", s.because.kind, csis_values::name::label(&s.because.name)), s.because.name.clone()));
    let mut names: BTreeMap<String, String> = gone.collect();
    match &root.content {
        Content::Storages { storages } => {
            names.extend(storages.iter().map(|s| (format!("storage_{}", s.name.label), s.name.written.clone())));
        }
        Content::Instances { instances } => {
            names.extend(instances.iter().map(|i| (format!("instance_{}", i.name.label), i.name.written.clone())));
        }
    }
    names
}

fn judged(entry: &mut RootReport, plan: Plan, verdict: Verdict, drift: &mut Vec<DriftLine>) {
    entry.counts = Counts::of(&plan.changes);
    entry.outputs_changed = plan.outputs.iter().filter(|o| o.action != Action::NoOp).map(|o| o.name.clone()).collect();
    let idle = entry.counts.is_empty() && entry.actions.is_empty() && entry.outputs_changed.is_empty();
    entry.status = if idle && !verdict.is_refused() { RootStatus::Unchanged } else { RootStatus::Planned };
    // Moved, not copied: a plan may hold tens of thousands of changes.
    entry.changes = plan.changes;
    entry.findings = verdict.findings;
    entry.obligations = verdict.obligations;
    drift.extend(plan.drift.iter().map(|change| DriftLine {
        root: entry.name.clone(),
        address: change.address.clone(),
        what: drifted(change),
    }));
}

fn drifted(change: &Change) -> String {
    if change.action == Action::Delete {
        return "deleted outside".into();
    }
    let paths: Vec<&str> = change.attributes.iter().map(|a| a.path.as_str()).take(8).collect();
    format!("changed outside: {}", paths.join(", "))
}

fn needs_unapplied(entry: &mut RootReport, outcome: &RootOutcome) {
    let RootOutcome::NeedsUnapplied { producer, flag, value, at, needs } = outcome else { return };
    let names: Vec<String> = needs.iter().map(need).collect();
    entry.findings.push(Finding {
        rule: "needs-unapplied".into(),
        weight: Weight::Refuse,
        address: None,
        message: format!(
            "{}; this merge will not make it, because {producer} is plan-only (`{flag}: {value}`)",
            names.join(", ")
        ),
        remedy: format!("let {producer} apply with `{flag}`, or add what it makes in a change of its own first"),
        at: at.clone(),
    });
}

/// ``machine `api-1` needs storage `ledger` ``; what a block needs of an output where neither is known by name.
fn need(need: &csis_engine::Need) -> String {
    let who = need.instance.as_ref().map_or_else(|| format!("`{}`", need.block), |name| format!("machine `{name}`"));
    let what =
        need.storage.as_ref().map_or_else(|| format!("output `{}`", need.output), |name| format!("storage `{name}`"));
    format!("{who} needs {what}")
}
