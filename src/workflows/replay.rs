//! Recordings of runs, and execution from a recording: nothing is called, and a step whose input differs from the
//! recording fails.

use std::collections::HashMap;

use chrono::FixedOffset;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::engine::{Engine, StepExecutor, Unit};
use super::report::{Ended, NOT_RECORDED, Report, RunState, StepReport};
use crate::calls::Cancel;
use crate::organize::workflow::Workflow;

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    pub workflow: String,
    pub dry_run: bool,
    pub inputs: Json,
    /// The value of `now()`, in milliseconds since 1970.
    pub now: i64,
    /// The offset of the time zone in seconds east of Greenwich.
    pub offset: i32,
    /// Executed steps; skipped ones are evaluated again.
    pub steps: Vec<StepReport>,
}

impl Recording {
    /// Runs a workflow from the recording. `inputs` are those to use; `None` for the recorded ones.
    pub fn replay(&self, workflow: &Workflow, inputs: Option<Json>) -> Report {
        let inputs = inputs.unwrap_or_else(|| self.inputs.clone());
        let zone = FixedOffset::east_opt(self.offset).unwrap_or(chrono::Offset::fix(&chrono::Utc));
        let cancel = Cancel::default();
        let engine = Engine {
            workflow,
            doer: self,
            inputs: &inputs,
            now: self.now,
            zone: &zone,
            tell: &|_| {},
            cancel: &cancel,
            run: None,
        };
        let (steps, mut state) = engine.run(HashMap::new());
        let is_unfit = |step: &StepReport| {
            step.ended.error.as_ref().is_some_and(|error| error.code == NOT_RECORDED)
        };
        if steps.iter().any(is_unfit) {
            state = RunState::Failed;
        }
        Report {
            run: None,
            workflow: workflow.id.clone(),
            state,
            inputs,
            now: self.now,
            offset: self.offset,
            steps,
        }
    }
}

impl StepExecutor for Recording {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn act(&self, unit: &Unit<'_>) -> Ended {
        let of_step = |one: &&StepReport| {
            one.step == unit.step.id && one.item == unit.item && one.does == unit.step.does.word()
        };
        let recorded = self.steps.iter().filter(of_step).find(|one| one.input == unit.input);
        if let Some(recorded) = recorded {
            return recorded.ended.clone();
        }
        let message = match self.steps.iter().find(of_step) {
            Some(other) => {
                format!("the recording has another input: {}, now {}", other.input, unit.input)
            }
            None => "the recording has no such step".to_owned(),
        };
        Ended::failed(NOT_RECORDED, message, Some("record it again with `--record`".to_owned()))
    }
}
