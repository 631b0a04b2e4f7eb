//! What the journal tells of the past.

use chrono::{DateTime, Utc};

use super::change::{ChangeId, ChangeSetId, Target};
use crate::note::path::VaultPath;
use crate::vault::{Kind, Revision};

/// Which change sets are asked for; all conditions hold together.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Those that touched this path, something below it, or the file under an earlier name of its.
    pub path: Option<VaultPath>,
    /// Those begun at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those before this one: how to go on where a listing ended.
    pub before: Option<ChangeSetId>,
    /// At most so many, the newest. 0: as many as there are.
    pub limit: usize,
}

/// How a change set came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Asked for.
    Change,
    /// An undo of this.
    Undo(Target),
    /// Something brought back from the trash.
    Restore,
}

/// A change set with its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSet {
    /// Its number.
    pub id: ChangeSetId,
    /// How it came to be.
    pub kind: SetKind,
    /// What it does, for people.
    pub title: String,
    /// The program that asked.
    pub caller: String,
    /// The conversation it was asked for in.
    pub conversation: Option<String>,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// When it was begun.
    pub time: DateTime<Utc>,
    /// Its changes, in the order in which they were done.
    pub changes: Vec<ListedChange>,
}

impl ListedSet {
    /// Whether every change of it is undone.
    pub fn is_undone(&self) -> bool {
        !self.changes.is_empty() && self.changes.iter().all(|change| change.undone_by.is_some())
    }
}

/// What one change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A file was made.
    Created,
    /// A file got another content.
    Modified,
    /// A folder was made.
    FolderMade,
    /// Something got another path.
    Moved,
    /// Something was deleted.
    Deleted,
    /// Something was brought back.
    Restored,
    /// An empty folder was taken away.
    FolderRemoved,
}

impl Action {
    /// The word for it: `created`, `modified`, `folder_made`, `moved`, `deleted`, `restored`,
    /// `folder_removed`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::FolderMade => "folder_made",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
            Self::Restored => "restored",
            Self::FolderRemoved => "folder_removed",
        }
    }
}

/// One change of a change set. A change that had to make folders first is several of these under
/// one number, the folders first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChange {
    /// What names it.
    pub id: ChangeId,
    /// What it did.
    pub action: Action,
    /// Where the thing was afterwards; for what was deleted or taken away, where it was before.
    pub path: VaultPath,
    /// For a move, where it was before.
    pub from: Option<VaultPath>,
    /// What the thing is.
    pub entry: Kind,
    /// The revision before.
    pub before: Option<Revision>,
    /// The revision afterwards.
    pub after: Option<Revision>,
    /// For what was deleted, where it went, as far as that is known: a path in the vault
    /// (`.trash/…`) or on this machine.
    pub place: Option<String>,
    /// The change set that undid it.
    pub undone_by: Option<ChangeSetId>,
    /// Whether its texts are still kept, so that it can be shown and undone.
    pub texts_kept: bool,
}

/// What a change did to a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A unified diff; empty where the text is the same.
    Text(String),
    /// The bytes are no text.
    Binary,
    /// More than is compared, in bytes of both sides together.
    TooLarge(u64),
    /// A text is no longer kept, or never was.
    NotKept,
    /// A change that touches no text: a folder, a move.
    None,
}
