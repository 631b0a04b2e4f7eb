//! What comes in while conversations go on: messages, what is said in a turn, the turn's end.

use super::error::{Answer, ConversationError};
use super::{ConversationEvent, Conversations};
use crate::conversation::{
    Boundary, BranchId, Conversation, ConversationId, End, EndKind, ItemKind, ItemNumber, TurnId,
    TurnState, Waiting, boundary, decide,
};
use crate::store::conversations::{NewConversation, NewItem, TurnEnd as StoredEnd};

/// A person's message.
#[derive(Debug, Clone)]
pub struct Message {
    /// What it says.
    pub text: String,
    /// The rest, as JSON.
    pub body: Option<String>,
    /// Where from: `chat`, `voice`, `cli`.
    pub source: String,
    /// The conversation it is for; none: the one that goes on, or the next.
    pub conversation: Option<ConversationId>,
}

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
    /// The conversation that ended by it.
    pub ended: Option<ConversationId>,
    /// The question that it answers.
    pub answers: Option<Waiting>,
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
    /// Takes a person's message: decides which conversation it belongs to, ends the one that no
    /// longer goes on, and begins a turn. Durable when this returns.
    ///
    /// One that names its conversation goes there, even if that had ended.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: the message is for a conversation in which a turn is at
    /// work, and nothing is recorded; [`ConversationError::NotFound`].
    pub fn arrive(&self, message: &Message) -> Answer<Arrived> {
        self.arriving(message, ItemKind::User)
    }

    /// Begins a turn in the conversation that `notice` names, with this notice in the place of
    /// something said: a turn that was cut short is gone on with. Durable when this returns.
    ///
    /// # Errors
    /// As [`Conversations::arrive`].
    pub fn go_on(&self, notice: &Message) -> Answer<Arrived> {
        self.arriving(notice, ItemKind::Notice)
    }

    fn arriving(&self, message: &Message, kind: ItemKind) -> Answer<Arrived> {
        let mut said = self.said();
        let (now, wall) = (self.now(), self.wall());
        let limits = self.settings().limits();
        let before = match message.conversation {
            Some(id) => Some(self.stored(id)?),
            None => self.newest_open()?,
        };
        let mut ends = None;
        if let Some(open) = &before {
            if open.is_working {
                return Err(ConversationError::TurnRuns { id: open.id });
            }
            let last = self.last_activity(&said, open);
            let is_named = message.conversation.is_some();
            // In one in which nothing was said yet there is nothing to part from.
            if !is_named
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
        let new = NewConversation { source: &message.source, began: wall };
        let item = NewItem { kind, text: message.text.clone(), body: message.body.clone() };
        let goes_on_again = into.is_some_and(|open| open.ended.is_some());
        let id = into.map(|open| open.id);
        let began = into.map_or(Ok(true), |open| self.is_silent(open))?;
        let kept = self.0.store.arrive(&new, id, ends.as_ref(), &item)?;
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
        Ok(Arrived {
            conversation: kept.conversation,
            turn: kept.turn,
            item: kept.item,
            began,
            ended,
            answers,
        })
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
        let number = self.0.store.append_items(conversation, turn, self.wall(), items)?;
        self.note_activity(conversation);
        Ok(number)
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
        let was_running = self.0.store.finish_turn(turn, &stored)?;
        said.insert(conversation, self.now());
        if was_running && ends.is_some() {
            said.remove(&conversation);
            self.tell_of(conversation, ConversationEvent::Ended);
            self.trim_held()?;
        }
        Ok(was_running)
    }

    /// The conversation that goes on: of those that have not ended the one last active. Whether the
    /// next message still belongs to it is decided when it arrives.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn current(&self) -> Answer<Option<Conversation>> {
        Ok(self.newest_open()?.map(|open| self.seen(open)))
    }

    /// Begins a conversation, which is the current one from now on; the one before stays open. One
    /// of the same source in which nothing was said yet is taken again.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn open_new(&self, source: &str) -> Answer<Conversation> {
        let mut said = self.said();
        let open = self.newest_open()?;
        if let Some(empty) = open.filter(|open| open.items == 0 && open.source == source) {
            said.insert(empty.id, self.now());
            return Ok(empty);
        }
        let new = NewConversation { source, began: self.wall() };
        let id = self.0.store.begin_conversation(&new)?;
        said.insert(id, self.now());
        let conversation = self.stored(id)?;
        self.tell(&ConversationEvent::Began(conversation.clone()));
        Ok(conversation)
    }

    /// Makes a conversation the current one, open again if it had ended.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn resume(&self, id: ConversationId) -> Answer<Conversation> {
        let mut said = self.said();
        let before = self.stored(id)?;
        self.0.store.resume_conversation(id, self.wall())?;
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
            _ => Ok(self.0.store.history(open.id, None)?.is_empty()),
        }
    }
}

/// The branch that every conversation begins with.
const FIRST: BranchId = BranchId(1);
