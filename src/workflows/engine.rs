//! Schedules steps and evaluates their inputs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};

use super::StepListener;
use super::report::{Ended, NOT_RECORDED, RunState, StepProgress, StepReport, StepState};
use crate::bases::date::Zone;
use crate::bases::value::{Object, Text, Value};
use crate::calls::Cancel;
use crate::locks::lock;
use crate::organize::workflow::values::{Values, of_json};
use crate::organize::workflow::{Does, OnError, Step, Workflow};

/// The most read-only steps that run in parallel.
const MAX_PARALLEL: usize = 4;

/// The most elements of a `for_each`.
const MAX_ITEMS: usize = 1_000;

/// Executes steps, either for real or from a recording.
pub(super) trait StepExecutor: Sync {
    fn is_dry_run(&self) -> bool;
    /// Executes a step, or one element of it.
    fn act(&self, unit: &Unit<'_>) -> Ended;
}

/// One execution of a step with its input.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub step: &'a Step,
    /// The step's index in its workflow.
    pub number: usize,
    pub item: Option<usize>,
    /// The arguments of a tool; `prompt` and `input` of a model; `question` of a question.
    pub input: Json,
    /// Whether a failure may be a consequence of changes that a dry run did not make.
    pub is_unsure: bool,
}

impl Unit<'_> {
    /// The element's index as stored: -1 for none.
    pub(super) fn stored_item(&self) -> i64 {
        self.item.and_then(|item| i64::try_from(item).ok()).unwrap_or(-1)
    }
}

pub(super) struct Engine<'a> {
    pub workflow: &'a Workflow,
    pub doer: &'a dyn StepExecutor,
    pub inputs: &'a Json,
    pub now: i64,
    pub zone: &'a dyn Zone,
    pub tell: StepListener<'a>,
    pub cancel: &'a Cancel,
    pub run: Option<i64>,
}

/// An execution, or its result without executing.
enum Planned<'a> {
    Unit(Unit<'a>),
    Known(Box<StepReport>),
}

/// The state of all steps.
#[derive(Default)]
struct Progress {
    /// The results of ended steps for expressions.
    ended: Vec<Option<(StepState, Value)>>,
    /// Steps that wait for a person.
    waiting: Vec<bool>,
    reports: Vec<StepReport>,
    is_failed: bool,
    is_cancelled: bool,
}

impl<'a> Engine<'a> {
    /// Runs every step that can run. `known` has the results of earlier executions by step and element, which are not
    /// repeated.
    pub(super) fn run(
        &self,
        mut known: HashMap<(usize, i64), (Json, Ended)>,
    ) -> (Vec<StepReport>, RunState) {
        let steps = &self.workflow.steps;
        let mut progress = Progress {
            ended: vec![None; steps.len()],
            waiting: vec![false; steps.len()],
            ..Progress::default()
        };
        let inputs = of_json(self.inputs);
        loop {
            if self.cancel.is_cancelled() {
                progress.is_cancelled = true;
            }
            if progress.is_failed || progress.is_cancelled {
                break;
            }
            let is_ready = |number: &usize| {
                progress.ended[*number].is_none()
                    && !progress.waiting[*number]
                    && steps[*number]
                        .depends_on
                        .iter()
                        .all(|&before| progress.ended[before].is_some())
            };
            let ready: Vec<usize> = (0..steps.len()).filter(is_ready).collect();
            // Read-only steps first; changes one by one, in the order of the file.
            let mut next: Vec<usize> =
                ready.iter().copied().filter(|&number| !steps[number].does.changes()).collect();
            let is_change = next.is_empty();
            if is_change {
                next.extend(ready.first());
            }
            if next.is_empty() {
                break;
            }
            let planned: Vec<(usize, Vec<Planned<'a>>)> = next
                .into_iter()
                .map(|number| (number, self.plan(number, &inputs, &progress, &mut known)))
                .collect();
            self.act(planned, is_change, &mut progress);
        }
        let is_waiting = progress.waiting.contains(&true);
        let state = match (progress.is_failed, progress.is_cancelled, is_waiting) {
            (true, ..) => RunState::Failed,
            (_, true, _) => RunState::Interrupted,
            (_, _, true) => RunState::Waiting,
            _ if self.doer.is_dry_run() => RunState::Shown,
            _ => RunState::Done,
        };
        for (number, step) in steps.iter().enumerate() {
            let is_reported = progress.reports.iter().any(|report| report.step == step.id);
            if progress.ended[number].is_none() && !is_reported {
                progress.reports.push(report(step, None, Json::Null, Ended::default()));
            }
        }
        (progress.reports, state)
    }

    /// The executions of a step with their inputs.
    fn plan(
        &self,
        number: usize,
        inputs: &Value,
        progress: &Progress,
        known: &mut HashMap<(usize, i64), (Json, Ended)>,
    ) -> Vec<Planned<'a>> {
        let step = &self.workflow.steps[number];
        let results = step.depends_on.iter().filter_map(|&before| {
            let (_, value) = progress.ended[before].as_ref()?;
            Some((Text::from(self.workflow.steps[before].id.as_str()), value.clone()))
        });
        let steps = Value::Object(Arc::new(Object(results.collect())));
        let values = |item: Value| Values {
            inputs: inputs.clone(),
            steps: steps.clone(),
            item,
            now: self.now,
            zone: self.zone,
        };
        let is_unknown = |before: &usize| {
            progress.ended[*before].as_ref().is_some_and(|(state, _)| *state == StepState::Unknown)
        };
        if self.doer.is_dry_run() && step.depends_on.iter().any(is_unknown) {
            return vec![skipped_step(report(step, None, Json::Null, unforeseen()))];
        }
        // In a dry run, a missing result of a skipped change is not a failure.
        let is_unsure = self.doer.is_dry_run() && self.follows_a_shown_change(number, progress);
        let broken = |item: Option<usize>, message: String| {
            let ended = if is_unsure {
                unforeseen()
            } else {
                Ended::failed("invalid_input", message, None)
            };
            skipped_step(report(step, item, Json::Null, ended))
        };
        let elements: Vec<Option<(usize, Json)>> = match &step.for_each {
            None => vec![None],
            Some(list) => match values(Value::Null).fill(list) {
                Ok(Json::Array(items)) if items.len() <= MAX_ITEMS => {
                    items.into_iter().enumerate().map(Some).collect()
                }
                Ok(Json::Array(items)) => {
                    let message = format!(
                        "`for_each` has {} elements; the limit is {MAX_ITEMS}",
                        items.len()
                    );
                    return vec![broken(None, message)];
                }
                Ok(other) => {
                    return vec![broken(
                        None,
                        format!("`for_each` is not a list but {}", kind(&other)),
                    )];
                }
                Err(message) => return vec![broken(None, message)],
            },
        };
        let one = |element: Option<(usize, Json)>| {
            let item = element.as_ref().map(|(at, _)| *at);
            let stored = item.and_then(|item| i64::try_from(item).ok()).unwrap_or(-1);
            if let Some((input, ended)) = known.remove(&(number, stored)) {
                return skipped_step(report(step, item, input, ended));
            }
            let values = values(element.map_or(Value::Null, |(_, json)| of_json(&json)));
            match step.when.as_ref().map(|when| values.holds(when)) {
                Some(Ok(false)) if is_unsure => {
                    return skipped_step(report(step, item, Json::Null, unforeseen()));
                }
                Some(Ok(false)) => {
                    let ended = Ended::with_text(StepState::Skipped, "");
                    return skipped_step(report(step, item, Json::Null, ended));
                }
                Some(Err(message)) => return broken(item, message),
                _ => {}
            }
            match input(step, &values) {
                Ok(input) => Planned::Unit(Unit { step, number, item, input, is_unsure }),
                Err(message) => broken(item, message),
            }
        };
        elements.into_iter().map(one).collect()
    }

    /// Executes a batch: reads in parallel, a change element by element.
    fn act(
        &self,
        planned: Vec<(usize, Vec<Planned<'a>>)>,
        is_change: bool,
        progress: &mut Progress,
    ) {
        let units: Vec<&Unit<'a>> = planned
            .iter()
            .flat_map(|(_, planned)| planned)
            .filter_map(|one| match one {
                Planned::Unit(unit) => Some(unit),
                Planned::Known(_) => None,
            })
            .collect();
        // The time zone cannot be shared between threads, so `self` cannot either.
        let Self { workflow, doer, cancel, run, tell, .. } = *self;
        let total = workflow.steps.len();
        let done = progress.ended.iter().flatten().count();
        let notify = |unit: &Unit<'_>, ended: Option<StepState>| {
            tell(&StepProgress {
                run,
                workflow: workflow.id.clone(),
                step: unit.step.id.clone(),
                item: unit.item,
                ended,
                done,
                total,
            });
        };
        let results: Vec<Mutex<Option<Ended>>> = units.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(at) else { return };
            if cancel.is_cancelled() {
                return;
            }
            notify(unit, None);
            let mut ended = doer.act(unit);
            let is_failure = ended.error.as_ref().is_some_and(|error| error.code != NOT_RECORDED);
            if unit.is_unsure && is_failure {
                ended = unforeseen();
            }
            notify(unit, Some(ended.state));
            let is_stop = ended.state == StepState::Failed && unit.step.on_error == OnError::Stop;
            *lock(&results[at]) = Some(ended);
            if is_stop {
                // No other step starts; parallel ones finish.
                next.store(units.len(), Ordering::Relaxed);
            }
        };
        if is_change || units.len() < 2 {
            work()
        } else {
            std::thread::scope(|scope| {
                for _ in 0..MAX_PARALLEL.min(units.len()) {
                    scope.spawn(work);
                }
            })
        }
        let mut results = results.into_iter();
        for (number, planned) in planned {
            let mut reports = Vec::new();
            for one in planned {
                match one {
                    Planned::Known(report) => reports.push(*report),
                    Planned::Unit(unit) => {
                        let ended = results.next().and_then(|one| {
                            one.into_inner().unwrap_or_else(PoisonError::into_inner)
                        });
                        reports.push(report(
                            unit.step,
                            unit.item,
                            unit.input,
                            ended.unwrap_or_default(),
                        ));
                    }
                }
            }
            self.end(number, reports, progress);
        }
    }

    /// The state of a step after its executions.
    fn end(&self, number: usize, reports: Vec<StepReport>, progress: &mut Progress) {
        let step = &self.workflow.steps[number];
        let has = |state: StepState| reports.iter().any(|report| report.ended.state == state);
        if has(StepState::Failed) && step.on_error == OnError::Stop {
            progress.is_failed = true;
        }
        if has(StepState::Waiting) {
            progress.waiting[number] = true;
        } else if !has(StepState::NotRun) || progress.is_failed {
            let order = [StepState::Failed, StepState::Unknown, StepState::Shown, StepState::Done];
            // An empty list is done.
            let none = if reports.is_empty() { StepState::Done } else { StepState::Skipped };
            let state = order.into_iter().find(|&state| has(state)).unwrap_or(none);
            progress.ended[number] = Some((state, result(step, state, &reports)));
        }
        progress.reports.extend(reports);
    }

    /// Whether a step depends, directly or indirectly, on a change that a dry run only showed.
    fn follows_a_shown_change(&self, number: usize, progress: &Progress) -> bool {
        let mut seen = vec![false; self.workflow.steps.len()];
        let mut left = self.workflow.steps[number].depends_on.clone();
        while let Some(before) = left.pop() {
            if progress.ended[before].as_ref().is_some_and(|(state, _)| *state == StepState::Shown)
            {
                return true;
            }
            if !std::mem::replace(&mut seen[before], true) {
                left.extend(&self.workflow.steps[before].depends_on);
            }
        }
        false
    }
}

fn result(step: &Step, state: StepState, reports: &[StepReport]) -> Value {
    let mut done = reports
        .iter()
        .filter(|report| matches!(report.ended.state, StepState::Done | StepState::Shown));
    let (data, text) = match step.for_each {
        Some(_) => {
            let (data, texts): (Vec<_>, Vec<_>) =
                done.map(|report| (report.ended.data.clone(), report.ended.text.as_str())).unzip();
            (Json::Array(data), texts.join("\n"))
        }
        None => done.next_back().map_or((Json::Null, String::new()), |report| {
            (report.ended.data.clone(), report.ended.text.clone())
        }),
    };
    let error = reports.iter().find_map(|report| report.ended.error.as_ref());
    of_json(&json!({ "data": data, "text": text, "state": state.word(), "error": error }))
}

fn report(step: &Step, item: Option<usize>, input: Json, ended: Ended) -> StepReport {
    StepReport { step: step.id.clone(), item, does: step.does.word().to_owned(), input, ended }
}

/// A step with a known result, which is not executed.
fn skipped_step<'a>(report: StepReport) -> Planned<'a> {
    Planned::Known(Box::new(report))
}

fn input(step: &Step, values: &Values<'_>) -> Result<Json, String> {
    Ok(match &step.does {
        Does::Tool { .. } => values.fill(&step.input)?,
        Does::Model(prompt) => {
            json!({ "prompt": values.text(prompt)?, "input": values.fill(&step.input)? })
        }
        Does::Ask { question, choices } => {
            json!({ "question": values.text(question)?, "choices": choices })
        }
    })
}

fn unforeseen() -> Ended {
    Ended::with_text(StepState::Unknown, "it depends on what an earlier step would have done")
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "nothing",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
