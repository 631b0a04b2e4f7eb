//! What is asked of a model for one turn, and what comes back.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{ErrorKind, LlmError};
use super::message::{Block, Message, Origin};
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
    /// The conversation's id, by which some vendors find their cache.
    pub conversation: String,
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

/// What happens while a model answers. `block` counts the answer's blocks from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEvent {
    /// A block begins.
    Start {
        /// Which.
        block: usize,
        /// Of which kind.
        kind: StartKind,
    },
    /// More of a text.
    Text {
        /// Which block.
        block: usize,
        /// What was added.
        delta: String,
    },
    /// More of the thinking that may be shown.
    Thinking {
        /// Which block.
        block: usize,
        /// What was added.
        delta: String,
    },
    /// More of a call's arguments, as JSON text that is not whole yet.
    ToolArgs {
        /// Which block.
        block: usize,
        /// What was added.
        delta: String,
    },
    /// A block is complete.
    End {
        /// Which.
        block: usize,
    },
    /// What was begun came to nothing and is begun again; blocks count from 0 again.
    Again {
        /// Who is asked next.
        provider: String,
        /// After which pause.
        wait: Duration,
        /// Why.
        reason: ErrorKind,
    },
}

impl TurnEvent {
    /// Whether a person has seen something, or a caller may have acted on it, that cannot be begun
    /// again without their noticing. Thinking can.
    pub fn is_visible(&self) -> bool {
        match self {
            Self::Text { .. } | Self::ToolArgs { .. } => true,
            Self::Start { kind, .. } => matches!(kind, StartKind::ToolCall { .. }),
            Self::Thinking { .. } | Self::End { .. } | Self::Again { .. } => false,
        }
    }
}

/// What kind of block begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    /// Text.
    Text,
    /// Thinking.
    Thinking,
    /// A call.
    ToolCall {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had no more to say.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// The most tokens were reached; a call in such an answer must not be executed.
    MaxTokens,
    /// The window is full.
    ContextFull,
    /// The model declined; with its reason, or an empty text.
    Refusal(String),
    /// The vendor paused it: send the answer back as it is to go on.
    Paused,
    /// A reason this program does not know, in the vendor's word.
    Other(String),
}

/// Tokens of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All that was read, with what the two below count.
    pub input: u64,
    /// Of these, read from the vendor's cache.
    pub cache_read: u64,
    /// Of these, written to it.
    pub cache_write: u64,
    /// All that was written, thinking included.
    pub output: u64,
    /// Of these, thinking; `None` where the vendor does not say.
    pub reasoning: Option<u64>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its blocks; goes into the history as [`Message::Assistant`].
    pub content: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
    /// What it cost, where the vendor says.
    pub usage: Option<Usage>,
    /// Who made it.
    pub origin: Origin,
    /// The vendor's id of the request, for questions to its support.
    pub request_id: Option<String>,
}

/// One thing of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Something happened.
    Event(TurnEvent),
    /// The end, with everything.
    Done(Box<Turn>),
}

/// A turn under way: events, then exactly one [`Item::Done`] or one error. Dropping it cancels.
pub type TurnStream = Pin<Box<dyn Stream<Item = Result<Item, LlmError>> + Send>>;
