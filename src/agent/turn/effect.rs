//! The events and effects of a turn.

use crate::agent::call_result::CallResult;
use crate::agent::entry::{Entry, UserMessage};
use crate::calls::{Answerer, Decision};
use crate::llm::{self, LlmError, Origin, ToolCall, TurnEvent, Usage};
use crate::policy::Scope;

#[derive(Debug, Clone)]
pub enum Event {
    /// The turn starts with this message, which is already stored.
    Started(UserMessage),
    /// The turn resumes the work on this message, whose earlier turn in the conversation was cut
    /// short. The message is already stored.
    Resumed(UserMessage),
    /// A message arrived during the turn; it is delivered in the next round.
    Message(UserMessage),
    /// A piece of the model's answer.
    Streamed(TurnEvent),
    Answered(Box<llm::Turn>),
    Failed(Box<LlmError>),
    /// No model is configured.
    Unavailable {
        /// How to configure one, for people.
        words: String,
    },
    /// The conversation's agent cannot answer.
    NoAgent {
        /// Why, for people.
        words: String,
        hint: String,
    },
    Compacted {
        done: bool,
    },
    /// A call needs approval; nothing was done yet.
    NeedsApproval {
        call: String,
        /// The call's description, for people.
        title: String,
    },
    /// A person decided about a call, or the question expired.
    Decided {
        call: String,
        decision: Decision,
        /// The client that answered.
        by: Answerer,
    },
    Finished {
        call: String,
        called: CallResult,
    },
    TimeIsUp,
    Cancel,
}

/// An effect that a turn requests. Effects are performed in order; if recording fails, none of the
/// later ones is performed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Store this entry durably before performing what follows.
    Record(Entry),
    /// Send this to clients.
    Show(Show),
    AskModel {
        /// Whether the model may call tools.
        tools: bool,
    },
    Compact,
    /// Run a tool. Never emitted twice for the same call.
    Run {
        call: ToolCall,
        scope: Scope,
        /// Whether the call changes something. Such a call is never cut off.
        changes: bool,
    },
    AskPerson {
        call: String,
    },
    Resume {
        call: String,
        decision: Decision,
        /// The client that answered.
        by: Answerer,
    },
    /// Cancel the model request, open questions and read-only calls.
    Stop,
    /// Count a model request.
    Usage {
        /// The tokens used, if known.
        usage: Option<Usage>,
        /// The model; `None` if the answer did not get that far.
        origin: Option<Origin>,
    },
    Finish(End),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub reason: Reason,
    /// Details for people; may be empty.
    pub words: String,
    /// The kind of model failure, if that ended the turn.
    pub cause: Option<llm::ErrorKind>,
    pub hint: Option<String>,
    /// Messages that came too late; the next turn starts with them.
    pub undelivered: Vec<UserMessage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Done,
    /// The model waits for the person's answer.
    Waiting,
    Ended,
    /// The answer reached its token limit.
    MaxTokens,
    /// The turn reached one of its limits.
    MaxRounds,
    Refused,
    Cancelled,
    Failed,
}

/// An update for clients.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// A person's message was delivered.
    User(UserMessage),
    /// The work on a person's earlier message was resumed.
    Resumed(UserMessage),
    /// More text of a message.
    Text {
        id: String,
        delta: String,
    },
    /// More thinking that may be shown.
    Thought {
        id: String,
        delta: String,
    },
    /// Discard the text shown under this id.
    Discard {
        id: String,
    },
    /// A message is complete and stored.
    Message {
        id: String,
        text: String,
        kind: MessageKind,
    },
    Call {
        call: ToolCall,
    },
    Running {
        call: String,
    },
    AwaitingApproval {
        call: String,
        title: String,
    },
    Result {
        call: String,
        called: CallResult,
    },
    Notice {
        severity: Severity,
        title: String,
        text: Option<String>,
    },
}

impl Show {
    /// The notice for the first message from a sender with a restricted scope.
    pub fn limited(scope: Scope) -> Self {
        let came = match scope {
            Scope::Voice => "by voice",
            _ => "from another program",
        };
        let text = "Everything that follows in this conversation may be influenced by that message, so it has only the permissions of its sender, even for what you type. A new conversation has all permissions again.";
        Self::Notice {
            severity: Severity::Info,
            title: format!("a message came {came}, which restricts this conversation from now on"),
            text: Some(text.to_owned()),
        }
    }

    /// The notice that the history is being compacted.
    pub fn compacting() -> Self {
        Self::Notice {
            severity: Severity::Info,
            title: "the conversation nearly fills what the model can read, so its beginning is \
                    replaced by a summary"
                .to_owned(),
            text: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// The model's answer.
    Answer,
    /// The beginning of an answer that broke off.
    Part,
    /// Sent during the turn.
    Sent,
    /// A question that waits for an answer.
    Question,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}
