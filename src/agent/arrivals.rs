//! How what is said comes to a turn. One task does it, so that messages find their place one after
//! another: each is kept as it was said, then the user's hooks are asked about it, then it begins a turn
//! or is handed to the one at work. The ends of turns come back here, with what they did not hear.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::entry::{Entry, Said};
use super::ports::{Arrival, Kept, MemoryError};
use super::shared::{Answered, Answering, Command, PromptError, QUEUE, Shared, blocking};
use super::turn::{Event, Reason};
use super::turns::{self, Over};
use crate::conversation::{ConversationId, TurnId};
use crate::hooks::{self, Hooks, Kind, Refused};

/// Where a message's sender hears that it has its place, or is not taken.
pub(super) type Placed = oneshot::Sender<Result<Answering, PromptError>>;

/// What the agent is told to do.
pub(super) enum Order {
    /// Hear a message.
    Say(Said, Placed),
    /// Go on with one that was heard in a turn of this conversation that was cut short.
    GoOn { said: Said, conversation: ConversationId, notice: Entry, placed: Placed },
    /// Stop the turn of a conversation, and what was said to it before.
    Stop(ConversationId, oneshot::Sender<Result<(), MemoryError>>),
    /// Hear what an earlier run left.
    Left(Vec<Said>, oneshot::Sender<()>),
}

/// A message that is kept and has no place yet.
struct Message {
    said: Said,
    from: Sender,
    /// The conversations that were stopped meanwhile.
    stopped: Vec<ConversationId>,
}

/// Who wants a message heard.
enum Sender {
    Client(Placed, Answering),
    /// Whoever takes messages out of the inbox, and settles them there.
    Worker(Placed, Answering),
    /// An earlier run, which received it.
    Left,
}

/// The messages that are asked about one after another: those of a connection, and those that an earlier
/// run left; every other one alone, by its number.
type Lane = (Option<u64>, i64);

struct Arrivals {
    shared: Arc<Shared>,
    /// The messages that hooks are asked about, each before those behind it.
    lanes: HashMap<Lane, VecDeque<Message>>,
    asked: JoinSet<(Lane, Result<Said, PromptError>)>,
    turns: JoinSet<Over>,
    /// [`Order::GoOn`]s that wait for the turn at work to end.
    paused: Vec<(Said, ConversationId, Entry, Placed)>,
}

/// Carries out all orders, until nobody is left to give one and all turns have ended.
pub(super) async fn run(shared: Arc<Shared>, mut orders: mpsc::UnboundedReceiver<Order>) {
    let (lanes, asked, turns) = (HashMap::new(), JoinSet::new(), JoinSet::new());
    let mut arrivals = Arrivals { shared, lanes, asked, turns, paused: Vec::new() };
    loop {
        tokio::select! {
            Some(order) = orders.recv() => arrivals.carry_out(order).await,
            Some(asked) = arrivals.asked.join_next() => {
                if let Ok((lane, said)) = asked {
                    arrivals.heard_by_hooks(lane, said).await;
                }
            }
            Some(over) = arrivals.turns.join_next() => {
                if let Ok(over) = over {
                    arrivals.over(over).await;
                }
            }
            else => return,
        }
    }
}

impl Arrivals {
    async fn carry_out(&mut self, order: Order) {
        // Who has gone needs no answer.
        match order {
            Order::Say(said, placed) => {
                let is_kept = said.number != 0;
                match self.receive(said).await {
                    Ok((said, answering, true)) => {
                        let from = match is_kept {
                            true => Sender::Worker(placed, answering),
                            false => Sender::Client(placed, answering),
                        };
                        self.bring(said, from).await;
                    }
                    Ok((_, answering, false)) => drop(placed.send(Ok(answering))),
                    Err(error) => drop(placed.send(Err(error))),
                }
            }
            Order::GoOn { said, conversation, notice, placed } => {
                self.go_on(said, conversation, notice, placed).await;
            }
            Order::Stop(conversation, done) => {
                let on_the_way = self.lanes.values_mut().flatten();
                on_the_way.for_each(|message| message.stopped.push(conversation));
                let _ = done.send(match self.shared.cancel(conversation) {
                    true => Ok(()),
                    false => self.let_go(conversation).await,
                });
            }
            Order::Left(left, done) => {
                for said in left {
                    // Whoever sent it may have come back and sent it again.
                    let is_known = self.shared.state().waiting.contains_key(&said.number);
                    if !is_known {
                        self.shared.state().waiting.insert(said.number, Vec::new());
                        self.bring(said, Sender::Left).await;
                    }
                }
                let _ = done.send(());
            }
        }
    }

    /// Keeps what is said as it was said, the same message once; and whether nobody else brings it to
    /// its place, and it was not heard before.
    async fn receive(&self, mut said: Said) -> Result<(Said, Answering, bool), PromptError> {
        if said.number != 0 {
            let answering = self.shared.await_answer(said.number);
            return Ok((said, answering, true));
        }
        if let Some(to) = said.to
            && self.shared.state().running.get(&to).is_some_and(|running| running.queued >= QUEUE)
        {
            return Err(PromptError::Full);
        }
        let message = said.clone();
        let receipt = blocking(&self.shared, move |shared| shared.ports.memory.receive(&message));
        let (number, heard) = receipt.await?;
        said.number = number;
        // Whoever sent it first brings it to its place.
        let is_first = heard.is_none() && !self.shared.state().waiting.contains_key(&number);
        let answering = self.shared.await_answer(number);
        if let Some(turn) = heard {
            self.answer_late(number, turn).await?;
        }
        Ok((said, answering, is_first))
    }

    /// Brings a message to its place, after the hooks have had their say; they keep nobody else's
    /// message waiting.
    async fn bring(&mut self, said: Said, from: Sender) {
        let hooks = self.shared.hooks.get().filter(|hooks| hooks.hears(Kind::MessageReceived));
        if hooks.is_none() {
            let heard = Ok(said.clone());
            return self.settle(Message { said, from, stopped: Vec::new() }, heard).await;
        }
        let lane = match (&from, said.from) {
            (Sender::Left, _) => (None, 0),
            (_, Some(connection)) => (Some(connection), 0),
            (_, None) => (None, said.number),
        };
        let messages = self.lanes.entry(lane).or_default();
        messages.push_back(Message { said, from, stopped: Vec::new() });
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
        let (said, hooks) = (message.said.clone(), hooks.clone());
        self.asked.spawn(async move {
            let asked = tokio::task::spawn_blocking(move || ask(&hooks, said)).await;
            (lane, asked.unwrap_or(Err(PromptError::Ending)))
        });
    }

    /// The hooks have answered.
    async fn heard_by_hooks(&mut self, lane: Lane, said: Result<Said, PromptError>) {
        if let Some(message) = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front) {
            self.settle(message, said).await;
        }
        self.ask(lane);
    }

    /// Puts a message in its place, as the hooks leave it, and tells all who wait for it where it is not
    /// taken.
    async fn settle(&mut self, message: Message, heard: Result<Said, PromptError>) {
        let Message { said: Said { number, .. }, from, stopped } = message;
        let placed = match heard {
            Ok(said) => match (self.place(said.clone()).await, &from) {
                // Where its conversation is gone it is for the current one.
                (Err(PromptError::Memory(MemoryError::NotFound { .. })), Sender::Left) => {
                    self.place(Said { to: None, ..said }).await
                }
                (placed, _) => placed,
            },
            Err(error) => Err(error),
        };
        match &placed {
            Ok(Some(conversation)) if stopped.contains(conversation) => {
                self.shared.cancel(*conversation);
            }
            Ok(_) => {}
            Err(error) => {
                let comes_back = match &from {
                    Sender::Client(..) => matches!(error, PromptError::Ending),
                    Sender::Worker(..) => true,
                    // The next run hears it, unless a hook is against it.
                    Sender::Left => !matches!(error, PromptError::Refused { .. }),
                };
                if !comes_back {
                    self.refuse(number, error).await;
                }
                self.shared.state().answer(number, &Err(error.clone()));
            }
        }
        match from {
            Sender::Client(tell, answering) | Sender::Worker(tell, answering) => {
                let _ = tell.send(placed.map(|_| answering));
            }
            Sender::Left => lost(number, placed),
        }
    }

    /// Puts a message where it belongs: to the turn that is at work, or into a new one. In which
    /// conversation; none where it was heard before.
    async fn place(&mut self, said: Said) -> Result<Option<ConversationId>, PromptError> {
        for _ in 0..2 {
            let message = said.clone();
            let arrival =
                blocking(&self.shared, move |shared| shared.ports.memory.arrive(&message));
            match arrival.await? {
                Arrival::Heard { turn } => {
                    return self.answer_late(said.number, turn).await.map(|()| None);
                }
                Arrival::Began { conversation, turn } => {
                    self.begin(conversation, turn, said, Event::Began);
                    return Ok(Some(conversation));
                }
                Arrival::Busy { conversation } => {
                    if let Some(running) = self.shared.state().running.get_mut(&conversation) {
                        if running.queued >= QUEUE {
                            return Err(PromptError::Full);
                        }
                        running.queued += 1;
                        // Whoever ends takes what is in the queue with it, under the same lock.
                        let _ = running.commands.send(Command::Said(said));
                        return Ok(Some(conversation));
                    }
                    // A turn that could not be ended, or whose end is just being taken note of.
                    blocking(&self.shared, move |shared| turns::give_up(shared, conversation))
                        .await?;
                }
            }
        }
        Err(PromptError::Ending)
    }

    fn begin(
        &mut self,
        conversation: ConversationId,
        turn: TurnId,
        said: Said,
        begins: fn(Said) -> Event,
    ) {
        self.turns.spawn(turns::begin(&self.shared, conversation, turn, said, begins));
    }

    async fn go_on(
        &mut self,
        said: Said,
        conversation: ConversationId,
        notice: Entry,
        placed: Placed,
    ) {
        let answering = loop {
            let (number, kept) = (said.number, notice.clone());
            let arrival = blocking(&self.shared, move |shared| {
                shared.ports.memory.go_on(conversation, &kept, number)
            });
            match arrival.await {
                Ok(Arrival::Heard { turn }) => {
                    unreachable!("what is gone on with may have been heard before, in {turn}")
                }
                Ok(Arrival::Began { conversation, turn }) => {
                    let answering = self.shared.await_answer(number);
                    self.begin(conversation, turn, said, Event::Again);
                    break Ok(answering);
                }
                Ok(Arrival::Busy { conversation }) if self.shared.is_working(conversation) => {
                    return self.paused.push((said, conversation, notice, placed));
                }
                Ok(Arrival::Busy { conversation }) => {
                    let given_up =
                        blocking(&self.shared, move |shared| turns::give_up(shared, conversation));
                    if let Err(error) = given_up.await {
                        break Err(error.into());
                    }
                }
                Err(error) => break Err(error.into()),
            }
        };
        let _ = placed.send(answering);
    }

    /// A turn is over: what came too late for it begins the next one.
    async fn over(&mut self, over: Over) {
        let Over { conversation, reason, is_kept, unheard } = over;
        if !is_kept && let Err(error) = self.let_go(conversation).await {
            tracing::error!(%error, %conversation, "a turn is still open; the next message or its \
                             cancellation tries again");
        }
        for said in unheard {
            // Not into one that was ended by the turn.
            let (number, to) = (said.number, (reason != Reason::Ended).then_some(conversation));
            let placed = self.place(Said { to, ..said }).await;
            if let Err(error) = &placed {
                self.shared.state().answer(number, &Err(error.clone()));
            }
            lost(number, placed);
        }
        for (said, conversation, notice, placed) in std::mem::take(&mut self.paused) {
            self.go_on(said, conversation, notice, placed).await;
        }
    }

    /// Gives up the turn of a conversation where nobody drives it.
    async fn let_go(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        if self.shared.is_working(conversation) {
            return Ok(());
        }
        blocking(&self.shared, move |shared| turns::give_up(shared, conversation)).await
    }

    /// Answers whoever waits for a message that was heard in a turn, where that is over; else its
    /// end will.
    async fn answer_late(&self, number: i64, turn: TurnId) -> Result<(), PromptError> {
        let waiting = {
            let mut state = self.shared.state();
            // Under one lock with the end of a turn, which takes all who wait.
            if state.running.values().any(|running| running.turn == turn) {
                return Ok(());
            }
            state.waiting.remove(&number).unwrap_or_default()
        };
        let kept = blocking(&self.shared, move |shared| shared.ports.memory.ended(turn)).await?;
        let Kept { conversation, reason, words, answer } = kept;
        let (cause, hint) = (None, None);
        let answered = Answered { conversation, turn, reason, words, cause, hint, answer };
        for tell in waiting {
            let _ = tell.send(Ok(answered.clone()));
        }
        Ok(())
    }

    /// Sees to it that a message whose sender is told that it is not taken does not come back.
    async fn refuse(&self, received: i64, why: &PromptError) {
        let words = why.to_string();
        let refused = move |shared: &Shared| shared.ports.memory.refuse(received, &words);
        if let Err(error) = blocking(&self.shared, refused).await {
            tracing::warn!(%error, received, "a message that was refused may be heard after a start");
        }
    }
}

/// A message for which nobody need wait has no place.
fn lost(number: i64, placed: Result<Option<ConversationId>, PromptError>) {
    if let Err(error) = placed {
        let message = format!("m{number}");
        tracing::error!(%error, message, "a message was kept and could not be heard");
    }
}

/// Asks the hooks about a message; the message as they leave it. Blocks.
fn ask(hooks: &Hooks, said: Said) -> Result<Said, PromptError> {
    let event = hooks::Event::new(Kind::MessageReceived)
        .say("source", said.source.as_str())
        .say("scope", said.scope.word())
        .say("conversation", said.to.map(|to| to.to_string()))
        .text("attached", attached(&said))
        .with_input(said.text.as_str().into());
    match hooks.ask(event, &|| false) {
        Ok(None) => Ok(said),
        Ok(Some(Value::String(text))) => Ok(Said { text, ..said }),
        Ok(Some(_)) => unreachable!("a message is replaced by a text"),
        Err(Refused { hook, reason, failed }) => Err(PromptError::Refused { hook, reason, failed }),
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
