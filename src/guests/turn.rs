//! A turn of a guest, in the form of a model's turn: each round is a piece of the guest's answer,
//! up to its next calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;

use super::Guests;
use super::ask::GuestQuestion;
use super::history::{self, KnownMessages};
use super::session::{GuestSession, PromptEvent, error};
use super::settings::Guest;
use crate::llm::{
    Block, BlockKind, ErrorKind, Item, LlmError, Message, Origin, Provider, Stop, ToolCall, Turn,
    TurnEvent, TurnRequest, TurnStream, Usage, Wire,
};
use crate::locks::lock;

pub(super) struct GuestTurn(Arc<TurnRequests>);

struct TurnRequests {
    guests: Guests,
    guest: Guest,
    conversation: String,
    /// The session that answers in this turn.
    live: Mutex<Option<Arc<GuestSession>>>,
    /// The number of the turn's last prompt there.
    prompt: AtomicU64,
}

impl GuestTurn {
    pub fn new(guests: Guests, guest: Guest, conversation: String) -> Self {
        let (live, prompt) = (Mutex::default(), AtomicU64::new(0));
        Self(Arc::new(TurnRequests { guests, guest, conversation, live, prompt }))
    }
}

impl Drop for GuestTurn {
    fn drop(&mut self) {
        let live = lock(&self.0.live).take();
        if let Some(live) = live {
            live.end_turn(self.0.prompt.load(Ordering::Relaxed));
        }
    }
}

impl Provider for GuestTurn {
    fn id(&self) -> &str {
        &self.0.guest.name
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let begin = Stage::Begin(Arc::clone(&self.0), request);
        Box::pin(stream::unfold(begin, |stage| async move {
            match stage {
                Stage::Begin(turn, request) => match turn.begin(&request).await {
                    Ok(round) => round.next().await,
                    Err(fault) => Some((Err(fault), Stage::Over)),
                },
                Stage::Running(round) => round.next().await,
                Stage::Over => None,
            }
        }))
    }
}

enum Stage {
    Begin(Arc<TurnRequests>, Arc<TurnRequest>),
    Running(Box<Round>),
    Over,
}

/// A round in progress.
struct Round {
    live: Arc<GuestSession>,
    /// The text so far, and the id of its last message.
    text: String,
    message: Option<String>,
    request: Arc<TurnRequest>,
}

impl TurnRequests {
    async fn begin(&self, request: &Arc<TurnRequest>) -> Result<Box<Round>, LlmError> {
        if request.conversation != self.conversation {
            // A summary of the history, for example: the guest has its own history.
            return Err(error(
                &self.guest,
                ErrorKind::InvalidRequest,
                "a guest is asked for answers alone",
            ));
        }
        let tools: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let live = match self.of_turn() {
            Some(live) if live.is_dead() => return Err(live.last_fault().await),
            Some(live) => {
                live.tool_session.offer(tools);
                if !hand_over(&live, &request.messages) {
                    self.prompt(&live, request).await?;
                }
                live
            }
            None => {
                let live = self.ready(&request.messages, tools.clone()).await?;
                match self.prompt(&live, request).await {
                    Ok(()) => live,
                    // It has ended meanwhile.
                    Err(_) if live.is_dead() => {
                        let live = self.start(&request.messages, tools).await?;
                        self.prompt(&live, request).await?;
                        live
                    }
                    Err(fault) => return Err(fault),
                }
            }
        };
        let request = Arc::clone(request);
        Ok(Box::new(Round { live, text: String::new(), message: None, request }))
    }

    /// Sends the session the messages it does not know. From then on it is the session of this turn.
    async fn prompt(
        &self,
        live: &Arc<GuestSession>,
        request: &TurnRequest,
    ) -> Result<(), LlmError> {
        live.tool_session.offer(request.tools.iter().map(|tool| tool.name.clone()).collect());
        let mut prompt_events = live.prompt_events.lock().await;
        while prompt_events.try_recv().is_ok() {}
        drop(prompt_events);
        let heard = live.known_messages().map(|known| known.messages);
        let number = live.prompt(history::prompt(request, heard, live.has_images))?;
        self.prompt.store(number, Ordering::Relaxed);
        *lock(&self.live) = Some(Arc::clone(live));
        Ok(())
    }

    /// The session that this turn already uses.
    fn of_turn(&self) -> Option<Arc<GuestSession>> {
        lock(&self.live).clone()
    }

    /// The session for a new turn: the running one, or a new one if the running one has messages
    /// that have left the conversation, because an earlier message was edited or the history was
    /// shortened.
    async fn ready(
        &self,
        messages: &[Message],
        tools: Vec<String>,
    ) -> Result<Arc<GuestSession>, LlmError> {
        if let Some(live) = self.guests.running(&self.guest, &self.conversation) {
            // An earlier turn may still be ending.
            live.settle().await;
            let is_of_this = live.known_messages().is_none_or(|known| known.is_start_of(messages));
            // A person may have revoked the permission.
            if is_of_this && !live.is_dead() && self.guests.0.allowed.has(&self.guest) {
                return Ok(live);
            }
            self.guests.remove(&self.conversation).await;
        }
        self.start(messages, tools).await
    }

    /// Begins a session, after a person has agreed to the guest.
    async fn start(
        &self,
        messages: &[Message],
        tools: Vec<String>,
    ) -> Result<Arc<GuestSession>, LlmError> {
        let Self { guests, guest, conversation, .. } = self;
        let asks = guests.0.asks.get().cloned();
        let asks =
            asks.ok_or_else(|| error(guest, ErrorKind::InvalidRequest, "nobody can be asked"))?;
        if !guests.0.allowed.has(guest) {
            let agreed = asks.ask(first_use(guests, guest, conversation)).await;
            if !agreed {
                let why = "nobody has agreed that it answers, so nothing was started or sent: agree in the chat or with \
                           `steward approvals`, and send the message again";
                return Err(error(guest, ErrorKind::InvalidRequest, why));
            }
            guests.0.allowed.add(guest);
        }
        guests.begin(guest, conversation, (messages, tools), asks).await
    }
}

/// The question before a guest first answers.
fn first_use(guests: &Guests, guest: &Guest, conversation: &str) -> GuestQuestion {
    let command = guest.command.join(" ");
    let confined = match guests.unconfined() {
        None => "the system keeps it from the vault's files, from the steward's own, and from writing elsewhere than in \
                 its own folders"
            .to_owned(),
        Some(why) => format!("nothing but its own settings keeps it from your files: {why}"),
    };
    GuestQuestion {
        guest: guest.name.clone(),
        conversation: conversation.to_owned(),
        is_general: true,
        title: format!("let the agent `{}` answer in your conversations", guest.name),
        reasons: vec![
            format!("it is another program: {command}"),
            "this conversation, and what it reads of your notes with the vault's tools, goes to its vendor".to_owned(),
            confined,
        ],
        details: command,
    }
}

/// Gives the guest the results that it waits for; `false` if it waits for none of them.
fn hand_over(live: &GuestSession, messages: &[Message]) -> bool {
    let is_results = |message: &Message| matches!(message, Message::ToolResults { .. });
    let Some(at) = messages.iter().rposition(is_results) else { return false };
    let Some(Message::ToolResults { results }) = messages.get(at) else { return false };
    if !live.tool_session.waits_for(results) {
        return false;
    }
    let mut results = results.clone();
    if let (Some(last), Some(text)) =
        (results.last_mut(), history::new_messages(&messages[at + 1..]))
    {
        last.content.push(Block::text(text));
    }
    live.tool_session.answer(results);
    true
}

type Next = Option<(Result<Item, LlmError>, Stage)>;

impl Round {
    async fn next(mut self: Box<Self>) -> Next {
        let event = match self.wait().await {
            Ok(PromptEvent::Text { mut text, message }) => {
                // Some agents add remarks as separate messages.
                let is_new = message != self.message && !self.text.is_empty();
                if is_new && !self.text.ends_with('\n') {
                    text.insert_str(0, "\n\n");
                }
                self.message = message;
                self.text.push_str(&text);
                let delta = text;
                TurnEvent::Text { block: 0, delta }
            }
            Ok(PromptEvent::Thought(delta)) => TurnEvent::Thinking { block: 1, delta },
            Ok(PromptEvent::Over { stop, usage }) => {
                self.live.tool_session.close();
                return Some((Ok(self.done(Vec::new(), stop, usage)), Stage::Over));
            }
            Ok(PromptEvent::Failed(fault)) => return Some((Err(fault), Stage::Over)),
            Err(calls) => return Some((Ok(self.done(calls, Stop::ToolUse, None)), Stage::Over)),
        };
        Some((Ok(Item::Event(event)), Stage::Running(self)))
    }

    /// Waits for the next event; `Err` has calls of our tools. Output sent before a call precedes
    /// it.
    async fn wait(&self) -> Result<PromptEvent, Vec<ToolCall>> {
        let live = Arc::clone(&self.live);
        let mut prompt_events = live.prompt_events.lock().await;
        let gone = || {
            let fault = error(&live.guest, ErrorKind::Truncated, "it has ended");
            PromptEvent::Failed(fault)
        };
        tokio::select! {
            biased;
            event = prompt_events.recv() => Ok(event.unwrap_or_else(gone)),
            calls = live.tool_session.take_calls() => Err(calls),
        }
    }

    fn done(&self, calls: Vec<ToolCall>, stop: Stop, usage: Option<Usage>) -> Item {
        let text = (!self.text.trim().is_empty()).then(|| Block::text(self.text.clone()));
        let calls =
            calls.into_iter().map(|call| Block { kind: BlockKind::ToolCall(call), native: None });
        let content: Vec<Block> = text.into_iter().chain(calls).collect();
        // The guest knows its own answer.
        let answer = (!content.is_empty()).then_some(content.as_slice());
        self.live.record_delivered(KnownMessages::of(&self.request.messages, answer));
        let origin = origin(&self.live.guest.name);
        Item::Done(Box::new(Turn { content, stop, usage, origin, request_id: None }))
    }
}

/// A guest as the model behind an answer.
pub(super) fn origin(name: &str) -> Origin {
    Origin { wire: Wire::Chat, endpoint: "guest".to_owned(), model: name.to_owned() }
}
