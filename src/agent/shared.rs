//! What the parts of the agent share: what it works with, its settings, and what is known of the turns
//! at work.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::entry::Said;
use super::ports::{Audience, Memory, MemoryError, Models, Place, Toolbox};
use super::prompt::{Moment, Told};
use super::turn::Reason;
use super::turn_settings::TurnSettings;
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::Hooks;
use crate::llm::ErrorKind;

/// Messages that may wait for one turn to hear them.
pub(super) const QUEUE: usize = 32;

/// What the agent works with.
pub struct Ports {
    pub memory: Box<dyn Memory>,
    pub models: Box<dyn Models>,
    pub toolbox: Box<dyn Toolbox>,
    pub audience: Box<dyn Audience>,
    pub place: Box<dyn Place>,
}

/// What the parts of the agent share.
pub(super) struct Shared {
    pub ports: Ports,
    pub settings: ArcSwap<TurnSettings>,
    /// The user's commands that hear of messages, and may refuse them.
    pub hooks: OnceLock<Hooks>,
    state: Mutex<State>,
}

/// What is known of the turns at work, and who waits for them.
#[derive(Default)]
pub(super) struct State {
    pub running: HashMap<ConversationId, Running>,
    /// Who waits for the end of the turn that hears a message, by the message's number in the inbox. A
    /// message that is on its way to its place is always in here.
    pub waiting: HashMap<i64, Vec<Teller>>,
    /// What was last told of date and open note, by conversation.
    told: HashMap<ConversationId, Told>,
    /// What the conversations of this run cost.
    spent: HashMap<ConversationId, f64>,
}

/// The way back to who waits for what a message comes to.
type Teller = oneshot::Sender<Result<Answered, PromptError>>;

/// A turn at work.
pub(super) struct Running {
    pub turn: TurnId,
    pub commands: mpsc::UnboundedSender<Command>,
    /// Messages on the way to it or waiting in it, not heard yet.
    pub queued: usize,
    /// Closed once the turn is over, and all are told.
    pub is_over: oneshot::Receiver<()>,
}

/// What is told to a turn that is at work.
#[derive(Debug)]
pub(super) enum Command {
    /// A person says something.
    Said(Said),
    /// A person wants no more of it.
    Cancel,
}

/// The end of the turn that hears a message. Whoever no longer waits for it changes nothing.
#[derive(Debug)]
pub struct Answering(oneshot::Receiver<Result<Answered, PromptError>>);

impl Future for Answering {
    type Output = Result<Answered, PromptError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|told| told.unwrap_or(Err(PromptError::Ending)))
    }
}

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
        hook: String,
        /// Why.
        reason: String,
        failed: bool,
    },
    /// Too many wait already.
    #[error("{QUEUE} messages wait to be heard in this conversation already")]
    Full,
    /// The steward ends.
    #[error("the steward ends")]
    Ending,
}

impl Shared {
    pub fn new(ports: Ports, settings: TurnSettings) -> Self {
        Self {
            ports,
            settings: ArcSwap::from_pointee(settings),
            hooks: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a turn is at work in a conversation.
    pub fn is_working(&self, conversation: ConversationId) -> bool {
        self.state().running.contains_key(&conversation)
    }

    /// Stops the turn that is at work in a conversation; whether one was.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        let state = self.state();
        let running = state.running.get(&conversation);
        running.is_some_and(|running| running.commands.send(Command::Cancel).is_ok())
    }

    /// Waits for the end of the turn that hears the message of this number.
    pub fn await_answer(&self, number: i64) -> Answering {
        let (tell, answered) = oneshot::channel();
        self.state().waiting.entry(number).or_default().push(tell);
        Answering(answered)
    }

    /// What is new for a conversation at this moment, in words.
    pub fn told(&self, conversation: ConversationId, moment: &Moment) -> Option<String> {
        self.state().told.entry(conversation).or_default().news(moment)
    }

    /// Adds to what a conversation cost in this run; the sum, where something is known of it.
    pub fn spent(&self, conversation: ConversationId, cost: Option<f64>) -> Option<f64> {
        let mut state = self.state();
        if let Some(cost) = cost {
            *state.spent.entry(conversation).or_default() += cost;
        }
        state.spent.get(&conversation).copied()
    }

    /// A message that waited for a turn is heard in it.
    pub fn has_heard(&self, conversation: ConversationId, turn: TurnId) {
        let mut state = self.state();
        if let Some(running) = state.running.get_mut(&conversation)
            && running.turn == turn
        {
            running.queued = running.queued.saturating_sub(1);
        }
    }
}

impl State {
    /// Tells all who wait for a message what it came to. Who has gone needs no answer.
    pub fn answer(&mut self, number: i64, answered: &Result<Answered, PromptError>) {
        for waiting in self.waiting.remove(&number).into_iter().flatten() {
            let _ = waiting.send(answered.clone());
        }
    }
}

/// Does what may block with the shared parts, on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, MemoryError> + Send + 'static,
) -> Result<T, MemoryError> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared)).await.unwrap_or_else(|error| {
        let message = format!("it broke off: {error}");
        Err(MemoryError::Broken { message, hint: None })
    })
}
