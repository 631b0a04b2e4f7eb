//! Real execution: each step is recorded before it starts and after it ends.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::engine::{StepExecutor, Unit};
use super::report::{Ended, Fault, StepState, Waits, key};
use super::{RunEnvironment, SharedWorkflows};
use crate::calls::{Cancel, Outcome, Request, StepShown};
use crate::locks::lock;
use crate::organize::workflow::Does;
use crate::policy::Caller;
use crate::store::StoreError;
use crate::tools::{ApplyPlan, RollbackJob, Tool as _, ToolError, Undo};

/// Tools whose changes do not belong to the calling turn, so that the journal cannot tell by the turn whether they
/// were made.
const TOOLS_WITH_OWN_TURN: [&str; 3] = [ApplyPlan::NAME, RollbackJob::NAME, Undo::NAME];

/// The executor of a real run.
#[derive(Debug, Default)]
pub(super) struct Mode {
    /// The run's number; `None` for a dry run.
    pub run: Option<i64>,
    pub caller: Caller,
    pub confirmed: bool,
    /// By [`key`].
    pub answers: BTreeMap<String, String>,
    /// Identities of changes that a person approved, by [`key`].
    pub agreed: BTreeMap<String, String>,
    /// Changes that a person rejected, by [`key`].
    pub refused: HashSet<String>,
    /// A person's answers about steps that were interrupted, by [`key`]: `done` or `again`.
    pub settled: BTreeMap<String, String>,
    /// Executions that an earlier process started and did not end, by step and element.
    pub was_begun: HashSet<(usize, i64)>,
}

pub(super) struct LiveRun<'a> {
    of: &'a SharedWorkflows,
    workflow: &'a str,
    mode: Mode,
    around: RunEnvironment<'a>,
    /// The first failure of the store. No step runs after it.
    fault: Mutex<Option<StoreError>>,
}

impl<'a> LiveRun<'a> {
    pub(super) fn new(
        of: &'a SharedWorkflows,
        workflow: &'a str,
        mode: Mode,
        around: RunEnvironment<'a>,
    ) -> Self {
        Self { of, workflow, mode, around, fault: Mutex::new(None) }
    }

    pub(super) fn into_fault(self) -> Option<StoreError> {
        self.fault.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a failure of the store: a step that cannot be recorded does not run.
    fn not_recorded(&self, error: StoreError) -> Ended {
        let ended = Ended::failed("store", error.to_string(), Some(error.hint()));
        let mut fault = lock(&self.fault);
        fault.get_or_insert(error);
        // Stop, regardless of the step's `on_error`.
        self.around.cancel.cancel();
        ended
    }

    fn do_it(&self, unit: &Unit<'_>, was_begun: bool) -> Result<Ended, StoreError> {
        let name = key(&unit.step.id, unit.item);
        match &unit.step.does {
            Does::Tool { name: tool, changes } => {
                let turn = self.mode.run.map(|run| format!("workflow {run} {name}"));
                if let Some(turn) = turn.as_deref().filter(|_| was_begun && *changes)
                    && let Some(set) = self.of.store.journal.changes.applied_in_turn(turn)?
                {
                    let text = format!("done before the run was interrupted, as change set {set}");
                    return Ok(Ended {
                        data: json!({ "change_set": set }),
                        ..Ended::with_text(StepState::Done, text)
                    });
                }
                if was_begun && *changes && TOOLS_WITH_OWN_TURN.contains(&tool.as_str()) {
                    match self.mode.settled.get(&name).map(String::as_str) {
                        Some("again") => {}
                        Some(_) => {
                            return Ok(Ended::with_text(
                                StepState::Done,
                                "done before the run was interrupted",
                            ));
                        }
                        None => {
                            let question = format!(
                                "`{tool}` was running when the run was interrupted; see `steward log`: was it done, or should it be called again?"
                            );
                            let choices = vec!["done".to_owned(), "again".to_owned()];
                            return Ok(waiting_end(Waits {
                                question,
                                choices,
                                ..Waits::default()
                            }));
                        }
                    }
                }
                if self.mode.refused.contains(&name) {
                    return Ok(Ended::failed("denied", "a person said no", None));
                }
                Ok(self.call(unit, tool, *changes, turn, &name))
            }
            Does::Ask { choices, .. } => Ok(match self.mode.answers.get(&name) {
                Some(answer) => answered(answer),
                None if self.is_dry_run() => Ended::with_text(
                    StepState::Unknown,
                    format!("would ask: {}", text(&unit.input["question"])),
                ),
                None => {
                    let question = text(&unit.input["question"]).to_owned();
                    waiting_end(Waits { question, choices: choices.clone(), ..Waits::default() })
                }
            }),
            Does::Model(_) => {
                if self.is_dry_run() {
                    return Ok(Ended::with_text(StepState::Unknown, "would ask a language model"));
                }
                if was_begun {
                    match self.mode.answers.get(&name).map(String::as_str) {
                        Some("again") => {}
                        Some("skip") => return Ok(Ended::with_text(StepState::Skipped, "")),
                        _ => {
                            let question = "a model was being asked when the run was interrupted; ask it again?";
                            let choices = vec!["again".to_owned(), "skip".to_owned()];
                            return Ok(waiting_end(Waits {
                                question: question.to_owned(),
                                choices,
                                ..Waits::default()
                            }));
                        }
                    }
                }
                Ok(self.ask_model(unit))
            }
        }
    }

    fn call(
        &self,
        unit: &Unit<'_>,
        tool: &str,
        changes: bool,
        turn: Option<String>,
        name: &str,
    ) -> Ended {
        let agreed = self.mode.agreed.get(name).cloned();
        let request = Request {
            tool: tool.to_owned(),
            arguments: unit.input.clone(),
            caller: self.mode.caller.clone(),
            turn,
            confirmed: self.mode.confirmed || agreed.is_some(),
            agreed,
            dry_run: self.is_dry_run() && changes,
            ..Request::default()
        };
        match self.of.calls.call(request, &self.limited(unit.step.timeout)) {
            Outcome::Answered(Ok(answer)) => {
                let answer = answer.read();
                let state =
                    if self.is_dry_run() && changes { StepState::Shown } else { StepState::Done };
                Ended { data: answer.data, ..Ended::with_text(state, answer.text) }
            }
            Outcome::Answered(Err(error)) => self.refused(unit, error),
            // Only calls of other callers end like this.
            Outcome::Ask(question) => Ended::failed(
                "approval_needed",
                format!("a person has to approve this first: {}", question.title()),
                None,
            ),
        }
    }

    fn refused(&self, unit: &Unit<'_>, error: ToolError) -> Ended {
        let code = serde_json::to_value(error.code).ok();
        let code = code.as_ref().and_then(Json::as_str).unwrap_or("io_error").to_owned();
        if code == "approval_needed" && !self.is_dry_run() {
            let approval = error.data.unwrap_or_default();
            let question = format!("{}?", text(&approval["title"]));
            return waiting_end(Waits {
                question,
                approval,
                choices: vec!["yes".to_owned(), "no".to_owned()],
            });
        }
        if matches!(&*code, "timeout" | "cancelled") && !self.around.cancel.is_cancelled() {
            return late(unit.step.timeout)
                .unwrap_or_else(|| Ended::failed(&code, error.message, error.hint));
        }
        Ended::failed(&code, error.message, error.hint)
    }

    fn ask_model(&self, unit: &Unit<'_>) -> Ended {
        let Some(models) = self.around.models else {
            let hint = "`steward setup` finds one".to_owned();
            return Ended::failed("no_model", "no language model is set up", Some(hint));
        };
        let prompt = match &unit.input["input"] {
            Json::Null => text(&unit.input["prompt"]).to_owned(),
            Json::String(given) => {
                format!("{}\n\n<input>\n{given}\n</input>", text(&unit.input["prompt"]))
            }
            given => format!("{}\n\n<input>\n{given:#}\n</input>", text(&unit.input["prompt"])),
        };
        let cancel = self.limited(unit.step.timeout);
        match models.ask(&prompt, &cancel) {
            Ok(answer) => {
                // Models often put requested JSON into a code block.
                let bare = answer.trim().trim_start_matches("```json").trim_matches('`').trim();
                let json: Json = serde_json::from_str(bare).unwrap_or_default();
                let data = json!({ "text": answer.trim(), "json": json });
                Ended { data, ..Ended::with_text(StepState::Done, answer.trim()) }
            }
            Err((message, hint)) => match late(unit.step.timeout) {
                Some(late) if cancel.is_late() => late,
                _ => Ended::failed("model_failed", message, hint),
            },
        }
    }

    fn limited(&self, timeout: Option<Duration>) -> Cancel {
        match timeout.and_then(|timeout| (self.of.instant)().checked_add(timeout)) {
            Some(deadline) => self.around.cancel.until(deadline),
            None => self.around.cancel.clone(),
        }
    }
}

impl StepExecutor for LiveRun<'_> {
    fn is_dry_run(&self) -> bool {
        self.mode.run.is_none()
    }

    fn act(&self, unit: &Unit<'_>) -> Ended {
        let (step, item) = (&unit.step.id, unit.stored_item());
        let was_begun = self.mode.was_begun.contains(&(unit.number, item));
        let Some(run) = self.mode.run else {
            return self.do_it(unit, false).unwrap_or_else(|error| self.not_recorded(error));
        };
        // Repeat it only if it is certain that it was not done.
        if !was_begun
            && let Err(error) = self.of.rows.begin(run, step, item, &unit.input.to_string())
        {
            return self.not_recorded(error);
        }
        let shown = StepShown {
            caller: &self.mode.caller,
            run,
            workflow: self.workflow,
            step,
            item: unit.item,
            does: unit.step.does.word(),
            input: &unit.input,
        };
        let ended = match self.of.calls.ask_before_step(shown, self.around.cancel) {
            Err(error) => self.refused(unit, error),
            Ok(()) => match self.do_it(unit, was_begun) {
                Ok(ended) => ended,
                Err(error) => return self.not_recorded(error),
            },
        };
        self.of.calls.notify_after_step(shown, ended.state.word());
        // After another crash the question about the interrupted step is asked again.
        let is_of_begun = ended
            .waits
            .as_ref()
            .is_some_and(|waits| waits.choices.iter().any(|one| one == "again"));
        if was_begun && is_of_begun {
            return ended;
        }
        let json = serde_json::to_string(&ended).unwrap_or_default();
        match self.of.rows.end(run, step, item, ended.state.word(), &json) {
            Ok(()) => ended,
            Err(error) => self.not_recorded(error),
        }
    }
}

fn waiting_end(waits: Waits) -> Ended {
    Ended { waits: Some(waits), ..Ended::with_text(StepState::Waiting, "") }
}

fn answered(answer: &str) -> Ended {
    Ended { data: json!({ "answer": answer }), ..Ended::with_text(StepState::Done, answer) }
}

fn late(timeout: Option<Duration>) -> Option<Ended> {
    let limit = timeout?;
    let message = format!("the step took longer than {limit:?}");
    let hint = "give it a longer `timeout`, or less to do".to_owned();
    let error = Fault { code: "timeout".to_owned(), message, hint: Some(hint) };
    Some(Ended { state: StepState::Failed, error: Some(error), ..Ended::default() })
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}
