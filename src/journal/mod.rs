//! Changes as values, and the one place that applies them.
//!
//! May import `note` and `vault`. The only caller of [`Vault::writer`]: a tool, a plan or an undo
//! makes a [`ChangeSet`], a dry run shows it, [`Journal::apply`] does it.
//!
//! Invariants:
//! - One change set at a time: callers queue, none sees another's half.
//! - All or nothing: a set that fails is taken back, in reverse order, and the error says what
//!   could not be.
//! - Every write names what it expects to find, and is refused if something else is there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::note::path::VaultPath;
use crate::vault::{Before, Saved, Staged, Trashed, Vault, VaultError, Writer};

/// Changes that go together: applied all or not at all, and later undone as one.
#[derive(Debug, Clone)]
pub struct ChangeSet {
    /// What it does, for people: "edit `Projects/Garden.md`".
    pub title: String,
    /// The changes. Paths are those before the set is applied: writes come first, then moves, then
    /// deletions.
    pub changes: Vec<Change>,
}

/// One change of the vault, as a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file gets this content; missing folders are made.
    Write {
        /// Its path, as spelt on disk where it exists.
        path: VaultPath,
        /// All of its new bytes.
        content: Vec<u8>,
        /// What must be there now.
        before: Before,
    },
    /// A folder and those above it exist.
    CreateFolder {
        /// Its path.
        path: VaultPath,
    },
    /// A file or folder gets another path; missing folders are made, nothing is replaced.
    Move {
        /// Its path now.
        from: VaultPath,
        /// Its path afterwards.
        to: VaultPath,
    },
    /// A file, link or folder goes where the vault's settings say.
    Delete {
        /// Its path.
        path: VaultPath,
        /// For a file, what must be there now.
        before: Before,
    },
}

/// Who asks for a change; kept with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The program that asks: `steward`, or the name a client gave of itself.
    pub caller: String,
    /// The conversation it was asked for in.
    pub conversation: Option<String>,
    /// The turn it belongs to. All that is applied in one turn is one change set; without a turn
    /// each call of [`Journal::apply`] is.
    pub turn: Option<String>,
    /// Whether a person has agreed to go beyond the limits of [`Settings`].
    pub confirmed: bool,
}

/// How careful this room is; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Notes that one turn may delete before a person has to agree. 0: no limit.
    pub max_deleted: usize,
    /// Notes that one turn may move before a person has to agree. 0: no limit.
    pub max_moved: usize,
    /// Percent of the vault's notes that one turn may delete or move before a person has to agree,
    /// where that is more than ten notes. 0: no limit.
    pub max_percent: usize,
    /// Versions kept of each file.
    pub versions: usize,
    /// Days that versions are kept.
    pub days: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_deleted: 20, max_moved: 200, max_percent: 10, versions: 50, days: 30 }
    }
}

/// The number of a change set: what a person or a program says to undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeSetId(pub u64);

impl std::fmt::Display for ChangeSetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A change set that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Its number.
    pub change_set: ChangeSetId,
    /// What became of each change, in their order.
    pub outcomes: Vec<Outcome>,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A file was written.
    Written(Saved),
    /// Folders were made, outermost first; none if the folder was there.
    Folders(Vec<VaultPath>),
    /// It has its new path.
    Moved,
    /// It was deleted.
    Deleted(Trashed),
}

/// Why a change set was not applied.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A change could not be made; everything is as it was.
    #[error(transparent)]
    Change(#[from] VaultError),
    /// A change could not be made, and some of those before it could not be taken back.
    #[error("{error}; and {} of the changes before it could not be taken back: {}", left.len(), left.join("; "))]
    Half {
        /// What stopped the set.
        #[source]
        error: VaultError,
        /// What was left as it should not be, one sentence each.
        left: Vec<String>,
    },
}

/// The writer of a vault. Clones share it.
#[derive(Debug, Clone)]
pub struct Journal {
    vault: Vault,
    turn: Arc<Mutex<()>>,
    last: Arc<AtomicU64>,
}

/// What has been done so far, to be taken back in reverse.
enum Done {
    Write(Staged),
    Folders(Vec<VaultPath>),
    Move(VaultPath, VaultPath),
    Delete(VaultPath, Trashed),
}

impl Journal {
    /// The journal of a vault. Make one and clone it: two would not wait for each other.
    pub fn new(vault: Vault) -> Self {
        Self { vault, turn: Arc::default(), last: Arc::default() }
    }

    /// Applies a set: durable when this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], and everything is as it was.
    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = self.vault.writer();
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
        let change_set = ChangeSetId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
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
