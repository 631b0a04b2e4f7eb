//! The response to a request: events while the model answers, then the whole answer.

use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use serde::{Deserialize, Serialize};

use super::error::{ErrorKind, LlmError};
use super::message::{Block, Origin, Usage};

/// An event of an answer in progress. `block` is the index of the block within the answer, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEvent {
    Start {
        block: usize,
        kind: StartKind,
    },
    /// More text of a text block.
    Text {
        block: usize,
        delta: String,
    },
    /// More thinking that may be shown.
    Thinking {
        block: usize,
        delta: String,
    },
    /// More of a call's arguments: JSON text, incomplete until the block ends.
    ToolArgs {
        block: usize,
        delta: String,
    },
    End {
        block: usize,
    },
    /// The answer so far failed and is discarded; a new attempt follows, and block indexes restart
    /// at 0.
    #[serde(rename = "again")]
    Retry {
        /// The model asked next.
        provider: String,
        /// The pause before the new attempt.
        wait: Duration,
        /// Why the last attempt failed.
        reason: ErrorKind,
        /// The token usage of the failed attempt, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

impl TurnEvent {
    /// The number of bytes of text, thinking or arguments.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text { delta, .. }
            | Self::Thinking { delta, .. }
            | Self::ToolArgs { delta, .. } => delta.len(),
            Self::Start { .. } | Self::End { .. } | Self::Retry { .. } => 0,
        }
    }

    /// Whether a retry after this event would be noticed: a person saw text, or a caller may have
    /// acted on it. Thinking does not count.
    pub fn is_visible(&self) -> bool {
        match self {
            Self::Text { .. } | Self::ToolArgs { .. } => true,
            Self::Start { kind, .. } => matches!(kind, StartKind::ToolCall { .. }),
            Self::Thinking { .. } | Self::End { .. } | Self::Retry { .. } => false,
        }
    }
}

/// The kind of a block that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    Text,
    Thinking,
    ToolCall { id: String, name: String },
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model finished.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The answer reached the token limit. Calls in such an answer must not run.
    MaxTokens,
    ContextFull,
    /// The model refused; holds its reason, or an empty text.
    Refusal(String),
    /// The vendor paused the turn: send the answer back unchanged to continue.
    Paused,
    /// An unknown reason, as the vendor names it.
    Other(String),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The blocks; the history stores them as [`super::Message::Assistant`].
    pub content: Vec<Block>,
    pub stop: Stop,
    /// Token usage, if the vendor reports it.
    pub usage: Option<Usage>,
    /// Which model answered.
    pub origin: Origin,
    /// The vendor's request id, for support questions.
    pub request_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Event(TurnEvent),
    /// The complete answer; the last item.
    Done(Box<Turn>),
}

/// A turn in progress: events, then exactly one [`Item::Done`] or one error. Dropping the stream
/// cancels the request.
pub type TurnStream = Pin<Box<dyn Stream<Item = Result<Item, LlmError>> + Send>>;
