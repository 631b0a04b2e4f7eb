//! The interfaces between the agent and the rest. The composition root implements them; simulations
//! use implementations that fail, hang and forget.

use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

use super::call_result::CallResult;
use super::entry::{Entry, UserMessage};
use super::named::ActiveAgent;
use super::prompt::Situation;
use super::read_set::ReadSet;
use super::turn::{End, Reason, Show, ToolEffects};
use crate::calls::{Answerer, Decision};
use crate::conversation::{Chosen, ConversationId, TurnId};
use crate::guests::Guest;
use crate::llm::{Origin, Provider, ToolCall, ToolSpec, Usage};
use crate::policy::Scope;
use crate::tools::Image;
use crate::vault::Cancel;

/// Why a store operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("there is no conversation {id}")]
    NotFound { id: ConversationId },
    #[error("{message}")]
    Broken { message: String, hint: Option<String> },
}

pub type Result<T, E = MemoryError> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    Started {
        conversation: ConversationId,
        turn: TurnId,
    },
    /// The message was already delivered in this turn; nothing changed.
    Delivered {
        turn: TurnId,
    },
    /// A turn is already running in this conversation.
    Busy {
        conversation: ConversationId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTurn {
    pub conversation: ConversationId,
    /// The reason; `None` if the turn is still running, or the steward stopped first.
    pub reason: Option<Reason>,
    /// The reason, for people.
    pub words: String,
    /// The last message of the turn.
    pub answer: String,
}

/// The stored conversations. Every write is durable when it returns. All methods may block.
pub trait Memory: Send + Sync + 'static {
    /// Stores a message before it is routed; the same message is stored once. Returns its number,
    /// and the turn in which it was already delivered, if any.
    fn receive(&self, user_message: &UserMessage) -> Result<(i64, Option<TurnId>)>;

    /// Routes a message from the inbox, and starts a turn with it if none is running. The same
    /// commit marks the message as delivered, so it is delivered once.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing changed.
    fn arrive(&self, user_message: &UserMessage) -> Result<Routing>;

    /// Starts a turn that resumes the work on a message of this conversation, whether it was
    /// delivered before or not. `received` is its inbox number; `notice` tells the model. The same
    /// commit marks the message as delivered in the new turn.
    fn resume(
        &self,
        conversation: ConversationId,
        notice: &Entry,
        received: i64,
    ) -> Result<Routing>;

    /// Marks a received message as rejected, so that the next start ignores it; sending it again
    /// makes it new. Has no effect on a delivered message.
    fn refuse(&self, received: i64, why: &str) -> Result<()>;

    /// All entries of a conversation, the opening first.
    fn entries(&self, conversation: ConversationId) -> Result<Vec<Entry>>;

    /// Stores the opening unless there is one already; returns the stored one.
    fn keep_opening(&self, conversation: ConversationId, opening: Entry) -> Result<Entry>;

    /// Appends an entry. For a message from the inbox, the same commit marks it as delivered;
    /// `false` if it was already delivered, and nothing changed.
    fn append(&self, conversation: ConversationId, turn: TurnId, entry: &Entry) -> Result<bool>;

    /// Stores the end of a turn, together with the open question or the conversation's end.
    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        question: Option<&str>,
    ) -> Result<()>;

    /// Ends a turn that is stored as running but has no task. Returns the turn, if there was one.
    fn interrupt(&self, conversation: ConversationId, why: &str) -> Result<Option<TurnId>>;

    fn ended(&self, turn: TurnId) -> Result<StoredTurn>;

    /// The turns that an earlier run left running, and the messages it never delivered. Changes
    /// nothing.
    fn leftovers(&self) -> Result<Leftovers>;

    /// Number, title and summary of the latest ended conversations, without this one.
    fn earlier(&self, conversation: ConversationId) -> Result<Vec<(String, String, String)>>;

    /// A random id of this store, constant across restarts; empty if the store does not persist.
    fn installation(&self) -> Result<String> {
        Ok(String::new())
    }

    /// The choices for this conversation alone.
    fn chosen(&self, _conversation: ConversationId) -> Chosen {
        Chosen::default()
    }

    /// Records usage of a model; `cost` in US dollars, if known.
    fn count(&self, conversation: ConversationId, model: &str, usage: &Usage, cost: Option<f64>);
}

/// Messages and turns that an earlier run did not finish.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub turns: Vec<(ConversationId, TurnId)>,
    pub messages: Vec<UserMessage>,
}

#[derive(Clone)]
pub struct Model {
    pub provider: Arc<dyn Provider>,
    pub window: u64,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.provider.id()).field(&self.window).finish()
    }
}

pub trait Models: Send + Sync + 'static {
    /// The model for the next turn; `None` if none is configured.
    fn current(&self) -> Option<Model>;

    /// As [`Self::current`], but asks `_model` first if it is configured.
    fn preferring(&self, _model: &str) -> Option<Model> {
        self.current()
    }

    /// Whether `_model` is in the chain or its provider is fully configured, so that
    /// [`Self::preferring`] has an effect.
    fn has(&self, _model: &str) -> bool {
        true
    }

    /// Only the model with this name.
    fn alone(&self, model: &str) -> Result<Model, String> {
        Err(format!("`{model}` is not configured"))
    }

    /// The guest of a conversation, for one turn.
    fn guest(&self, _guest: Guest, _conversation: ConversationId) -> Result<Model, String> {
        Err("guests are not available here".to_owned())
    }

    /// As [`Self::preferring`] with `then`, or as [`Self::current`], but asks `_first` before them.
    fn beginning_with_model(&self, _first: &str, then: Option<&str>) -> Option<Model> {
        then.map_or_else(|| self.current(), |model| self.preferring(model))
    }

    /// Whether a model is available, without waiting for a key.
    fn is_any(&self) -> bool {
        self.current().is_some()
    }

    /// One sentence on how to configure a model.
    fn advice(&self) -> BoxFuture<'static, String>;

    /// The name of the model that answered, and the cost in US dollars if known. Without reported
    /// tokens the cost is unknown, not zero.
    fn price(&self, origin: Option<&Origin>, usage: Option<&Usage>) -> (String, Option<f64>);
}

#[derive(Debug, Clone)]
pub struct CallRequest {
    pub call: ToolCall,
    pub scope: Scope,
    pub conversation: ConversationId,
    pub turn: TurnId,
    /// The most characters of the result that the model gets.
    pub max_chars: usize,
    /// The file versions that the model had seen when it asked for the call.
    pub known: ReadSet,
    /// The agent that makes the call, if it is a user's agent.
    pub agent: Option<Arc<ActiveAgent>>,
}

pub enum CallOutcome {
    Done(CallResult),
    /// A person has to approve first; nothing was done yet.
    NeedsApproval(Box<dyn Pending>),
}

/// A call waiting for approval. Dropping it refuses it.
pub trait Pending: Send {
    /// The call's description, for people.
    fn title(&self) -> String;

    /// Asks for approval. Dropping the future withdraws the question.
    fn ask(&self) -> BoxFuture<'static, (Decision, Answerer)>;

    /// Resumes or ends the call as decided.
    fn answer(
        self: Box<Self>,
        decision: Decision,
        by: Answerer,
        cancel: Cancel,
    ) -> BoxFuture<'static, CallOutcome>;
}

pub trait Toolbox: Send + Sync + 'static {
    /// The definitions, in a constant order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// The current definitions of foreign tools. Not stored with a conversation, since they come
    /// and go. May block.
    fn foreign(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// The tools, and whether each changes something.
    fn changes(&self) -> ToolEffects;

    /// Makes a call. An unknown tool or a refusal is an error in the result.
    fn call(&self, call_request: CallRequest, cancel: Cancel) -> BoxFuture<'static, CallOutcome>;

    /// The image that the result of an earlier call refers to; `None` if its file is gone or has changed. May
    /// block.
    fn image(&self, _path: &str, _revision: &str) -> Option<Arc<Image>> {
        None
    }
}

/// An event about a turn, for clients.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnUpdate {
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub what: Update,
}

/// The kind of a [`TurnUpdate`].
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A message, a call or a result, to show.
    Show(Show),
    /// The turn is running; `queued` messages wait to be delivered.
    Running {
        queued: usize,
    },
    /// The turn waits for approval.
    RequiresAction {
        /// How many messages wait to be delivered.
        queued: usize,
    },
    Ended {
        end: End,
    },
    /// The use of the context window, and the cost of this run's turns.
    Usage {
        used: u64,
        /// The context window in tokens.
        size: u64,
        /// US dollars, if prices are known.
        cost: Option<f64>,
    },
}

/// Receives the updates. Must not block.
pub trait UpdateSink: Send + Sync + 'static {
    /// Sends an update to all clients, in the order of the calls.
    fn send(&self, update: TurnUpdate);
}

/// The vault around the agent. May block.
pub trait VaultContext: Send + Sync + 'static {
    /// The vault's name.
    fn vault(&self) -> String;

    /// The current situation, as visible to a caller of this scope. Its news are changes by others
    /// since the last notice in this conversation.
    fn moment(&self, conversation: ConversationId, scope: Scope) -> Situation;

    /// A short outline of the part of the vault that this scope may see, for a conversation's beginning; `None` if it
    /// is empty.
    fn outline(&self, _scope: Scope) -> Option<String> {
        None
    }

    /// A note's real path and its text, if this scope may see it.
    fn note(&self, path: &str, scope: Scope) -> Option<(String, String)>;

    /// Whether this scope may see the whole vault, and therefore summaries of other conversations.
    fn shows_all(&self, scope: Scope) -> bool;
}
