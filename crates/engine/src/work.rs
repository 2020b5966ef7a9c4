//! The work on one root: its working copy, the wait for its producers, and the engine's steps.

use crate::cache::Using;
use crate::engine::{Engine, Steps};
use crate::graph::{Done, PlannedRoot, RootOutcome, RootResult, Shared, Timing, Told, emitted, engine_key};
use crate::inputs::Inputs;
use crate::materialise::{self, WorkingCopy};
use crate::needs;
use crate::owner::Workspace;
use crate::stub::{self, Stub};
use crate::trouble::Trouble;
use crate::user::{ChildUser, UserError, acting};
use csis_values::emission::EmittedRoot;
use csis_values::intent::{BuildRef, Content, Root};
use csis_values::plan::{Action, Plan};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

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

/// Whether children can read what stands in a working copy, and the modules that it calls.
fn readable(user: ChildUser, copy: &WorkingCopy) -> Result<(), UserError> {
    // What csis itself cannot read is told where it is needed.
    let Ok(inputs) = Inputs::now(&copy.directory, "") else { return Ok(()) };
    let files = inputs.inputs.keys().filter(|name| !name.starts_with('('));
    let outside = files.filter(|name| name.starts_with("../"));
    outside.map(|name| copy.directory.join(name)).try_for_each(|path| user.reads(&path))
}

pub async fn one(shared: &Shared, root: &Root, producers: Vec<(String, Told)>) -> (RootResult, Done) {
    let engine = shared.engines.get(&engine_key(&root.engine));
    let mut work = Work { shared, root, timing: Timing::default(), notes: Vec::new(), before: Duration::ZERO };
    let (outcome, planned) = match engine {
        Some(engine) => {
            work.notes.extend(engine.waived.clone());
            match work.run(engine, producers, async |_: &Steps<'_>, _: &mut Plan| {}).await {
                Ok((plan, planned, ())) => (RootOutcome::Planned(Box::new(plan)), Some(planned)),
                Err(outcome) => (outcome, None),
            }
        }
        None => {
            (RootOutcome::Failed { why: format!("no engine is known for executable `{}`", root.engine.name) }, None)
        }
    };
    let told = match &outcome {
        RootOutcome::Planned(_) => "planned",
        _ if shared.job.stop.is_stopped() => "interrupted",
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

/// Plans a root whose producers are what they are by now, and gives the plan to `then` while the working copy is as it was planned in.
pub async fn alone<T>(
    shared: &Shared,
    root: &Root,
    then: impl AsyncFnOnce(&Steps<'_>, &mut Plan) -> T,
) -> Result<(Plan, T), RootOutcome> {
    let Some(engine) = shared.engines.get(&engine_key(&root.engine)) else {
        let why = format!("no engine is known for executable `{}`", root.engine.name);
        return Err(RootOutcome::Failed { why });
    };
    let mut work = Work { shared, root, timing: Timing::default(), notes: Vec::new(), before: Duration::ZERO };
    work.run(engine, Vec::new(), then).await.map(|(plan, _, then)| (plan, then))
}

struct Work<'a> {
    shared: &'a Shared,
    root: &'a Root,
    timing: Timing,
    notes: Vec<String>,
    /// The engine's time on the longest chain of producers.
    before: Duration,
}

impl<'s> Work<'s> {
    fn tell(&self, what: &str) {
        self.shared.job.progress.step(&self.root.id, what);
    }

    /// Where there are no credentials by intent, that is why nothing can be looked at.
    fn of_trouble(&self, trouble: Trouble) -> RootOutcome {
        match (trouble, self.shared.session.no_default()) {
            (Trouble::NoAccess(said), Some(why)) => RootOutcome::NotJudged {
                why: format!("planned without credentials: {why}; the engine said: {said}"),
                producer: None,
            },
            (trouble, _) => of_trouble(trouble),
        }
    }

    /// `then` gets the plan while nothing of the working copy has changed hands.
    async fn run<T>(
        &mut self,
        engine: &Engine,
        producers: Vec<(String, Told)>,
        then: impl AsyncFnOnce(&Steps<'_>, &mut Plan) -> T,
    ) -> Result<(Plan, PlannedRoot, T), RootOutcome> {
        let shared = self.shared;
        let job = &shared.job;
        let emitted = emitted(&job.emission, &self.root.id)
            .ok_or_else(|| RootOutcome::Failed { why: "nothing was generated for it".into() })?;
        self.check_profiles(emitted)?;
        let copy = materialise::materialise(&job.tree, &job.generation, &job.emission, emitted, &job.secrets)
            .map_err(|error| of_trouble(crate::trouble::judge(&error.to_string(), &shared.redactor, &[&job.tree])))?;
        if job.user.is_some() {
            materialise::forget_made(&copy).map_err(|error| RootOutcome::Failed {
                why: crate::trouble::shown(&error.to_string(), &shared.redactor, &[&job.tree]),
            })?;
        }
        let steps = Steps {
            engine,
            copy: &copy,
            children: shared.children(),
            redactor: &shared.redactor,
            here: vec![&copy.directory, &job.tree],
            limit: job.limit,
        };
        let failed = |error: UserError| RootOutcome::Failed {
            why: crate::trouble::shown(&error.to_string(), &shared.redactor, &[&job.tree]),
        };
        let lent = match &shared.workspace {
            Some(workspace) => workspace.lend(&copy).map_err(failed)?,
            None => None,
        };
        if let Some(user) = job.user {
            readable(user, &copy).map_err(failed)?;
        }
        let skipped = self.prepare(&steps, emitted, false).await?;
        let stubs = self.stubs(emitted, producers).await?;
        acting(job.user, || stub::lay(&copy.directory, &stubs).map_err(io::Error::other))
            .map_err(|error| RootOutcome::Failed { why: error.to_string() })?;
        let variables = self.variables();
        let mut planned = self.plan(&steps, &variables).await;
        if skipped && planned.is_err() {
            // What an earlier run initialised may have gone since, e.g. a provider cache.
            self.prepare(&steps, emitted, true).await?;
            planned = self.plan(&steps, &variables).await;
        }
        planned.map_err(|trouble| self.of_trouble(trouble))?;
        self.tell("reading the plan");
        let started = Instant::now();
        // The cache before the slot, in the order of those who fill it.
        let using = self.using().await;
        let slot = shared.slots.acquire().await;
        let read = steps.show(&self.root.id, &shared.tokens).await;
        drop(slot);
        self.timing.show += started.elapsed();
        let (mut plan, outputs) = read.map_err(|trouble| self.of_trouble(trouble))?;
        let then = then(&steps, &mut plan).await;
        drop(using);
        // Nothing that is carried out of it changes any more.
        drop(lent);
        if job.keep_locks {
            self.keep_lock(&copy);
        }
        let planned = PlannedRoot {
            outputs,
            outputs_change: plan.outputs.iter().any(|output| output.action != Action::NoOp),
            has_state: plan.state.as_ref().is_none_or(|state| state.exists),
        };
        Ok((plan, planned, then))
    }

    fn keep_lock(&mut self, copy: &WorkingCopy) {
        let owner = self.shared.workspace.as_ref().map(Workspace::owner);
        if let Err(error) = materialise::carry_lock_back(copy, owner) {
            self.notes.push(format!("the provider lock was not kept: {error}"));
        }
    }

    fn check_profiles(&self, emitted: &EmittedRoot) -> Result<(), RootOutcome> {
        let mut named = needs::profiles(&self.shared.job.emission, emitted);
        named.extend(self.root.state.as_ref().and_then(|state| state.profile.clone()));
        match named.iter().find(|profile| self.shared.session.missing().contains(*profile)) {
            None => Ok(()),
            Some(profile) => Err(RootOutcome::NotJudged {
                why: format!("no credentials for profile `{profile}`: {}", self.shared.session.why_missing()),
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
            Some(cache) => tokio::select! {
                held = cache.fill() => Some(held),
                // Nothing starts any more.
                () = self.shared.job.stop.stopped() => None,
            },
            None => None,
        };
        let slot = self.shared.slots.acquire().await;
        self.tell("initialising");
        let started = Instant::now();
        let notes = steps.init(emitted.backend_file.as_deref()).await;
        self.timing.init += started.elapsed();
        drop((slot, cache));
        self.notes.extend(notes.map_err(|trouble| self.of_trouble(trouble))?);
        Ok(false)
    }

    async fn plan(&mut self, steps: &Steps<'_>, variables: &BTreeMap<String, String>) -> Result<(), Trouble> {
        let using = self.using().await;
        let slot = self.shared.slots.acquire().await;
        self.tell("planning");
        let started = Instant::now();
        let planned = steps.plan(&self.root.replace, variables).await;
        self.timing.plan += started.elapsed();
        drop((slot, using));
        planned
    }

    /// Keeps the provider cache as it is while providers are started from it.
    async fn using(&self) -> Option<Using<'s>> {
        let cache = self.shared.cache.as_ref()?;
        tokio::select! {
            using = cache.keep() => Some(using),
            () = self.shared.job.stop.stopped() => None,
        }
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
