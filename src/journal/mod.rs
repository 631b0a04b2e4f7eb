//! Change sets, and the only code that applies them to the vault.
//!
//! Floor 3. Owns the vault's only [`Writer`]. A tool passes [`Change`]s to
//! `edits`, which makes a [`ChangeSet`] of them; [`Journal::apply`] applies it. An undo is planned here.
//!
//! Invariants:
//! - One change set at a time: callers queue, and no caller sees a half-applied set.
//! - Nothing is done unrecorded: the old and new texts and the intent are durable before anything
//!   changes; the end is durable before it is acknowledged.
//! - All or nothing: a set that fails is rolled back in reverse order, and the error names what
//!   could not be rolled back. After a crash [`Journal::recover`] does the same.
//! - Every write states what it expects to find, and is refused if the file differs.
//!
//! [`Journal`] is a handle: `parts` holds the vault, the rows and the texts; `apply` is the only
//! executor; callers get [`History`], [`Trash`] and [`StoredTexts`] from it.
//!
//! Reading order: [`change`](Change) (the values), `plan` (a set becomes steps, old texts are
//! stored), `step` (steps and their rows), `execute` (runs them), `apply` (the order of it all);
//! `recovery`, `status`, `progress`, `rollback` and `on_disk` (after a crash); `undo`, `undo_plan`,
//! `inverse`, `overlay`, `obstacle`, `rename_counts`, `file_history`, `location`, `follow`,
//! `merging`, `preview` (what an undo will do); `deleted`, `trashed` and `emptying` (the trash);
//! `listing`; `as_of` (the vault at an earlier moment); `retention`.

mod apply;
mod as_of;
mod change;
mod deleted;
mod emptying;
mod error;
mod execute;
mod file_history;
mod follow;
mod inverse;
mod listing;
mod location;
mod merging;
mod now_at;
mod obstacle;
mod on_disk;
mod overlay;
mod parts;
mod plan;
mod preview;
mod progress;
mod recovery;
mod rename_counts;
mod retention;
mod rollback;
mod settings;
mod status;
mod step;
mod trashed;
mod undo;
mod undo_plan;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use apply::Sink;
pub use as_of::{AsOf, Content, Gap, Moment, PastState, PointInTime, TreeEntry};
pub use change::{
    Applied, Change, ChangeId, ChangeSet, ChangeSetId, NoTarget, Origin, Outcome, Phase, Progress,
    Target,
};
pub use deleted::{Restored, Trash, TrashItem, TrashPlace};
pub use emptying::{Emptied, Empty};
pub use error::{JournalError, UndoError};
pub use follow::{Follow, NameStep};
pub use listing::{Action, Difference, History, ListedChange, ListedSet, Query, SetKind, Texts};
pub use now_at::Trace;
pub use preview::{PreviewAction, PreviewStep, Review, TextSource};
pub use recovery::Recovered;
pub use retention::{Freed, StoredTexts, Verified};
pub use settings::Settings;
pub use undo::Undone;

use crate::locks::write;
use crate::store::{Prepared, Store, StoreError};
use crate::vault::Writer;
use apply::Executor;
use parts::Parts;

/// The writer of a vault and its history. Clones share one journal.
#[derive(Clone)]
pub struct Journal(Arc<SharedJournal>);

struct SharedJournal {
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
    /// A journal that writes through `writer` and records in `store`. Opens no database yet, so
    /// that a process that only reads does not wait for one.
    pub fn open(writer: Writer, store: Store, settings: Settings) -> Self {
        let executor = Executor::new(writer, &store, settings);
        Self(Arc::new(SharedJournal { store, executor }))
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    fn parts(&self) -> &Parts {
        &self.0.executor.parts
    }

    /// Calls `sink` after each change set that was applied, undone or restored, once it is durable.
    /// When a later call of the same turn extends a change set, `sink` gets only what that call
    /// did.
    pub fn subscribe(&self, sink: Sink) {
        write(&self.0.executor.sinks).push(sink);
    }

    /// Applies new settings from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        self.0.executor.settings.store(Arc::new(settings));
    }

    /// Lists past change sets.
    pub fn history(&self) -> &History {
        &self.0.executor.history
    }

    /// Lists and restores deleted files and folders.
    pub fn trash(&self) -> Trash<'_> {
        Trash(&self.0.executor)
    }

    /// The stored texts, and how long they are kept.
    pub fn texts(&self) -> StoredTexts<'_> {
        StoredTexts(&self.0.executor)
    }

    /// Applies a change set; it is durable when this returns.
    ///
    /// The old and new texts are stored and the intent is recorded before anything changes. The end
    /// is recorded before this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], [`JournalError::Store`] or [`JournalError::Limit`]: nothing has
    /// changed. [`JournalError::Half`]: something could not be rolled back.
    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        self.apply_with_progress(set, origin, &())
    }

    /// Like [`Self::apply`], and reports progress once the limits are checked.
    pub fn apply_with_progress(
        &self,
        set: &ChangeSet,
        origin: &Origin,
        progress: &dyn Progress,
    ) -> Result<Applied, JournalError> {
        self.0.executor.apply(set, origin, progress)
    }

    /// Checks that one turn may delete and move this many files without a person's agreement. For
    /// work that is applied in several sets: it should be refused before the first set, not at the
    /// last.
    pub fn check_limits(
        &self,
        deleted: usize,
        moved: usize,
        origin: &Origin,
    ) -> Result<(), JournalError> {
        self.0.executor.check_counts(deleted, moved, origin)
    }

    /// Undoes a change set or one change of it, as a new change set. All or nothing: obstacles are
    /// found before anything is done.
    ///
    /// If a file has changed since, only this change is removed from it, provided that the later
    /// edits are in other lines; the file is found even if it was moved. If the edits overlap,
    /// `force` puts the whole earlier file back and stores the newer text, so that undoing the undo
    /// restores it. If the file is gone, `force` writes it again.
    ///
    /// Writes what `follow` returns in the same change set. Runs only if `review` returns `true`.
    ///
    /// # Errors
    /// [`UndoError`]; nothing has changed.
    pub fn undo_with(
        &self,
        target: Target,
        force: bool,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Undone, UndoError> {
        undo::undo(&self.0.executor, target, None, force, origin, follow, review)
    }

    /// Like [`Self::undo_with`] without force, for the changes of a set with the numbers `only`;
    /// all of them or none.
    pub fn undo_some(
        &self,
        set: ChangeSetId,
        only: &BTreeSet<u32>,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Undone, UndoError> {
        let target = Target::Set(set);
        undo::undo(&self.0.executor, target, Some(only), false, origin, follow, review)
    }

    /// Removes deleted files and folders for good: the only operation that cannot be undone. Items
    /// given by name also lose their texts in the journal, except texts that other changes use. By
    /// age, only items known to be old enough are removed, and only from the trash; their texts
    /// stay until their retention ends. The system's trash is never touched.
    pub fn empty_trash(&self, what: &Empty) -> Result<Emptied, JournalError> {
        emptying::empty(&self.0.executor, what)
    }

    /// Repairs the store, then ends each unfinished operation: one whose steps were all done counts
    /// as done, any other is rolled back in reverse order. Later changes by others are left alone.
    ///
    /// Leftovers that the journal does not know are then moved out of the vault, never deleted.
    /// Only the process that holds the vault exclusively may call this. It can be interrupted at
    /// any point and called again.
    pub fn recover(&self) -> Result<Recovered, JournalError> {
        self.recover_prepared(self.0.store.database.prepare())
    }

    /// The second half of [`Self::recover`], given the result of repairing the store. The repair
    /// needs no vault, so that startup runs it in parallel.
    pub fn recover_prepared(
        &self,
        prepared: Result<Prepared, StoreError>,
    ) -> Result<Recovered, JournalError> {
        let _guard = self.0.executor.exclusive();
        self.0.executor.recover(prepared?.warnings)
    }
}

/// Milliseconds since the Unix epoch.
fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
