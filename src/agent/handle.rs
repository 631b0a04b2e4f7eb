//! The agent's public interface.

use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use super::entry::{Entry, UserMessage};
use super::named::Agents;
use super::ports::{Model, Result, StoredTurn};
use super::router::{self, AgentCommand};
use super::shared::{PendingOutcome, Ports, PromptError, SharedAgent};
use super::turn_settings::TurnSettings;
use super::{answering, turns};
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::Hooks;

/// The agent of one vault. Clones share it.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<SharedAgent>,
    orders: Arc<OnceLock<mpsc::UnboundedSender<AgentCommand>>>,
}

/// Messages that an earlier run received but did not deliver.
#[derive(Debug, Default)]
pub struct Undelivered(Vec<UserMessage>);

impl Agent {
    pub fn new(ports: Ports, settings: TurnSettings) -> Self {
        Self { shared: Arc::new(SharedAgent::new(ports, settings)), orders: Arc::default() }
    }

    /// Sets the hooks for messages. Only the first call has an effect.
    pub fn set_hooks(&self, hooks: Hooks) {
        let _ = self.shared.hooks.set(hooks);
    }

    /// Replaces the settings, from the next turn on.
    pub fn set_settings(&self, settings: TurnSettings) {
        self.shared.settings.store(Arc::new(settings));
    }

    /// Replaces the user's own agents, from the next turn on.
    pub fn set_agents(&self, agents: Agents) {
        self.shared.agents.store(Arc::new(agents));
    }

    pub fn agents(&self) -> Arc<Agents> {
        self.shared.agents.load_full()
    }

    /// The model for the title and the summary of a conversation; `None` if there is none, or the
    /// conversation's agent cannot answer. May block.
    pub fn summarizer(&self, conversation: ConversationId) -> Option<Model> {
        answering::summarizer(&self.shared, conversation)
    }

    /// Sends a message to the agent. Messages are routed in the order of the calls. The outer
    /// future resolves once the message is stored and routed; the inner one at the end of its turn.
    /// Dropping either has no effect. A message with a number is in the inbox already, and the
    /// caller settles it there.
    pub fn send(
        &self,
        user_message: UserMessage,
    ) -> impl Future<Output = Result<PendingOutcome, PromptError>> + Send + use<> {
        let (accepted, answering) = oneshot::channel();
        self.command(AgentCommand::Send(user_message, accepted));
        async move { answering.await.unwrap_or(Err(PromptError::ShuttingDown)) }
    }

    /// Resumes the work on a message of `conversation` whose turn was cut short or failed. The new
    /// turn starts with `notice`, after the existing history. Waits for a turn that is running
    /// there.
    ///
    /// # Errors
    /// [`PromptError`]; nothing was started. [`MemoryError::NotFound`](super::ports::MemoryError::NotFound) if the conversation is gone.
    pub fn resume(
        &self,
        user_message: UserMessage,
        conversation: ConversationId,
        notice: String,
    ) -> impl Future<Output = Result<PendingOutcome, PromptError>> + Send + use<> {
        let notice = Entry::notice(notice);
        let (accepted, answering) = oneshot::channel();
        self.command(AgentCommand::Resume { user_message, conversation, notice, accepted });
        async move { answering.await.unwrap_or(Err(PromptError::ShuttingDown)) }
    }

    /// Stops the running turn of a conversation, and any that an earlier message is about to start.
    /// A turn whose end could not be stored is given up.
    pub fn stop(
        &self,
        conversation: ConversationId,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (done, stopped) = oneshot::channel();
        self.command(AgentCommand::Stop(conversation, done));
        // If the agent is gone, it has stopped.
        async move { stopped.await.unwrap_or(Ok(())) }
    }

    /// Repairs the histories that an earlier run left: each call without a result gets the result
    /// "unknown". Nothing is run again. Returns undelivered messages for [`Self::deliver_undelivered`].
    /// Blocks.
    ///
    /// # Errors
    /// [`MemoryError`](super::ports::MemoryError); histories not repaired are repaired at their next turn.
    pub fn recover(&self) -> Result<Undelivered> {
        turns::recover(&self.shared).map(Undelivered)
    }

    /// Routes the messages that an earlier run did not deliver, in the order in which they came.
    /// Returns before any hooks for them have answered.
    pub async fn deliver_undelivered(&self, left: Undelivered) {
        let (done, taken) = oneshot::channel();
        self.command(AgentCommand::Undelivered(left.0, done));
        let _ = taken.await;
    }

    fn command(&self, command: AgentCommand) {
        let orders = self.orders.get_or_init(|| {
            let (orders, given) = mpsc::unbounded_channel();
            tokio::spawn(router::run(Arc::clone(&self.shared), given));
            orders
        });
        // The task ends only with the whole program.
        let _ = orders.send(command);
    }

    /// The stored end of a turn. Blocks.
    pub fn ended(&self, turn: TurnId) -> Result<StoredTurn> {
        self.shared.ports.memory.ended(turn)
    }

    /// Whether a model is configured.
    pub fn has_model(&self) -> bool {
        self.shared.ports.models.is_any()
    }

    /// Cancels the running turn of a conversation; returns whether there was one.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        self.shared.cancel(conversation)
    }

    pub fn is_working(&self, conversation: ConversationId) -> bool {
        self.shared.is_working(conversation)
    }
}
