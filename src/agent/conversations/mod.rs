//! The handle of all conversations: where a message belongs, and everything that is kept of it.
//!
//! Every method is one durable commit at most and may block on it: call from a thread that may.
//! Arrivals, ends and deletions are decided one after another.
//!
//! In reading order: this page (the handle itself), `arriving`, `ending`, `branching`, `looking`,
//! `error`.

mod arriving;
mod branching;
mod ending;
mod error;
mod looking;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use super::clock::Clock;
use super::settings::ConversationSettings;
use crate::conversation::{Conversation, ConversationId, ItemNumber, Moment, Timeline, boundary};
use crate::policy::Scope;
use crate::store::Store;
use crate::store::conversations::Conversations as Rows;

pub use arriving::{Arrived, Taken, TurnEnd};
use error::Answer;
pub use error::ConversationError;
pub use looking::{Excerpt, Found};

/// What the source of messages ends with that came with a token which does not speak for a person.
const FOREIGN: &str = " token";

/// The source of what a program says that does not speak for a person. Its conversations are apart
/// from the person's: it sees none of those, and is in none of them by its words alone.
pub fn foreign_source(scope: Scope) -> String {
    format!("{}{FOREIGN}", scope.word())
}

/// Whether this is the source of such a program.
pub fn is_foreign(source: &str) -> bool {
    source.ends_with(FOREIGN)
}

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

/// Something that happened to a conversation as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationEvent {
    /// It began, or goes on again after its end.
    Began(Conversation),
    /// It ended; it has a title already.
    Ended(Conversation),
    /// A model gave it a better title and summary, or a person a title.
    Titled(Conversation),
    /// A look back at it was kept.
    Noted(ConversationId, ItemNumber),
    Deleted(ConversationId),
}

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

    /// Gives other settings, from the next message on; says what goes by them.
    pub fn set_settings(&self, settings: ConversationSettings) {
        let kept = settings.kept;
        if self.0.settings.swap(Arc::new(settings)).kept != kept {
            self.warn_of_limit();
        }
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

    /// The store below, for what else is kept there.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.0.store.conversations
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
        self.rows().get(id)?.ok_or(ConversationError::NotFound { id })
    }

    /// The conversation that the next message goes to; none where the one that was last spoken in
    /// has ended or was deleted: an earlier one that is still open is not fallen back to. For whoever
    /// holds `said`.
    fn current_held(&self) -> Answer<Option<Conversation>> {
        let newest = self.rows().newest_but(FOREIGN)?;
        Ok(newest.filter(|newest| newest.ended.is_none()))
    }

    /// The conversation that the next message of this source goes to.
    fn current_of(&self, source: &str) -> Answer<Option<Conversation>> {
        if !is_foreign(source) {
            return self.current_held();
        }
        let newest = self.rows().newest_of(source)?;
        Ok(newest.filter(|newest| newest.ended.is_none()))
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

    fn tell_of(&self, id: ConversationId, event: fn(Conversation) -> ConversationEvent) {
        match self.stored(id) {
            Ok(conversation) => self.tell(&event(conversation)),
            Err(error) => tracing::error!(%error, "nobody could be told of a conversation"),
        }
    }
}
