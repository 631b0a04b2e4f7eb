//! The handle of all conversations: where a message belongs, and everything that is kept of it.
//!
//! Every method is one durable commit at most and may block on it: call from a thread that may.
//! Arrivals, ends and deletions are decided one after another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use super::clock::Clock;
use super::digest::digest;
use super::settings::ConversationSettings;

use crate::conversation::excerpt::{excerpt, terms};
use crate::conversation::{
    Boundary, BranchId, Conversation, ConversationId, End, EndKind, Item, ItemKind, ItemNumber,
    Moment, Timeline, Turn, TurnId, TurnState, Waiting, boundary, decide,
};
use crate::store::conversations::{
    Branch, Ending, Hit, NewConversation, NewItem, Order, TurnEnd as StoredEnd,
};
use crate::store::usage::{UsageRow, Used};
use crate::store::{Store, StoreError};

/// Characters shown of something that was found.
const EXCERPT: usize = 160;
/// Excerpts shown of one conversation.
const EXCERPTS: usize = 3;
/// Conversations looked at in one round of [`Conversations::end_idle`].
const ROUND: u32 = 10_000;

/// The conversations of one vault. Clones share them.
#[derive(Clone)]
pub struct Conversations(Arc<Inner>);

struct Inner {
    store: Store,
    settings: ArcSwap<ConversationSettings>,
    clock: Arc<dyn Clock>,
    timeline: Timeline,
    /// When something was last said in this run; held while it is decided where a message belongs.
    said: Mutex<HashMap<ConversationId, Moment>>,
    subscribers: Mutex<Vec<Subscriber>>,
    /// Woken when a conversation has ended.
    wake: tokio::sync::Notify,
}

type Subscriber = Box<dyn Fn(&ConversationEvent) + Send + Sync>;

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conversations").field(&self.0.store).finish()
    }
}

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
    /// Whether the conversation begins with it.
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

/// Something that happened to a conversation as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationEvent {
    /// It began, or goes on again after its end.
    Began(Conversation),
    /// It ended; it has a title already.
    Ended(Conversation),
    /// A model gave it a better title and summary.
    Titled(Conversation),
    /// A look back at it was kept.
    Noted(ConversationId, ItemNumber),
    /// It was deleted.
    Deleted(ConversationId),
}

/// What was found in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The conversation.
    pub conversation: Conversation,
    /// Where in it, the newest first; empty where its title or summary alone fits.
    pub excerpts: Vec<Excerpt>,
}

/// A place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The item.
    pub item: ItemNumber,
    /// Its branch.
    pub branch: BranchId,
    /// Its kind.
    pub kind: ItemKind,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
    /// The words around what was found, on one line.
    pub text: String,
}

/// Why something could not be done with a conversation.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// There is none with this number.
    #[error("there is no conversation {id}")]
    NotFound {
        /// The number.
        id: ConversationId,
    },
    /// There is no such item, or it is no message of the person.
    #[error("conversation {id} has no message {item} of yours")]
    NoMessage {
        /// The conversation.
        id: ConversationId,
        /// The item.
        item: ItemNumber,
    },
    /// There is no such branch.
    #[error("conversation {id} has no branch {branch}")]
    NoBranch {
        /// The conversation.
        id: ConversationId,
        /// The branch.
        branch: BranchId,
    },
    /// A turn is at work in it.
    #[error("a turn is at work in conversation {id}")]
    TurnRuns {
        /// The conversation.
        id: ConversationId,
    },
    /// What was said cannot be kept or read.
    #[error("the conversations cannot be kept or read: {0}")]
    Store(#[source] StoreError),
}

impl ConversationError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => "`steward conversations list` shows what there is".to_owned(),
            Self::NoMessage { id, .. } | Self::NoBranch { id, .. } => {
                format!("`steward conversations show {id}` shows what there is")
            }
            Self::TurnRuns { .. } => "wait for its end, or cancel it".to_owned(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<StoreError> for ConversationError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { what: "conversation", number } => {
                Self::NotFound { id: ConversationId(number) }
            }
            StoreError::Conflict { conversation } => {
                Self::TurnRuns { id: ConversationId(conversation) }
            }
            error => Self::Store(error),
        }
    }
}

type Answer<T> = Result<T, ConversationError>;

impl Conversations {
    /// The conversations in this store. Touches nothing yet.
    pub fn new(store: Store, settings: ConversationSettings, clock: Arc<dyn Clock>) -> Self {
        let timeline = Timeline::begin(clock.wall().timestamp_millis(), clock.running());
        Self(Arc::new(Inner {
            store,
            settings: ArcSwap::from_pointee(settings),
            clock,
            timeline,
            said: Mutex::default(),
            subscribers: Mutex::default(),
            wake: tokio::sync::Notify::new(),
        }))
    }

    /// For whoever holds the vault alone, before any turn: marks turns that an earlier run left at
    /// work as interrupted, and lets go of conversations beyond those that are kept. The turns, so
    /// that their histories can be made whole.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn begin(&self) -> Answer<Vec<(ConversationId, TurnId)>> {
        let why = "the steward ended while it was at work";
        let interrupted = self.0.store.interrupt_turns(why, self.wall())?;
        self.trim()?;
        Ok(interrupted)
    }

    /// Gives other settings, from the next message on.
    pub fn set_settings(&self, settings: ConversationSettings) {
        self.0.settings.store(Arc::new(settings));
    }

    /// The settings that hold.
    pub fn settings(&self) -> Arc<ConversationSettings> {
        self.0.settings.load_full()
    }

    /// The clocks that it goes by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Has `hear` told of what happens to conversations, in order. It must be quick, and must not
    /// change any conversation.
    pub fn subscribe(&self, hear: Box<dyn Fn(&ConversationEvent) + Send + Sync>) {
        self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner).push(hear);
    }

    /// Takes a person's message: decides which conversation it belongs to, ends the one that no
    /// longer goes on, and begins a turn. Durable when this returns.
    ///
    /// One that names its conversation goes there, even if that had ended.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: the message is for a conversation in which a turn is at
    /// work, and nothing is recorded; [`ConversationError::NotFound`].
    pub fn arrive(&self, message: &Message) -> Answer<Arrived> {
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
        let item = NewItem {
            kind: ItemKind::User,
            text: message.text.clone(),
            body: message.body.clone(),
        };
        let goes_on_again = into.is_some_and(|open| open.ended.is_some());
        let id = into.map(|open| open.id);
        let began = into.is_none_or(|open| open.items == 0);
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

    /// Ends a conversation; one in which nothing was said is deleted instead. Whether it had not
    /// ended before.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: cancel it first; [`ConversationError::NotFound`].
    pub fn end(&self, id: ConversationId, kind: EndKind, reason: &str) -> Answer<bool> {
        let mut said = self.said();
        let conversation = self.stored(id)?;
        let has_ended = self.end_held(&mut said, &conversation, kind, reason)?;
        if has_ended {
            self.trim_held()?;
        }
        Ok(has_ended)
    }

    /// Ends what nothing was said in for as long as the settings allow, as the next message would;
    /// how many. So a conversation has its title in the evening already.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn end_idle(&self) -> Answer<usize> {
        let mut said = self.said();
        let limits = self.settings().limits();
        let open = Order { open: Some(true), limit: ROUND, before: None };
        let mut ended = 0;
        for (place, conversation) in self.0.store.conversations(&open)?.iter().enumerate() {
            let last = self.last_activity(&said, conversation);
            let waits = conversation.waiting.is_some();
            // The newest may stay empty: it is what a client has just opened.
            let is_fresh = place == 0 && conversation.items == 0;
            if !conversation.is_working
                && !is_fresh
                && let Boundary::Begin(kind) = decide(self.now(), last, waits, limits)
            {
                ended += usize::from(self.end_held(&mut said, conversation, kind, "")?);
            }
        }
        if ended > 0 {
            self.trim_held()?;
        }
        Ok(ended)
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

    /// One conversation.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn get(&self, id: ConversationId) -> Answer<Conversation> {
        Ok(self.seen(self.stored(id)?))
    }

    /// The items of the live branch, in order.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`]; [`ConversationError::Store`] where one is damaged.
    pub fn history(&self, id: ConversationId) -> Answer<Vec<Item>> {
        self.stored(id)?;
        Ok(self.0.store.history(id, None)?)
    }

    /// The items of a branch and of those it came from, in order.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`], [`ConversationError::NoBranch`].
    pub fn history_of(&self, id: ConversationId, branch: BranchId) -> Answer<Vec<Item>> {
        match self.branches(id)?.iter().any(|known| known.number == branch) {
            true => Ok(self.0.store.history(id, Some(branch))?),
            false => Err(ConversationError::NoBranch { id, branch }),
        }
    }

    /// The branches, in the order in which they began.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn branches(&self, id: ConversationId) -> Answer<Vec<Branch>> {
        self.stored(id)?;
        Ok(self.0.store.branches(id)?)
    }

    /// The turns, in order.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn turns(&self, id: ConversationId) -> Answer<Vec<Turn>> {
        self.stored(id)?;
        Ok(self.0.store.turns(id)?)
    }

    /// The conversations, the newest activity first.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn recent(&self, limit: u32) -> Answer<Vec<Conversation>> {
        self.list(&Order { limit, ..Order::default() })
    }

    /// Conversations as asked for, the newest activity first.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn list(&self, order: &Order) -> Answer<Vec<Conversation>> {
        let listed = self.0.store.conversations(order)?;
        Ok(listed.into_iter().map(|one| self.seen(one)).collect())
    }

    /// Conversations in which all words of `text` were said in one item, or stand in title and
    /// summary; those with the newest words first, at most `limit`. What stands in double quotes is
    /// looked for as a whole.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn search(&self, text: &str, limit: usize) -> Answer<Vec<Found>> {
        let terms = terms(text);
        // Many hits may lie in one conversation.
        let most = u32::try_from(limit.saturating_mul(20)).unwrap_or(u32::MAX).max(200);
        let mut found: Vec<(ConversationId, Vec<Excerpt>)> = Vec::new();
        let mut place = HashMap::new();
        for hit in self.0.store.search_items(&terms, most)? {
            let id = match &hit {
                Hit::Title(id) => *id,
                Hit::Item(item) => item.conversation,
            };
            let at = *place.entry(id).or_insert_with(|| {
                found.push((id, Vec::new()));
                found.len() - 1
            });
            if let Hit::Item(item) = hit
                && found[at].1.len() < EXCERPTS
            {
                found[at].1.push(Excerpt {
                    item: item.number,
                    branch: item.branch,
                    kind: item.kind,
                    time: item.time,
                    text: excerpt(&item.text, &terms, EXCERPT),
                });
            }
        }
        found.truncate(limit);
        let mut shown = Vec::with_capacity(found.len());
        for (id, excerpts) in found {
            if let Some(conversation) = self.0.store.conversation(id)? {
                shown.push(Found { conversation: self.seen(conversation), excerpts });
            }
        }
        Ok(shown)
    }

    /// Goes on from before a message of the person: what came from it on is kept as the branch it
    /// was in. The conversation is the current one from now on.
    ///
    /// # Errors
    /// [`ConversationError::NoMessage`], [`ConversationError::TurnRuns`].
    pub fn fork(&self, id: ConversationId, item: ItemNumber) -> Answer<BranchId> {
        let mut said = self.said();
        let before = self.stored(id)?;
        let message = self.0.store.item(id, item)?;
        if !message.is_some_and(|message| message.kind == ItemKind::User) {
            return Err(ConversationError::NoMessage { id, item });
        }
        let branch = self.0.store.fork(id, item, self.wall())?;
        said.insert(id, self.now());
        if before.ended.is_some() {
            self.tell_of(id, ConversationEvent::Began);
        }
        Ok(branch)
    }

    /// Goes on with another branch.
    ///
    /// # Errors
    /// [`ConversationError::NoBranch`], [`ConversationError::TurnRuns`].
    pub fn switch(&self, id: ConversationId, branch: BranchId) -> Answer<()> {
        let mut said = self.said();
        let before = self.stored(id)?;
        self.0.store.switch_branch(id, branch, self.wall()).map_err(|error| match error {
            StoreError::Unknown { what: "branch", .. } => {
                ConversationError::NoBranch { id, branch }
            }
            error => error.into(),
        })?;
        said.insert(id, self.now());
        if before.ended.is_some() {
            self.tell_of(id, ConversationEvent::Began);
        }
        Ok(())
    }

    /// Deletes a conversation and all that was said in it. What models cost stays counted by day,
    /// and the daily copies of the database keep it for as long as they are kept.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`], [`ConversationError::NotFound`].
    pub fn delete(&self, id: ConversationId) -> Answer<()> {
        let mut said = self.said();
        match self.0.store.delete_conversation(id)? {
            true => {
                said.remove(&id);
                self.tell(&ConversationEvent::Deleted(id));
                Ok(())
            }
            false => Err(ConversationError::NotFound { id }),
        }
    }

    /// Deletes every conversation that has ended; how many.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn clear(&self) -> Answer<usize> {
        let _said = self.said();
        Ok(self.deleted(self.0.store.clear_conversations()?))
    }

    /// Lets go of the oldest ended conversations beyond those that are kept; how many.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn trim(&self) -> Answer<usize> {
        let _said = self.said();
        self.trim_held()
    }

    /// Keeps what a model is given at the beginning of a conversation, once; what holds.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn keep_context(&self, id: ConversationId, context: &str) -> Answer<String> {
        Ok(self.0.store.keep_context(id, context)?)
    }

    /// What the model was given at the beginning of a conversation, if it was kept.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn context(&self, id: ConversationId) -> Answer<Option<String>> {
        Ok(self.0.store.context_of(id)?)
    }

    /// Counts what a model was used for in a conversation, today.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn count_usage(&self, id: ConversationId, model: &str, used: Used) -> Answer<()> {
        let day = self.0.clock.wall().format("%Y-%m-%d").to_string();
        let row = UsageRow { day, model: model.to_owned(), conversation: Some(id), used };
        Ok(self.0.store.count_usage(&row)?)
    }

    /// What models were used for in the last so many days, today included; all with `None`.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn usage(
        &self,
        days: Option<u32>,
        conversation: Option<ConversationId>,
    ) -> Answer<Vec<UsageRow>> {
        let back = |days: u32| chrono::Days::new(u64::from(days.saturating_sub(1)));
        let since = days.and_then(|days| self.0.clock.wall().checked_sub_days(back(days)));
        let since = since.map(|day| day.format("%Y-%m-%d").to_string());
        Ok(self.0.store.usage(since.as_deref(), conversation)?)
    }

    /// The store below, for what else is kept there.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Waits until a conversation has ended after this was called.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + '_ {
        self.0.wake.notified()
    }

    /// Tells subscribers.
    pub(super) fn tell(&self, event: &ConversationEvent) {
        if let ConversationEvent::Ended(_) = event {
            self.0.wake.notify_one();
        }
        let subscribers = self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().for_each(|hear| hear(event));
    }

    pub(super) fn wall(&self) -> i64 {
        self.0.clock.wall().timestamp_millis()
    }

    fn now(&self) -> Moment {
        self.0.timeline.at(self.0.clock.running())
    }

    fn said(&self) -> MutexGuard<'_, HashMap<ConversationId, Moment>> {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_activity(&self, id: ConversationId) {
        let now = self.now();
        self.said().insert(id, now);
    }

    /// By the clock that never jumps for what was said in this run, else by the wall clock as it
    /// was at the start.
    fn last_activity(
        &self,
        said: &HashMap<ConversationId, Moment>,
        conversation: &Conversation,
    ) -> Moment {
        let known = said.get(&conversation.id).copied();
        known.unwrap_or_else(|| self.0.timeline.earlier(conversation.last_active))
    }

    fn stored(&self, id: ConversationId) -> Answer<Conversation> {
        self.0.store.conversation(id)?.ok_or(ConversationError::NotFound { id })
    }

    fn newest_open(&self) -> Answer<Option<Conversation>> {
        let order = Order { open: Some(true), limit: 1, before: None };
        Ok(self.0.store.conversations(&order)?.pop())
    }

    /// As it is shown: a question that waited too long waits no more.
    fn seen(&self, mut conversation: Conversation) -> Conversation {
        if conversation.waiting.is_some() {
            let since = self.last_activity(&self.said(), &conversation);
            let limits = self.settings().limits();
            if !boundary::is_question_fresh(self.now(), since, limits) {
                conversation.waiting = None;
            }
        }
        conversation
    }

    fn ending(&self, id: ConversationId, end: End, last: &[NewItem]) -> Ending {
        let settings = self.settings();
        let history = self.0.store.readable_history(id).unwrap_or_else(|error| {
            // What cannot be read must not keep the conversation from ending.
            tracing::error!(%error, conversation = %id, "it ends without being read");
            Vec::new()
        });
        let digest = digest(
            history
                .iter()
                .map(|item| (item.kind, &*item.text, item.body.as_deref()))
                .chain(last.iter().map(|item| (item.kind, &*item.text, item.body.as_deref()))),
        );
        Ending {
            conversation: id,
            end,
            titled: digest.titled(),
            wants_title: settings.titles_by_model,
            wants_note: settings.retrospection,
        }
    }

    fn end_held(
        &self,
        said: &mut HashMap<ConversationId, Moment>,
        conversation: &Conversation,
        kind: EndKind,
        reason: &str,
    ) -> Answer<bool> {
        let id = conversation.id;
        if conversation.is_working {
            return Err(ConversationError::TurnRuns { id });
        }
        if conversation.items == 0 && conversation.ended.is_none() {
            let gone = self.0.store.delete_conversation(id)?;
            said.remove(&id);
            self.deleted(vec![id]);
            return Ok(gone);
        }
        let end = End { at: self.wall(), kind, reason: reason.to_owned() };
        let has_ended = self.0.store.end_conversation(&self.ending(id, end, &[]))?;
        said.remove(&id);
        if has_ended {
            self.tell_of(id, ConversationEvent::Ended);
        }
        Ok(has_ended)
    }

    fn trim_held(&self) -> Answer<usize> {
        match self.settings().kept {
            0 => Ok(0),
            kept => Ok(self.deleted(self.0.store.trim_conversations(kept)?)),
        }
    }

    fn deleted(&self, ids: Vec<ConversationId>) -> usize {
        ids.iter().for_each(|id| self.tell(&ConversationEvent::Deleted(*id)));
        ids.len()
    }

    fn tell_of(&self, id: ConversationId, event: fn(Conversation) -> ConversationEvent) {
        match self.stored(id) {
            Ok(conversation) => self.tell(&event(conversation)),
            Err(error) => tracing::error!(%error, "nobody could be told of a conversation"),
        }
    }
}
