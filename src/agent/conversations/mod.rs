//! The handle of all conversations: chooses the conversation of each message, and stores
//! everything.
//!
//! Each method makes at most one durable commit and may block on it. Messages, ends and deletions
//! are handled one after another.
//!
//! In reading order: this file (the handle), `messages`, `ending`, `branching`, `queries`, `error`.

mod branching;
mod ending;
mod error;
mod messages;
mod queries;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::clock::Clock;
use super::settings::ConversationSettings;
use crate::conversation::{Conversation, ConversationId, ItemNumber, Moment, Timeline, boundary};
use crate::locks::lock;
use crate::policy::Scope;
use crate::store::Store;
use crate::store::conversations::Conversations as Rows;

pub use error::ConversationError;
use error::Result;
pub use messages::{Arrived, DeliveryResult, TurnEnd};
pub use queries::{ConversationMatch, Excerpt};

/// The suffix of the source of messages whose token does not represent a person.
const FOREIGN: &str = " token";

/// The source of messages from programs that do not represent a person. Their conversations are
/// separate: such a program sees none of the person's, and its messages never join one by default.
pub fn foreign_source(scope: Scope) -> String {
    format!("{}{FOREIGN}", scope.word())
}

/// Whether `source` is the source of such a program.
pub fn is_foreign(source: &str) -> bool {
    source.ends_with(FOREIGN)
}

/// The conversations of one vault. Clones share them.
#[derive(Clone)]
pub struct Conversations(Arc<SharedConversations>);

struct SharedConversations {
    store: Store,
    settings: ArcSwap<ConversationSettings>,
    clock: Arc<dyn Clock>,
    timeline: Timeline,
    /// The last activity of each conversation in this run. Locked while a message's conversation is
    /// chosen.
    last_active: Mutex<HashMap<ConversationId, Moment>>,
    subscribers: Mutex<Vec<Subscriber>>,
    /// Notified when a conversation has ended.
    wake: tokio::sync::Notify,
}

type Subscriber = Box<dyn Fn(&ConversationEvent) + Send + Sync>;

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conversations").field(&self.0.store).finish()
    }
}

/// A change to a conversation as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationEvent {
    /// It began, or was resumed after its end.
    Began(Conversation),
    /// It ended. It has a title already.
    Ended(Conversation),
    /// A model improved its title and summary, or a person renamed it.
    Titled(Conversation),
    /// A retrospection was stored.
    Noted(ConversationId, ItemNumber),
    /// A person applied or rejected what was proposed in it.
    Decided(ConversationId),
    Deleted(ConversationId),
}

impl Conversations {
    /// The conversations in this store. Reads nothing yet.
    pub fn new(store: Store, settings: ConversationSettings, clock: Arc<dyn Clock>) -> Self {
        let timeline = Timeline::begin(clock.wall().timestamp_millis(), clock.running());
        Self(Arc::new(SharedConversations {
            store,
            settings: ArcSwap::from_pointee(settings),
            clock,
            timeline,
            last_active: Mutex::default(),
            subscribers: Mutex::default(),
            wake: tokio::sync::Notify::new(),
        }))
    }

    /// Replaces the settings, from the next message on; warns if a smaller limit will delete
    /// conversations.
    pub fn set_settings(&self, settings: ConversationSettings) {
        let kept = settings.kept;
        if self.0.settings.swap(Arc::new(settings)).kept != kept {
            self.warn_of_limit();
        }
    }

    pub fn settings(&self) -> Arc<ConversationSettings> {
        self.0.settings.load_full()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Calls `subscriber` for every event, in order. It must be quick and must not change a conversation.
    pub fn subscribe(&self, subscriber: Box<dyn Fn(&ConversationEvent) + Send + Sync>) {
        lock(&self.0.subscribers).push(subscriber);
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.0.store.conversations
    }

    /// Resolves once a conversation ends after this call.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + '_ {
        self.0.wake.notified()
    }

    pub(super) fn publish(&self, event: &ConversationEvent) {
        if let ConversationEvent::Ended(_) = event {
            self.0.wake.notify_one();
        }
        let subscribers = lock(&self.0.subscribers);
        subscribers.iter().for_each(|subscriber| subscriber(event));
    }

    /// Tells the subscribers that a person decided on what was proposed in a conversation.
    pub fn notify_decided(&self, id: ConversationId) {
        self.publish(&ConversationEvent::Decided(id));
    }

    pub(super) fn wall(&self) -> i64 {
        self.0.clock.wall().timestamp_millis()
    }

    fn now(&self) -> Moment {
        self.0.timeline.at(self.0.clock.running())
    }

    /// The last activity: by the monotonic clock if it was in this run, otherwise by the wall clock
    /// as of the start.
    fn last_activity(
        &self,
        activity: &HashMap<ConversationId, Moment>,
        conversation: &Conversation,
    ) -> Moment {
        let known = activity.get(&conversation.id).copied();
        known.unwrap_or_else(|| self.0.timeline.earlier(conversation.last_active))
    }

    fn stored(&self, id: ConversationId) -> Result<Conversation> {
        self.rows().get(id)?.ok_or(ConversationError::NotFound { id })
    }

    /// The current conversation, which the next message goes to; `None` if the one used last has
    /// ended or was deleted: an older open one does not take its place. The caller holds the lock
    /// `last_active`.
    fn current_locked(&self) -> Result<Option<Conversation>> {
        let newest = self.rows().newest_excluding(FOREIGN)?;
        Ok(newest.filter(|newest| newest.ended.is_none()))
    }

    fn current_of(&self, source: &str) -> Result<Option<Conversation>> {
        if !is_foreign(source) {
            return self.current_locked();
        }
        let newest = self.rows().newest_of(source)?;
        Ok(newest.filter(|newest| newest.ended.is_none()))
    }

    /// Clears a question that has expired, for display.
    fn for_display(&self, mut conversation: Conversation) -> Conversation {
        if conversation.waiting.is_some() {
            let since = self.last_activity(&lock(&self.0.last_active), &conversation);
            let limits = self.settings().limits();
            if !boundary::is_question_fresh(self.now(), since, limits) {
                conversation.waiting = None;
            }
        }
        conversation
    }

    fn publish_conversation(
        &self,
        id: ConversationId,
        event: fn(Conversation) -> ConversationEvent,
    ) {
        match self.stored(id) {
            Ok(conversation) => self.publish(&event(conversation)),
            Err(error) => {
                tracing::error!(%error, "the clients could not be informed of a conversation")
            }
        }
    }
}
