//! The agent as everybody else sees it: what it is told to do and stopped from doing.

use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use super::arrivals::{self, Order};
use super::entry::{Entry, Said};
use super::ports::{Kept, MemoryError};
use super::shared::{Answering, Ports, PromptError, Shared};
use super::turn_settings::TurnSettings;
use super::turns;
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::Hooks;

/// The agent of one vault. Clones share it.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
    orders: Arc<OnceLock<mpsc::UnboundedSender<Order>>>,
}

/// What an earlier run received and did not come to.
#[derive(Debug, Default)]
pub struct Left(Vec<Said>);

impl Agent {
    /// An agent at rest.
    pub fn new(ports: Ports, settings: TurnSettings) -> Self {
        Self { shared: Arc::new(Shared::new(ports, settings)), orders: Arc::default() }
    }

    /// Has these hooks hear of what is said from now on; only the first ones do.
    pub fn set_hooks(&self, hooks: Hooks) {
        let _ = self.shared.hooks.set(hooks);
    }

    /// Gives other settings, from the next turn on.
    pub fn set_settings(&self, settings: TurnSettings) {
        self.shared.settings.store(Arc::new(settings));
    }

    /// Says something to the agent. Messages find their place in the order of the calls. Once what this
    /// returns is there the message is kept and has its place; then it waits for the end of the turn that
    /// hears it. Dropping either changes nothing. One that has a number is in the inbox already, and
    /// whoever put it there settles it.
    ///
    /// # Errors
    /// [`PromptError`]; the message is not taken.
    pub fn say(
        &self,
        said: Said,
    ) -> impl Future<Output = Result<Answering, PromptError>> + Send + use<> {
        let (placed, answering) = oneshot::channel();
        self.order(Order::Say(said, placed));
        async move { answering.await.unwrap_or(Err(PromptError::Ending)) }
    }

    /// Goes on with a message that was said in `conversation` in a turn that was cut short or failed: a
    /// turn that begins with `notice`, after what was said and done by then. Waits for a turn that is at
    /// work there.
    ///
    /// # Errors
    /// [`PromptError`]; nothing has begun. [`MemoryError::NotFound`] where the conversation is gone.
    pub fn go_on(
        &self,
        said: Said,
        conversation: ConversationId,
        notice: String,
    ) -> impl Future<Output = Result<Answering, PromptError>> + Send + use<> {
        let notice = Entry::notice(notice);
        let (placed, answering) = oneshot::channel();
        self.order(Order::GoOn { said, conversation, notice, placed });
        async move { answering.await.unwrap_or(Err(PromptError::Ending)) }
    }

    /// Stops the turn of a conversation, and the one that is begun there by what was said before and
    /// has no place yet; a turn that nobody drives any more, since its end could not be kept, is given
    /// up.
    ///
    /// # Errors
    /// [`MemoryError`]: that cannot be kept either.
    pub fn stop(
        &self,
        conversation: ConversationId,
    ) -> impl Future<Output = Result<(), MemoryError>> + Send + use<> {
        let (done, stopped) = oneshot::channel();
        self.order(Order::Stop(conversation, done));
        // Where the steward ends it has stopped.
        async move { stopped.await.unwrap_or(Ok(())) }
    }

    /// Makes whole what an earlier run left, before anything is said: calls of which nobody knows
    /// what came get a result that says so. Nothing is done again. What was received and not heard
    /// is for [`Self::hear_left`]. Blocks.
    ///
    /// # Errors
    /// [`MemoryError`]; what was not made whole is at the next turn.
    pub fn recover(&self) -> Result<Left, MemoryError> {
        turns::recover(&self.shared).map(Left)
    }

    /// Hears what an earlier run received and did not come to, in the order in which it came. A
    /// turn that had begun is not begun again. Where hooks are asked about them this returns before
    /// they have answered.
    pub async fn hear_left(&self, left: Left) {
        let (done, taken) = oneshot::channel();
        self.order(Order::Left(left.0, done));
        let _ = taken.await;
    }

    fn order(&self, order: Order) {
        let orders = self.orders.get_or_init(|| {
            let (orders, given) = mpsc::unbounded_channel();
            tokio::spawn(arrivals::run(Arc::clone(&self.shared), given));
            orders
        });
        // It ends before this with the whole program only.
        let _ = orders.send(order);
    }

    /// How the turn of this number ended, as it is kept. Blocks.
    ///
    /// # Errors
    /// [`MemoryError`]; there is no such turn any more.
    pub fn ended(&self, turn: TurnId) -> Result<Kept, MemoryError> {
        self.shared.ports.memory.ended(turn)
    }

    /// Whether there is a model to ask.
    pub fn has_model(&self) -> bool {
        self.shared.ports.models.is_any()
    }

    /// Stops the turn that is at work in a conversation; whether one was.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        self.shared.cancel(conversation)
    }

    /// Whether a turn is at work in a conversation.
    pub fn is_working(&self, conversation: ConversationId) -> bool {
        self.shared.is_working(conversation)
    }
}
