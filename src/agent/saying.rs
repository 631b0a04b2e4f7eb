//! How what is said comes to a turn: it is kept as it was said, then the user's hooks hear of it, then
//! it finds its place; each message once, whoever sends it again.

use std::future::Future;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::driver::{self, Command, blocking};
use super::entry::{Entry, Said};
use super::handle::{Agent, Answered, Left, PromptError, QUEUE};
use super::ports::{Arrival, Kept, MemoryError, Receipt};
use super::turn::{self, Reason};
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::{Event, Kind, Refused};
use crate::llm::Message;
use crate::policy::Scope;

/// Where a message was put.
enum Placed {
    /// Into a turn of this conversation, that will hear it.
    In(ConversationId),
    /// Nowhere: it was heard before, in this turn.
    Heard(TurnId),
}

/// A message that is kept and has no place yet.
#[derive(Debug)]
pub struct Received {
    said: Said,
    to: Option<ConversationId>,
    number: i64,
    /// The turn in which it was heard before.
    heard: Option<TurnId>,
    /// Whether nobody else brings it to its place.
    is_first: bool,
    answered: oneshot::Receiver<Result<Answered, PromptError>>,
}

impl Agent {
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
        let received = self.receive(said, to).await?;
        self.take(received).await
    }

    /// Keeps what is said as it was said, the same message once. Nobody hears it before
    /// [`Agent::take`], with which it has to be followed.
    ///
    /// # Errors
    /// [`PromptError`]; the message is not kept.
    pub async fn receive(
        &self,
        mut said: Said,
        to: Option<ConversationId>,
    ) -> Result<Received, PromptError> {
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
        let heard = match receipt {
            Receipt::Known(_, turn) => turn,
            Receipt::New(_) => None,
        };
        let (tell, answered) = oneshot::channel();
        let mut state = self.state();
        // Whoever sent it first brings it to its place.
        let is_first = heard.is_none() && !state.waiting.contains_key(&said.id);
        state.waiting.entry(said.id.clone()).or_default().push(tell);
        if is_first {
            state.on_the_way.insert(said.id.clone(), Vec::new());
        }
        drop(state);
        Ok(Received { said, to, number, heard, is_first, answered })
    }

    /// Brings what was received to its place, after the hooks have had their say; they keep nobody
    /// else's message waiting. Else as [`Agent::say`].
    ///
    /// # Errors
    /// [`PromptError`]; the message is not taken, and no start takes it either.
    pub async fn take(
        &self,
        received: Received,
    ) -> Result<impl Future<Output = Result<Answered, PromptError>> + Send + use<>, PromptError>
    {
        let Received { said, to, number, heard, is_first, answered } = received;
        match heard {
            Some(turn) => self.answer_late(&said.id, turn).await?,
            None if is_first => self.bring(said, to, number, false).await?,
            None => {}
        }
        Ok(async move { answered.await.unwrap_or(Err(PromptError::Ending)) })
    }

    /// Brings a message that is on the way to its place; `or_current` where that is gone into the
    /// current conversation. Tells all who wait for it where it is not taken.
    async fn bring(
        &self,
        said: Said,
        to: Option<ConversationId>,
        received: i64,
        or_current: bool,
    ) -> Result<(), PromptError> {
        let id = said.id.clone();
        let heard = self.heard_by_hooks(said, to).await;
        let _in_turn = self.0.arrivals.lock().await;
        let placed = match heard {
            Ok(said) => match self.place(said.clone(), to, received).await {
                Err(PromptError::Memory(MemoryError::NotFound { .. })) if or_current => {
                    self.place(said, None, received).await
                }
                placed => placed,
            },
            Err(error) => Err(error),
        };
        let stopped = self.state().on_the_way.remove(&id).unwrap_or_default();
        match placed {
            Ok(Placed::In(conversation)) => {
                if stopped.contains(&conversation) {
                    self.cancel(conversation);
                }
                Ok(())
            }
            Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await,
            Err(error) => {
                // What an earlier run took is there for the next one, unless a hook is against it.
                if !or_current || matches!(error, PromptError::Refused { .. }) {
                    self.refuse(received, &error).await;
                }
                self.tell_refused(&id, &error);
                Err(error)
            }
        }
    }

    /// Tells all who wait for a message that it is not taken.
    fn tell_refused(&self, id: &str, error: &PromptError) {
        for waiting in self.state().waiting.remove(id).into_iter().flatten() {
            // Who has gone needs no answer.
            let _ = waiting.send(Err(error.clone()));
        }
    }

    /// Whether hooks are asked about messages, so that one may take a while to find its place.
    pub fn asks_hooks(&self) -> bool {
        self.0.hooks.get().is_some_and(|hooks| hooks.hears(Kind::MessageReceived))
    }

    /// Hears what an earlier run received and did not come to, in the order in which it came. A
    /// turn that had begun is not begun again. Where hooks are asked about them this returns before
    /// they have answered.
    pub async fn hear_left(&self, left: Left) {
        let mut on_the_way = Vec::new();
        for one in left.0 {
            let mut state = self.state();
            // Whoever sent it may have come back and sent it again.
            if !state.waiting.contains_key(&one.1.id) {
                // Known as one that is brought to its place, so that one sent again only waits.
                state.waiting.insert(one.1.id.clone(), Vec::new());
                state.on_the_way.insert(one.1.id.clone(), Vec::new());
                on_the_way.push(one);
            }
        }
        let agent = self.clone();
        let bring = async move {
            for (received, said, to) in on_the_way {
                let id = said.id.clone();
                if let Err(error) = agent.bring(said, to, received, true).await {
                    tracing::error!(%error, message = id, "a message was kept and could not be heard");
                }
            }
        };
        match self.asks_hooks() {
            true => drop(tokio::spawn(bring)),
            false => bring.await,
        }
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
            Ok(Placed::In(_)) => {}
            Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await?,
            Err(error) => {
                self.tell_refused(&id, &error);
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
        async move { answered.await.unwrap_or(Err(PromptError::Ending)) }
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
            let _ = tell.send(Ok(answered.clone()));
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
                .text("attached", attached(&said))
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
                    return Ok(Placed::In(conversation));
                }
                Arrival::Busy { conversation } => {
                    if let Some(running) = self.state().running.get_mut(&conversation) {
                        if running.queued >= QUEUE {
                            return Err(PromptError::Full);
                        }
                        running.queued += 1;
                        // Whoever ends takes what is in the queue with it, under the same lock.
                        let _ = running.commands.send(Command::Said(said));
                        return Ok(Placed::In(conversation));
                    }
                    // A turn that could not be ended, or whose end is just being taken note of.
                    let agent = self.clone();
                    blocking(move || agent.give_up(conversation)).await?;
                }
            }
        }
        Err(PromptError::Ending)
    }

    /// What came too late for a turn begins the next one.
    pub(super) async fn hear_rest(
        &self,
        conversation: ConversationId,
        unheard: Vec<Said>,
        reason: Reason,
    ) {
        // Not into one that was ended by the turn.
        let to = (reason != Reason::Ended).then_some(conversation);
        for said in unheard {
            let _in_turn = self.0.arrivals.lock().await;
            let id = said.id.clone();
            let received = driver::received(&id).expect("only what was received is said");
            let late = match self.place(said, to, received).await {
                Ok(Placed::In(_)) => Ok(()),
                Ok(Placed::Heard(turn)) => self.answer_late(&id, turn).await,
                Err(error) => Err(error),
            };
            if let Err(error) = late {
                tracing::error!(%error, message = id, "a message was kept and could not be heard");
                self.tell_refused(&id, &error);
            }
        }
    }
}

/// What goes with a message, as hooks are shown it: the parts of notes, and how many pictures.
fn attached(said: &Said) -> Value {
    match said.attached.is_empty() {
        true => Value::Null,
        false => json!({
            "excerpts": said.attached.excerpts, "images": said.attached.images.len(),
        }),
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
            attached: self.attached.clone(),
        }
    }
}
