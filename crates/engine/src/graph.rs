//! Planning every root of a tree: producers before consumers, independent ones at the same time.

use crate::cache::Cache;
use crate::credentials::Credentials;
use crate::engine::{Engine, EngineError};
use crate::materialise;
use crate::needs::{self, Need};
use crate::owner::Workspace;
use crate::pending::Tokens;
use crate::plan::{Outputs, Redactor};
use crate::process::Children;
use crate::session::Session;
use crate::stop::Stop;
use crate::user::ChildUser;
use crate::work::one;
use csis_values::Place;
use csis_values::emission::{Emission, EmittedRoot};
use csis_values::intent::{EngineRef, Intent, Root};
use csis_values::plan::Plan;
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
    /// Ends the run before its time: no child starts any more, and those that run are interrupted once.
    pub stop: Stop,
    /// As whom children run; as csis itself when none. Needs csis to be root.
    pub user: Option<ChildUser>,
    pub credentials: Credentials,
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
pub(crate) struct Done {
    /// Its plan's outputs, when it was planned.
    pub planned: Option<PlannedRoot>,
    pub chain: Duration,
}

pub(crate) struct PlannedRoot {
    pub outputs: Outputs,
    pub outputs_change: bool,
    pub has_state: bool,
}

pub(crate) type Told = watch::Receiver<Option<Arc<Done>>>;

pub(crate) struct Shared {
    pub job: PlanJob,
    pub session: Session,
    pub redactor: Redactor,
    pub tokens: Tokens,
    pub engines: BTreeMap<String, Engine>,
    pub slots: Semaphore,
    /// Held around `init` where roots share a provider cache: the engine does not guard it.
    pub cache: Option<Cache>,
    /// Gives everything back when it goes; none when csis is not root.
    pub workspace: Option<Workspace>,
}

impl Shared {
    pub fn children(&self) -> Children<'_> {
        Children { environment: self.session.environment(), user: self.job.user, stop: &self.job.stop }
    }
}

/// Plans the roots of a job. An error means that nothing could be started, or that the run was stopped; what befalls a single root is in its outcome.
pub async fn plan_all(job: PlanJob) -> Result<PlanResult, EngineError> {
    Roots::open(job).await?.plan().await
}

/// The roots of a job, with the engines and the credentials that they take.
pub struct Roots {
    pub(crate) shared: Arc<Shared>,
    /// Producers first.
    pub(crate) order: Vec<Root>,
}

impl Roots {
    /// Finds the engines and opens the session.
    pub async fn open(job: PlanJob) -> Result<Roots, EngineError> {
        let wanted = wanted(&job);
        let roots: Vec<&Root> = job.intent.roots.iter().filter(|root| wanted.contains(&root.id)).collect();
        if let Some(user) = job.user {
            user.check()?;
        }
        let session = open_session(&job, &roots)?;
        let mut engines = BTreeMap::new();
        for root in &roots {
            let key = engine_key(&root.engine);
            if !engines.contains_key(&key) {
                let children = Children { environment: session.environment(), user: job.user, stop: &job.stop };
                let located = Engine::locate_as(&root.engine, &job.tools, children).await;
                let engine = if job.stop.is_stopped() { Err(EngineError::Interrupted) } else { located }?;
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
        let cache = if job.user.is_some() { cache.map(Cache::of_this_run) } else { cache };
        let order: Vec<Root> = roots.into_iter().cloned().collect();
        let workspace = match materialise::private(&job.tree, &job.generation) {
            Ok(private) => Workspace::open(&job.tree, private, job.user)?,
            // Each root says so.
            Err(_) => None,
        };
        Ok(Roots {
            shared: Arc::new(Shared { job, session, redactor, tokens, engines, slots, cache, workspace }),
            order,
        })
    }

    /// Plans every root against what its producers will output.
    pub async fn plan(&self) -> Result<PlanResult, EngineError> {
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        let mut told: BTreeMap<String, Told> = BTreeMap::new();
        for (index, root) in self.order.iter().cloned().enumerate() {
            let (tell, hear) = watch::channel(None);
            let reads = |label: &str| {
                emitted(&self.shared.job.emission, &root.id)
                    .is_some_and(|emitted| needs::declares(&self.shared.job.emission, emitted, label))
            };
            // Only what stands before it is waited for: the intent has producers first, so nothing waits for itself.
            let producers: Vec<(String, Told)> = root
                .reads
                .iter()
                .filter(|read| reads(&read.label))
                .filter_map(|read| Some((read.root.clone(), told.get(&read.root)?.clone())))
                .collect();
            told.insert(root.id.clone(), hear);
            let shared = Arc::clone(&self.shared);
            tasks.spawn(async move {
                let (result, done) = one(&shared, &root, producers).await;
                let chain = done.chain;
                let _ = tell.send(Some(Arc::new(done)));
                (index, chain, result)
            });
        }
        drop(told);
        let mut results: Vec<Option<RootResult>> = self.order.iter().map(|_| None).collect();
        let mut longest_chain = Duration::ZERO;
        while let Some(joined) = tasks.join_next().await {
            if let Ok((index, chain, result)) = joined {
                longest_chain = longest_chain.max(chain);
                results[index] = Some(result);
            }
        }
        if self.shared.job.stop.is_stopped() {
            return Err(EngineError::Interrupted);
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
        let results = results.into_iter().zip(&self.order);
        let roots = results.map(|(result, root)| result.unwrap_or_else(|| lost(root))).collect();
        Ok(PlanResult { roots, longest_chain, wall: started.elapsed() })
    }
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

pub(crate) fn emitted<'e>(emission: &'e Emission, id: &str) -> Option<&'e EmittedRoot> {
    emission.roots.iter().find(|root| root.id == id)
}

pub(crate) fn engine_key(engine: &EngineRef) -> String {
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
    Session::with(&job.environment, &profiles, Path::new(temporary), &job.credentials, job.user).map_err(|source| {
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
