//! The stored records: conversations, turns and items.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A conversation's number, such as `12`. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConversationId(pub i64);

/// A turn's number, such as `34`. Counted across all conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub i64);

/// A branch's number within its conversation. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub i64);

/// An item's number within its conversation, from 1, across all branches. Later items have larger
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemNumber(pub i64);

macro_rules! number {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotANumber;

            /// Accepts only digits, as numbers are displayed.
            fn from_str(text: &str) -> Result<Self, NotANumber> {
                let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match text.parse() {
                    Ok(number) if plain && number > 0 => Ok(Self(number)),
                    _ => Err(NotANumber(text.to_owned())),
                }
            }
        }
    )+};
}
number!(ConversationId, TurnId, BranchId, ItemNumber);

/// The error for a text that is not a valid number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a number", .0.escape_debug())]
pub struct NotANumber(pub String);

/// A conversation: a series of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
    /// The last activity, in milliseconds since the Unix epoch.
    pub last_active: i64,
    /// The end, if it has ended. It can be resumed.
    pub ended: Option<End>,
    /// The title; `None` only before its end.
    pub title: Option<String>,
    /// Two or three sentences about the topic; `None` only before its end.
    pub summary: Option<String>,
    pub titled_by: Option<TitleOrigin>,
    /// The source of its first message: `chat`, `voice`, `cli`.
    pub source: String,
    pub branch: BranchId,
    pub waiting: Option<Waiting>,
    pub is_working: bool,
    /// The number of items on all branches.
    pub items: u64,
    pub chosen: Chosen,
}

/// Choices that the client made for this conversation alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The client's working folder.
    pub cwd: Option<String>,
    /// The name of a more restrictive mode for its calls.
    pub mode: Option<String>,
    /// The model to ask first, as `provider/model`.
    pub model: Option<String>,
    /// The agent of the settings that answers; `None`: the steward's own.
    pub agent: Option<String>,
}

impl Conversation {
    /// Derived from its end and its open question.
    pub fn state(&self) -> ConversationState {
        match (&self.ended, &self.waiting) {
            (Some(_), _) => ConversationState::Ended,
            (None, Some(_)) => ConversationState::Waiting,
            (None, None) => ConversationState::Open,
        }
    }

    pub fn shown(&self) -> Shown {
        match (self.is_working, self.state()) {
            (true, _) => Shown::Working,
            (false, ConversationState::Waiting) => Shown::Waiting,
            (false, ConversationState::Open | ConversationState::Ended) => Shown::Done,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationState {
    /// It is open; the next message may belong to it.
    Open,
    /// It is open, with a question to the person.
    Waiting,
    /// Closed; it can be resumed.
    Ended,
}

words!(pub ConversationState::word { Open => "open", Waiting => "waiting", Ended => "ended" });

/// The state of a conversation to display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A turn is running.
    Working,
    /// The person has to answer a question.
    Waiting,
    Done,
}

words!(pub Shown::word {
    Working => "working", Waiting => "waiting_for_you", Done => "done",
});

/// An open question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// When it was asked, in milliseconds since the Unix epoch.
    pub since: i64,
    pub question: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    pub kind: EndKind,
    /// The reason for people; may be empty.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    /// No message arrived within the idle limit.
    Idle,
    /// A question was not answered within the waiting limit.
    Unanswered,
    /// The model ended it.
    Agent,
    Person,
}

words!(pub EndKind::word, parse {
    Idle => "idle", Unanswered => "unanswered", Agent => "agent", Person => "person",
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleOrigin {
    Extract,
    Model,
    /// A person gave the title; the summary has another origin.
    Person,
}

words!(pub TitleOrigin::word, parse { Extract => "extract", Model => "model", Person => "person" });

/// A turn: from a person's message to the model's final answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub id: TurnId,
    pub conversation: ConversationId,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
    /// Milliseconds since the Unix epoch.
    pub ended: Option<i64>,
    pub state: TurnState,
    /// The reason for its end, for people; empty while it runs.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    Running,
    Done,
    /// It finished with a question to the person.
    Waiting,
    Cancelled,
    /// The steward stopped while it was running.
    Interrupted,
    /// An error stopped it.
    Failed,
}

words!(pub TurnState::word, parse {
    Running => "running",
    Done => "done",
    Waiting => "waiting",
    Cancelled => "cancelled",
    Interrupted => "interrupted",
    Failed => "failed",
});

/// A recorded item of a conversation. Immutable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The number within the conversation.
    pub number: ItemNumber,
    pub conversation: ConversationId,
    /// The turn it belongs to; `None` if it belongs to the whole conversation.
    pub turn: Option<TurnId>,
    pub branch: BranchId,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    pub kind: ItemKind,
    /// The plain text, which search uses.
    pub text: String,
    /// Further data as JSON, which only its writer parses.
    pub body: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A message from the person.
    User,
    /// The model's answer, with its calls.
    Assistant,
    ToolResults,
    /// Information that no one wrote: the date, the active note.
    Notice,
    Message,
    /// A message that waits for an answer.
    Question,
    /// A summary that replaces earlier items for the model.
    Compaction,
    /// The model's reason to end the conversation.
    Ended,
    /// A retrospective, written after the end.
    Note,
}

words!(pub ItemKind::word, parse {
    User => "user",
    Assistant => "assistant",
    ToolResults => "tool_results",
    Notice => "notice",
    Message => "message",
    Question => "question",
    Compaction => "compaction",
    Ended => "ended",
    Note => "note",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!("12".parse(), Ok(ConversationId(12)));
        for text in ["", "0", "-1", "+1", " 1", "1.0", "१", "99999999999999999999", "1\n"] {
            assert!(text.parse::<ConversationId>().is_err(), "{text:?}");
        }
        assert_eq!(ConversationId(12).to_string(), "12");
    }

    #[test]
    fn every_word_is_read_back() {
        for kind in ["user", "assistant", "tool_results", "compaction", "note"] {
            assert_eq!(ItemKind::parse(kind).map(ItemKind::word), Some(kind));
        }
        for state in ["running", "done", "waiting", "cancelled", "interrupted", "failed"] {
            assert_eq!(TurnState::parse(state).map(TurnState::word), Some(state));
        }
        assert_eq!(ItemKind::parse("User"), None);
    }

    #[test]
    fn a_client_tells_working_waiting_and_done_apart() {
        let open = Conversation {
            id: ConversationId(1),
            began: 0,
            last_active: 0,
            ended: None,
            title: None,
            summary: None,
            titled_by: None,
            source: "chat".into(),
            branch: BranchId(1),
            waiting: None,
            is_working: false,
            items: 0,
            chosen: Chosen::default(),
        };
        let waiting = Some(Waiting { since: 0, question: "which?".into() });
        let asked = Conversation { waiting, ..open.clone() };
        let working = Conversation { is_working: true, ..asked.clone() };
        let end = End { at: 0, kind: EndKind::Person, reason: String::new() };
        let ended = Conversation { ended: Some(end), ..asked.clone() };
        assert_eq!(open.shown(), Shown::Done);
        assert_eq!(asked.shown(), Shown::Waiting);
        assert_eq!(working.shown(), Shown::Working);
        assert_eq!((ended.shown(), ended.state()), (Shown::Done, ConversationState::Ended));
    }
}
