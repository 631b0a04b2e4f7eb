//! Changes as values: what can be asked for, who asks, and what came of it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::note::path::VaultPath;
use crate::vault::{Before, Saved, Trashed};

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
    CreateFolder { path: VaultPath },
    /// A file or folder gets another path; missing folders are made, nothing is replaced.
    Move {
        /// Its path now.
        from: VaultPath,
        /// Its path afterwards.
        to: VaultPath,
    },
    /// A file, link or folder goes where the vault's settings say.
    Delete {
        path: VaultPath,
        /// For a file, what must be there now.
        before: Before,
        /// Whether it goes past the trash, into our own keeping alone.
        past_trash: bool,
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
    /// each call of [`super::Journal::apply`] is.
    pub turn: Option<String>,
    /// Whether a person has agreed to go beyond the limits of [`super::Settings`].
    pub confirmed: bool,
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
    Deleted(Trashed),
    /// It was brought back, to this path.
    Restored(VaultPath),
    /// A folder was taken away that was empty; `false` if it was not, and stays.
    FolderRemoved(bool),
}

/// One change of a change set, written `17.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId {
    pub set: ChangeSetId,
    /// Which of its changes, from 1.
    pub number: u32,
}

impl std::fmt::Display for ChangeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.set, self.number)
    }
}

/// What can be undone: a change set, written `17`, or one change of it, written `17.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// All of a change set.
    Set(ChangeSetId),
    Change(ChangeId),
}

impl Target {
    /// The change set it is, or belongs to.
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

/// A text that names no change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no change: say `17` for a change set, `17.2` for one change of it")]
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
