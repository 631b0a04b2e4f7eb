//! What is asked of a model for one turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::Message;
use super::tape::Tap;

/// One request. There are no sampling settings: current models refuse them.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// The system prompt. Made once a conversation: a changed one voids the thinking before.
    pub system: Arc<str>,
    /// The tools, in an order that never changes within a conversation.
    pub tools: Arc<[ToolSpec]>,
    /// Whether tools may be called in this turn.
    pub tool_choice: ToolChoice,
    /// The history, which only ever grows at its end.
    pub messages: Vec<Message>,
    /// The most tokens to answer with, thinking included; the model's own limit bounds it.
    pub max_output_tokens: u32,
    /// How hard to think; `None` leaves it to the vendor.
    pub effort: Option<Effort>,
    /// Whether to ask for prompt caching where it has to be asked for.
    pub cache: Cache,
    /// The conversation's id, for the log.
    pub conversation: String,
    /// A random name that no other installation has, by which some vendors find their cache; empty
    /// where there is nothing to be found.
    pub installation: Arc<str>,
    /// Who hears its bytes.
    pub tap: Tap,
}

impl TurnRequest {
    /// The plainest request: `messages`, no tools, at most 4096 tokens.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            system: "".into(),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            messages,
            max_output_tokens: 4096,
            effort: None,
            cache: Cache::Off,
            conversation: String::new(),
            installation: "".into(),
            tap: Tap::default(),
        }
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments, an object's.
    pub schema: Value,
}

/// Whether tools may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model sees fit.
    Auto,
    /// Not in this turn, though the history may hold calls.
    None,
}

/// How hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all, where the model can do without.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as there is.
    Max,
}

/// Whether a prompt is marked for the vendor's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// No marks; what vendors cache unasked stays so.
    Off,
    /// The system prompt with the tools, and the end of the history.
    On,
}
