//! `_vault/workflow/run`, `_vault/workflow/resume`, `_vault/workflow/list` and the event `_vault/workflow`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::events::EventMeta;

/// A workflow to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowRunParams {
    /// Its definition, as YAML or JSON.
    pub text: String,
    /// What errors call it: the name of its file.
    #[serde(default = "unnamed")]
    #[ts(optional, as = "Option<String>")]
    pub source: String,
    /// Its inputs, by name.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, Value>>")]
    pub inputs: Map<String, Value>,
    /// Make changes. Without it nothing is changed, and what would be is shown.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub apply: bool,
    /// A person agreed beforehand to all that needs it.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// Answers to questions that its steps ask, by step.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub answers: BTreeMap<String, String>,
}

fn unnamed() -> String {
    "workflow".to_owned()
}

/// A run to go on with: one that waits, was cut short, or failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowResumeParams {
    /// Its number.
    pub run: u64,
    /// A person agreed beforehand to all that needs it.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// Answers by step: `ask`, or `ask[2]` for the third element of a list. To a change that waits for agreement it
    /// is `yes`, which holds for just what was shown, or `no`.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub answers: BTreeMap<String, String>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowResult {
    /// Its number; none for a dry run, which is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run: Option<u64>,
    /// The workflow's own name.
    pub workflow: String,
    /// `shown` after a dry run, `done`, `failed`, `waiting` for a person, or `interrupted`.
    pub state: String,
    /// The values it ran with, by name.
    pub inputs: Value,
    /// What `now()` gave: milliseconds since 1970.
    pub now: i64,
    /// Seconds east of Greenwich, then and there.
    pub offset: i32,
    /// Its steps, in the order in which they ended.
    pub steps: Vec<WorkflowStep>,
    /// Whether inputs and data were left out, since the answer would have been too long.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub cut: bool,
}

/// A step, or of one with `for_each` one element.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowStep {
    /// Its name.
    pub step: String,
    /// The place of the element, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub item: Option<u64>,
    /// The tool, `model` or `ask`.
    pub does: String,
    /// `done`, `failed`, `skipped`, `shown` for a change that a dry run shows, `unknown` for what a dry run cannot
    /// tell, `waiting`, or `not_run`.
    pub state: String,
    /// What it was given.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub input: Value,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub data: Value,
    /// The same for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub text: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub error: Option<WorkflowFault>,
    /// What a person has to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub waits: Option<WorkflowWaits>,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkflowFault {
    /// A stable word.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
}

/// What a person has to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowWaits {
    /// The question.
    pub question: String,
    /// The answers there are; none for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub choices: Vec<String>,
    /// Where a change needs agreement: the changes and the reasons, as in the error `approval_needed`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub approval: Value,
}

/// How many runs to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowListParams {
    /// At most so many; 20 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Runs that made changes or were to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowListResult {
    /// They, the newest first.
    pub runs: Vec<WorkflowInfo>,
}

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowInfo {
    /// Its number.
    pub run: u64,
    /// The workflow's own name.
    pub workflow: String,
    /// What its definition is called: a file.
    pub source: String,
    /// `running`, or as in [`WorkflowResult`].
    pub state: String,
    /// When it was started, local time.
    pub began: String,
    /// When it ended, local time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended: Option<String>,
    /// The steps that wait for a person.
    pub waiting: Vec<String>,
}

/// A step of a workflow begins, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkflowProgress {
    /// The run; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run: Option<u64>,
    /// The workflow's own name.
    pub workflow: String,
    /// The step's name.
    pub step: String,
    /// The place of the element, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub item: Option<u64>,
    /// `begun`, or how it ended.
    pub state: String,
    /// Steps that have ended.
    pub done: u64,
    /// Steps there are.
    pub total: u64,
}

/// How far a workflow is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowParams {
    /// The step that begins or has ended.
    #[serde(flatten)]
    pub progress: WorkflowProgress,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
