//! Planning every root of a tree: producers before consumers, independent ones at the same time.

use crate::cache::Cache;
use crate::engine::{Engine, EngineError, Steps};
use crate::materialise::{self, WorkingCopy};
use crate::needs::{self, Need};
use crate::pending::Tokens;
use crate::plan::{Outputs, Redactor};
use crate::session::Session;
use crate::stub::{self, Stub};
use crate::trouble::Trouble;
use csis_values::Place;
use csis_values::emission::{Emission, EmittedRoot};
use csis_values::intent::{BuildRef, Content, EngineRef, Intent, Root};
use csis_values::plan::{Action, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Hears what is being done; called from several tasks.
pub trait Progress: Send + Sync {
    fn step(&self, root: &str, what: &str);
}

/// Nobody listens.
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &str, _: &str) {}
}

/// Everything that planning needs; nothing is taken from the process.
pub struct PlanJob {
    /// The tree's root folder.
    pub tree: PathBuf,
    /// The generation directory relative to it, e.g. `./generated/`.
    pub generation: String,
    pub emission: Arc<Emission>,
    pub intent: Arc<Intent>,
    /// The roots to plan, by id; all when none. Their producers are planned too.
    pub only: Option<BTreeSet<String>>,
    /// Binaries by the name or the kind of an executable entry.
    pub tools: BTreeMap<String, String>,
    /// The environment at hand; an allow list of it reaches the engine.
    pub environment: BTreeMap<String, String>,
    /// Encrypted markers, as written, to their plaintexts.
    pub secrets: BTreeMap<String, String>,
    /// Further texts that must not be shown.
    pub hidden: Vec<String>,
    /// Engine processes at the same time; at least one.
    pub parallel: usize,
    /// How long one step of the engine may take.
    pub limit: Duration,
    /// Carry provider locks back to the generation directory.
    pub keep_locks: bool,
    pub progress: Arc<dyn Progress>,
}

/// What became of a root.
#[derive(Debug)]
pub enum RootOutcome {
    Planned(Box<Plan>),
    /// Nothing can be said about it. `producer` is the root whose plan it would need.
    NotJudged {
        why: String,
        producer: Option<String>,
    },
    Failed {
        why: String,
    },
    /// It needs what a plan-only producer has not made and this merge will not make.
    NeedsUnapplied {
        producer: String,
        /// The flag that makes the producer plan-only, its value in words, and where it stands.
        flag: String,
        value: String,
        at: Option<Place>,
        needs: Vec<Need>,
    },
}

/// The engine's own time for one root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    pub init: Duration,
    pub plan: Duration,
    pub show: Duration,
}

impl Timing {
    pub fn total(&self) -> Duration {
        self.init + self.plan + self.show
    }
}

#[derive(Debug)]
pub struct RootResult {
    pub id: String,
    pub outcome: RootOutcome,
    pub timing: Timing,
    /// `terraform 1.11.4`
    pub engine: String,
    /// What people should know though nothing is wrong, e.g. a waived version rule.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct PlanResult {
    /// In the intent's order.
    pub roots: Vec<RootResult>,
    /// The engine's own time on the longest chain of roots that wait for each other.
    pub longest_chain: Duration,
    pub wall: Duration,
}

/// What a consumer asks of a producer that is done.
struct Done {
    /// Its plan's outputs, when it was planned.
    planned: Option<PlannedRoot>,
    chain: Duration,
}

struct PlannedRoot {
    outputs: Outputs,
    outputs_change: bool,
    has_state: bool,
}

type Told = watch::Receiver<Option<Arc<Done>>>;

struct Shared {
    job: PlanJob,
    session: Session,
    redactor: Redactor,
    tokens: Tokens,
    engines: BTreeMap<String, Engine>,
    slots: Semaphore,
    /// Held around `init` where roots share a provider cache: the engine does not guard it.
    cache: Option<Cache>,
}

/// Plans the roots of a job. An error means that nothing could be started; what befalls a single root is in its outcome.
pub async fn plan_all(job: PlanJob) -> Result<PlanResult, EngineError> {
    let started = Instant::now();
    let wanted = wanted(&job);
    let roots: Vec<&Root> = job.intent.roots.iter().filter(|root| wanted.contains(&root.id)).collect();
    let session = open_session(&job, &roots)?;
    let mut engines = BTreeMap::new();
    for root in &roots {
        let key = engine_key(&root.engine);
        if !engines.contains_key(&key) {
            let engine = Engine::locate(&root.engine, &job.tools, session.environment()).await?;
            engines.insert(key.clone(), engine);
        }
        if let (Some(engine), Some(emitted)) = (engines.get(&key), emitted(&job.emission, &root.id)) {
            check_floor(engine, &job.emission, emitted)?;
        }
    }
    let redactor =
        Redactor::new(job.secrets.values().chain(&job.hidden).cloned().chain(session.secrets().iter().cloned()));
    let tokens = Tokens::new(seed(&job.emission));
    let slots = Semaphore::new(job.parallel.max(1));
    let cache = Cache::shared(session.environment());
    let order: Vec<Root> = roots.into_iter().cloned().collect();
    let shared = Arc::new(Shared { job, session, redactor, tokens, engines, slots, cache });

    let mut tasks = JoinSet::new();
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    for (index, root) in order.iter().cloned().enumerate() {
        let (tell, hear) = watch::channel(None);
        let reads = |label: &str| {
            emitted(&shared.job.emission, &root.id)
                .is_some_and(|emitted| needs::declares(&shared.job.emission, emitted, label))
        };
        // Only what stands before it is waited for: the intent has producers first, so nothing waits for itself.
        let producers: Vec<(String, Told)> = root
            .reads
            .iter()
            .filter(|read| reads(&read.label))
            .filter_map(|read| Some((read.root.clone(), told.get(&read.root)?.clone())))
            .collect();
        told.insert(root.id.clone(), hear);
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            let (result, done) = one(&shared, &root, producers).await;
            let chain = done.chain;
            let _ = tell.send(Some(Arc::new(done)));
            (index, chain, result)
        });
    }
    drop(told);
    let mut results: Vec<Option<RootResult>> = order.iter().map(|_| None).collect();
    let mut longest_chain = Duration::ZERO;
    while let Some(joined) = tasks.join_next().await {
        if let Ok((index, chain, result)) = joined {
            longest_chain = longest_chain.max(chain);
            results[index] = Some(result);
        }
    }
    let lost = |root: &Root| RootResult {
        id: root.id.clone(),
        outcome: RootOutcome::Failed {
            why: "csis stopped while it planned this root; this is a defect of csis".into(),
        },
        timing: Timing::default(),
        engine: String::new(),
        notes: Vec::new(),
    };
    let roots = results.into_iter().zip(&order).map(|(result, root)| result.unwrap_or_else(|| lost(root))).collect();
    Ok(PlanResult { roots, longest_chain, wall: started.elapsed() })
}

/// The roots to plan: those asked for, and whatever they read.
fn wanted(job: &PlanJob) -> BTreeSet<String> {
    let all = job.intent.roots.iter().map(|root| root.id.clone());
    let Some(only) = &job.only else { return all.collect() };
    let mut wanted = only.clone();
    for root in job.intent.roots.iter().rev() {
        if wanted.contains(&root.id) {
            wanted.extend(root.reads.iter().map(|read| read.root.clone()));
        }
    }
    wanted
}

fn emitted<'e>(emission: &'e Emission, id: &str) -> Option<&'e EmittedRoot> {
    emission.roots.iter().find(|root| root.id == id)
}

fn engine_key(engine: &EngineRef) -> String {
    format!("{}\0{}\0{}\0{}", engine.name, engine.kind, engine.binary, engine.version.as_deref().unwrap_or_default())
}

fn open_session(job: &PlanJob, roots: &[&Root]) -> Result<Session, EngineError> {
    let mut profiles = BTreeSet::new();
    for root in roots {
        profiles.extend(root.state.as_ref().and_then(|state| state.profile.clone()));
        profiles.extend(
            emitted(&job.emission, &root.id).into_iter().flat_map(|emitted| needs::profiles(&job.emission, emitted)),
        );
    }
    let temporary = job.environment.get("TMPDIR").map_or("/tmp", String::as_str);
    Session::open(&job.environment, &profiles, Path::new(temporary)).map_err(|source| {
        EngineError::Process(crate::process::ProcessError::Io { program: "the private AWS files".into(), source })
    })
}

/// `use_lockfile` came with 1.10.
fn check_floor(engine: &Engine, emission: &Emission, emitted: &EmittedRoot) -> Result<(), EngineError> {
    let prefix = format!("{}/", emitted.directory.trim_end_matches('/'));
    let locks =
        emission.files.iter().filter(|(name, _)| name.starts_with(&prefix)).flat_map(|(_, text)| text.lines()).any(
            |line| {
                line.trim()
                    .strip_prefix("use_lockfile")
                    .is_some_and(|rest| rest.trim_start().trim_start_matches('=').trim() == "true")
            },
        );
    if locks {
        engine
            .needs("a state backend with `use_lockfile`", crate::version::Version { major: 1, minor: 10, patch: 0 })?;
    }
    Ok(())
}

/// What tokens are derived from: everything that was emitted.
fn seed(emission: &Emission) -> String {
    let mut seed = String::new();
    for (name, text) in &emission.files {
        seed.push_str(&csis_values::sha256(name));
        seed.push_str(&csis_values::sha256(text));
    }
    seed
}

/// Why a consumer gets no plan of its own.
fn blocked(producer: &str) -> RootOutcome {
    RootOutcome::NotJudged {
        why: format!("it reads the outputs of `{producer}`, which could not be planned"),
        producer: Some(producer.to_owned()),
    }
}

fn of_trouble(trouble: Trouble) -> RootOutcome {
    match trouble {
        Trouble::NoAccess(why) => RootOutcome::NotJudged { why, producer: None },
        Trouble::Failed(why) => RootOutcome::Failed { why },
    }
}

async fn one(shared: &Shared, root: &Root, producers: Vec<(String, Told)>) -> (RootResult, Done) {
    let engine = shared.engines.get(&engine_key(&root.engine));
    let mut work = Work { shared, root, timing: Timing::default(), notes: Vec::new(), before: Duration::ZERO };
    let (outcome, planned) = match engine {
        Some(engine) => {
            work.notes.extend(engine.waived.clone());
            match work.run(engine, producers).await {
                Ok((plan, planned)) => (RootOutcome::Planned(Box::new(plan)), Some(planned)),
                Err(outcome) => (outcome, None),
            }
        }
        None => {
            (RootOutcome::Failed { why: format!("no engine is known for executable `{}`", root.engine.name) }, None)
        }
    };
    let told = match &outcome {
        RootOutcome::Planned(_) => "planned",
        RootOutcome::NotJudged { .. } => "not judged",
        RootOutcome::Failed { .. } => "failed",
        RootOutcome::NeedsUnapplied { .. } => "needs what will not be applied",
    };
    shared.job.progress.step(&root.id, told);
    // The own initialisation runs while the producers are planned.
    let chain = work.before.max(work.timing.init) + work.timing.plan + work.timing.show;
    let done = Done { planned, chain };
    let engine = engine.map(Engine::to_string).unwrap_or_default();
    (RootResult { id: root.id.clone(), outcome, timing: work.timing, engine, notes: work.notes }, done)
}

struct Work<'a> {
    shared: &'a Shared,
    root: &'a Root,
    timing: Timing,
    notes: Vec<String>,
    /// The engine's time on the longest chain of producers.
    before: Duration,
}

impl Work<'_> {
    fn tell(&self, what: &str) {
        self.shared.job.progress.step(&self.root.id, what);
    }

    async fn run(
        &mut self,
        engine: &Engine,
        producers: Vec<(String, Told)>,
    ) -> Result<(Plan, PlannedRoot), RootOutcome> {
        let shared = self.shared;
        let job = &shared.job;
        let emitted = emitted(&job.emission, &self.root.id)
            .ok_or_else(|| RootOutcome::Failed { why: "nothing was generated for it".into() })?;
        self.check_profiles(emitted)?;
        let copy = materialise::materialise(&job.tree, &job.generation, &job.emission, emitted, &job.secrets)
            .map_err(|error| of_trouble(crate::trouble::judge(&error.to_string(), &shared.redactor, &[&job.tree])))?;
        let steps = Steps {
            engine,
            copy: &copy,
            environment: shared.session.environment(),
            redactor: &shared.redactor,
            here: vec![&copy.directory, &job.tree],
            limit: job.limit,
        };
        let skipped = self.prepare(&steps, emitted, false).await?;
        let stubs = self.stubs(emitted, producers).await?;
        stub::lay(&copy.directory, &stubs).map_err(|error| RootOutcome::Failed { why: error.to_string() })?;
        let variables = self.variables();
        let mut planned = self.plan(&steps, &variables).await;
        if skipped && planned.is_err() {
            // What an earlier run initialised may have gone since, e.g. a provider cache.
            self.prepare(&steps, emitted, true).await?;
            planned = self.plan(&steps, &variables).await;
        }
        planned.map_err(of_trouble)?;
        self.tell("reading the plan");
        let started = Instant::now();
        let slot = shared.slots.acquire().await;
        let read = steps.show(&self.root.id, &shared.tokens).await;
        drop(slot);
        self.timing.show += started.elapsed();
        let (plan, outputs) = read.map_err(of_trouble)?;
        if job.keep_locks {
            self.keep_lock(&copy);
        }
        let planned = PlannedRoot {
            outputs,
            outputs_change: plan.outputs.iter().any(|output| output.action != Action::NoOp),
            has_state: plan.state.as_ref().is_none_or(|state| state.exists),
        };
        Ok((plan, planned))
    }

    fn keep_lock(&mut self, copy: &WorkingCopy) {
        if let Err(error) = materialise::carry_lock_back(copy) {
            self.notes.push(format!("the provider lock was not kept: {error}"));
        }
    }

    fn check_profiles(&self, emitted: &EmittedRoot) -> Result<(), RootOutcome> {
        let mut named = needs::profiles(&self.shared.job.emission, emitted);
        named.extend(self.root.state.as_ref().and_then(|state| state.profile.clone()));
        match named.iter().find(|profile| self.shared.session.missing().contains(*profile)) {
            None => Ok(()),
            Some(profile) => Err(RootOutcome::NotJudged {
                why: format!(
                    "no credentials for profile `{profile}`: the environment holds no AWS session and the AWS files have no such profile"
                ),
                producer: None,
            }),
        }
    }

    /// Initialises unless it is done; says whether it was skipped.
    async fn prepare(&mut self, steps: &Steps<'_>, emitted: &EmittedRoot, again: bool) -> Result<bool, RootOutcome> {
        if !again && steps.is_initialised() {
            return Ok(true);
        }
        // The cache first: who waits for it must not keep others from planning.
        let cache = match &self.shared.cache {
            Some(cache) => Some(cache.enter().await),
            None => None,
        };
        let slot = self.shared.slots.acquire().await;
        self.tell("initialising");
        let started = Instant::now();
        let notes = steps.init(emitted.backend_file.as_deref()).await;
        self.timing.init += started.elapsed();
        drop((slot, cache));
        self.notes.extend(notes.map_err(of_trouble)?);
        Ok(false)
    }

    async fn plan(&mut self, steps: &Steps<'_>, variables: &BTreeMap<String, String>) -> Result<(), Trouble> {
        let slot = self.shared.slots.acquire().await;
        self.tell("planning");
        let started = Instant::now();
        let planned = steps.plan(&self.root.replace, variables).await;
        self.timing.plan += started.elapsed();
        drop(slot);
        planned
    }

    /// Waits for the producers and decides what stands in for each one's state.
    async fn stubs(
        &mut self,
        emitted: &EmittedRoot,
        producers: Vec<(String, Told)>,
    ) -> Result<BTreeMap<String, Stub>, RootOutcome> {
        let shared = self.shared;
        let mut stubs = BTreeMap::new();
        for (id, mut told) in producers {
            if told.borrow().is_none() {
                self.tell(&format!("waiting for {id}"));
            }
            let done = told.wait_for(Option::is_some).await.ok().and_then(|done| done.clone());
            let Some(done) = done else { return Err(blocked(&id)) };
            self.before = self.before.max(done.chain);
            let Some(planned) = &done.planned else { return Err(blocked(&id)) };
            let intent = &shared.job.intent;
            let Some(producer) = intent.roots.iter().find(|root| root.id == id) else { continue };
            for read in self.root.reads.iter().filter(|read| read.root == id) {
                if producer.applies.applies {
                    if planned.outputs_change || !planned.has_state {
                        let stub = Stub::planned(&id, &planned.outputs, &shared.tokens).map_err(|why| {
                            RootOutcome::Failed { why: format!("the outputs of `{id}` could not be read: {why}") }
                        })?;
                        stubs.insert(read.label.clone(), stub);
                    }
                    continue;
                }
                let needs =
                    needs::unmet(&shared.job.emission, emitted, self.root, producer, &read.label, &planned.outputs);
                if !needs.is_empty() {
                    return Err(RootOutcome::NeedsUnapplied {
                        producer: id,
                        flag: producer.applies.flag.clone(),
                        value: producer.applies.value.clone(),
                        at: producer.applies.at.clone(),
                        needs,
                    });
                }
                if !planned.has_state {
                    stubs.insert(read.label.clone(), Stub::empty());
                }
            }
        }
        Ok(stubs)
    }

    /// The root's own variables, and a token for every build that is due.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.root.variables.clone();
        let Content::Instances { instances } = &self.root.content else { return variables };
        for instance in instances {
            let BuildRef::Deferred { series, runtime, .. } = &instance.build else { continue };
            let bakes = &self.shared.job.intent.bakes;
            if let Some(bake) = bakes.iter().find(|bake| bake.due && bake.series == *series && bake.runtime == *runtime)
            {
                let token = self.shared.tokens.for_build(series, runtime, &bake.fingerprint);
                variables.insert(format!("{}_ami_id", instance.name.label), token.to_string());
            }
        }
        variables
    }
}
