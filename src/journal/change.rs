//! Changes as values: the request, who makes it, and the outcome.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::note::path::VaultPath;
use crate::vault::{Precondition, Saved, Trashed};

/// Changes that are applied all or nothing, and can be undone together.
#[derive(Debug, Clone)]
pub struct ChangeSet {
    /// Its description, for people: "edit `Projects/Garden.md`".
    pub title: String,
    /// Paths are as before the set. Writes are applied first, then moves and deletions, and folders are removed last.
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Gives a file new content; makes missing folders.
    Write {
        /// The path, spelt as on disk if the file exists.
        path: VaultPath,
        content: Vec<u8>,
        /// The required present state.
        before: Precondition,
    },
    /// Makes a folder and its missing parents.
    CreateFolder { path: VaultPath },
    /// Removes a folder if it is empty when the change is applied. Otherwise it stays, which is not
    /// an error.
    RemoveFolder { path: VaultPath },
    /// Moves a file or folder; makes missing folders, replaces nothing.
    Move { from: VaultPath, to: VaultPath },
    /// Deletes a file, link or folder to where the vault's settings say.
    Delete {
        path: VaultPath,
        /// For a file, what must be there now.
        before: Precondition,
        /// Whether to bypass the trash: only the steward's own recovery copies remain.
        past_trash: bool,
    },
}

/// The program and turn that request a change; recorded with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The requesting program: `steward`, or the name that a client gave.
    pub caller: String,
    pub conversation: Option<String>,
    /// The turn. All changes of one turn form one change set; without a turn, each call of
    /// [`super::Journal::apply`] is its own set.
    pub turn: Option<String>,
    /// Whether a person has agreed to exceed the limits of [`super::Settings`].
    pub confirmed: bool,
}

/// What an operation is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Storing the texts before and after.
    Storing,
    /// Writing new texts next to their files.
    Writing,
    /// Putting files in their places.
    Placing,
}

words!(pub Phase::word {
    Storing => "storing", Writing => "writing", Placing => "placing",
});

/// Observes a running operation. Progress is for display alone and is not stored.
pub trait Progress: std::fmt::Debug {
    /// Called when `done` of `total` files of a phase are done.
    fn advanced(&self, phase: Phase, done: usize, total: usize);
}

/// Ignores progress.
impl Progress for () {
    fn advanced(&self, _: Phase, _: usize, _: usize) {}
}

/// The number of a change set, by which people and programs undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeSetId(pub u64);

impl std::fmt::Display for ChangeSetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    pub change_set: ChangeSetId,
    /// The outcome of each change, in the order of the set.
    pub outcomes: Vec<Outcome>,
}

impl Applied {
    /// The outcome of the set's first change, which is a write.
    pub fn written(&self) -> &Saved {
        match self.outcomes.first() {
            Some(Outcome::Written(saved)) => saved,
            _ => unreachable!("the outcome of a write is that it was written"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Written(Saved),
    /// The folders made, outermost first; empty if the folder existed.
    Folders(Vec<VaultPath>),
    /// The file or folder has its new path.
    Moved,
    Deleted(Trashed),
    /// Back from a trash, at this path: the former one unless that was taken.
    Restored(VaultPath),
    /// Whether an empty folder was removed; `false`: it was not empty and stays.
    FolderRemoved(bool),
}

/// One change of a change set, written `17.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId {
    pub set: ChangeSetId,
    /// The number of the change in its set, from 1.
    pub number: u32,
}

impl std::fmt::Display for ChangeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.set, self.number)
    }
}

/// The target of an undo: a change set, written `17`, or one change of it, written `17.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    Set(ChangeSetId),
    Change(ChangeId),
}

impl Target {
    /// The change set itself, or the one that the change belongs to.
    pub fn set(self) -> ChangeSetId {
        match self {
            Self::Set(set) | Self::Change(ChangeId { set, .. }) => set,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Set(set) => set.fmt(f),
            Self::Change(change) => change.fmt(f),
        }
    }
}

/// A text that names no change set and no change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a change: use `17` for a change set, `17.2` for one change of it")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let wrong = || NoTarget(text.chars().take(80).collect());
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let trimmed = text.trim();
        let (set, number) = match trimmed.split_once('.') {
            Some((set, number)) => (set, Some(number)),
            None => (trimmed, None),
        };
        if !digits(set) || number.is_some_and(|number| !digits(number)) {
            return Err(wrong());
        }
        let set = ChangeSetId(set.parse().map_err(|_| wrong())?);
        match number {
            None => Ok(Self::Set(set)),
            Some(number) => {
                let number = number.parse().map_err(|_| wrong())?;
                Ok(Self::Change(ChangeId { set, number }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_as_it_is_read() {
        for text in ["17", "17.2", "1.1"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", ".", "17.", ".2", "-1", "+1", "17.2.3", "x", "99999999999999999999999"] {
            text.parse::<Target>().unwrap_err();
        }
    }
}
