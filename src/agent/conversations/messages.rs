//! Messages, the items of a turn, and the ends of turns.

use std::collections::HashMap;

use super::error::{ConversationError, Result};
use super::{ConversationEvent, Conversations, is_foreign};
use crate::conversation::{
    Boundary, BranchId, Chosen, Conversation, ConversationId, End, EndKind, ItemKind, ItemNumber,
    Moment, TurnId, TurnState, Waiting, boundary, decide,
};
use crate::locks::lock;
use crate::store::conversations::{
    Delivery, NewConversation, NewItem, Order, TurnEnd as StoredEnd,
};
use crate::store::inbox::VOICE;

/// Where a message was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub item: ItemNumber,
    /// Whether it is the first message on its branch.
    pub began: bool,
    pub ended: Option<ConversationId>,
    pub answers: Option<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryResult {
    Arrived(Arrived),
    /// It was already delivered, in this turn; nothing changed.
    Repeated(TurnId),
}

#[derive(Debug, Clone)]
pub struct TurnEnd {
    /// The new state; not [`TurnState::Running`].
    pub state: TurnState,
    /// The reason, for people; may be empty.
    pub reason: String,
    pub items: Vec<NewItem>,
    pub question: Option<String>,
    /// Why the model ends the conversation with this turn, if it does.
    pub ends: Option<String>,
}

impl TurnEnd {
    /// An end without items.
    pub fn plain(state: TurnState, reason: impl Into<String>) -> Self {
        Self { state, reason: reason.into(), items: Vec::new(), question: None, ends: None }
    }
}

impl Conversations {
    /// Delivers a person's message from `source` (`chat`, `voice`, `cli`): chooses its
    /// conversation, ends the previous one if it is over, and starts a turn. Durable when this
    /// returns.
    ///
    /// A message with a target conversation goes there, even if that has ended.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: a turn is running in the target conversation, and nothing
    /// was stored; [`ConversationError::NotFound`].
    pub fn arrive(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
    ) -> Result<Arrived> {
        match self.store_message(message, source, to, None)? {
            DeliveryResult::Arrived(arrived) => Ok(arrived),
            DeliveryResult::Repeated(turn) => {
                unreachable!("a message that was not received was delivered before, in {turn}")
            }
        }
    }

    /// As [`Self::arrive`], for a message from the inbox. The same commit marks it as delivered
    /// there, so that it is delivered once, even after failures and repeated requests.
    pub fn arrive_received(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
        received: i64,
    ) -> Result<DeliveryResult> {
        self.store_message(message, source, to, Some(received))
    }

    /// Starts a turn with a notice instead of a message, to resume the work on the message with
    /// this inbox number, whose turn was cut short. The same commit marks the message as delivered
    /// in the new turn. The conversation does not become the current one, since no person wrote.
    /// Durable when this returns.
    pub fn resume(
        &self,
        notice: &NewItem,
        conversation: ConversationId,
        received: i64,
    ) -> Result<Arrived> {
        match self.store_message(notice, VOICE, Some(conversation), Some(received))? {
            DeliveryResult::Arrived(arrived) => Ok(arrived),
            DeliveryResult::Repeated(turn) => {
                unreachable!(
                    "resuming starts a turn or finds one running; got a delivery in {turn}"
                )
            }
        }
    }

    fn store_message(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
        received: Option<i64>,
    ) -> Result<DeliveryResult> {
        let mut activity = lock(&self.0.last_active);
        let is_said = message.kind == ItemKind::User;
        if is_said
            && let Some(received) = received
            && let Some(turn) = self.0.store.inbox.delivered_to(received)?
        {
            return Ok(DeliveryResult::Repeated(turn));
        }
        let (now, wall) = (self.now(), self.wall());
        let limits = self.settings().limits();
        let before = match to {
            Some(id) => Some(self.stored(id)?).filter(|open| may_speak(source, open)),
            None => self.current_of(source)?,
        };
        if let (Some(id), None) = (to, &before) {
            return Err(ConversationError::NotFound { id });
        }
        let mut ends = None;
        if let Some(open) = &before {
            if open.is_working {
                return Err(ConversationError::TurnRuns { id: open.id });
            }
            let last = self.last_activity(&activity, open);
            // An empty conversation has nothing to separate from.
            if to.is_none()
                && open.items > 0
                && let Boundary::Begin(kind) = decide(now, last, open.waiting.is_some(), limits)
            {
                let end = End { at: wall, kind, reason: String::new() };
                ends = Some(self.ending(open.id, end, &[]));
            }
        }
        let into = before.as_ref().filter(|_| ends.is_none());
        let answers = into.and_then(|open| {
            let waiting = open.waiting.clone()?;
            let since = self.last_activity(&activity, open);
            boundary::is_question_fresh(now, since, limits).then_some(waiting)
        });
        let new = NewConversation { source, began: wall, cwd: None };
        let goes_on_again = into.is_some_and(|open| open.ended.is_some());
        let id = into.map(|open| open.id);
        let began = into.map_or(Ok(true), |open| self.is_empty_branch(open))?;
        let delivery = match self.rows().turns.arrive(&new, id, ends.as_ref(), message, received)? {
            Delivery::Began(delivery) => delivery,
            Delivery::Duplicate(turn) => return Ok(DeliveryResult::Repeated(turn)),
        };
        activity.insert(delivery.conversation, now);
        let ended = ends.map(|ending| ending.conversation);
        if let Some(ended) = ended {
            activity.remove(&ended);
            self.publish_conversation(ended, ConversationEvent::Ended);
        }
        if id.is_none() || goes_on_again {
            self.publish_conversation(delivery.conversation, ConversationEvent::Began);
        }
        if ended.is_some() {
            self.trim_locked()?;
        }
        Ok(DeliveryResult::Arrived(Arrived {
            conversation: delivery.conversation,
            turn: delivery.turn,
            item: delivery.item,
            began,
            ended,
            answers,
        }))
    }

    /// Appends items in order; durable when this returns. Returns the number of the last one.
    pub fn append(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        items: &[NewItem],
    ) -> Result<Option<ItemNumber>> {
        let number = self.rows().turns.append_items(conversation, turn, self.wall(), items)?;
        self.note_activity(conversation);
        Ok(number)
    }

    /// Appends a message that a running turn receives, and marks it as delivered in the inbox;
    /// `false` if it was already delivered, and nothing changed. Durable when this returns.
    pub fn append_delivered(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        item: &NewItem,
        received: i64,
    ) -> Result<bool> {
        let is_new =
            self.rows().turns.append_message(conversation, turn, self.wall(), item, received)?;
        if is_new {
            self.note_activity(conversation);
        }
        Ok(is_new)
    }

    /// Stores the end of a turn with its last items, and with its question or the end of the
    /// conversation. Returns `false`, without a change, if the turn had already ended.
    pub fn finish_turn(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &TurnEnd,
    ) -> Result<bool> {
        let mut activity = lock(&self.0.last_active);
        let wall = self.wall();
        let ends = end.ends.as_ref().map(|reason| {
            let over = End { at: wall, kind: EndKind::Agent, reason: reason.clone() };
            self.ending(conversation, over, &end.items)
        });
        let question = end.question.clone().filter(|_| ends.is_none());
        let waiting = question.map(|question| Waiting { since: wall, question });
        let stored = StoredEnd {
            state: end.state,
            reason: &end.reason,
            time: wall,
            items: &end.items,
            waiting: waiting.as_ref(),
            ends: ends.as_ref(),
        };
        let was_running = self.rows().turns.finish(turn, &stored)?;
        activity.insert(conversation, self.now());
        if was_running && ends.is_some() {
            activity.remove(&conversation);
            self.publish_conversation(conversation, ConversationEvent::Ended);
            self.trim_locked()?;
        }
        Ok(was_running)
    }

    /// The current conversation: the last one that a person wrote in, began or resumed; `None` if
    /// that has ended or was deleted. Whether the next message still belongs to it is decided when
    /// the message arrives.
    pub fn current(&self) -> Result<Option<Conversation>> {
        Ok(self.current_locked()?.map(|open| self.for_display(open)))
    }

    /// Begins a conversation, which becomes the current one; the previous one stays open. Returns
    /// the source's current conversation if that is still empty.
    pub fn open_new(&self, source: &str) -> Result<Conversation> {
        let mut activity = lock(&self.0.last_active);
        let open = self.current_of(source)?;
        if let Some(empty) = open.filter(|open| open.items == 0 && open.source == source) {
            activity.insert(empty.id, self.now());
            return Ok(empty);
        }
        let new = NewConversation { source, began: self.wall(), cwd: None };
        self.begin(&new, &mut activity)
    }

    /// Begins a conversation for one client, which works in the folder `cwd`, even if the source's
    /// current conversation is empty.
    pub fn open_apart(&self, source: &str, cwd: &str) -> Result<Conversation> {
        let new = NewConversation { source, began: self.wall(), cwd: Some(cwd) };
        self.begin(&new, &mut lock(&self.0.last_active))
    }

    fn begin(
        &self,
        new: &NewConversation<'_>,
        activity: &mut HashMap<ConversationId, Moment>,
    ) -> Result<Conversation> {
        let id = self.rows().begin(new)?;
        activity.insert(id, self.now());
        let conversation = self.stored(id)?;
        self.publish(&ConversationEvent::Began(conversation.clone()));
        Ok(conversation)
    }

    /// Deletes conversations of this source that have been empty for a day: a client begins one
    /// whenever it opens.
    pub fn delete_empty(&self, source: &str) -> Result<()> {
        let order = Order { limit: SILENT, source: Some(source), ..Order::default() };
        let before = self.wall() - DAY;
        for one in self.rows().list(&order)? {
            if one.items == 0 && !one.is_working && one.last_active < before {
                self.delete(one.id)?;
            }
        }
        Ok(())
    }

    /// Stores what a client chose for a conversation.
    pub fn choose(&self, id: ConversationId, chosen: &Chosen) -> Result<()> {
        Ok(self.rows().choose(id, chosen)?)
    }

    fn note_activity(&self, id: ConversationId) {
        let now = self.now();
        lock(&self.0.last_active).insert(id, now);
    }

    /// Whether the live branch has no items.
    fn is_empty_branch(&self, open: &Conversation) -> Result<bool> {
        match (open.items, open.branch) {
            (0, _) => Ok(true),
            (_, FIRST) => Ok(false),
            // It may have been forked before its first message.
            _ => Ok(self.rows().branches.each_of_history(open.id, None)?.is_empty()),
        }
    }
}

/// Whether messages of this source may join a conversation. A program that does not represent a
/// person may only use conversations of its own source, since an answer may quote earlier messages.
fn may_speak(source: &str, conversation: &Conversation) -> bool {
    !is_foreign(source) || conversation.source == source
}

/// The most conversations to check for empty ones.
const SILENT: u32 = 200;

/// Milliseconds after which an empty one is deleted.
const DAY: i64 = 86_400_000;

/// The first branch of every conversation.
const FIRST: BranchId = BranchId(1);
