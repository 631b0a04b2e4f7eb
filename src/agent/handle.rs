//! The agent as everybody else sees it: what it works with, what it is told to do and stopped from
//! doing. How a message comes to its turn is `saying`, how turns begin and end is `turns`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::driver::{Command, blocking};
use super::entry::Said;
use super::ports::{Audience, Kept, Memory, MemoryError, Models, Place, Toolbox};
use super::prompt::{Moment, Told};
use super::turn::Reason;
use super::turn_settings::TurnSettings;
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::Hooks;
use crate::llm::ErrorKind;

/// Messages that may wait for one turn to hear them.
pub(super) const QUEUE: usize = 32;

/// The agent of one vault. Clones share it.
#[derive(Clone)]
pub struct Agent(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) ports: Ports,
    settings: ArcSwap<TurnSettings>,
    /// The user's commands that hear of messages, and may refuse them.
    pub(super) hooks: OnceLock<Hooks>,
    /// Messages find their place one after another.
    pub(super) arrivals: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Woken when a turn is over.
    pub(super) over: tokio::sync::Notify,
}

/// What the agent works with.
#[expect(missing_docs, reason = "each is documented at its trait")]
pub struct Ports {
    pub memory: Box<dyn Memory>,
    pub models: Box<dyn Models>,
    pub toolbox: Box<dyn Toolbox>,
    pub audience: Box<dyn Audience>,
    pub place: Box<dyn Place>,
}

/// What is known of the turns at work and of the messages on their way.
#[derive(Default)]
pub(super) struct State {
    pub running: HashMap<ConversationId, Running>,
    /// Who waits for the end of the turn that hears a message, by the message's name.
    pub waiting: HashMap<String, Vec<Teller>>,
    /// The messages that are received and have no place yet, by name; and the conversations that were
    /// stopped meanwhile.
    pub on_the_way: HashMap<String, Vec<ConversationId>>,
    /// What was last told of date and open note, by conversation.
    told: HashMap<ConversationId, Told>,
    /// What the conversations of this run cost.
    spent: HashMap<ConversationId, f64>,
}

/// The way back to who waits for what a message comes to.
pub(super) type Teller = oneshot::Sender<Result<Answered, PromptError>>;

/// A turn at work.
pub(super) struct Running {
    pub turn: TurnId,
    pub commands: mpsc::UnboundedSender<Command>,
    /// Messages on the way to it or waiting in it, not heard yet.
    pub queued: usize,
    /// Closed once the turn is over, and all are told.
    pub is_over: oneshot::Receiver<()>,
}

/// What an earlier run received and did not come to.
#[derive(Debug, Default)]
pub struct Left(pub(super) Vec<(i64, Said, Option<ConversationId>)>);

/// What a message came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The conversation that it went to.
    pub conversation: ConversationId,
    /// The turn in which it was heard.
    pub turn: TurnId,
    /// Why that turn ended; `None` where the steward ended before it.
    pub reason: Option<Reason>,
    /// Why, for people; may be empty.
    pub words: String,
    /// The kind of the model's failure, where that is why. With [`Reason::Done`]: there was no model to
    /// ask, and the answer says so.
    pub cause: Option<ErrorKind>,
    /// What can be done about it.
    pub hint: Option<String>,
    /// The last whole message of the turn.
    pub answer: String,
}

/// Why a message is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It cannot be kept, or there is no such conversation.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A hook of the user's refuses it, or failed where nothing is done without it.
    #[error("the hook `{hook}` {}: {reason}", if *.failed { "failed, and nothing is done without it" } else { "refuses" })]
    Refused {
        /// The hook.
        hook: String,
        /// Why.
        reason: String,
        /// Whether it failed.
        failed: bool,
    },
    /// Too many wait already.
    #[error("{QUEUE} messages wait to be heard in this conversation already")]
    Full,
    /// The steward ends.
    #[error("the steward ends")]
    Ending,
}

impl Agent {
    /// An agent at rest.
    pub fn new(ports: Ports, settings: TurnSettings) -> Self {
        Self(Arc::new(Inner {
            ports,
            settings: ArcSwap::from_pointee(settings),
            hooks: OnceLock::new(),
            arrivals: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            over: tokio::sync::Notify::new(),
        }))
    }

    /// Has these hooks hear of what is said from now on; only the first ones do.
    pub fn set_hooks(&self, hooks: Hooks) {
        let _ = self.0.hooks.set(hooks);
    }

    /// Gives other settings, from the next turn on.
    pub fn set_settings(&self, settings: TurnSettings) {
        self.0.settings.store(Arc::new(settings));
    }

    /// The settings that hold.
    pub fn settings(&self) -> Arc<TurnSettings> {
        self.0.settings.load_full()
    }

    /// How the turn of this number ended, as it is kept. Blocks.
    ///
    /// # Errors
    /// [`MemoryError`]; there is no such turn any more.
    pub fn ended(&self, turn: TurnId) -> Result<Kept, MemoryError> {
        self.0.ports.memory.ended(turn)
    }

    /// Whether there is a model to ask.
    pub fn has_model(&self) -> bool {
        self.0.ports.models.is_any()
    }

    /// Stops the turn of a conversation, and the one that is begun there by what was said before and
    /// has no place yet; a turn that nobody drives any more, since its end could not be kept, is given
    /// up.
    ///
    /// # Errors
    /// [`MemoryError`]: that cannot be kept either.
    pub async fn stop(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        self.state().on_the_way.values_mut().for_each(|stopped| stopped.push(conversation));
        match self.cancel(conversation) {
            true => Ok(()),
            false => self.let_go(conversation).await,
        }
    }

    /// Stops the turn that is at work in a conversation; whether one was.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        let state = self.state();
        let running = state.running.get(&conversation);
        running.is_some_and(|running| running.commands.send(Command::Cancel).is_ok())
    }

    /// Gives up the turn of a conversation where nobody drives it.
    pub(super) async fn let_go(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        // No turn begins meanwhile.
        let _in_turn = self.0.arrivals.lock().await;
        if self.is_working(conversation) {
            return Ok(());
        }
        let agent = self.clone();
        blocking(move || agent.give_up(conversation)).await
    }

    /// Whether a turn is at work in a conversation.
    pub fn is_working(&self, conversation: ConversationId) -> bool {
        self.state().running.contains_key(&conversation)
    }

    /// What is new for a conversation at this moment, in words.
    pub(super) fn told(&self, conversation: ConversationId, moment: &Moment) -> Option<String> {
        self.state().told.entry(conversation).or_default().news(moment)
    }

    /// Adds to what a conversation cost in this run; the sum, where something is known of it.
    pub(super) fn spent(&self, conversation: ConversationId, cost: Option<f64>) -> Option<f64> {
        let mut state = self.state();
        if let Some(cost) = cost {
            *state.spent.entry(conversation).or_default() += cost;
        }
        state.spent.get(&conversation).copied()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
