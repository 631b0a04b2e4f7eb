//! Steps of a change set or an undo, in execution order, and the rows that record them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::note::path::VaultPath;
use crate::store::journal::{NewStep, StepRow};
use crate::store::{BlobHash, StoreError};
use crate::vault::{FileContent, FileId, Keeping, Kind, Meta, Precondition, Revision, Trashed};

#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The change it belongs to, from 0.
    pub change: usize,
    pub act: Act,
    pub undoes: Option<i64>,
}

/// The action of a step. Paths are those at its moment.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Makes one folder; its parent exists.
    Folder {
        path: VaultPath,
    },
    RemoveFolder {
        path: VaultPath,
    },
    Write {
        path: VaultPath,
        old: Option<Old>,
        content: Vec<u8>,
        temp: String,
    },
    /// Moves a file or folder. `text`: the file's content at that time, if known.
    Move {
        from: VaultPath,
        to: VaultPath,
        identity: FileIdentity,
        text: Option<BlobHash>,
        counted: usize,
    },
    Delete(Box<Deletion>),
    /// Restores a file or folder from a trash; from another disk through the hidden name `temp`.
    Restore {
        from: Trashed,
        to: VaultPath,
        identity: FileIdentity,
        text: Option<BlobHash>,
        temp: String,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Deletion {
    pub path: VaultPath,
    pub before: Precondition,
    pub identity: FileIdentity,
    /// The stored text of a file, if it is stored.
    pub text: Option<BlobHash>,
    /// The files of a folder, by their paths below it.
    pub files: Vec<(String, Option<BlobHash>)>,
    /// How many files the limits of a turn count for it.
    pub counted: usize,
    pub keeping: Keeping,
}

/// The file that a write replaces.
#[derive(Debug, Clone)]
pub(super) struct Old {
    pub text: BlobHash,
    pub in_place: bool,
    /// Its content, if the caller has read it.
    pub read: Option<Arc<FileContent>>,
}

/// The metadata of a file or folder before it was moved or deleted, by which it is recognised
/// later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    kind: EntryKind,
    device: u64,
    inode: u64,
    pub size: u64,
    modified: i64,
    /// Whether another entry had the same path except for case, so that both may exist again.
    #[serde(rename = "had_twin", default, skip_serializing_if = "std::ops::Not::not")]
    pub had_case_variant: bool,
    /// Whether its operation has another file of the same size and time, so that only the inode distinguishes them.
    #[serde(skip)]
    is_alike: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

impl FileIdentity {
    pub fn of(meta: &Meta) -> Self {
        let kind = match meta.kind {
            Kind::File => EntryKind::File,
            Kind::Folder => EntryKind::Folder,
            Kind::Link => EntryKind::Link,
            Kind::Other => EntryKind::Other,
        };
        let FileId { device, inode } = meta.id;
        let (size, modified) = (meta.size, meta.modified);
        Self { kind, device, inode, size, modified, had_case_variant: false, is_alike: false }
    }

    /// A file that an earlier step will write: only its text identifies it.
    pub fn written(size: u64) -> Self {
        let kind = EntryKind::File;
        let (device, inode, modified) = (0, 0, 0);
        Self { kind, device, inode, size, modified, had_case_variant: false, is_alike: false }
    }

    pub fn kind(&self) -> Kind {
        match self.kind {
            EntryKind::File => Kind::File,
            EntryKind::Folder => Kind::Folder,
            EntryKind::Link => Kind::Link,
            EntryKind::Other => Kind::Other,
        }
    }

    /// Whether size and modification time are unchanged.
    pub fn is_unchanged(&self, size: u64, modified: i64) -> bool {
        (self.size, self.modified) == (size, modified)
    }

    /// When it was last modified by its own time, in milliseconds since the Unix epoch, if known.
    pub fn modified_ms(&self) -> Option<i64> {
        (self.modified != 0).then(|| self.modified.div_euclid(1_000_000))
    }

    /// Device and inode, if known.
    pub fn id(&self) -> FileId {
        FileId { device: self.device, inode: self.inode }
    }

    /// Whether `meta` is this file or folder: by inode, or, since user-space file systems change
    /// inodes, by size and time.
    pub fn matches(&self, meta: &Meta) -> bool {
        self.may_be(meta) && (!self.is_alike || self.inode == meta.id.inode)
    }

    /// The same even if another file of the operation has this size and time.
    pub fn may_be(&self, meta: &Meta) -> bool {
        let alike = self.kind == EntryKind::File
            && self.modified != 0
            && (self.size, self.modified) == (meta.size, meta.modified);
        self.kind() == meta.kind && (self.has_id_of(meta) || alike)
    }

    /// Whether `meta` has this device and inode.
    pub fn has_id_of(&self, meta: &Meta) -> bool {
        self.id() != FileId::UNKNOWN && self.id() == meta.id
    }
}

/// Where a deleted file or folder went, as recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TrashRecord {
    Local(String),
    System(Option<String>),
    Kept(String),
}

impl TrashRecord {
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

    pub fn shown(&self) -> Option<String> {
        match self {
            Self::Local(place) | Self::Kept(place) => Some(place.clone()),
            Self::System(place) => place.clone(),
        }
    }
}

/// The JSON column of a row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    #[serde(rename = "thing", skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<TrashRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeping: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub past_trash: bool,
    /// Permanently removed from its trash by name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub emptied: bool,
    /// A folder to remove once its operation's hidden files are gone, if it is empty.
    #[serde(rename = "late", skip_serializing_if = "std::ops::Not::not")]
    pub is_late: bool,
}

impl Detail {
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

impl Step {
    /// The row that records the intent of this step.
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
            Act::Move { from, to, identity, text, counted } => {
                row.other = Some(to.as_str().to_owned());
                row.after = *text;
                row.notes = *counted;
                detail.identity = Some(*identity);
                (MOVE, from)
            }
            Act::Delete(deletion) => {
                row.before = deletion.text;
                row.notes = deletion.counted;
                files.clone_from(&deletion.files);
                detail.identity = Some(deletion.identity);
                detail.temp = Some(deletion.keeping.aside.clone());
                detail.keeping = Some(deletion.keeping.folder.clone());
                detail.past_trash = deletion.keeping.past_trash;
                (DELETE, &deletion.path)
            }
            Act::Restore { from, to, identity, text, temp } => {
                detail.temp = Some(temp.clone());
                row.after = *text;
                detail.identity = Some(*identity);
                detail.place = Some(TrashRecord::of(from));
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

#[derive(Debug, Clone)]
pub(super) struct RecordedStep {
    pub row: StepRow,
    pub path: VaultPath,
    pub act: RecordedAct,
    pub detail: Detail,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordedAct {
    Folder,
    RemoveFolder,
    Write { before: Option<BlobHash>, after: BlobHash },
    Move { to: VaultPath, identity: FileIdentity },
    Delete { identity: FileIdentity },
    Restore { from: Option<Trashed>, identity: FileIdentity },
}

impl RecordedStep {
    /// The kind of what a deletion removed.
    pub fn deleted_kind(&self) -> Option<Kind> {
        match &self.act {
            RecordedAct::Delete { identity } => Some(identity.kind()),
            _ => None,
        }
    }

    pub fn read(row: StepRow) -> Result<Self, StoreError> {
        let path = |text: &str| {
            VaultPath::from_disk(text).ok_or_else(|| row.fault("it names no path of a vault"))
        };
        let detail: Detail =
            serde_json::from_str(&row.detail).map_err(|error| row.fault(error.to_string()))?;
        let identity = || detail.identity.ok_or_else(|| row.fault("it does not say what it was"));
        let act = match row.kind.as_str() {
            FOLDER => RecordedAct::Folder,
            REMOVE_FOLDER => RecordedAct::RemoveFolder,
            WRITE => {
                let after = row.after.ok_or_else(|| row.fault("it has no new text"))?;
                RecordedAct::Write { before: row.before, after }
            }
            MOVE => {
                let to = row.other.as_deref().ok_or_else(|| row.fault("it has no destination"))?;
                RecordedAct::Move { to: path(to)?, identity: identity()? }
            }
            DELETE => RecordedAct::Delete { identity: identity()? },
            RESTORE => {
                let from = detail.place.as_ref().and_then(TrashRecord::trashed);
                RecordedAct::Restore { from, identity: identity()? }
            }
            other => return Err(row.fault(format!("`{other}` is not a step"))),
        };
        Ok(Self { path: path(&row.path)?, act, detail, row })
    }

    /// The steps of an operation.
    pub fn read_all(rows: Vec<StepRow>) -> Result<Vec<Self>, StoreError> {
        let mut steps: Vec<Self> = rows.into_iter().map(Self::read).collect::<Result<_, _>>()?;
        let mut inodes: HashMap<(u64, i64), HashSet<(u64, u64)>> = HashMap::new();
        for one in steps.iter_mut().filter_map(Self::identity_mut) {
            inodes.entry((one.size, one.modified)).or_default().insert((one.device, one.inode));
        }
        for one in steps.iter_mut().filter_map(Self::identity_mut) {
            one.is_alike = inodes.get(&(one.size, one.modified)).is_some_and(|all| all.len() > 1);
        }
        Ok(steps)
    }

    /// Whether `meta` has the device and inode of the file that this step moves, deletes or restores.
    pub fn has_id_of(&self, meta: &Meta) -> bool {
        match &self.act {
            RecordedAct::Move { identity, .. }
            | RecordedAct::Delete { identity }
            | RecordedAct::Restore { identity, .. } => identity.has_id_of(meta),
            RecordedAct::Folder | RecordedAct::RemoveFolder | RecordedAct::Write { .. } => false,
        }
    }

    fn identity_mut(&mut self) -> Option<&mut FileIdentity> {
        match &mut self.act {
            RecordedAct::Move { identity, .. }
            | RecordedAct::Delete { identity }
            | RecordedAct::Restore { identity, .. } => Some(identity),
            RecordedAct::Folder | RecordedAct::RemoveFolder | RecordedAct::Write { .. } => None,
        }
    }

    /// Whether it permanently deleted something, bypassing or emptying the trash, and was not
    /// undone.
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

    /// The hidden name of a write or a restoration, or the one under which a deletion set something
    /// aside.
    pub fn temp(&self) -> Option<VaultPath> {
        let temp = self.detail.temp.as_deref()?;
        self.path.parent().unwrap_or_else(VaultPath::root).join(temp)
    }
}

/// The revision that tools show for a stored text.
pub(super) fn revision(text: BlobHash) -> Revision {
    Revision::of_hash(text.bytes())
}
