//! The agent as everybody else sees it: something is said to it, it is stopped.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::context::Context;
use super::driver::{self, Command, Driver, blocking};
use super::entry::{Entry, Said};
use super::ports::{Arrival, Audience, Kept, Memory, MemoryError, Models, Place, Receipt, Toolbox};
use super::prompt::{Moment, Told};
use super::turn::{self, Reason};
use super::turn_settings::TurnSettings;
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::{Event, Hooks, Kind, Refused};
use crate::llm::{ErrorKind, Message};
use crate::policy::Scope;

/// Messages that may wait for one turn to hear them.
const QUEUE: usize = 32;

/// The agent of one vault. Clones share it.
#[derive(Clone)]
pub struct Agent(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) ports: Ports,
    settings: ArcSwap<TurnSettings>,
    /// The user's commands that hear of messages, and may refuse them.
    hooks: OnceLock<Hooks>,
    /// Messages find their place one after another.
    arrivals: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Woken when a turn is over.
    over: tokio::sync::Notify,
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

#[derive(Default)]
struct State {
    running: HashMap<ConversationId, Running>,
    /// Who waits for the end of the turn that hears a message, by the message's name.
    waiting: HashMap<String, Vec<oneshot::Sender<Answered>>>,
    /// What was last told of date and open note, by conversation.
    told: HashMap<ConversationId, Told>,
    /// What the conversations of this run cost.
    spent: HashMap<ConversationId, f64>,
}

struct Running {
    turn: TurnId,
    commands: mpsc::UnboundedSender<Command>,
    /// Messages on the way to it or waiting in it, not heard yet.
    queued: usize,
    /// Closed once the turn is over, and all are told.
    is_over: oneshot::Receiver<()>,
}

/// Where a message was put.
enum Placed {
    /// In a turn that will hear it.
    Waits,
    /// Nowhere: it was heard before, in this turn.
    Heard(TurnId),
}

/// What an earlier run received and did not come to.
#[derive(Debug, Default)]
pub struct Left(Vec<(i64, Said, Option<ConversationId>)>);

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
    /// The kind of the model's failure, where that is why.
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

    /// Makes whole what an earlier run left, before anything is said: calls of which nobody knows
    /// what came get a result that says so. Nothing is done again. What was received and not heard
    /// is for [`Self::hear_left`]. Blocks.
    ///
    /// # Errors
    /// [`MemoryError`]; what was not made whole is at the next turn.
    pub fn recover(&self) -> Result<Left, MemoryError> {
        let memory = &self.0.ports.memory;
        let left = memory.leftovers()?;
        for (conversation, turn) in left.turns {
            if let Err(error) = self.make_whole(conversation, turn) {
                // Of what else is kept nothing is held up by it; the next turn there tries again.
                tracing::error!(%error, %conversation, "a conversation was not made whole");
            }
            // Last, so that a start that breaks off here leaves it to the next one.
            memory.interrupt(conversation, "the steward ended while it was at work")?;
            tracing::info!(%conversation, %turn, "a turn was interrupted by the end of the steward");
        }
        Ok(Left(left.messages))
    }

    fn make_whole(&self, conversation: ConversationId, turn: TurnId) -> Result<(), MemoryError> {
        let memory = &self.0.ports.memory;
        let mut context = Context::of(memory.entries(conversation)?);
        driver::fill(self, conversation, turn, &mut context)?;
        let words = "The steward ended in the middle of this turn. What it had changed by then \
                     stands; list_changes shows it.";
        memory.append(conversation, turn, &Entry::notice(words))
    }

    /// Hears what an earlier run received and did not come to, in the order in which it came. A
    /// turn that had begun is not begun again.
    pub async fn hear_left(&self, left: Left) {
        for (received, said, to) in left.0 {
            let _in_turn = self.0.arrivals.lock().await;
            // Whoever sent it may have come back and sent it again.
            let id = said.id.clone();
            {
                let mut state = self.state();
                if state.waiting.contains_key(&id) {
                    continue;
                }
                // Known as placed, so that one sent again only waits.
                state.waiting.insert(id.clone(), Vec::new());
            }
            let placed = match self.place(said.clone(), to, received).await {
                // Its conversation is gone: it goes where the next message goes.
                Err(PromptError::Memory(MemoryError::NotFound { .. })) => {
                    self.place(said, None, received).await
                }
                placed => placed,
            };
            let late = match placed {
                Ok(Placed::Waits) => Ok(()),
                Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await,
                Err(error) => Err(error),
            };
            if let Err(error) = late {
                tracing::error!(%error, message = id, "a message was kept and could not be heard");
                self.state().waiting.remove(&id);
            }
        }
    }

    /// Says something to the agent, in the conversation `to` or the current one. Once this returns
    /// the message is kept and has its place; what it returns waits for the end of the turn that
    /// hears it. Dropping that changes nothing.
    ///
    /// # Errors
    /// [`PromptError`]; the message is not taken.
    pub async fn say(
        &self,
        said: Said,
        to: Option<ConversationId>,
    ) -> Result<impl Future<Output = Result<Answered, PromptError>> + Send + use<>, PromptError>
    {
        let mut said = self.heard_by_hooks(said, to).await?;
        let _in_turn = self.0.arrivals.lock().await;
        if let Some(to) = to
            && self.state().running.get(&to).is_some_and(|running| running.queued >= QUEUE)
        {
            return Err(PromptError::Full);
        }
        let (agent, message) = (self.clone(), said.clone());
        let receipt = blocking(move || agent.0.ports.memory.receive(&message, to)).await?;
        let (Receipt::New(number) | Receipt::Known(number, _)) = receipt;
        said.id = format!("m{number}");
        let id = said.id.clone();
        let (tell, answered) = oneshot::channel();
        let is_placed = {
            let mut state = self.state();
            let is_placed = state.waiting.contains_key(&id);
            state.waiting.entry(id.clone()).or_default().push(tell);
            is_placed
        };
        let heard = match receipt {
            Receipt::Known(_, Some(turn)) => Some(turn),
            _ if is_placed => None,
            // What was read of it may be old by now: it is heard once, whatever that said.
            _ => match self.place(said, to, number).await {
                Ok(Placed::Waits) => None,
                Ok(Placed::Heard(turn)) => Some(turn),
                Err(error) => {
                    self.state().waiting.remove(&id);
                    self.refuse(number, &error).await;
                    return Err(error);
                }
            },
        };
        if let Some(turn) = heard {
            self.answer_late(&id, turn).await?;
        }
        Ok(async move { answered.await.map_err(|_| PromptError::Ending) })
    }

    /// Says what is kept in the inbox already, under this number. Else as [`Agent::say`].
    ///
    /// # Errors
    /// [`PromptError`]; the message has no place yet.
    pub async fn say_kept(
        &self,
        said: Said,
        number: i64,
    ) -> Result<impl Future<Output = Result<Answered, PromptError>> + Send + use<>, PromptError>
    {
        let said = self.heard_by_hooks(said, None).await?;
        let said = Said { id: format!("m{number}"), ..said };
        let _in_turn = self.0.arrivals.lock().await;
        let answered = self.await_answer(&said.id);
        let id = said.id.clone();
        match self.place(said, None, number).await {
            Ok(Placed::Waits) => {}
            Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await?,
            Err(error) => {
                self.state().waiting.remove(&id);
                return Err(error);
            }
        }
        Ok(answered)
    }

    /// Goes on with a message that is kept under this number, and that was said in `conversation` in
    /// a turn that was cut short or failed: a turn that begins with `notice`, after what was said and
    /// done by then. Waits for a turn that is at work there.
    ///
    /// # Errors
    /// [`PromptError`]; nothing has begun. [`MemoryError::NotFound`] where the conversation is gone.
    pub async fn go_on(
        &self,
        said: Said,
        number: i64,
        conversation: ConversationId,
        notice: String,
    ) -> Result<impl Future<Output = Result<Answered, PromptError>> + Send + use<>, PromptError>
    {
        let said = Said { id: format!("m{number}"), ..said };
        let notice = Entry::notice(notice);
        let answered = loop {
            let over = self.0.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let in_turn = self.0.arrivals.lock().await;
            let (agent, notice) = (self.clone(), notice.clone());
            let arrival =
                blocking(move || agent.0.ports.memory.go_on(conversation, &notice, number));
            match arrival.await? {
                Arrival::Heard { turn } => {
                    unreachable!("what is gone on with may have been heard before, in {turn}")
                }
                Arrival::Began { conversation, turn, .. } => {
                    let answered = self.await_answer(&said.id);
                    self.begin(conversation, turn, said, turn::Event::Again);
                    break answered;
                }
                Arrival::Busy { conversation } if self.is_working(conversation) => {
                    drop(in_turn);
                    over.await;
                }
                Arrival::Busy { conversation } => {
                    let agent = self.clone();
                    blocking(move || agent.give_up(conversation)).await?;
                }
            }
        };
        Ok(answered)
    }

    /// The end of the turn that hears the message of this name.
    fn await_answer(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Answered, PromptError>> + Send + use<> {
        let (tell, answered) = oneshot::channel();
        self.state().waiting.entry(id.to_owned()).or_default().push(tell);
        async move { answered.await.map_err(|_| PromptError::Ending) }
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
        self.0.ports.models.current().is_some()
    }

    /// Answers whoever waits for a message that was heard in a turn, where that is over; else its
    /// end will.
    async fn answer_late(&self, id: &str, turn: TurnId) -> Result<(), PromptError> {
        let waiting = {
            let mut state = self.state();
            // Under one lock with the end of a turn, which takes all who wait.
            if state.running.values().any(|running| running.turn == turn) {
                return Ok(());
            }
            state.waiting.remove(id).unwrap_or_default()
        };
        let agent = self.clone();
        let kept = blocking(move || agent.0.ports.memory.ended(turn)).await?;
        let Kept { conversation, reason, words, answer } = kept;
        let (cause, hint) = (None, None);
        let answered = Answered { conversation, turn, reason, words, cause, hint, answer };
        for tell in waiting {
            // Who has gone needs no answer.
            let _ = tell.send(answered.clone());
        }
        Ok(())
    }

    /// Sees to it that a message whose sender is told that it is not taken does not come back.
    async fn refuse(&self, received: i64, why: &PromptError) {
        if matches!(why, PromptError::Ending) {
            return;
        }
        let (agent, words) = (self.clone(), why.to_string());
        let refused = blocking(move || agent.0.ports.memory.refuse(received, &words));
        if let Err(error) = refused.await {
            tracing::warn!(%error, received, "a message that was refused may be heard after a start");
        }
    }

    /// Asks the hooks about a message; the message as they leave it.
    async fn heard_by_hooks(
        &self,
        said: Said,
        to: Option<ConversationId>,
    ) -> Result<Said, PromptError> {
        let hooks = self.0.hooks.get().filter(|hooks| hooks.hears(Kind::MessageReceived));
        let Some(hooks) = hooks.cloned() else { return Ok(said) };
        let asked = tokio::task::spawn_blocking(move || {
            let event = Event::new(Kind::MessageReceived)
                .say("source", said.source.as_str())
                .say("scope", said.scope.word())
                .say("conversation", to.map(|to| to.to_string()))
                .with_input(said.text.as_str().into());
            match hooks.ask(event, &|| false) {
                Ok(None) => Ok(said),
                Ok(Some(Value::String(text))) => Ok(Said { text, ..said }),
                Ok(Some(_)) => unreachable!("a message is replaced by a text"),
                Err(Refused { hook, reason, failed }) => {
                    Err(PromptError::Refused { hook, reason, failed })
                }
            }
        });
        asked.await.unwrap_or(Err(PromptError::Ending))
    }

    /// Stops the turn of a conversation; whether one was at work.
    pub fn cancel(&self, conversation: ConversationId) -> bool {
        let state = self.state();
        let running = state.running.get(&conversation);
        running.is_some_and(|running| running.commands.send(Command::Cancel).is_ok())
    }

    /// Stops the turn of a conversation, after all that was said before; one that nobody drives any
    /// more, since its end could not be kept, is given up.
    ///
    /// # Errors
    /// [`MemoryError`]: that cannot be kept either.
    pub async fn stop(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        match self.cancel(conversation) {
            true => Ok(()),
            false => self.let_go(conversation).await,
        }
    }

    /// Gives up the turn of a conversation where nobody drives it.
    async fn let_go(&self, conversation: ConversationId) -> Result<(), MemoryError> {
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

    /// Puts a message where it belongs: to the turn that is at work, or into a new one. Held by
    /// whoever holds `arrivals`.
    async fn place(
        &self,
        said: Said,
        to: Option<ConversationId>,
        received: i64,
    ) -> Result<Placed, PromptError> {
        for _ in 0..2 {
            let (agent, message) = (self.clone(), said.clone());
            let arrival = blocking(move || agent.0.ports.memory.arrive(&message, to, received));
            match arrival.await? {
                Arrival::Heard { turn } => return Ok(Placed::Heard(turn)),
                Arrival::Began { conversation, turn, .. } => {
                    self.begin(conversation, turn, said, turn::Event::Began);
                    return Ok(Placed::Waits);
                }
                Arrival::Busy { conversation } => {
                    if let Some(running) = self.state().running.get_mut(&conversation) {
                        if running.queued >= QUEUE {
                            return Err(PromptError::Full);
                        }
                        running.queued += 1;
                        // Whoever ends takes what is in the queue with it, under the same lock.
                        let _ = running.commands.send(Command::Said(said));
                        return Ok(Placed::Waits);
                    }
                    // A turn that could not be ended, or whose end is just being taken note of.
                    let agent = self.clone();
                    blocking(move || agent.give_up(conversation)).await?;
                }
            }
        }
        Err(PromptError::Ending)
    }

    /// Ends a turn that nobody drives any more, and makes its history whole.
    fn give_up(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        let memory = &self.0.ports.memory;
        let Some(turn) = memory.interrupt(conversation, "it could not be ended")? else {
            return Ok(());
        };
        let mut context = Context::of(memory.entries(conversation)?);
        driver::fill(self, conversation, turn, &mut context)
    }

    fn begin(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        said: Said,
        how: fn(Said) -> turn::Event,
    ) {
        let (commands, mut heard) = mpsc::unbounded_channel();
        let (over, is_over) = oneshot::channel::<()>();
        let running = Running { turn, commands, queued: 0, is_over };
        let before = self.state().running.insert(conversation, running);
        let agent = self.clone();
        tokio::spawn(async move {
            if let Some(before) = before {
                // Its end is kept and not told yet; nothing of this one is told before that. The
                // error is how the end is told: the other end is dropped.
                let _ = before.is_over.await;
            }
            let message = said.id.clone();
            let mut done = match Driver::begin(agent.clone(), conversation, turn).await {
                Ok(driver) => driver.run(how(said), &mut heard).await,
                Err(error) => driver::not_begun(&agent, conversation, turn, message, &error),
            };
            let unheard = agent.over(conversation, turn, &mut done, &mut heard);
            drop(over);
            if !done.is_kept
                && let Err(error) = agent.let_go(conversation).await
            {
                tracing::error!(%error, %conversation, "a turn is still open; the next message or \
                                 its cancellation tries again");
            }
            if !unheard.is_empty() {
                agent.hear_rest(conversation, unheard, done.end.reason).await;
            }
        });
    }

    /// Takes note of the end of a turn; what nobody has heard yet.
    fn over(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        done: &mut driver::Done,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Vec<Said> {
        let mut unheard = std::mem::take(&mut done.end.unheard);
        let mut state = self.state();
        while let Ok(command) = commands.try_recv() {
            if let Command::Said(said) = command {
                unheard.push(said);
            }
        }
        // The next turn may have begun already.
        if state.running.get(&conversation).is_some_and(|running| running.turn == turn) {
            state.running.remove(&conversation);
        }
        let answered = Answered {
            conversation,
            turn,
            reason: Some(done.end.reason),
            words: done.end.words.clone(),
            cause: done.end.cause,
            hint: done.end.hint.clone(),
            answer: done.answer.clone(),
        };
        self.0.over.notify_waiters();
        for message in &done.heard {
            for waiting in state.waiting.remove(message).into_iter().flatten() {
                // Who has gone needs no answer.
                let _ = waiting.send(answered.clone());
            }
        }
        unheard
    }

    /// What came too late for a turn begins the next one.
    async fn hear_rest(&self, conversation: ConversationId, unheard: Vec<Said>, reason: Reason) {
        // Not into one that was ended by the turn.
        let to = (reason != Reason::Ended).then_some(conversation);
        for said in unheard {
            let _in_turn = self.0.arrivals.lock().await;
            let id = said.id.clone();
            let received = driver::received(&id).expect("only what was received is said");
            let late = match self.place(said, to, received).await {
                Ok(Placed::Waits) => Ok(()),
                Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await,
                Err(error) => Err(error),
            };
            if let Err(error) = late {
                tracing::error!(%error, message = id, "a message was kept and could not be heard");
                // Whoever waits for it hears that by the closed channel.
                self.state().waiting.remove(&id);
            }
        }
    }

    /// A message that waited for a turn is heard in it.
    pub(super) fn has_heard(&self, conversation: ConversationId, turn: TurnId) {
        let mut state = self.state();
        if let Some(running) = state.running.get_mut(&conversation)
            && running.turn == turn
        {
            running.queued = running.queued.saturating_sub(1);
        }
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// The entry that a message begins a turn with.
    pub fn entry(&self) -> Entry {
        Entry::Message {
            message: Message::user(self.text.clone()),
            id: Some(self.id.clone()),
            source: Some(self.source.clone()),
            scope: (self.scope > Scope::Person).then_some(self.scope),
        }
    }
}
