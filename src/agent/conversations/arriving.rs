//! What comes in while conversations go on: messages, what is said in a turn, the turn's end.

use std::collections::HashMap;

use super::error::{Answer, ConversationError};
use super::{ConversationEvent, Conversations, is_foreign};
use crate::conversation::{
    Boundary, BranchId, Chosen, Conversation, ConversationId, End, EndKind, ItemKind, ItemNumber,
    Moment, TurnId, TurnState, Waiting, boundary, decide,
};
use crate::store::conversations::{NewConversation, NewItem, Order, Placed, TurnEnd as StoredEnd};
use crate::store::inbox::VOICE;

/// Where a message went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The turn that it begins.
    pub turn: TurnId,
    /// The message as an item.
    pub item: ItemNumber,
    /// Whether nothing was said before it, on this branch.
    pub began: bool,
    pub ended: Option<ConversationId>,
    /// The question that it answers.
    pub answers: Option<Waiting>,
}

/// What became of a message that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It found its place.
    Arrived(Arrived),
    /// It was heard before, in this turn; nothing has changed.
    Heard(TurnId),
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct TurnEnd {
    /// How it stands from now on; not [`TurnState::Running`].
    pub state: TurnState,
    /// Why, for people; may be empty.
    pub reason: String,
    /// What came last in it.
    pub items: Vec<NewItem>,
    /// What the person is asked.
    pub question: Option<String>,
    /// Why the model ends the conversation with this turn, if it does.
    pub ends: Option<String>,
}

impl TurnEnd {
    /// An end with nothing more to record.
    pub fn plain(state: TurnState, reason: impl Into<String>) -> Self {
        Self { state, reason: reason.into(), items: Vec::new(), question: None, ends: None }
    }
}

impl Conversations {
    /// Takes a person's message, which came from `source` (`chat`, `voice`, `cli`): decides which
    /// conversation it belongs to, ends the one that no longer goes on, and begins a turn. Durable when
    /// this returns.
    ///
    /// One that is for a conversation goes there, even if that had ended.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: the message is for a conversation in which a turn is at
    /// work, and nothing is recorded; [`ConversationError::NotFound`].
    pub fn arrive(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
    ) -> Answer<Arrived> {
        match self.take(message, source, to, None)? {
            Taken::Arrived(arrived) => Ok(arrived),
            Taken::Heard(turn) => {
                unreachable!("what was not received was not heard before, in {turn}")
            }
        }
    }

    /// As [`Self::arrive`], for a message with this number in the inbox: that it is heard is noted
    /// there by the same commit, so that it is heard once whatever breaks off and whoever sends it
    /// again.
    ///
    /// # Errors
    /// As [`Self::arrive`].
    pub fn arrive_received(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
        received: i64,
    ) -> Answer<Taken> {
        self.take(message, source, to, Some(received))
    }

    /// Begins a turn in a conversation with a notice in the place of something said: the message with this number in the inbox is gone on with, whose turn was cut
    /// short. That it is heard in the new turn is noted there by the same commit. Since nobody speaks,
    /// the conversation does not become the current one. Durable when this returns.
    ///
    /// # Errors
    /// As [`Self::arrive`].
    pub fn go_on(
        &self,
        notice: &NewItem,
        conversation: ConversationId,
        received: i64,
    ) -> Answer<Arrived> {
        match self.take(notice, VOICE, Some(conversation), Some(received))? {
            Taken::Arrived(arrived) => Ok(arrived),
            Taken::Heard(turn) => {
                unreachable!("what is gone on with may have been heard before, in {turn}")
            }
        }
    }

    fn take(
        &self,
        message: &NewItem,
        source: &str,
        to: Option<ConversationId>,
        received: Option<i64>,
    ) -> Answer<Taken> {
        let mut said = self.said();
        let is_said = message.kind == ItemKind::User;
        if is_said
            && let Some(received) = received
            && let Some(turn) = self.0.store.inbox.heard_in(received)?
        {
            return Ok(Taken::Heard(turn));
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
            let last = self.last_activity(&said, open);
            // In one in which nothing was said yet there is nothing to part from.
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
            let since = self.last_activity(&said, open);
            boundary::is_question_fresh(now, since, limits).then_some(waiting)
        });
        let new = NewConversation { source, began: wall, cwd: None };
        let goes_on_again = into.is_some_and(|open| open.ended.is_some());
        let id = into.map(|open| open.id);
        let began = into.map_or(Ok(true), |open| self.is_silent(open))?;
        let kept = match self.rows().turns.arrive(&new, id, ends.as_ref(), message, received)? {
            Placed::Began(kept) => kept,
            Placed::Heard(turn) => return Ok(Taken::Heard(turn)),
        };
        said.insert(kept.conversation, now);
        let ended = ends.map(|ending| ending.conversation);
        if let Some(ended) = ended {
            said.remove(&ended);
            self.tell_of(ended, ConversationEvent::Ended);
        }
        if id.is_none() || goes_on_again {
            self.tell_of(kept.conversation, ConversationEvent::Began);
        }
        if ended.is_some() {
            self.trim_held()?;
        }
        Ok(Taken::Arrived(Arrived {
            conversation: kept.conversation,
            turn: kept.turn,
            item: kept.item,
            began,
            ended,
            answers,
        }))
    }

    /// Records what was said, in order; durable when this returns. The number of the last.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`], [`ConversationError::Store`].
    pub fn append(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        items: &[NewItem],
    ) -> Answer<Option<ItemNumber>> {
        let number = self.rows().turns.append_items(conversation, turn, self.wall(), items)?;
        self.note_activity(conversation);
        Ok(number)
    }

    /// Records a message that a turn at work hears, and notes in the inbox that it is heard; `false`
    /// where it was heard before, and nothing has changed. Durable when this returns.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`], [`ConversationError::Store`].
    pub fn append_heard(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        item: &NewItem,
        received: i64,
    ) -> Answer<bool> {
        let is_new =
            self.rows().turns.append_heard(conversation, turn, self.wall(), item, received)?;
        if is_new {
            self.note_activity(conversation);
        }
        Ok(is_new)
    }

    /// Records the end of a turn, what came last in it, and with it the question that waits or the
    /// end of the conversation. A turn that has ended stays as it is; whether it had not.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn finish_turn(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &TurnEnd,
    ) -> Answer<bool> {
        let mut said = self.said();
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
        said.insert(conversation, self.now());
        if was_running && ends.is_some() {
            said.remove(&conversation);
            self.tell_of(conversation, ConversationEvent::Ended);
            self.trim_held()?;
        }
        Ok(was_running)
    }

    /// The conversation that goes on: the one in which a person spoke last, or which was begun or
    /// taken up again after that; none where that one has ended or was deleted. Whether the next
    /// message still belongs to it is decided when it arrives.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn current(&self) -> Answer<Option<Conversation>> {
        Ok(self.current_held()?.map(|open| self.seen(open)))
    }

    /// Begins a conversation, which is the current one from now on; the one before stays open. One
    /// of the same source in which nothing was said yet is taken again.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn open_new(&self, source: &str) -> Answer<Conversation> {
        let mut said = self.said();
        let open = self.current_of(source)?;
        if let Some(empty) = open.filter(|open| open.items == 0 && open.source == source) {
            said.insert(empty.id, self.now());
            return Ok(empty);
        }
        let new = NewConversation { source, began: self.wall(), cwd: None };
        self.begin(&new, &mut said)
    }

    /// Begins a conversation that is nobody else's, also where another one of this source is empty; its
    /// client says that it works in this folder.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn open_apart(&self, source: &str, cwd: &str) -> Answer<Conversation> {
        let new = NewConversation { source, began: self.wall(), cwd: Some(cwd) };
        self.begin(&new, &mut self.said())
    }

    fn begin(
        &self,
        new: &NewConversation<'_>,
        said: &mut HashMap<ConversationId, Moment>,
    ) -> Answer<Conversation> {
        let id = self.rows().begin(new)?;
        said.insert(id, self.now());
        let conversation = self.stored(id)?;
        self.tell(&ConversationEvent::Began(conversation.clone()));
        Ok(conversation)
    }

    /// Lets go of conversations of this source in which nothing was said for a day: a client begins one
    /// whenever it opens.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn forget_silent(&self, source: &str) -> Answer<()> {
        let order = Order { limit: SILENT, source: Some(source), ..Order::default() };
        let before = self.wall() - DAY;
        for one in self.rows().list(&order)? {
            if one.items == 0 && !one.is_working && one.last_active < before {
                self.delete(one.id)?;
            }
        }
        Ok(())
    }

    /// Keeps what its client chose for a conversation.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn choose(&self, id: ConversationId, chosen: &Chosen) -> Answer<()> {
        Ok(self.rows().choose(id, chosen)?)
    }

    /// Makes a conversation the current one, open again if it had ended.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn resume(&self, id: ConversationId) -> Answer<Conversation> {
        let mut said = self.said();
        let before = self.stored(id)?;
        self.rows().resume(id, self.wall())?;
        said.insert(id, self.now());
        let conversation = self.stored(id)?;
        if before.ended.is_some() {
            self.tell(&ConversationEvent::Began(conversation.clone()));
        }
        Ok(conversation)
    }

    fn note_activity(&self, id: ConversationId) {
        let now = self.now();
        self.said().insert(id, now);
    }

    /// Whether nothing was said on the live branch.
    fn is_silent(&self, open: &Conversation) -> Answer<bool> {
        match (open.items, open.branch) {
            (0, _) => Ok(true),
            (_, FIRST) => Ok(false),
            // It may have been forked before its first message.
            _ => Ok(self.rows().branches.each_of_history(open.id, None)?.is_empty()),
        }
    }
}

/// Whether this source may speak in a conversation: a program that does not speak for a person only
/// in those that such a one began, since what is answered may quote all that was said before.
fn may_speak(source: &str, conversation: &Conversation) -> bool {
    !is_foreign(source) || conversation.source == source
}

/// Conversations that are looked at for ones in which nothing was said.
const SILENT: u32 = 200;

/// Milliseconds after which such a one is let go of.
const DAY: i64 = 86_400_000;

/// The branch that every conversation begins with.
const FIRST: BranchId = BranchId(1);
