//! What is really done, one after the other: a change set or an undo as steps, and steps as rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::note::path::VaultPath;
use crate::store::journal::{NewStep, StepRow};
use crate::store::{BlobHash, StoreError};
use crate::vault::{Before, FileContent, FileId, Keeping, Kind, Meta, Revision, Trashed};

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Which change it belongs to, from 0.
    pub change: usize,
    /// What it does.
    pub act: Act,
    /// The recorded step that it takes back.
    pub undoes: Option<i64>,
}

/// What a step does. Paths are those at its moment.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Makes one folder, in one that exists.
    Folder { path: VaultPath },
    /// Takes a folder away if it is empty.
    RemoveFolder { path: VaultPath },
    /// Writes a file.
    Write { path: VaultPath, old: Option<Old>, content: Vec<u8>, temp: String },
    /// Moves something. `text`: what the file holds by then, where that is known.
    Move { from: VaultPath, to: VaultPath, thing: Thing, text: Option<BlobHash>, counted: usize },
    /// Deletes something.
    Delete(Box<Deletion>),
    /// Brings something back from a trash; from another disk over the hidden name `temp`.
    Restore { from: Trashed, to: VaultPath, thing: Thing, text: Option<BlobHash>, temp: String },
}

/// A deletion.
#[derive(Debug, Clone)]
pub(super) struct Deletion {
    pub path: VaultPath,
    pub before: Before,
    pub thing: Thing,
    /// The text of a file, where it is kept.
    pub text: Option<BlobHash>,
    /// The files of a folder, below it.
    pub files: Vec<(String, Option<BlobHash>)>,
    /// What the limits of a turn count of it.
    pub counted: usize,
    pub keeping: Keeping,
}

/// What a write replaces.
#[derive(Debug, Clone)]
pub(super) struct Old {
    pub text: BlobHash,
    pub in_place: bool,
    /// It as it was read, where the caller has it.
    pub read: Option<Arc<FileContent>>,
}

/// What the file system said of something before it was moved or deleted, by which it is found
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thing {
    kind: ThingKind,
    device: u64,
    inode: u64,
    pub size: u64,
    modified: i64,
    /// Whether something had its path but for the case, which then may have it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub had_twin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThingKind {
    File,
    Folder,
    Link,
    Other,
}

impl Thing {
    pub fn of(meta: &Meta) -> Self {
        let kind = match meta.kind {
            Kind::File => ThingKind::File,
            Kind::Folder => ThingKind::Folder,
            Kind::Link => ThingKind::Link,
            Kind::Other => ThingKind::Other,
        };
        let FileId { device, inode } = meta.id;
        let (size, modified) = (meta.size, meta.modified);
        Self { kind, device, inode, size, modified, had_twin: false }
    }

    /// A file that will be written before its turn comes: only its text can tell it.
    pub fn written(size: u64) -> Self {
        let kind = ThingKind::File;
        Self { kind, device: 0, inode: 0, size, modified: 0, had_twin: false }
    }

    pub fn kind(&self) -> Kind {
        match self.kind {
            ThingKind::File => Kind::File,
            ThingKind::Folder => Kind::Folder,
            ThingKind::Link => Kind::Link,
            ThingKind::Other => Kind::Other,
        }
    }

    /// Whether a file has the size and the time that this one had.
    pub fn is_unchanged(&self, size: u64, modified: i64) -> bool {
        (self.size, self.modified) == (size, modified)
    }

    /// Its number on the disk, where that was known.
    pub fn id(&self) -> FileId {
        FileId { device: self.device, inode: self.inode }
    }

    /// Whether this is it: by its number on the disk, or, where user-space file systems change
    /// that, by size and time.
    pub fn is(&self, meta: &Meta) -> bool {
        let numbered = self.id() != FileId::UNKNOWN && self.id() == meta.id;
        let alike = self.kind == ThingKind::File
            && self.modified != 0
            && (self.size, self.modified) == (meta.size, meta.modified);
        self.kind() == meta.kind && (numbered || alike)
    }
}

/// Where a deleted thing went, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    Local(String),
    System(Option<String>),
    Kept(String),
}

impl Place {
    pub fn of(trashed: &Trashed) -> Self {
        match trashed {
            Trashed::Local { path, .. } => Self::Local(path.as_str().to_owned()),
            Trashed::System { place } => {
                Self::System(place.as_ref().map(|place| place.to_string_lossy().into_owned()))
            }
            Trashed::Kept { place } => Self::Kept(place.to_string_lossy().into_owned()),
        }
    }

    pub fn trashed(&self) -> Option<Trashed> {
        Some(match self {
            Self::Local(path) => {
                Trashed::Local { path: VaultPath::from_disk(path)?, instead: None }
            }
            Self::System(place) => Trashed::System { place: place.as_ref().map(Into::into) },
            Self::Kept(place) => Trashed::Kept { place: place.into() },
        })
    }

    /// For people.
    pub fn shown(&self) -> Option<String> {
        match self {
            Self::Local(place) | Self::Kept(place) => Some(place.clone()),
            Self::System(place) => place.clone(),
        }
    }
}

/// What a row holds as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thing: Option<Thing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeping: Option<String>,
    /// It was deleted past the trash.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub past_trash: bool,
    /// What was deleted was removed from its trash for good, by its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub emptied: bool,
}

impl Detail {
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

impl Step {
    /// The step as the row that records its intent.
    pub fn row(&self) -> NewStep {
        let mut row = StepRow { undoes: self.undoes, ..StepRow::default() };
        let mut files = Vec::new();
        let mut detail = Detail::default();
        let (kind, path) = match &self.act {
            Act::Folder { path } => (FOLDER, path),
            Act::RemoveFolder { path } => (REMOVE_FOLDER, path),
            Act::Write { path, old, content, temp } => {
                row.before = old.as_ref().map(|old| old.text);
                row.after = Some(BlobHash::of(content));
                detail.temp = Some(temp.clone());
                detail.in_place = old.as_ref().is_some_and(|old| old.in_place);
                (WRITE, path)
            }
            Act::Move { from, to, thing, text, counted } => {
                row.other = Some(to.as_str().to_owned());
                row.after = *text;
                row.notes = *counted;
                detail.thing = Some(*thing);
                (MOVE, from)
            }
            Act::Delete(deletion) => {
                row.before = deletion.text;
                row.notes = deletion.counted;
                files.clone_from(&deletion.files);
                detail.thing = Some(deletion.thing);
                detail.temp = Some(deletion.keeping.aside.clone());
                detail.keeping = Some(deletion.keeping.folder.clone());
                detail.past_trash = deletion.keeping.past_trash;
                (DELETE, &deletion.path)
            }
            Act::Restore { from, to, thing, text, temp } => {
                detail.temp = Some(temp.clone());
                row.after = *text;
                detail.thing = Some(*thing);
                detail.place = Some(Place::of(from));
                (RESTORE, to)
            }
        };
        row.kind = kind.to_owned();
        row.path = path.as_str().to_owned();
        row.detail = detail.json();
        NewStep { change: self.change, row, files }
    }
}

pub(super) const FOLDER: &str = "folder";
pub(super) const REMOVE_FOLDER: &str = "remove_folder";
pub(super) const WRITE: &str = "write";
pub(super) const MOVE: &str = "move";
pub(super) const DELETE: &str = "delete";
pub(super) const RESTORE: &str = "restore";

/// A row that was read back.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub row: StepRow,
    pub path: VaultPath,
    pub deed: Deed,
    pub detail: Detail,
}

/// What a recorded step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Folder,
    RemoveFolder,
    Write { before: Option<BlobHash>, after: BlobHash },
    Move { to: VaultPath, thing: Thing },
    Delete { thing: Thing },
    Restore { from: Option<Trashed>, thing: Thing },
}

impl Recorded {
    /// Reads a row.
    ///
    /// # Errors
    /// [`StoreError::Row`] that names it.
    pub fn read(row: StepRow) -> Result<Self, StoreError> {
        let path = |text: &str| {
            VaultPath::from_disk(text).ok_or_else(|| row.fault("it names no path of a vault"))
        };
        let detail: Detail =
            serde_json::from_str(&row.detail).map_err(|error| row.fault(error.to_string()))?;
        let thing = || detail.thing.ok_or_else(|| row.fault("it does not say what it was"));
        let deed = match row.kind.as_str() {
            FOLDER => Deed::Folder,
            REMOVE_FOLDER => Deed::RemoveFolder,
            WRITE => {
                let after = row.after.ok_or_else(|| row.fault("it has no new text"))?;
                Deed::Write { before: row.before, after }
            }
            MOVE => {
                let to = row.other.as_deref().ok_or_else(|| row.fault("it leads nowhere"))?;
                Deed::Move { to: path(to)?, thing: thing()? }
            }
            DELETE => Deed::Delete { thing: thing()? },
            RESTORE => {
                let from = detail.place.as_ref().and_then(Place::trashed);
                Deed::Restore { from, thing: thing()? }
            }
            other => return Err(row.fault(format!("`{other}` is no step"))),
        };
        Ok(Self { path: path(&row.path)?, deed, detail, row })
    }

    /// Whether it deleted something for good, past a trash or out of it, and nobody took that back.
    pub fn is_for_good(&self) -> bool {
        let is_standing = self.row.kind == DELETE && self.row.undone_by.is_none();
        is_standing && (self.detail.past_trash || self.detail.emptied)
    }

    /// The names that a deletion used.
    pub fn keeping(&self) -> Keeping {
        Keeping {
            folder: self.detail.keeping.clone().unwrap_or_default(),
            aside: self.detail.temp.clone().unwrap_or_default(),
            past_trash: false,
        }
    }

    /// The hidden name that a write or a restoration used, or a deletion put something aside under.
    pub fn temp(&self) -> Option<VaultPath> {
        let temp = self.detail.temp.as_deref()?;
        self.path.parent().unwrap_or_else(VaultPath::root).join(temp)
    }
}

/// The revision that the tools show for a kept text.
pub(super) fn revision(text: BlobHash) -> Revision {
    Revision::of_hash(text.bytes())
}
