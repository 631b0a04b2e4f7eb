//! What happens to a turn, and what it wants done.

use crate::agent::called::Called;
use crate::agent::entry::{Entry, Said};
use crate::calls::{Answerer, Decision};
use crate::llm::{self, LlmError, Origin, ToolCall, TurnEvent, Usage};
use crate::policy::Scope;

/// What happens to a turn.
#[derive(Debug, Clone)]
pub enum Event {
    /// The turn begins with this, which is kept already.
    Began(Said),
    /// The turn begins anew with this, which was kept in an earlier turn of the conversation that was
    /// cut short.
    Again(Said),
    /// A person says something while the turn is at work; it is heard at the next round.
    Said(Said),
    /// The model is answering.
    Streamed(TurnEvent),
    Answered(Box<llm::Turn>),
    /// It could not.
    Failed(Box<LlmError>),
    /// There is no model to ask.
    Unavailable {
        /// How to come by one, for people.
        words: String,
    },
    /// The history was made shorter, or cannot be.
    Shortened {
        /// Whether it is shorter.
        done: bool,
    },
    /// A person has to agree to a call; nothing was done for it yet.
    Asks {
        /// The call's id.
        call: String,
        /// What it does, for people.
        title: String,
    },
    /// A person has decided, or none did.
    Decided {
        /// The call's id.
        call: String,
        decision: Decision,
        /// The program that the person used.
        by: Answerer,
    },
    /// A call has come to its end.
    Finished {
        /// The call's id.
        call: String,
        /// What it came to.
        called: Called,
    },
    /// The turn takes too long.
    TimeIsUp,
    /// A person wants no more of it.
    Cancel,
}

impl Event {
    /// A call that came to its end.
    pub fn finished(call: impl Into<String>, called: Called) -> Self {
        Self::Finished { call: call.into(), called }
    }
}

/// What a turn wants done. Effects are done in the order in which they come; where one must be kept
/// and cannot be, nothing after it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Keep this, durably, before anything that follows.
    Record(Entry),
    /// Tell clients.
    Show(Show),
    /// Ask the model, with or without tools.
    Ask {
        /// Whether it may call tools.
        tools: bool,
    },
    /// Make the history shorter.
    Shorten,
    /// Run a tool. Never the same call twice.
    Run {
        call: ToolCall,
        /// As whom.
        scope: Scope,
        /// Whether it changes something; one that does is let come to its end.
        changes: bool,
    },
    /// Ask a person about a call.
    AskPerson {
        /// The call's id.
        call: String,
    },
    /// Go on with a call as was decided.
    GoOn {
        /// The call's id.
        call: String,
        decision: Decision,
        /// The program that the person used.
        by: Answerer,
    },
    /// Let go of the model, of questions and of calls that only read.
    Stop,
    /// A model was asked.
    Usage {
        /// The tokens that it took, where they are known.
        usage: Option<Usage>,
        /// By whom; none where the answer did not get that far.
        origin: Option<Origin>,
    },
    /// The turn is over.
    Finish(End),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub reason: Reason,
    /// More of it, for people; may be empty.
    pub words: String,
    /// The kind of the model's failure, where that is why.
    pub cause: Option<llm::ErrorKind>,
    /// What can be done about it.
    pub hint: Option<String>,
    /// What was said too late to be heard; the next turn begins with it.
    pub unheard: Vec<Said>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The model had no more to say.
    Done,
    /// It waits for the person's answer.
    Waiting,
    /// It ended the conversation.
    Ended,
    /// Its answer was as long as it may be.
    MaxTokens,
    /// It reached the limits of a turn.
    MaxRounds,
    /// It declined.
    Refused,
    /// A person stopped it.
    Cancelled,
    /// It could not go on.
    Failed,
}

/// What clients are told.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// A person's message is in the history.
    User(Said),
    /// A person's message, which is in the history, is worked on once more.
    Again(Said),
    /// More of an answer.
    Text {
        /// The message it belongs to.
        id: String,
        /// What was added.
        delta: String,
    },
    /// More of the thinking that may be shown.
    Thought {
        /// The thought it belongs to.
        id: String,
        /// What was added.
        delta: String,
    },
    /// What was shown under this name counts for nothing.
    Void { id: String },
    /// A message is whole, and kept.
    Message {
        id: String,
        /// All of it.
        text: String,
        kind: MessageKind,
    },
    /// A tool is to be called.
    Call { call: ToolCall },
    /// It has begun.
    Running {
        /// The call's id.
        call: String,
    },
    /// It waits for a person.
    Asking {
        /// The call's id.
        call: String,
        /// What it does.
        title: String,
    },
    /// It has come to its end, and that is kept.
    Result {
        /// The call's id.
        call: String,
        /// What it came to.
        called: Called,
    },
    /// Something the person should know.
    Notice {
        /// How much it matters.
        severity: Severity,
        title: String,
        /// More.
        text: Option<String>,
    },
}

impl Show {
    /// What people are told when the first message comes whose sender may do less than they.
    pub fn limited(scope: Scope) -> Self {
        let came = match scope {
            Scope::Voice => "by voice",
            _ => "from another program",
        };
        let text = "Whatever is done later in this conversation may come of what that message says, \
                    so it is done with the rights of whoever said it, even where you type. A new \
                    conversation has all rights again.";
        Self::Notice {
            severity: Severity::Info,
            title: format!("a message came {came}, which limits this conversation from here on"),
            text: Some(text.to_owned()),
        }
    }

    /// What they are told when the history is made shorter.
    pub fn shortened() -> Self {
        Self::Notice {
            severity: Severity::Info,
            title: "the conversation nearly fills what the model can read, so its beginning is \
                    replaced by a summary"
                .to_owned(),
            text: None,
        }
    }
}

/// Which kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// The model's answer.
    Answer,
    /// The beginning of one that has no end.
    Part,
    /// Sent while at work.
    Sent,
    /// A question that waits for its answer.
    Question,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}
