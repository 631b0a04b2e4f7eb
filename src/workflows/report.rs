//! What came of a run, step by step.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The code of a step to which nothing in the recording fits.
pub const NOT_RECORDED: &str = "not_recorded";

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its number; none for a dry run, which is not recorded.
    pub run: Option<i64>,
    pub workflow: String,
    pub state: RunState,
    /// By name.
    pub inputs: Json,
    /// What `now()` gave: milliseconds since 1970.
    pub now: i64,
    /// Seconds east of Greenwich, then and there.
    pub offset: i32,
    /// What was done or waits, in the order in which steps ended.
    pub steps: Vec<StepReport>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A dry run that came to its end.
    Shown,
    Done,
    /// A step failed and the rest was not begun.
    Failed,
    /// A person has to answer something.
    Waiting,
    /// It was cut short: withdrawn, or its process ended.
    Interrupted,
}

impl RunState {
    /// As it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One run of a step: of one with `for_each`, for one element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    pub step: String,
    /// The place of the element, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The tool, `model` or `ask`.
    pub does: String,
    /// What it was given.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub input: Json,
    #[serde(flatten)]
    pub ended: Ended,
}

/// How a step ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub state: State,
    /// For expressions: what the tool answered.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub data: Json,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Done,
    Failed,
    /// Its condition did not hold.
    Skipped,
    /// A change that a dry run shows and does not make.
    Shown,
    /// A dry run cannot tell: it needs what a change or a person would give.
    Unknown,
    /// A person has to answer something.
    Waiting,
    /// The run ended before.
    #[default]
    NotRun,
}

impl State {
    /// As it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Shown => "shown",
            Self::Unknown => "unknown",
            Self::Waiting => "waiting",
            Self::NotRun => "not_run",
        }
    }
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// A stable word.
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What a person has to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    pub question: String,
    /// The answers there are; empty for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Where a person has to agree to a change: what it is, why that is asked, and its identity.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub approval: Json,
}

/// A step that begins or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Of the run; none for a dry run.
    pub run: Option<i64>,
    pub workflow: String,
    pub step: String,
    pub item: Option<usize>,
    /// None: it begins.
    pub ended: Option<State>,
    /// Steps that have ended, and all there are.
    pub done: usize,
    pub total: usize,
}

impl Ended {
    /// A step that failed with this code.
    pub fn failed(code: &str, message: impl Into<String>, hint: Option<String>) -> Self {
        let error = Fault { code: code.to_owned(), message: message.into(), hint };
        Self { state: State::Failed, error: Some(error), ..Self::default() }
    }

    /// A step that stands so, with a sentence for people.
    pub fn standing(state: State, text: impl Into<String>) -> Self {
        Self { state, text: text.into(), ..Self::default() }
    }
}

/// What a person names a step by, or one element of it.
pub fn key(step: &str, item: Option<usize>) -> String {
    match item {
        None => step.to_owned(),
        Some(item) => format!("{step}[{item}]"),
    }
}
