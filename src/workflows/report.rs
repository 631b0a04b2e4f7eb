//! The result of a run, step by step.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The error code of a step without a matching recording.
pub const NOT_RECORDED: &str = "not_recorded";

#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The run's number; `None` for a dry run, which is not recorded.
    pub run: Option<i64>,
    pub workflow: String,
    pub state: RunState,
    /// By name.
    pub inputs: Json,
    /// The value of `now()`, in milliseconds since 1970.
    pub now: i64,
    /// The offset of the time zone in seconds east of Greenwich.
    pub offset: i32,
    /// Executed and waiting steps, in the order in which they ended.
    pub steps: Vec<StepReport>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A complete dry run.
    Shown,
    Done,
    /// A step failed, and later steps did not start.
    Failed,
    Waiting,
    /// Interrupted: cancelled, or its process ended.
    Interrupted,
}

// The stored form.
words!(pub RunState::word {
    Shown => "shown", Done => "done", Failed => "failed", Waiting => "waiting",
    Interrupted => "interrupted",
});

/// One execution of a step, or of one element of a step with `for_each`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    pub step: String,
    /// The element's index, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The tool, `model` or `ask`.
    pub does: String,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub input: Json,
    #[serde(flatten)]
    pub ended: Ended,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub state: StepState,
    /// The tool's structured result, for expressions.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub data: Json,
    /// The result as text for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Done,
    Failed,
    /// Skipped: its condition is false.
    Skipped,
    /// A change that a dry run only shows.
    Shown,
    /// Unknown in a dry run: it needs the result of a change or a person's answer.
    Unknown,
    Waiting,
    /// The run ended before this step.
    #[default]
    NotRun,
}

// The stored form.
words!(pub StepState::word {
    Done => "done", Failed => "failed", Skipped => "skipped", Shown => "shown",
    Unknown => "unknown", Waiting => "waiting", NotRun => "not_run",
});

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// A stable word.
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A question to a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    pub question: String,
    /// The possible answers; empty for free text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// For a change that needs approval: the change, the reason, and its identity.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub approval: Json,
}

/// The start or end of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepProgress {
    /// The run's number; `None` for a dry run.
    pub run: Option<i64>,
    pub workflow: String,
    pub step: String,
    pub item: Option<usize>,
    /// `None` at the start.
    pub ended: Option<StepState>,
    /// Ended steps, and all steps.
    pub done: usize,
    pub total: usize,
}

impl Ended {
    pub fn failed(code: &str, message: impl Into<String>, hint: Option<String>) -> Self {
        let error = Fault { code: code.to_owned(), message: message.into(), hint };
        Self { state: StepState::Failed, error: Some(error), ..Self::default() }
    }

    /// A step in this state, with a sentence for people.
    pub fn with_text(state: StepState, text: impl Into<String>) -> Self {
        Self { state, text: text.into(), ..Self::default() }
    }
}

/// The name of a step, or of one element of it, for people.
pub fn key(step: &str, item: Option<usize>) -> String {
    match item {
        None => step.to_owned(),
        Some(item) => format!("{step}[{item}]"),
    }
}
