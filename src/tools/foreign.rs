//! Tools of third-party servers.

use serde_json::Value;

use super::context::Context;
use super::error::ToolError;
use super::facts::Facts;
use super::tool::Answer;

/// The origin of a third-party tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    pub server: String,
    /// Whether the settings allow it without a question.
    pub is_allowed: bool,
    /// Whether it can send the content of a call off this machine.
    pub reaches_out: bool,
}

/// The function that runs a call of such a tool.
pub type Run = Box<dyn Fn(&Context, &Value) -> Result<Answer<Facts>, ToolError> + Send + Sync>;

/// The parts of a tool that is not built in.
pub struct External {
    pub name: String,
    pub title: String,
    pub description: String,
    pub schema: Value,
    /// `None` for one of ours that belongs to the foreign tools.
    pub foreign: Option<Foreign>,
    pub run: Run,
}

debug_only!(External, name);
