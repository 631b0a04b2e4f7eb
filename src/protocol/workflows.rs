//! `_vault/workflow/run`, `_vault/workflow/resume`, `_vault/workflow/list` and the event `_vault/workflow`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::events::EventMeta;

/// Runs a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowRunParams {
    /// The definition, as YAML or JSON.
    pub text: String,
    /// The file name, for error messages.
    #[serde(default = "unnamed")]
    #[ts(optional, as = "Option<String>")]
    pub source: String,
    /// The inputs, by name.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, Value>>")]
    pub inputs: Map<String, Value>,
    /// Make changes. By default they are only previewed.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub apply: bool,
    /// A person has approved all changes beforehand.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// Answers to the questions of its steps, by step.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub answers: BTreeMap<String, String>,
}

fn unnamed() -> String {
    "workflow".to_owned()
}

/// Resumes a run that waits, was interrupted, or failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowResumeParams {
    pub run: u64,
    /// A person has approved all changes beforehand.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// Answers by step: `ask`, or `ask[2]` for the third element of a list. For a change that waits
    /// for approval: `yes`, which is valid for exactly the change that was shown, or `no`.
    #[serde(default)]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub answers: BTreeMap<String, String>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowResult {
    /// The run's number; none for a dry run, which is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run: Option<u64>,
    /// The workflow's name.
    pub workflow: String,
    /// `shown` after a dry run, `done`, `failed`, `waiting` for a person, or `interrupted`.
    pub state: String,
    /// The inputs, by name.
    pub inputs: Value,
    /// The value of `now()`: milliseconds since 1970.
    pub now: i64,
    /// Offset of local time from UTC in seconds.
    pub offset: i32,
    /// In the order in which they ended.
    pub steps: Vec<WorkflowStep>,
    /// Whether inputs and data were left out, since the answer would have been too long.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub cut: bool,
}

/// A step, or one element of a step with `for_each`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct WorkflowStep {
    pub step: String,
    /// Index of the element, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The tool, `model` or `ask`.
    pub does: String,
    /// `done`, `failed`, `skipped`, `shown` for a previewed change, `unknown` if a dry run cannot tell, `waiting`, or
    /// `not_run`.
    pub state: String,
    /// The step's input.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub input: Value,
    /// The result, for programs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub data: Value,
    /// The result, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub text: String,
    /// The reason of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WorkflowFault>,
    /// The question that a person must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WorkflowWaits>,
}

/// The reason of a step's failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkflowFault {
    /// A stable word.
    pub code: String,
    /// The problem.
    pub message: String,
    /// Advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
}

/// A question to a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowWaits {
    pub question: String,
    /// The possible answers; empty for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub choices: Vec<String>,
    /// For a change that needs approval: the changes and reasons, as in the error `approval_needed`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[ts(optional, as = "Option<Value>")]
    pub approval: Value,
}

/// Lists runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowListParams {
    /// Maximum number; 20 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// The stored runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowListResult {
    /// Newest first.
    pub runs: Vec<WorkflowInfo>,
}

/// A run of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowInfo {
    pub run: u64,
    /// The workflow's name.
    pub workflow: String,
    /// The file of its definition.
    pub source: String,
    /// `running`, or as in [`WorkflowResult`].
    pub state: String,
    /// Local time.
    pub began: String,
    /// Local time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended: Option<String>,
    /// Steps that wait for a person.
    pub waiting: Vec<String>,
}

/// Progress of a workflow: a step began or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct WorkflowProgress {
    /// The run's number; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The workflow's name.
    pub workflow: String,
    pub step: String,
    /// Index of the element, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// `begun`, or the result.
    pub state: String,
    /// Number of steps that have ended.
    pub done: u64,
    /// Number of all steps.
    pub total: u64,
}

/// The event of a workflow's progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct WorkflowParams {
    #[serde(flatten)]
    pub progress: WorkflowProgress,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
