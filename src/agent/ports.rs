//! What the agent works with, as it sees it. The composition root hands in the real ones; the
//! simulations hand in others that fail, hang and forget as they are told.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::called::Called;
use super::entry::{Entry, Said};
use super::known::Known;
use super::prompt::Moment;
use super::turn::{Changes, End, Reason, Show};
use crate::calls::{Answerer, Decision};
use crate::conversation::{ConversationId, TurnId};
use crate::llm::{Origin, Provider, ToolCall, ToolSpec, Usage};
use crate::policy::Scope;
use crate::vault::Cancel;

/// Something that takes a while.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Why something could not be kept or found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// There is no such conversation.
    #[error("there is no conversation {id}")]
    NotFound { id: ConversationId },
    /// It could not be kept or read.
    #[error("{message}")]
    Broken {
        /// Why.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// Where a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It begins a turn.
    Began { conversation: ConversationId, turn: TurnId },
    /// It was heard before, in this turn; nothing has changed.
    Heard { turn: TurnId },
    /// A turn is at work there.
    Busy { conversation: ConversationId },
}

/// How a turn ended, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub conversation: ConversationId,
    /// Why; `None` where the steward ended before it did, or it goes on.
    pub reason: Option<Reason>,
    /// Why, for people.
    pub words: String,
    /// The last message of it.
    pub answer: String,
}

/// What is kept of conversations. Everything is durable when it returns, and may block until then.
pub trait Memory: Send + Sync + 'static {
    /// Keeps a message before it is known where it goes; the same one is not kept twice. Its number, and
    /// the turn in which it was heard before, if it was.
    ///
    /// # Errors
    /// It is not kept.
    fn receive(&self, said: &Said) -> Result<(i64, Option<TurnId>), MemoryError>;

    /// Decides where a message goes that is kept in the inbox, and begins a turn with it there if none
    /// is at work; that it is heard is kept by the same commit. One that was heard
    /// before is not heard again.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing has changed.
    fn arrive(&self, said: &Said) -> Result<Arrival, MemoryError>;

    /// Begins a turn in which a message is gone on with that was said in this conversation before and
    /// is kept under this number, whether it was heard before or not; `notice` says so to the model.
    /// That it is heard in the new turn is kept by the same commit.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing has changed.
    fn go_on(
        &self,
        conversation: ConversationId,
        notice: &Entry,
        received: i64,
    ) -> Result<Arrival, MemoryError>;

    /// A message that was received is not taken: the next start leaves it alone. Sent again, it is
    /// as if it were new. One that was heard stays so.
    fn refuse(&self, received: i64, why: &str) -> Result<(), MemoryError>;

    /// All entries of a conversation, the opening first.
    fn entries(&self, conversation: ConversationId) -> Result<Vec<Entry>, MemoryError>;

    /// Keeps the opening; the first one stays. The one that holds.
    fn keep_opening(
        &self,
        conversation: ConversationId,
        opening: Entry,
    ) -> Result<Entry, MemoryError>;

    /// Keeps an entry behind all others. For a message from the inbox the same commit keeps that it
    /// was heard; `false` where it was heard before, and nothing has changed.
    ///
    /// # Errors
    /// [`MemoryError`]; it is not kept.
    fn append(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        entry: &Entry,
    ) -> Result<bool, MemoryError>;

    /// Keeps the end of a turn; with it the question that waits, or the conversation's end.
    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        question: Option<&str>,
    ) -> Result<(), MemoryError>;

    /// Ends the turn of a conversation that nobody drives any more, for this reason; which, if there
    /// is one.
    fn interrupt(
        &self,
        conversation: ConversationId,
        why: &str,
    ) -> Result<Option<TurnId>, MemoryError>;

    /// How a turn ended.
    fn ended(&self, turn: TurnId) -> Result<Kept, MemoryError>;

    /// The turns that an earlier run left at work, and what was received and never heard. Changes
    /// neither.
    fn leftovers(&self) -> Result<Leftovers, MemoryError>;

    /// Number, title and summary of the last conversations that have ended, but for this one.
    fn earlier(
        &self,
        conversation: ConversationId,
    ) -> Result<Vec<(String, String, String)>, MemoryError>;

    /// A random name of what is kept, the same over restarts; empty where nothing outlives one.
    ///
    /// # Errors
    /// A new one cannot be kept.
    fn installation(&self) -> Result<String, MemoryError> {
        Ok(String::new())
    }

    /// The model that is to be asked first in a conversation, where one was chosen for it alone.
    fn preferred(&self, _conversation: ConversationId) -> Option<String> {
        None
    }

    /// Counts what a model was used for; the cost in US dollars where it is known.
    fn count(&self, conversation: ConversationId, model: &str, usage: &Usage, cost: Option<f64>);
}

/// What an earlier run left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Turns that it was at work on.
    pub turns: Vec<(ConversationId, TurnId)>,
    /// Messages that nobody heard.
    pub messages: Vec<Said>,
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Model {
    /// The way to it.
    pub provider: Arc<dyn Provider>,
    /// How many tokens it reads and writes together.
    pub window: u64,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.provider.id()).field(&self.window).finish()
    }
}

/// The models that the user has chosen.
pub trait Models: Send + Sync + 'static {
    /// The one to ask from the next turn on; none where none is chosen.
    fn current(&self) -> Option<Model>;

    /// The same with this one before all others, where it is one of those that are chosen.
    fn preferring(&self, _model: &str) -> Option<Model> {
        self.current()
    }

    /// Whether there is one to ask, as far as that is known at once: a key that has to be waited for
    /// is not.
    fn is_any(&self) -> bool {
        self.current().is_some()
    }

    /// One sentence on how to choose one.
    fn advice(&self) -> Later<String>;

    /// The name of whoever answered, and what it cost in US dollars, where that is known: of tokens that
    /// nobody told it is not nothing but unknown.
    fn price(&self, origin: Option<&Origin>, usage: Option<&Usage>) -> (String, Option<f64>);
}

/// A call that a model wants made.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub call: ToolCall,
    /// As whom it is made.
    pub scope: Scope,
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// Characters of the result that the model is given.
    pub room: usize,
    /// The texts of files that the model knew when it asked for the call.
    pub known: Known,
}

/// What a call came to.
pub enum Answer {
    /// It is over.
    Done(Called),
    /// A person has to agree first; nothing has been done.
    Asks(Box<dyn Pending>),
}

/// A call that waits for a person. Dropping it is refusing it.
pub trait Pending: Send {
    /// What it does, for people.
    fn title(&self) -> String;

    /// Asks whoever may answer. Dropping the wait takes the question back.
    fn ask(&self) -> Later<(Decision, Answerer)>;

    /// Goes on with it, or ends it, as was decided.
    fn answer(self: Box<Self>, decision: Decision, by: Answerer, cancel: Cancel) -> Later<Answer>;
}

/// The tools that a model may call.
pub trait Toolbox: Send + Sync + 'static {
    /// As a model is told of them, in an order that stays.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Which of them change something.
    fn changes(&self) -> Changes;

    /// Calls one. What is not there, or not allowed, is said in the answer.
    fn call(&self, wanted: Wanted, cancel: Cancel) -> Later<Answer>;
}

/// What clients are told.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Something was said or done.
    Show(Show),
    /// A turn is at work; so many messages wait to be heard.
    Running { queued: usize },
    /// It waits for a person's agreement.
    RequiresAction {
        /// How many messages wait to be heard.
        queued: usize,
    },
    /// The turn is over, and that is kept.
    Ended { end: End },
    /// How much of the window is used, and what the turns of this run cost.
    Usage {
        /// Tokens in use.
        used: u64,
        /// Tokens there are.
        size: u64,
        /// US dollars, where prices are known.
        cost: Option<f64>,
    },
}

/// Whoever watches. Never waits for anyone.
pub trait Audience: Send + Sync + 'static {
    /// Tells all of them, in the order of the calls.
    fn tell(&self, told: Told);
}

/// Where it all takes place. May block.
pub trait Place: Send + Sync + 'static {
    /// The vault's name.
    fn vault(&self) -> String;

    /// What is so now, of what a caller of this kind may see; news are changes by others of which this
    /// conversation was not told yet.
    fn moment(&self, conversation: ConversationId, scope: Scope) -> Moment;

    /// A note's real path and its text, if a caller of this kind may see it.
    fn note(&self, path: &str, scope: Scope) -> Option<(String, String)>;

    /// Whether a caller of this kind may see all of the vault, and so what was said of it in other
    /// conversations.
    fn shows_all(&self, scope: Scope) -> bool;
}

impl<T: Audience> Audience for Arc<T> {
    fn tell(&self, told: Told) {
        (**self).tell(told);
    }
}

impl<T: Place> Place for Arc<T> {
    fn vault(&self) -> String {
        (**self).vault()
    }

    fn moment(&self, conversation: ConversationId, scope: Scope) -> Moment {
        (**self).moment(conversation, scope)
    }

    fn note(&self, path: &str, scope: Scope) -> Option<(String, String)> {
        (**self).note(path, scope)
    }

    fn shows_all(&self, scope: Scope) -> bool {
        (**self).shows_all(scope)
    }
}
