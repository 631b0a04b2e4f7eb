//! Routes messages to turns. One task does this, one message after another: it stores the message,
//! asks the user's hooks about it, then starts a turn or queues it for the running one. The same
//! task handles the ends of turns and the messages that those left undelivered.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::entry::{Entry, UserMessage};
use super::ports::{MemoryError, Result, Routing, StoredTurn};
use super::shared::{
    MessageOutcome, PendingOutcome, PromptError, QUEUE, SharedAgent, TurnCommand, blocking,
};
use super::turn::{Event, Reason};
use super::turns::{self, FinishedTurn};
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::{self, Hooks, Kind, Refused};

/// Tells a message's sender that the message was accepted, or why not.
pub(super) type Accepted = oneshot::Sender<Result<PendingOutcome, PromptError>>;

pub(super) enum AgentCommand {
    /// Route a new message to a turn.
    Send(UserMessage, Accepted),
    /// Resume the work on a message whose turn in this conversation was cut short.
    Resume {
        user_message: UserMessage,
        conversation: ConversationId,
        notice: Entry,
        accepted: Accepted,
    },
    /// Stop the turn of a conversation, and messages sent to it before that are still on their way.
    Stop(ConversationId, oneshot::Sender<Result<()>>),
    /// Process the messages that an earlier run left.
    Undelivered(Vec<UserMessage>, oneshot::Sender<()>),
}

/// A stored message that is not routed yet.
struct Message {
    user_message: UserMessage,
    from: Sender,
    stopped: Vec<ConversationId>,
}

enum Sender {
    Client(Accepted, PendingOutcome),
    /// The voice inbox worker, which settles its messages itself.
    Worker(Accepted, PendingOutcome),
    /// An earlier run.
    Undelivered,
}

/// A queue of messages whose hooks run one after another: one for each connection, one for the
/// messages of an earlier run; any other message has its own, keyed by its number.
type Lane = (Option<u64>, i64);

struct Router {
    shared: Arc<SharedAgent>,
    /// The messages whose hooks are pending. Only the first of each lane is being asked about.
    lanes: HashMap<Lane, VecDeque<Message>>,
    hook_checks: JoinSet<(Lane, Result<UserMessage, PromptError>)>,
    turns: JoinSet<FinishedTurn>,
    /// [`AgentCommand::Resume`]s that wait for the running turn to end.
    paused: Vec<(UserMessage, ConversationId, Entry, Accepted)>,
}

/// Handles all commands until every sender is gone and all turns have ended.
pub(super) async fn run(
    shared: Arc<SharedAgent>,
    mut orders: mpsc::UnboundedReceiver<AgentCommand>,
) {
    let (lanes, hook_checks, turns) = (HashMap::new(), JoinSet::new(), JoinSet::new());
    let mut router = Router { shared, lanes, hook_checks, turns, paused: Vec::new() };
    loop {
        tokio::select! {
            Some(order) = orders.recv() => router.handle(order).await,
            Some(checked) = router.hook_checks.join_next() => {
                if let Ok((lane, user_message)) = checked {
                    router.hooks_answered(lane, user_message).await;
                }
            }
            Some(finished) = router.turns.join_next() => {
                if let Ok(finished) = finished {
                    router.turn_finished(finished).await;
                }
            }
            else => return,
        }
    }
}

impl Router {
    async fn handle(&mut self, order: AgentCommand) {
        // A receiver that is gone needs no answer.
        match order {
            AgentCommand::Send(user_message, accepted) => {
                let is_stored = user_message.number != 0;
                match self.receive(user_message).await {
                    Ok((user_message, answering, true)) => {
                        let from = if is_stored {
                            Sender::Worker(accepted, answering)
                        } else {
                            Sender::Client(accepted, answering)
                        };
                        self.enqueue(user_message, from).await;
                    }
                    Ok((_, answering, false)) => drop(accepted.send(Ok(answering))),
                    Err(error) => drop(accepted.send(Err(error))),
                }
            }
            AgentCommand::Resume { user_message, conversation, notice, accepted } => {
                self.resume(user_message, conversation, notice, accepted).await;
            }
            AgentCommand::Stop(conversation, done) => {
                let on_the_way = self.lanes.values_mut().flatten();
                on_the_way.for_each(|message| message.stopped.push(conversation));
                let _ = done.send(if self.shared.cancel(conversation) {
                    Ok(())
                } else {
                    self.interrupt_abandoned(conversation).await
                });
            }
            AgentCommand::Undelivered(messages, done) => {
                for user_message in messages {
                    // The sender may have reconnected and sent it again.
                    let is_known = self.shared.state().waiting.contains_key(&user_message.number);
                    if !is_known {
                        self.shared.state().waiting.insert(user_message.number, Vec::new());
                        self.enqueue(user_message, Sender::Undelivered).await;
                    }
                }
                let _ = done.send(());
            }
        }
    }

    /// Stores a message as it was sent, once. Returns whether this call has to route it: not if
    /// another one already does, or if it was delivered before.
    async fn receive(
        &self,
        mut user_message: UserMessage,
    ) -> Result<(UserMessage, PendingOutcome, bool), PromptError> {
        if user_message.number != 0 {
            let answering = self.shared.await_answer(user_message.number);
            return Ok((user_message, answering, true));
        }
        if let Some(to) = user_message.to
            && self.shared.state().running.get(&to).is_some_and(|running| running.queued >= QUEUE)
        {
            return Err(PromptError::Full);
        }
        let message = user_message.clone();
        let receipt = blocking(&self.shared, move |shared| shared.ports.memory.receive(&message));
        let (number, delivered_in) = receipt.await?;
        user_message.number = number;
        // The first sender routes it.
        let is_first = delivered_in.is_none() && !self.shared.state().waiting.contains_key(&number);
        let answering = self.shared.await_answer(number);
        if let Some(turn) = delivered_in {
            self.answer_if_finished(number, turn).await?;
        }
        Ok((user_message, answering, is_first))
    }

    /// Routes a message after the hooks have answered. Other lanes do not wait.
    async fn enqueue(&mut self, user_message: UserMessage, from: Sender) {
        let hooks = self.shared.hooks.get().filter(|hooks| hooks.receives(Kind::MessageReceived));
        if hooks.is_none() {
            let checked_message = Ok(user_message.clone());
            return self
                .settle(Message { user_message, from, stopped: Vec::new() }, checked_message)
                .await;
        }
        let lane = match (&from, user_message.from) {
            (Sender::Undelivered, _) => (None, 0),
            (_, Some(connection)) => (Some(connection), 0),
            (_, None) => (None, user_message.number),
        };
        let messages = self.lanes.entry(lane).or_default();
        messages.push_back(Message { user_message, from, stopped: Vec::new() });
        if messages.len() == 1 {
            self.ask(lane);
        }
    }

    /// Asks the hooks about the first message of a lane.
    fn ask(&mut self, lane: Lane) {
        let first = self.lanes.get(&lane).and_then(VecDeque::front);
        let (Some(message), Some(hooks)) = (first, self.shared.hooks.get()) else {
            self.lanes.remove(&lane);
            return;
        };
        let (user_message, hooks) = (message.user_message.clone(), hooks.clone());
        self.hook_checks.spawn(async move {
            let checked = tokio::task::spawn_blocking(move || ask(&hooks, user_message)).await;
            (lane, checked.unwrap_or(Err(PromptError::ShuttingDown)))
        });
    }

    async fn hooks_answered(&mut self, lane: Lane, user_message: Result<UserMessage, PromptError>) {
        if let Some(message) = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front) {
            self.settle(message, user_message).await;
        }
        self.ask(lane);
    }

    /// Routes a message as the hooks left it. If it is rejected, tells everyone who waits for it.
    async fn settle(
        &mut self,
        message: Message,
        checked_message: Result<UserMessage, PromptError>,
    ) {
        let Message { user_message: UserMessage { number, .. }, from, stopped } = message;
        let accepted = match checked_message {
            Ok(user_message) => match (self.route(user_message.clone()).await, &from) {
                // If its conversation is gone, it goes to the current one.
                (Err(PromptError::Memory(MemoryError::NotFound { .. })), Sender::Undelivered) => {
                    self.route(UserMessage { to: None, ..user_message }).await
                }
                (accepted, _) => accepted,
            },
            Err(error) => Err(error),
        };
        match &accepted {
            Ok(Some(conversation)) if stopped.contains(conversation) => {
                self.shared.cancel(*conversation);
            }
            Ok(_) => {}
            Err(error) => {
                let comes_back = match &from {
                    Sender::Client(..) => matches!(error, PromptError::ShuttingDown),
                    Sender::Worker(..) => true,
                    // The next run retries it, unless a hook refused it.
                    Sender::Undelivered => !matches!(error, PromptError::Refused { .. }),
                };
                if !comes_back {
                    self.refuse(number, error).await;
                }
                self.shared.state().answer(number, &Err(error.clone()));
            }
        }
        match from {
            Sender::Client(tell, answering) | Sender::Worker(tell, answering) => {
                let _ = tell.send(accepted.map(|_| answering));
            }
            Sender::Undelivered => log_undelivered(number, accepted),
        }
    }

    /// Queues a message for the running turn, or starts one. Returns the conversation; `None` if
    /// the message was delivered before.
    async fn route(
        &mut self,
        user_message: UserMessage,
    ) -> Result<Option<ConversationId>, PromptError> {
        for _ in 0..2 {
            let message = user_message.clone();
            let arrival =
                blocking(&self.shared, move |shared| shared.ports.memory.arrive(&message));
            match arrival.await? {
                Routing::Delivered { turn } => {
                    return self.answer_if_finished(user_message.number, turn).await.map(|()| None);
                }
                Routing::Started { conversation, turn } => {
                    self.begin(conversation, turn, user_message, Event::Started);
                    return Ok(Some(conversation));
                }
                Routing::Busy { conversation } => {
                    if let Some(running) = self.shared.state().running.get_mut(&conversation) {
                        if running.queued >= QUEUE {
                            return Err(PromptError::Full);
                        }
                        running.queued += 1;
                        // The end of a turn takes the queue under the same lock.
                        let _ = running.commands.send(TurnCommand::Message(user_message));
                        return Ok(Some(conversation));
                    }
                    // The turn could not be ended, or its end is being handled right now.
                    blocking(&self.shared, move |shared| turns::give_up(shared, conversation))
                        .await?;
                }
            }
        }
        Err(PromptError::ShuttingDown)
    }

    fn begin(
        &mut self,
        conversation: ConversationId,
        turn: TurnId,
        user_message: UserMessage,
        begins: fn(UserMessage) -> Event,
    ) {
        self.turns.spawn(turns::begin(&self.shared, conversation, turn, user_message, begins));
    }

    async fn resume(
        &mut self,
        user_message: UserMessage,
        conversation: ConversationId,
        notice: Entry,
        accepted: Accepted,
    ) {
        let answering = loop {
            let (number, stored) = (user_message.number, notice.clone());
            let arrival = blocking(&self.shared, move |shared| {
                shared.ports.memory.resume(conversation, &stored, number)
            });
            match arrival.await {
                Ok(Routing::Delivered { turn }) => {
                    unreachable!(
                        "resuming starts a turn or finds one running; got a delivery in {turn}"
                    )
                }
                Ok(Routing::Started { conversation, turn }) => {
                    let answering = self.shared.await_answer(number);
                    self.begin(conversation, turn, user_message, Event::Resumed);
                    break Ok(answering);
                }
                Ok(Routing::Busy { conversation }) if self.shared.is_working(conversation) => {
                    return self.paused.push((user_message, conversation, notice, accepted));
                }
                Ok(Routing::Busy { conversation }) => {
                    let given_up =
                        blocking(&self.shared, move |shared| turns::give_up(shared, conversation));
                    if let Err(error) = given_up.await {
                        break Err(error.into());
                    }
                }
                Err(error) => break Err(error.into()),
            }
        };
        let _ = accepted.send(answering);
    }

    /// Handles the end of a turn: undelivered messages start the next one.
    async fn turn_finished(&mut self, finished: FinishedTurn) {
        let FinishedTurn { conversation, reason, is_stored, undelivered } = finished;
        if !is_stored && let Err(error) = self.interrupt_abandoned(conversation).await {
            tracing::error!(%error, %conversation, "a turn is still open; the next message or its \
                             cancellation tries again");
        }
        for user_message in undelivered {
            // Not in a conversation that this turn ended.
            let (number, to) =
                (user_message.number, (reason != Reason::Ended).then_some(conversation));
            let accepted = self.route(UserMessage { to, ..user_message }).await;
            if let Err(error) = &accepted {
                self.shared.state().answer(number, &Err(error.clone()));
            }
            log_undelivered(number, accepted);
        }
        for (user_message, conversation, notice, accepted) in std::mem::take(&mut self.paused) {
            self.resume(user_message, conversation, notice, accepted).await;
        }
    }

    /// Interrupts a conversation's turn if no task runs it.
    async fn interrupt_abandoned(&self, conversation: ConversationId) -> Result<()> {
        if self.shared.is_working(conversation) {
            return Ok(());
        }
        blocking(&self.shared, move |shared| turns::give_up(shared, conversation)).await
    }

    /// Answers those who wait for a message that was delivered in `turn`, if that turn is over.
    /// Otherwise its end will answer them.
    async fn answer_if_finished(&self, number: i64, turn: TurnId) -> Result<(), PromptError> {
        let waiting = {
            let mut state = self.shared.state();
            // Under the same lock as the end of a turn, which answers all waiters.
            if state.running.values().any(|running| running.turn == turn) {
                return Ok(());
            }
            state.waiting.remove(&number).unwrap_or_default()
        };
        let stored = blocking(&self.shared, move |shared| shared.ports.memory.ended(turn)).await?;
        let StoredTurn { conversation, reason, words, answer } = stored;
        let (cause, hint) = (None, None);
        let answered = MessageOutcome { conversation, turn, reason, words, cause, hint, answer };
        for tell in waiting {
            let _ = tell.send(Ok(answered.clone()));
        }
        Ok(())
    }

    /// Marks a rejected message so that the next start does not retry it.
    async fn refuse(&self, received: i64, why: &PromptError) {
        let words = why.to_string();
        let refused = move |shared: &SharedAgent| shared.ports.memory.refuse(received, &words);
        if let Err(error) = blocking(&self.shared, refused).await {
            tracing::warn!(%error, received, "a refused message may be delivered after a restart");
        }
    }
}

/// Logs that a message without a waiting sender was not delivered.
fn log_undelivered(number: i64, accepted: Result<Option<ConversationId>, PromptError>) {
    if let Err(error) = accepted {
        let message = format!("m{number}");
        tracing::error!(%error, message, "a message was stored and could not be delivered");
    }
}

/// Asks the hooks about a message; returns it as they left it. Blocks.
fn ask(hooks: &Hooks, user_message: UserMessage) -> Result<UserMessage, PromptError> {
    let event = hooks::Event::new(Kind::MessageReceived)
        .field("source", user_message.source.as_str())
        .field("scope", user_message.scope.word())
        .field("conversation", user_message.to.map(|to| to.to_string()))
        .text("attached", attachments_json(&user_message))
        .with_input(user_message.text.as_str().into());
    match hooks.ask(event, &|| false) {
        Ok(None) => Ok(user_message),
        Ok(Some(Value::String(text))) => Ok(UserMessage { text, ..user_message }),
        Ok(Some(_)) => unreachable!("a message is replaced by a text"),
        Err(Refused { hook, reason, failed }) => Err(PromptError::Refused { hook, reason, failed }),
    }
}

/// The attachments, as hooks see them: the excerpts, and the number of images.
fn attachments_json(user_message: &UserMessage) -> Value {
    if user_message.attached.is_empty() {
        Value::Null
    } else {
        json!({
            "excerpts": user_message.attached.excerpts, "images": user_message.attached.images.len(),
        })
    }
}
