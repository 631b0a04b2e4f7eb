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
//! [`Journal`] is a handle over named parts: `parts` is what they work with, `apply` has the one
//! executor of all changes; [`History`], [`Trash`] and [`KeptTexts`] are handed out.
//!
//! In reading order: [`change`](Change) (the values), `plan` (a set becomes steps, old texts are
//! kept), `step` (steps and their rows), `execute` (doing them), `apply` (the order of it all),
//! `recovery`, `standing` and `rollback` over `remains` (after a crash), `undo` over `undoing` (the plan),
//! `picture`, `obstacle`, `marks`, `fate` and `whereabouts`, `follow` and `merging`, `opposite`, `prospect` (what
//! an undo is about to do), `deleted` and `emptying` over `trashed`, `listing`, `keeping`.

mod apply;
mod change;
mod deleted;
mod emptying;
mod error;
mod execute;
mod fate;
mod follow;
mod keeping;
mod listing;
mod marks;
mod merging;
mod obstacle;
mod opposite;
mod parts;
mod picture;
mod plan;
mod prospect;
mod recovery;
mod remains;
mod rollback;
mod settings;
mod standing;
mod step;
mod trashed;
mod undo;
mod undoing;
mod whereabouts;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use apply::Sink;
pub use change::{
    Applied, Change, ChangeId, ChangeSet, ChangeSetId, NoTarget, Origin, Outcome, Target,
};
pub use deleted::{Restored, Trash, TrashItem, TrashPlace};
pub use emptying::{Emptied, Empty};
pub use error::{JournalError, UndoError};
pub use follow::{Follow, NameStep};
pub use keeping::{Freed, KeptTexts, Verified};
pub use listing::{Action, Difference, History, ListedChange, ListedSet, Query, SetKind, Texts};
pub use prospect::{Prospect, Prospected, Review, Text};
pub use recovery::Recovered;
pub use settings::Settings;
pub use undo::Undone;

use crate::store::{Prepared, Store, StoreError};
use crate::vault::Writer;
use apply::Executor;
use parts::Parts;

/// The writer of a vault and its memory. Clones share it.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    store: Store,
    executor: Executor,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("vault", &self.parts().vault().root())
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// The journal of the vault of this writer, kept in `store`. Touches nothing yet: who only reads
    /// waits for no database.
    pub fn open(writer: Writer, store: Store, settings: Settings) -> Self {
        let executor = Executor::new(writer, &store, settings);
        Self(Arc::new(Inner { store, executor }))
    }

    /// The store below, for what else is kept there.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    fn parts(&self) -> &Parts {
        &self.0.executor.parts
    }

    /// Calls `sink` once for each change set that is applied, undone or restored, after it is
    /// durable; for a further call in the same turn with what that call did.
    pub fn subscribe(&self, sink: Sink) {
        self.0.executor.sinks.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Goes by these settings from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        self.0.executor.settings.store(Arc::new(settings));
    }

    /// What was done.
    pub fn history(&self) -> &History {
        &self.0.executor.history
    }

    /// What was deleted and can be brought back.
    pub fn trash(&self) -> Trash<'_> {
        Trash(&self.0.executor)
    }

    /// The kept texts, and how long they are kept.
    pub fn texts(&self) -> KeptTexts<'_> {
        KeptTexts(&self.0.executor)
    }

    /// Applies a set: durable when this returns.
    ///
    /// The old and the new texts are kept and what is intended is recorded before anything is
    /// changed; that it was done is recorded before this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], [`JournalError::Store`], [`JournalError::Limit`], and everything
    /// is as it was; [`JournalError::Half`] where something could not be taken back.
    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        self.0.executor.apply(set, origin)
    }

    /// Takes back a change set or one change of it, as a new change set. All or nothing: what
    /// stands in the way is found before anything is done.
    ///
    /// Out of a file that has changed since only this change is taken, where the two are of other
    /// lines; wherever it is by now. Where they are of the same ones, `force` puts the whole file
    /// back: the newer text is kept with the undo, whose own undo brings it back. A file that is gone
    /// is written anew by `force`.
    ///
    /// # Errors
    /// [`UndoError`]; nothing was changed then.
    pub fn undo(&self, target: Target, force: bool, origin: &Origin) -> Result<Undone, UndoError> {
        self.undo_with(target, force, origin, &mut |_| Vec::new(), &mut |_| true)
    }

    /// As [`Self::undo`], and writes with it what `follow` gives, in the same change set, if
    /// `review` lets it.
    ///
    /// # Errors
    /// As [`Self::undo`], and [`UndoError::Refused`].
    pub fn undo_with(
        &self,
        target: Target,
        force: bool,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Undone, UndoError> {
        undo::undo(&self.0.executor, target, force, origin, follow, review)
    }

    /// Removes deleted things for good: the one act that cannot be undone. What is named goes from
    /// the journal too, but for texts that other changes have; by age only what is known to be old
    /// enough goes, out of the trash alone: its texts stay until their time is over. Never what is in
    /// the system's trash.
    pub fn empty_trash(&self, what: &Empty) -> Result<Emptied, JournalError> {
        emptying::empty(&self.0.executor, what)
    }

    /// Makes the store sound, then finds out how far each unfinished operation came: one that was
    /// done whole counts as done, any other is taken back, in reverse. What somebody has changed
    /// since is left alone.
    ///
    /// What the journal does not know of is moved out of the vault then, never deleted. For whoever
    /// holds the vault alone. It may be cut short at any moment and called again.
    ///
    /// # Errors
    /// [`JournalError::Store`] if the store cannot be used.
    pub fn recover(&self) -> Result<Recovered, JournalError> {
        self.recover_prepared(self.0.store.database.prepare())
    }

    /// The second half of [`Self::recover`], with what came of making the store sound: that needs no
    /// vault, so a start does it meanwhile.
    ///
    /// # Errors
    /// As [`Self::recover`].
    pub fn recover_prepared(
        &self,
        prepared: Result<Prepared, StoreError>,
    ) -> Result<Recovered, JournalError> {
        let _alone = self.0.executor.alone();
        self.0.executor.recover(prepared?.warnings)
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
