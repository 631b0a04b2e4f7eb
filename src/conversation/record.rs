//! What is kept of a conversation: itself, its turns, its items.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of a conversation, shown as `12`. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConversationId(pub i64);

/// The number of a turn, shown as `34`. Counted over all conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub i64);

/// The number of a branch in its conversation. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub i64);

/// The number of an item in its conversation, from 1, over all branches. Later ones are larger.
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

            /// Digits alone, as it is shown; nothing else is a number of ours.
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

/// A text that is no number of a conversation, a turn or an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a number", .0.escape_debug())]
pub struct NotANumber(pub String);

/// Makes the words of an enum that are kept and shown.
macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// The word that is kept and shown.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The one with this word.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

/// A conversation: the turns between two boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    /// When it began, in milliseconds since the Unix epoch.
    pub began: i64,
    /// When something was last said in it, in milliseconds since the Unix epoch.
    pub last_active: i64,
    /// Its end, if it has ended. It can be resumed.
    pub ended: Option<End>,
    /// What it is called; none only while it goes on and nobody has named it.
    pub title: Option<String>,
    /// What it was about, in two or three sentences; none only while it goes on.
    pub summary: Option<String>,
    /// Who gave it the title.
    pub titled_by: Option<TitleOrigin>,
    /// Where its first message came from: `chat`, `voice`, `cli`.
    pub source: String,
    /// The branch that is gone on with.
    pub branch: BranchId,
    /// The question that the person was asked and has not answered.
    pub waiting: Option<Waiting>,
    /// Whether a turn is at work in it.
    pub is_working: bool,
    /// How many items its live branch and the archived ones hold together.
    pub items: u64,
    /// What its client chose for it.
    pub chosen: Chosen,
}

/// What the client of a conversation chose for it alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The folder that the client said it works in.
    pub cwd: Option<String>,
    /// How far its calls are trusted, where that is less than all others are: a mode's word.
    pub mode: Option<String>,
    /// The model that is asked first, as `provider/model`.
    pub model: Option<String>,
}

impl Conversation {
    /// How it stands.
    pub fn state(&self) -> State {
        match (&self.ended, &self.waiting) {
            (Some(_), _) => State::Ended,
            (None, Some(_)) => State::Waiting,
            (None, None) => State::Open,
        }
    }

    /// What a person is shown of how it stands.
    pub fn shown(&self) -> Shown {
        match (self.is_working, self.state()) {
            (true, _) => Shown::Working,
            (false, State::Waiting) => Shown::Waiting,
            (false, State::Open | State::Ended) => Shown::Done,
        }
    }
}

/// How a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The next message may belong to it.
    Open,
    /// Open, and the person was asked something.
    Waiting,
    /// Over.
    Ended,
}

words!(State { Open => "open", Waiting => "waiting", Ended => "ended" });

/// What a person is shown of how a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A turn is at work.
    Working,
    /// The person is asked something.
    Waiting,
    /// What was asked for is done.
    Done,
}

words!(Shown { Working => "working", Waiting => "waiting_for_you", Done => "done" });

/// A question that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Since when, in milliseconds since the Unix epoch.
    pub since: i64,
    /// What was asked.
    pub question: String,
}

/// The end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// When, in milliseconds since the Unix epoch.
    pub at: i64,
    pub kind: EndKind,
    /// Why, for people; may be empty.
    pub reason: String,
}

/// What ends a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    /// Nothing was said for as long as the settings allow.
    Idle,
    /// A question was not answered for as long as the settings allow.
    Unanswered,
    /// The model.
    Agent,
    Person,
}

words!(EndKind { Idle => "idle", Unanswered => "unanswered", Agent => "agent", Person => "person" });

/// Who gave a conversation its title and summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleOrigin {
    /// They were put together from what was said.
    Extract,
    Model,
    /// A person gave the title; the summary is another's.
    Person,
}

words!(TitleOrigin { Extract => "extract", Model => "model", Person => "person" });

/// A turn: from a person's message to the model's last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub id: TurnId,
    pub conversation: ConversationId,
    /// When it began, in milliseconds since the Unix epoch.
    pub began: i64,
    /// When it ended.
    pub ended: Option<i64>,
    /// How it stands.
    pub state: TurnState,
    /// Why it ended, for people; empty while it runs.
    pub reason: String,
}

/// How a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// At work.
    Running,
    /// Ended by itself.
    Done,
    /// Ended with a question to the person.
    Waiting,
    /// A person withdrew it.
    Cancelled,
    /// The steward ended while it was at work.
    Interrupted,
    /// It could not go on.
    Failed,
}

words!(TurnState {
    Running => "running",
    Done => "done",
    Waiting => "waiting",
    Cancelled => "cancelled",
    Interrupted => "interrupted",
    Failed => "failed",
});

/// One recorded thing of a conversation. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number in the conversation.
    pub number: ItemNumber,
    pub conversation: ConversationId,
    /// The turn it belongs to; none for what belongs to the conversation as a whole.
    pub turn: Option<TurnId>,
    /// The branch it was said in.
    pub branch: BranchId,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
    pub kind: ItemKind,
    /// What it says in plain words; this is what search finds.
    pub text: String,
    /// The rest, as JSON that only its writer reads.
    pub body: Option<String>,
}

/// What kind of thing an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// What the person said.
    User,
    /// What the model answered, with the calls it made.
    Assistant,
    /// What the tools answered.
    ToolResults,
    /// News that nobody said: the date, the active note.
    Notice,
    /// A message to the person, sent while the turn went on.
    Message,
    /// A message that waits for an answer.
    Question,
    /// What stands for an earlier part that is no longer given to the model.
    Compaction,
    /// The conversation's end, as the model said it.
    Ended,
    /// A look back at the conversation, made after its end.
    Note,
}

words!(ItemKind {
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
        assert_eq!((ended.shown(), ended.state()), (Shown::Done, State::Ended));
    }
}
