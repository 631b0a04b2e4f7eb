//! What comes back of a turn: events while it is answered, and the answer.

use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use serde::{Deserialize, Serialize};

use super::error::{ErrorKind, LlmError};
use super::message::{Block, Origin, Usage};

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
        block: usize,
        /// What was added.
        delta: String,
    },
    /// More of the thinking that may be shown.
    Thinking {
        block: usize,
        /// What was added.
        delta: String,
    },
    /// More of a call's arguments, as JSON text that is not whole yet.
    ToolArgs {
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
        /// What was begun has cost so much, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

impl TurnEvent {
    /// Bytes of text, thinking or arguments in it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text { delta, .. }
            | Self::Thinking { delta, .. }
            | Self::ToolArgs { delta, .. } => delta.len(),
            Self::Start { .. } | Self::End { .. } | Self::Again { .. } => 0,
        }
    }

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

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its blocks; goes into the history as [`super::Message::Assistant`].
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
