//! State that the parts of the agent share: the ports, the settings and the running turns.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::entry::UserMessage;
use super::named::Agents;
use super::ports::{Memory, MemoryError, Models, Result, Toolbox, UpdateSink, VaultContext};
use super::prompt::{Announced, Situation};
use super::turn::Reason;
use super::turn_settings::TurnSettings;
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::Hooks;
use crate::llm::ErrorKind;
use crate::locks::lock;

/// The most messages queued for one turn.
pub(super) const QUEUE: usize = 32;

/// The agent's connections to the outside.
pub struct Ports {
    pub memory: Box<dyn Memory>,
    pub models: Box<dyn Models>,
    pub toolbox: Box<dyn Toolbox>,
    pub audience: Box<dyn UpdateSink>,
    pub place: Arc<dyn VaultContext>,
}

pub(super) struct SharedAgent {
    pub ports: Ports,
    pub settings: ArcSwap<TurnSettings>,
    /// The user's own agents.
    pub agents: ArcSwap<Agents>,
    /// The user's hooks for messages, which may refuse them.
    pub hooks: OnceLock<Hooks>,
    state: Mutex<AgentState>,
}

/// The running turns, and who waits for them.
#[derive(Default)]
pub(super) struct AgentState {
    pub running: HashMap<ConversationId, RunningTurn>,
    /// The callers that wait for the turn to which a message is delivered, by the message's inbox
    /// number. Has an entry for every message that is being routed.
    pub waiting: HashMap<i64, Vec<OutcomeSender>>,
    /// The date and open note in the last notice of each conversation.
    announced: HashMap<ConversationId, Announced>,
    /// The cost of each conversation in this run, in US dollars.
    spent: HashMap<ConversationId, f64>,
}

type OutcomeSender = oneshot::Sender<Result<MessageOutcome, PromptError>>;

pub(super) struct RunningTurn {
    pub turn: TurnId,
    pub commands: mpsc::UnboundedSender<TurnCommand>,
    /// Messages sent to the turn and not delivered yet.
    pub queued: usize,
    /// Closed once the turn is over and all listeners have the result.
    pub is_over: oneshot::Receiver<()>,
}

#[derive(Debug)]
pub(super) enum TurnCommand {
    Message(UserMessage),
    Cancel,
}

/// Resolves at the end of the turn that a message is delivered in. May be dropped.
#[derive(Debug)]
pub struct PendingOutcome(oneshot::Receiver<Result<MessageOutcome, PromptError>>);

impl Future for PendingOutcome {
    type Output = Result<MessageOutcome, PromptError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|received| received.unwrap_or(Err(PromptError::ShuttingDown)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOutcome {
    pub conversation: ConversationId,
    pub turn: TurnId,
    /// Why that turn ended; `None` if the steward stopped first.
    pub reason: Option<Reason>,
    /// The reason for people; may be empty.
    pub words: String,
    /// The kind of model failure, if that ended the turn. With [`Reason::Done`]: there was no model
    /// to ask, and the answer says so.
    pub cause: Option<ErrorKind>,
    pub hint: Option<String>,
    /// The last complete message of the turn.
    pub answer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It cannot be stored, or there is no such conversation.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A hook refused it, or a required hook failed.
    #[error("the hook `{hook}` {}: {reason}", if *.failed { "failed, and it is critical" } else { "refuses" })]
    Refused { hook: String, reason: String, failed: bool },
    /// Too many messages are queued already.
    #[error("{QUEUE} messages already wait in this conversation")]
    Full,
    /// The steward is shutting down.
    #[error("the steward is shutting down")]
    ShuttingDown,
}

impl SharedAgent {
    pub fn new(ports: Ports, settings: TurnSettings) -> Self {
        Self {
            ports,
            settings: ArcSwap::from_pointee(settings),
            agents: ArcSwap::default(),
            hooks: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, AgentState> {
        lock(&self.state)
    }

    pub fn is_working(&self, conversation: ConversationId) -> bool {
        self.state().running.contains_key(&conversation)
    }

    /// Cancels the running turn of a conversation; returns whether there was one.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        let state = self.state();
        let running = state.running.get(&conversation);
        running.is_some_and(|running| running.commands.send(TurnCommand::Cancel).is_ok())
    }

    /// Waits for the turn that the message with this number is delivered in.
    pub fn await_answer(&self, number: i64) -> PendingOutcome {
        let (tell, answered) = oneshot::channel();
        self.state().waiting.entry(number).or_default().push(tell);
        PendingOutcome(answered)
    }

    pub fn announce(&self, conversation: ConversationId, situation: &Situation) -> Option<String> {
        self.state().announced.entry(conversation).or_default().news(situation)
    }

    /// Adds to the cost of a conversation in this run; returns the total, if known.
    pub fn spent(&self, conversation: ConversationId, cost: Option<f64>) -> Option<f64> {
        let mut state = self.state();
        if let Some(cost) = cost {
            *state.spent.entry(conversation).or_default() += cost;
        }
        state.spent.get(&conversation).copied()
    }

    /// Records that a queued message was delivered.
    pub fn record_delivered(&self, conversation: ConversationId, turn: TurnId) {
        let mut state = self.state();
        if let Some(running) = state.running.get_mut(&conversation)
            && running.turn == turn
        {
            running.queued = running.queued.saturating_sub(1);
        }
    }
}

impl AgentState {
    /// Answers all who wait for a message. A receiver that is gone needs no answer.
    pub fn answer(&mut self, number: i64, answered: &Result<MessageOutcome, PromptError>) {
        for waiting in self.waiting.remove(&number).into_iter().flatten() {
            let _ = waiting.send(answered.clone());
        }
    }
}

/// Runs blocking work on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    shared: &Arc<SharedAgent>,
    work: impl FnOnce(&SharedAgent) -> Result<T> + Send + 'static,
) -> Result<T> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared)).await.unwrap_or_else(|error| {
        let message = format!("it stopped unexpectedly: {error}");
        Err(MemoryError::Broken { message, hint: None })
    })
}
