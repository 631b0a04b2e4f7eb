//! A request for one turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::Message;
use super::tape::Tap;

#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// The system prompt. Fixed for a conversation: changing it invalidates earlier thinking.
    pub system: Arc<str>,
    /// The tools, in an order that never changes within a conversation.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call tools in this turn.
    pub tool_choice: ToolChoice,
    /// The history. It only ever grows at the end.
    pub messages: Vec<Message>,
    /// The most output tokens, thinking included; capped by the model's own limit.
    pub max_output_tokens: u32,
    /// How hard to think; `None` uses the vendor's default.
    pub effort: Option<Effort>,
    /// The temperature. Models that think reject sampling settings, so they never get it.
    pub temperature: Option<f64>,
    /// Whether to request prompt caching from vendors that need a request for it.
    pub cache: Cache,
    /// The conversation's id, for the log.
    pub conversation: String,
    /// A random id unique to this installation, part of the cache key that some vendors use; empty
    /// to send none.
    pub installation: Arc<str>,
    /// Records the raw traffic, if enabled.
    pub tap: Tap,
}

impl TurnRequest {
    /// A minimal request: `messages`, no tools, at most 4096 output tokens.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            system: "".into(),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            messages,
            max_output_tokens: 4096,
            effort: None,
            temperature: None,
            cache: Cache::Off,
            conversation: String::new(),
            installation: "".into(),
            tap: Tap::default(),
        }
    }
}

/// A tool definition for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    pub description: String,
    pub schema: Value,
}

/// Whether the model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No calls in this turn, even if the history holds calls.
    None,
}

/// How hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thinking, if the model allows that.
    Off,
    Low,
    Medium,
    High,
    /// The model's maximum.
    Max,
}

/// Whether to mark the prompt for the vendor's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// No marks; vendors that cache by default still do.
    Off,
    /// Mark the system prompt with the tools, and the end of the history.
    On,
}
