//! Two clocks that a test sets, and the conversations that use them.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{
    Arrived, Clock, ConversationError, ConversationSettings, Conversations,
};
use vault_steward::conversation::{BranchId, ConversationId, Item, ItemKind, TurnState};
use vault_steward::store::conversations::NewItem;
use vault_steward::store::{Store, StoreError};

/// The wall clock in milliseconds, and the monotonic one.
#[derive(Debug)]
pub struct Set(Mutex<(i64, Duration)>);

impl Set {
    pub fn at(wall: i64) -> Arc<Self> {
        Arc::new(Self(Mutex::new((wall, Duration::from_secs(1000)))))
    }

    /// Advances both clocks.
    pub fn pass(&self, duration: Duration) {
        let mut now = self.0.lock().unwrap();
        now.0 += i64::try_from(duration.as_millis()).unwrap();
        now.1 += duration;
    }

    /// Sets the wall clock.
    pub fn jump(&self, milliseconds: i64) {
        self.0.lock().unwrap().0 += milliseconds;
    }

    pub fn milliseconds(&self) -> i64 {
        self.0.lock().unwrap().0
    }
}

impl Clock for Set {
    fn wall(&self) -> DateTime<FixedOffset> {
        DateTime::from_timestamp_millis(self.milliseconds()).unwrap().fixed_offset()
    }

    fn running(&self) -> Duration {
        self.0.lock().unwrap().1
    }

    /// Waiting advances the time, and lets other tasks run.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.pass(duration);
        Box::pin(tokio::task::yield_now())
    }
}

/// Noon on 20 November 2026.
pub const NOON: i64 = 1_795_176_000_000;

pub const MINUTE: Duration = Duration::from_secs(60);

pub fn conversations(folder: &Path, clock: &Arc<Set>) -> Conversations {
    with(folder, clock, ConversationSettings::default())
}

pub fn with(folder: &Path, clock: &Arc<Set>, settings: ConversationSettings) -> Conversations {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let made = Conversations::new(Store::at(folder), settings, clock);
    made.trim().unwrap();
    made
}

/// A message typed in a chat, and its conversation.
pub type Typed = (NewItem, Option<ConversationId>);

pub fn message(text: &str) -> Typed {
    (item(ItemKind::User, text), None)
}

pub fn to(id: ConversationId, text: &str) -> Typed {
    (item(ItemKind::User, text), Some(id))
}

pub fn arrive(
    conversations: &Conversations,
    (item, to): &Typed,
) -> Result<Arrived, ConversationError> {
    conversations.arrive(item, "chat", *to)
}

pub fn item(kind: ItemKind, text: &str) -> NewItem {
    NewItem { kind, text: text.into(), body: None }
}

/// A message, an answer, and the end of the turn.
pub fn exchange(conversations: &Conversations, asked: &Typed, answer: &str) -> Arrived {
    let arrived = arrive(conversations, asked).unwrap();
    let end = TurnEnd {
        items: vec![item(ItemKind::Assistant, answer)],
        ..TurnEnd::plain(TurnState::Done, "")
    };
    assert!(conversations.finish_turn(arrived.conversation, arrived.turn, &end).unwrap());
    arrived
}

/// The items of a branch and its ancestors; of the live branch by default.
pub fn history(
    open: &Conversations,
    id: ConversationId,
    branch: Option<BranchId>,
) -> Result<Vec<Item>, StoreError> {
    open.store().conversations.branches.each_of_history(id, branch)?.into_iter().collect()
}
