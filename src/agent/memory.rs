//! The production [`Memory`]: entries become conversation items, and messages go through the inbox.

use serde::Serialize;

use super::attachments::Attachments;
use super::conversations::{ConversationError, Conversations, DeliveryResult, TurnEnd};
use super::entry::{Entry, UserMessage};
use super::ports::{Leftovers, Memory, MemoryError, Result, Routing, StoredTurn};
use super::turn::{End, Reason};
use crate::conversation::{Chosen, ConversationId, Item, ItemKind, Turn, TurnId, TurnState};
use crate::llm::{self, Usage};
use crate::policy::Scope;
use crate::store::StoreError;
use crate::store::conversations::NewItem;
use crate::store::inbox::{InboxState, NewMessage, Received};
use crate::store::usage::Used;

/// The inbox source of client messages.
const SOURCE: &str = "prompt";

/// The store setting that holds the installation id.
const INSTALLATION: &str = "installation";

/// The number of earlier conversations in a new one's opening notice.
const EARLIER: usize = 2;

/// The most messages to check after a start.
const LEFT: u32 = 10_000;

/// The conversations in a vault's store.
#[derive(Debug, Clone)]
pub struct StoredMemory(Conversations);

impl StoredMemory {
    pub fn new(conversations: Conversations) -> Self {
        Self(conversations)
    }
}

impl From<ConversationError> for MemoryError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::NotFound { id } => Self::NotFound { id },
            error => Self::Broken { message: error.to_string(), hint: Some(error.hint()) },
        }
    }
}

impl From<StoreError> for MemoryError {
    fn from(error: StoreError) -> Self {
        ConversationError::from(error).into()
    }
}

impl Memory for StoredMemory {
    fn receive(&self, user_message: &UserMessage) -> Result<(i64, Option<TurnId>)> {
        let name = match &user_message.client_id {
            // A client that guesses the id of a person's message must not get its answer.
            Some(id) if !user_message.scope.is_person() => {
                format!("{}/{id}", user_message.scope.word())
            }
            Some(id) => id.clone(),
            None => random_id()?,
        };
        let body = json(user_message)?;
        let received = self.0.store().inbox.receive(&NewMessage {
            source: SOURCE,
            message: &name,
            text: &user_message.text,
            body: Some(&body),
            received: self.0.wall(),
        })?;
        Ok(match received {
            Received::New(row) => (row.id, None),
            Received::Known(row) => {
                if row.state == InboxState::SetAside {
                    // The message was rejected and is sent again: it counts from now on.
                    self.0.store().inbox.settle(row.id, InboxState::New, None, "")?;
                }
                (row.id, row.turn)
            }
        })
    }

    fn arrive(&self, user_message: &UserMessage) -> Result<Routing> {
        let message = item(&user_message.entry())?;
        match self.0.arrive_received(
            &message,
            &user_message.source,
            user_message.to,
            user_message.number,
        ) {
            Ok(DeliveryResult::Repeated(turn)) => Ok(Routing::Delivered { turn }),
            Ok(DeliveryResult::Arrived(arrived)) => {
                Ok(Routing::Started { conversation: arrived.conversation, turn: arrived.turn })
            }
            Err(ConversationError::TurnRuns { id }) => Ok(Routing::Busy { conversation: id }),
            Err(error) => Err(error.into()),
        }
    }

    fn resume(
        &self,
        conversation: ConversationId,
        notice: &Entry,
        received: i64,
    ) -> Result<Routing> {
        match self.0.resume(&item(notice)?, conversation, received) {
            Ok(arrived) => {
                Ok(Routing::Started { conversation: arrived.conversation, turn: arrived.turn })
            }
            Err(ConversationError::TurnRuns { id }) => Ok(Routing::Busy { conversation: id }),
            Err(error) => Err(error.into()),
        }
    }

    fn refuse(&self, received: i64, why: &str) -> Result<()> {
        // Nothing delivers it in the meantime: one task routes all messages.
        if self.0.store().inbox.delivered_to(received)?.is_none() {
            self.0.store().inbox.settle(received, InboxState::SetAside, None, why)?;
        }
        Ok(())
    }

    fn entries(&self, conversation: ConversationId) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        if let Some(opening) = self.0.context(conversation)? {
            entries.push(read(&opening)?);
        }
        let mut is_damaged = false;
        for item in self.0.history_with_gaps(conversation)? {
            let Some(item) = item else {
                is_damaged = true;
                continue;
            };
            let kept = entry(&item).unwrap_or_else(|error| {
                tracing::error!(%error, %conversation, item = %item.number, "it goes on without it");
                is_damaged = true;
                None
            });
            // Not between a call and its results. Always at the same position, since what the model
            // already read must not change.
            if item.kind == ItemKind::User && std::mem::take(&mut is_damaged) {
                entries.push(Entry::damaged());
            }
            entries.extend(kept);
        }
        entries.extend(is_damaged.then(Entry::damaged));
        Ok(entries)
    }

    fn keep_opening(&self, conversation: ConversationId, opening: Entry) -> Result<Entry> {
        read(&self.0.keep_context(conversation, &json(&opening)?)?)
    }

    fn append(&self, conversation: ConversationId, turn: TurnId, entry: &Entry) -> Result<bool> {
        let item = item(entry)?;
        match entry.received() {
            Some(received) => Ok(self.0.append_delivered(conversation, turn, &item, received)?),
            None => Ok(self.0.append(conversation, Some(turn), &[item]).map(|_| true)?),
        }
    }

    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        question: Option<&str>,
    ) -> Result<()> {
        let state = match end.reason {
            Reason::Waiting => TurnState::Waiting,
            Reason::Cancelled => TurnState::Cancelled,
            Reason::Failed => TurnState::Failed,
            _ => TurnState::Done,
        };
        let reason = match words(end.reason) {
            "" => end.words.clone(),
            words => words.to_owned(),
        };
        let ended = TurnEnd {
            question: question.map(str::to_owned),
            ends: (end.reason == Reason::Ended).then(|| end.words.clone()),
            ..TurnEnd::plain(state, reason)
        };
        self.0.finish_turn(conversation, turn, &ended)?;
        Ok(())
    }

    fn interrupt(&self, conversation: ConversationId, why: &str) -> Result<Option<TurnId>> {
        let running = |turn: &Turn| turn.state == TurnState::Running;
        // There is at most one.
        let Some(turn) = self.0.turns(conversation)?.into_iter().find(running) else {
            return Ok(None);
        };
        let end = TurnEnd::plain(TurnState::Interrupted, why);
        self.0.finish_turn(conversation, turn.id, &end)?;
        Ok(Some(turn.id))
    }

    fn ended(&self, turn: TurnId) -> Result<StoredTurn> {
        let Some(found) = self.0.rows().turns.get(turn)? else {
            // The conversation was deleted in the meantime.
            let message = format!("the turn {turn} was deleted");
            return Err(MemoryError::Broken { message, hint: None });
        };
        let items = self.0.history_with_gaps(found.conversation)?;
        let mut items: Vec<Item> = items.into_iter().flatten().collect();
        items.retain(|item| item.turn == Some(turn) && !item.text.is_empty());
        let says = [ItemKind::Assistant, ItemKind::Message, ItemKind::Question];
        let answer = items.into_iter().rfind(|item| says.contains(&item.kind));
        Ok(StoredTurn {
            conversation: found.conversation,
            reason: reason(&found),
            words: found.reason,
            answer: answer.map(|item| item.text).unwrap_or_default(),
        })
    }

    fn leftovers(&self) -> Result<Leftovers> {
        if let Err(error) = self.0.trim() {
            // A full disk must not keep earlier messages from being delivered.
            tracing::warn!(%error, "old data could not be deleted");
        }
        let turns = self.0.rows().turns.running()?;
        let mut messages = Vec::new();
        for state in [InboxState::New, InboxState::Taken] {
            for row in self.0.store().inbox.list(Some(SOURCE), state, LEFT)? {
                let user_message =
                    row.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
                let user_message = user_message.unwrap_or_else(|| UserMessage {
                    number: 0,
                    text: String::new(),
                    to: None,
                    source: "chat".to_owned(),
                    scope: Scope::Client,
                    client_id: None,
                    attached: Attachments::default(),
                    from: None,
                    note: None,
                });
                messages.push(UserMessage { number: row.id, text: row.text, ..user_message });
            }
        }
        Ok(Leftovers { turns, messages })
    }

    fn earlier(&self, conversation: ConversationId) -> Result<Vec<(String, String, String)>> {
        // The new conversation and open ones may come first.
        let recent = self.0.recent(20)?.into_iter();
        let ended = recent.filter(|one| one.ended.is_some() && one.id != conversation);
        let summarised =
            ended.filter_map(|one| Some((one.id.to_string(), one.title?, one.summary?)));
        Ok(summarised.take(EARLIER).collect())
    }

    fn installation(&self) -> Result<String> {
        let settings = &self.0.store().settings;
        if let Some(known) = settings.get(INSTALLATION)? {
            return Ok(known);
        }
        let new = random_id()?;
        settings.set(INSTALLATION, Some(&new))?;
        Ok(new)
    }

    fn chosen(&self, conversation: ConversationId) -> Chosen {
        self.0.get(conversation).map(|found| found.chosen).unwrap_or_default()
    }

    fn count(&self, conversation: ConversationId, model: &str, usage: &Usage, cost: Option<f64>) {
        if let Err(error) = self.0.count_usage(conversation, model, used_by(usage, cost)) {
            tracing::warn!(%error, "the usage of a model could not be counted");
        }
    }
}

/// The figures of one request.
pub fn used_by(usage: &Usage, cost: Option<f64>) -> Used {
    Used {
        requests: 1,
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
        cost: cost.map_or(0, |dollars| (dollars * 1e6).round().max(0.0) as u64),
        unpriced: u64::from(cost.is_none()),
    }
}

/// Converts an entry to an item that can be appended to a conversation.
pub fn item(entry: &Entry) -> Result<NewItem> {
    Ok(NewItem { kind: kind(entry), text: entry.text(), body: Some(json(entry)?) })
}

fn kind(entry: &Entry) -> ItemKind {
    match entry {
        Entry::Opening { .. } => ItemKind::Notice,
        Entry::Message { message, .. } => match message {
            llm::Message::User { .. } => ItemKind::User,
            llm::Message::Assistant { .. } => ItemKind::Assistant,
            llm::Message::ToolResults { .. } => ItemKind::ToolResults,
            llm::Message::Notice { .. } => ItemKind::Notice,
        },
        Entry::Result { .. } => ItemKind::ToolResults,
        Entry::Sent { is_question: true, .. } => ItemKind::Question,
        Entry::Sent { .. } => ItemKind::Message,
        Entry::Trimmed { .. } => ItemKind::Compaction,
    }
}

/// Converts an item to the entry stored in it; `None` for items that other parts stored.
pub fn entry(item: &Item) -> Result<Option<Entry>> {
    match (&item.body, item.kind) {
        (Some(body), ItemKind::Ended | ItemKind::Note)
            if serde_json::from_str::<Entry>(body).is_err() =>
        {
            Ok(None)
        }
        (Some(body), _) => read(body).map(Some),
        (None, ItemKind::User) => {
            Ok(Some(Entry::message(llm::Message::user(item.text.clone()), None)))
        }
        (None, _) => Ok(None),
    }
}

/// Why a turn ended, as stored; empty if the state says it.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Ended => "it ended the conversation",
        Reason::MaxTokens => "its answer was as long as it may be",
        Reason::MaxRounds => "it reached the limits of a turn",
        Reason::Refused => "the model declined",
        Reason::Done | Reason::Waiting | Reason::Cancelled | Reason::Failed => "",
    }
}

/// Why a turn ended; `None` while it runs, and if the steward stopped first.
pub fn reason(turn: &Turn) -> Option<Reason> {
    match turn.state {
        TurnState::Running | TurnState::Interrupted => None,
        TurnState::Waiting => Some(Reason::Waiting),
        TurnState::Cancelled => Some(Reason::Cancelled),
        TurnState::Failed => Some(Reason::Failed),
        TurnState::Done => {
            let worded = [Reason::Ended, Reason::MaxTokens, Reason::MaxRounds, Reason::Refused];
            let found = worded.into_iter().find(|reason| words(*reason) == turn.reason);
            Some(found.unwrap_or(Reason::Done))
        }
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| MemoryError::Broken {
        message: format!("it could not be written: {error}"),
        hint: None,
    })
}

fn read(text: &str) -> Result<Entry> {
    serde_json::from_str(text).map_err(|error| MemoryError::Broken {
        message: format!("the stored conversation cannot be read: {error}"),
        hint: Some("begin a new conversation".to_owned()),
    })
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| MemoryError::Broken {
        message: format!("could not get random bytes: {error}"),
        hint: None,
    })?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
