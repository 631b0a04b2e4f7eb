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

use std::sync::{Arc, Mutex, PoisonError};

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
        Self { vault, turn: Arc::default() }
    }

    /// Applies a set: durable when this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], and everything is as it was.
    pub fn apply(&self, set: &ChangeSet) -> Result<Vec<Outcome>, JournalError> {
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
        tracing::info!(title = set.title, changes = set.changes.len(), "applied");
        Ok(outcomes.into_iter().map(|o| o.expect("every change has its outcome")).collect())
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
