//! Changes as values, and the one place that applies them.
//!
//! May import `note`, `vault` and `store`. Owns the vault's only [`Writer`]: a tool, a plan or
//! an undo makes a [`ChangeSet`], a dry run shows it, [`Journal::apply`] does it.
//!
//! Invariants:
//! - One change set at a time: callers queue, none sees another's half.
//! - Nothing is done that is not recorded: the old and the new texts and the intent are durable
//!   before anything changes, the end is before it is acknowledged.
//! - All or nothing: a set that fails is taken back, in reverse order, and the error says what
//!   could not be; after a crash [`Journal::recover`] does the same.
//! - Every write names what it expects to find, and is refused if something else is there.
//!
//! In reading order: [`change`](Change) (the values), `plan` (a set becomes steps, old texts are
//! kept), `step` (steps and their rows), `execute` (doing them), `apply` (the order of it all),
//! `recovery`, `standing` and `rollback` (after a crash), `undo` over `opposite`, `merging`, `whereabouts`,
//! `obstacle` and `picture`, `follow`, `prospect` (what an undo is about to do), `deleted`, `emptying`,
//! `listing`, `keeping`.

mod apply;
mod change;
mod deleted;
mod emptying;
mod error;
mod execute;
mod follow;
mod keeping;
mod listing;
mod merging;
mod obstacle;
mod opposite;
mod picture;
mod plan;
mod prospect;
mod recovery;
mod rollback;
mod settings;
mod standing;
mod step;
mod undo;
mod whereabouts;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub use change::{
    Applied, Change, ChangeId, ChangeSet, ChangeSetId, NoTarget, Origin, Outcome, Target,
};
pub use deleted::{Restored, TrashItem, TrashPlace};
pub use emptying::{Emptied, Empty};
pub use error::{JournalError, UndoError};
pub use follow::{Follow, NameStep};
pub use keeping::{Freed, Verified};
pub use listing::{Action, Difference, ListedChange, ListedSet, Query, SetKind};
pub use prospect::{Prospect, Prospected, Review, Text};
pub use recovery::Recovered;
pub use settings::Settings;
pub use undo::Undone;

use arc_swap::ArcSwap;

use crate::store::Store;
use crate::vault::{Reader, Writer};

/// Hears of every change set that was applied or undone.
pub type Sink = Box<dyn Fn(&ListedSet) + Send + Sync>;

/// The writer of a vault and its memory. Clones share it.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    writer: Writer,
    store: Store,
    settings: ArcSwap<Settings>,
    /// Held while a change set is applied.
    turn: Mutex<()>,
    /// Operations that were taken back and whose end could not be recorded: nothing new is begun
    /// before it is.
    unrecorded: Mutex<Vec<i64>>,
    marks: Mutex<whereabouts::Marks>,
    sinks: RwLock<Vec<Sink>>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("vault", &self.vault().root()).finish_non_exhaustive()
    }
}

impl Journal {
    /// The journal of the vault of this writer, kept in `store`. Touches nothing yet: who only reads
    /// waits for no database.
    pub fn open(writer: Writer, store: Store, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            writer,
            store,
            settings: ArcSwap::from_pointee(settings),
            turn: Mutex::default(),
            unrecorded: Mutex::default(),
            marks: Mutex::default(),
            sinks: RwLock::default(),
        }))
    }

    /// The store below, for what else is kept there.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Calls `sink` once for each change set that is applied, undone or restored, after it is
    /// durable; for a further call in the same turn with what that call did.
    pub fn subscribe(&self, sink: Sink) {
        self.0.sinks.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    fn vault(&self) -> &Reader {
        self.0.writer.vault()
    }

    fn writer(&self) -> &Writer {
        &self.0.writer
    }

    /// Goes by these settings from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        self.0.settings.store(Arc::new(settings));
    }

    fn settings(&self) -> Arc<Settings> {
        self.0.settings.load_full()
    }

    /// Waits until nobody else changes the vault.
    fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.0.turn)
    }

    fn tell(&self, set: &ListedSet) {
        let sinks = self.0.sinks.read().unwrap_or_else(PoisonError::into_inner);
        sinks.iter().for_each(|sink| sink(set));
    }
}

/// A panic elsewhere never makes the journal unusable: what it guards is whole between two
/// statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since the Unix epoch.
fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
