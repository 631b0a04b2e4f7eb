//! Runs workflows: steps in order of their dependencies, each through `calls` and recorded durably.
//!
//! Floor 7. Definitions are in `organize/workflow`; this room runs them. It accesses the vault only
//! through [`Calls`], on behalf of the person who started it, so policy, questions, hooks and the
//! journal apply as for any call; `tests/architecture` checks that.
//!
//! Invariants:
//! - A dry run changes nothing and is not recorded.
//! - A step is recorded before it begins and when it has ended. Each change has its own journal
//!   turn, so after a crash the journal shows whether it was done; it is never done twice.
//! - Nothing waits here for a person: a run that needs one ends in the state `waiting` and is resumed with the answer.
//!
//! In reading order: [`report`] (results), `engine` (scheduling), `live` (real execution), [`replay`] (execution from a
//! recording), [`known`] (the tools for checks).

mod engine;
pub mod known;
mod live;
pub mod replay;
pub mod report;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Map, Value as Json};

use crate::bases::diagnostic::Diagnostic;
use crate::calls::{Calls, Cancel};
use crate::locks::lock;
use crate::organize::workflow::{self, Does, OnError, Workflow};
use crate::policy::Caller;
use crate::store::workflows::{RUNNING, WAITING, WorkflowRows, WorkflowRun};
use crate::store::{Store, StoreError};
use crate::tools::{Clock, Tier};
use engine::Engine;
use known::KnownTools;
use live::{LiveRun, Mode};
use report::{Ended, Report, RunState, StepProgress, StepState, key};

/// The most workflows that run at once.
const MAX_ACTIVE_RUNS: usize = 4;

/// Access to a language model without tools.
pub trait Models: Send + Sync {
    /// The text of its answer to `prompt`. Stops on `cancel`.
    ///
    /// # Errors
    /// No model is set up, or it did not answer: a sentence, and what to do about it.
    fn ask(&self, prompt: &str, cancel: &Cancel) -> Result<String, (String, Option<String>)>;
}

#[derive(Debug, Clone, Default)]
pub struct Start {
    pub text: String,
    /// The name of the definition's file.
    pub source: String,
    pub inputs: Map<String, Json>,
    /// Whether to make changes instead of a dry run.
    pub apply: bool,
    /// Whether a person approved all changes in advance.
    pub confirmed: bool,
    /// Answers to questions in advance, by step.
    pub answers: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub struct Resume {
    pub run: i64,
    pub confirmed: bool,
    /// Answers by step: `ask`, or `ask[2]` for the third element of `for_each`. For a change that waits for approval:
    /// `yes`, which covers exactly the changes shown, or `no`.
    pub answers: BTreeMap<String, String>,
}

/// Why a workflow did not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("{}", described(.source_name, .found))]
    Invalid { source_name: String, found: Vec<Diagnostic> },
    #[error("{0}")]
    Inputs(String),
    /// An answer belongs to no question, or is not one of its choices.
    #[error("{0}")]
    Answer(String),
    /// There is no run to resume.
    #[error("run {run} is {state}, so there is nothing to resume")]
    WrongState { run: i64, state: String },
    /// The run is already active.
    #[error("run {0} is running")]
    AtWork(i64),
    #[error("{MAX_ACTIVE_RUNS} workflows are running already")]
    TooMany,
    /// The record of the run could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkflowError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Invalid { found, .. } => found.first().and_then(|first| first.hint.clone()),
            Self::Inputs(_) => Some("give inputs as `--input name=value`".to_owned()),
            Self::Answer(_) => Some("`steward workflow list` shows what waits".to_owned()),
            Self::WrongState { .. } => Some("run it again with `steward workflow run`".to_owned()),
            Self::AtWork(_) | Self::TooMany => {
                Some("wait until it has ended: `steward workflow list`".to_owned())
            }
            Self::Store(error) => Some(error.hint()),
        }
    }
}

/// The errors of a definition with their places.
pub fn described(source: &str, found: &[Diagnostic]) -> String {
    let one = |(at, diagnostic): (usize, &Diagnostic)| {
        // The first hint is shown separately.
        let hint = diagnostic.hint.as_deref().filter(|_| at > 0);
        let hint = hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        format!("{}{hint}", diagnostic.described(source))
    };
    found.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
}

/// Runs the workflows of one vault. Clones share it.
#[derive(Clone)]
pub struct Workflows(Arc<SharedWorkflows>);

struct SharedWorkflows {
    calls: Calls,
    rows: WorkflowRows,
    store: Store,
    clock: Clock,
    /// The clock for timeouts.
    instant: fn() -> Instant,
    /// Active runs by number; dry runs have negative numbers.
    active_runs: Mutex<HashSet<i64>>,
}

debug_only!(Workflows);

/// A listener for the start and end of steps.
pub type StepListener<'a> = &'a (dyn Fn(&StepProgress) + Sync);

#[derive(Clone, Copy)]
pub struct RunEnvironment<'a> {
    /// The model for steps that ask one; without it they fail.
    pub models: Option<&'a dyn Models>,
    pub tell: StepListener<'a>,
    /// Ends the run before its next step.
    pub cancel: &'a Cancel,
}

impl Workflows {
    /// Creates a runner with these tools that records in `store`.
    pub fn new(calls: Calls, store: &Store, clock: Clock) -> Self {
        Self::with_instant(calls, store, clock, Instant::now)
    }

    /// The same with a clock for timeouts.
    pub fn with_instant(
        calls: Calls,
        store: &Store,
        clock: Clock,
        instant: fn() -> Instant,
    ) -> Self {
        Self(Arc::new(SharedWorkflows {
            rows: store.workflows.clone(),
            store: store.clone(),
            calls,
            clock,
            instant,
            active_runs: Mutex::default(),
        }))
    }

    /// Parses a definition and checks it against the available tools.
    pub fn check(&self, text: &str, source: &str) -> Result<Workflow, WorkflowError> {
        self.0.calls.renew_tools();
        let tools = self.0.calls.tools();
        workflow::read(text, &KnownTools(&tools))
            .map_err(|found| WorkflowError::Invalid { source_name: source.to_owned(), found })
    }

    /// Runs a workflow: as a dry run, or with `apply` for real. Blocks until it has ended or waits.
    ///
    /// # Errors
    /// [`WorkflowError`]: no step has begun, or the store fails.
    pub fn run(
        &self,
        start: Start,
        caller: Caller,
        around: RunEnvironment<'_>,
    ) -> Result<Report, WorkflowError> {
        let workflow = self.check(&start.text, &start.source)?;
        let inputs = workflow.inputs(&start.inputs).map_err(WorkflowError::Inputs)?;
        check_answers(&workflow, &start.answers)?;
        let began = self.0.clock.now().timestamp_millis();
        let mut place = self.take_place(None)?;
        let mut mode =
            Mode { caller, confirmed: start.confirmed, answers: start.answers, ..Mode::default() };
        if start.apply {
            let run = self.0.rows.start(&WorkflowRun {
                id: 0,
                workflow: workflow.id.clone(),
                definition: start.text,
                source: start.source,
                inputs: inputs.to_string(),
                state: RUNNING.to_owned(),
                began,
                ended: None,
            })?;
            mode.run = Some(run);
            place.set_run(run);
        }
        self.execute(&workflow, inputs, began, mode, HashMap::new(), around)
    }

    /// Resumes a run that waits for a person, was interrupted, or failed. Completed steps are not repeated.
    pub fn resume(
        &self,
        resume: Resume,
        caller: Caller,
        around: RunEnvironment<'_>,
    ) -> Result<Report, WorkflowError> {
        let _place = self.take_place(Some(resume.run))?;
        let row = self.0.rows.get(resume.run)?;
        if row.state == RunState::Done.word() {
            return Err(WorkflowError::WrongState { run: row.id, state: row.state });
        }
        let workflow = self.check(&row.definition, &row.source)?;
        let inputs = serde_json::from_str(&row.inputs).unwrap_or_default();
        let Resume { confirmed, mut answers, .. } = resume;
        let mut mode = Mode { run: Some(row.id), caller, confirmed, ..Mode::default() };
        let mut known = HashMap::new();
        for step in self.0.rows.steps(row.id)? {
            let Some(number) = workflow.steps.iter().position(|one| one.id == step.step) else {
                continue;
            };
            let place = (number, step.item);
            let Some(outcome) =
                step.outcome.as_deref().and_then(|json| serde_json::from_str::<Ended>(json).ok())
            else {
                mode.was_begun.insert(place);
                let name = key(&step.step, usize::try_from(step.item).ok());
                if let (Does::Tool { .. }, Some(answer)) =
                    (&workflow.steps[number].does, answers.remove(&name))
                {
                    if !["done", "again"].contains(&answer.as_str()) {
                        let message = format!(
                            "`{name}` is answered with `done` or `again`, not with `{}`",
                            answer.escape_debug()
                        );
                        return Err(WorkflowError::Answer(message));
                    }
                    mode.settled.insert(name, answer);
                }
                continue;
            };
            let name = key(&step.step, usize::try_from(step.item).ok());
            if let Some(identity) =
                outcome.waits.as_ref().and_then(|waits| waits.approval["identity"].as_str())
            {
                match answers.remove(&name).as_deref() {
                    None => {}
                    Some("yes") => drop(mode.agreed.insert(name, identity.to_owned())),
                    Some("no") => drop(mode.refused.insert(name)),
                    Some(other) => {
                        let message = format!(
                            "`{name}` is answered with `yes` or `no`, not with `{}`",
                            other.escape_debug()
                        );
                        return Err(WorkflowError::Answer(message));
                    }
                }
                continue;
            }
            let is_over = match outcome.state {
                StepState::Done | StepState::Skipped => true,
                // Retried, unless later steps ran without it.
                StepState::Failed => workflow.steps[number].on_error == OnError::Continue,
                _ => false,
            };
            if is_over {
                let input = serde_json::from_str(&step.input).unwrap_or_default();
                known.insert(place, (input, outcome));
            }
        }
        check_answers(&workflow, &answers)?;
        mode.answers = answers;
        self.0.rows.set_state(row.id, RUNNING, None)?;
        self.execute(&workflow, inputs, row.began, mode, known, around)
    }

    /// The last runs, newest first, with their waiting steps. Runs that were active when the process ended are
    /// interrupted.
    pub fn list(&self, limit: u32) -> Result<Vec<(WorkflowRun, Vec<String>)>, WorkflowError> {
        list(&self.0.rows, limit, &|run| lock(&self.0.active_runs).contains(&run))
    }

    fn execute(
        &self,
        workflow: &Workflow,
        inputs: Json,
        began: i64,
        mode: Mode,
        known: HashMap<(usize, i64), (Json, Ended)>,
        around: RunEnvironment<'_>,
    ) -> Result<Report, WorkflowError> {
        let run = mode.run;
        let zone = self.0.clock.zone();
        let offset = self.0.clock.now().offset().local_minus_utc();
        let live = LiveRun::new(&self.0, &workflow.id, mode, around);
        let engine = Engine {
            workflow,
            doer: &live,
            inputs: &inputs,
            now: began,
            zone: &*zone,
            tell: around.tell,
            cancel: around.cancel,
            run,
        };
        let (steps, state) = engine.run(known);
        if let Some(run) = run {
            let ended = (state != RunState::Waiting && state != RunState::Interrupted)
                .then(|| self.0.clock.now().timestamp_millis());
            self.0.rows.set_state(run, state.word(), ended)?;
        }
        if let Some(error) = live.into_fault() {
            return Err(error.into());
        }
        Ok(Report { run, workflow: workflow.id.clone(), state, inputs, now: began, offset, steps })
    }

    fn take_place(&self, run: Option<i64>) -> Result<ActiveRun<'_>, WorkflowError> {
        let mut active_runs = lock(&self.0.active_runs);
        if active_runs.len() >= MAX_ACTIVE_RUNS {
            return Err(WorkflowError::TooMany);
        }
        let number =
            run.unwrap_or_else(|| active_runs.iter().min().copied().unwrap_or(0).min(0) - 1);
        if active_runs.insert(number) {
            Ok(ActiveRun { of: self, number })
        } else {
            Err(WorkflowError::AtWork(number))
        }
    }
}

/// Registers an active run until it is dropped.
struct ActiveRun<'a> {
    of: &'a Workflows,
    number: i64,
}

impl ActiveRun<'_> {
    fn set_run(&mut self, run: i64) {
        let mut active_runs = lock(&self.of.0.active_runs);
        active_runs.remove(&self.number);
        active_runs.insert(run);
        self.number = run;
    }
}

impl Drop for ActiveRun<'_> {
    fn drop(&mut self) {
        lock(&self.of.0.active_runs).remove(&self.number);
    }
}

/// The last runs of a store, newest first, with their waiting steps.
pub fn list(
    rows: &WorkflowRows,
    limit: u32,
    is_at_work: &dyn Fn(i64) -> bool,
) -> Result<Vec<(WorkflowRun, Vec<String>)>, WorkflowError> {
    let mut listed = Vec::new();
    for mut run in rows.last(limit)? {
        if run.state == RUNNING && !is_at_work(run.id) {
            run.state = RunState::Interrupted.word().to_owned();
        }
        let mut waiting = Vec::new();
        if run.state == WAITING {
            let steps = rows.steps(run.id)?;
            // A person has to say whether an interrupted step was done.
            let waits = steps
                .iter()
                .filter(|step| step.state == StepState::Waiting.word() || step.outcome.is_none());
            waiting = waits.map(|step| key(&step.step, usize::try_from(step.item).ok())).collect();
        }
        listed.push((run, waiting));
    }
    Ok(listed)
}

/// Finds answers that belong to no step or are not among the choices.
fn check_answers(
    workflow: &Workflow,
    answers: &BTreeMap<String, String>,
) -> Result<(), WorkflowError> {
    for (name, answer) in answers {
        let id = name.split('[').next().unwrap_or(name);
        let step = workflow.steps.iter().find(|step| step.id == id);
        match step.map(|step| &step.does) {
            None => {
                return Err(WorkflowError::Answer(format!(
                    "`{}` has no step `{}`",
                    workflow.id,
                    name.escape_debug()
                )));
            }
            Some(Does::Ask { choices, .. }) if !choices.is_empty() && !choices.contains(answer) => {
                let message = format!(
                    "`{name}` is answered with `{}`, not with `{}`",
                    choices.join("` or `"),
                    answer.escape_debug()
                );
                return Err(WorkflowError::Answer(message));
            }
            Some(Does::Tool { .. }) => {
                return Err(WorkflowError::Answer(format!("`{name}` asks nothing")));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether a tool may change something.
fn changes(tier: Tier) -> bool {
    tier != Tier::Safe
}
