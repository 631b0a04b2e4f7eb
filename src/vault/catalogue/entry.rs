//! One file, folder or link: as the catalogue shows it, and as it comes to it.

use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::dir::{FileId, Kind, Meta};

/// Where a symbolic link leads, as far as its text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// To a path of this vault, which may or may not exist.
    Inside(VaultPath),
    /// Out of the vault, or to an absolute place: never followed.
    Outside,
}

/// One file, folder or link of the vault as last seen, in the catalogue's own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'c> {
    pub(super) path: PathRef<'c>,
    pub(super) key: &'c str,
    pub kind: Kind,
    /// Bytes of content; 0 for folders.
    pub size: u64,
    /// Last change, nanoseconds since the Unix epoch.
    pub modified: i64,
    /// Which its last change of any kind was when it was found: [`Meta::change_mark`].
    pub change_mark: u32,
    pub id: FileId,
    /// For a link, where it leads.
    pub target: Option<&'c LinkTarget>,
    /// Whether its name on disk is not UTF-8: `path` then shows the name escaped, and no tool can
    /// open it.
    pub unnameable: bool,
}

impl<'c> Entry<'c> {
    /// Where it is, as spelt on disk.
    pub fn path(&self) -> PathRef<'c> {
        self.path
    }

    /// Its path's [fold key](crate::note::fold::fold_key).
    pub fn key(&self) -> &'c str {
        self.key
    }

    /// Whether `meta` is what this entry says already. A folder's size and time are its file
    /// system's business and never count as a change; identities do not count either, since
    /// user-space file systems give a file another at every look; nor does the time that nobody can
    /// set, which is another once a file has other rights.
    pub(in crate::vault) fn agrees(&self, meta: &Meta) -> bool {
        self.kind == meta.kind
            && (self.kind == Kind::Folder
                || (self.size, self.modified) == (meta.size, meta.modified))
    }

    /// Whether `meta` is just what was found here before, the time that nobody can set included.
    pub(in crate::vault) fn is_as_found(&self, meta: &Meta) -> bool {
        self.agrees(meta) && (self.kind == Kind::Folder || self.change_mark == meta.change_mark())
    }

    /// Whether what a full look found at this path says the same, the time that nobody can set included:
    /// there is no later look that could tell.
    pub(in crate::vault) fn same_state(&self, other: &NewEntry) -> bool {
        self.kind == other.kind
            && (self.kind == Kind::Folder
                || (self.size, self.modified, self.change_mark)
                    == (other.size, other.modified, other.change_mark))
    }

    /// Whether all that is known of it is what was found, its path aside.
    pub(super) fn is(&self, found: &NewEntry) -> bool {
        let state = (self.size, self.modified, self.change_mark);
        (self.kind, self.id, self.unnameable) == (found.kind, found.id, found.unnameable)
            && state == (found.size, found.modified, found.change_mark)
            && self.target == found.target.as_deref()
    }

    /// A copy that needs no catalogue.
    pub(in crate::vault) fn to_new(self) -> NewEntry {
        NewEntry {
            path: self.path.to_path(),
            key: (self.key != self.path.as_str()).then(|| self.key.into()),
            kind: self.kind,
            size: self.size,
            modified: self.modified,
            change_mark: self.change_mark,
            id: self.id,
            target: self.target.cloned().map(Box::new),
            unnameable: self.unnameable,
        }
    }
}

/// What was found on the disk, for the catalogue to take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::vault) struct NewEntry {
    /// Where it is, as spelt on disk.
    pub path: VaultPath,
    /// Its path's fold key, where that is another text than the path.
    pub(super) key: Option<Box<str>>,
    pub kind: Kind,
    /// Bytes of content; 0 for folders.
    pub size: u64,
    /// Last change, nanoseconds since the Unix epoch.
    pub modified: i64,
    /// Which its last change of any kind was when it was found: [`Meta::change_mark`].
    pub change_mark: u32,
    pub id: FileId,
    /// For a link, where it leads.
    pub target: Option<Box<LinkTarget>>,
    /// Whether its name on disk is not UTF-8.
    pub unnameable: bool,
}

impl NewEntry {
    /// An entry for `path` in the state `meta`.
    pub fn new(path: VaultPath, meta: &Meta) -> Self {
        let key = fold_key(path.as_str());
        Self {
            key: (key != path.as_str()).then(|| key.into_boxed_str()),
            path,
            kind: meta.kind,
            size: if meta.kind == Kind::Folder { 0 } else { meta.size },
            modified: meta.modified,
            change_mark: meta.change_mark(),
            id: meta.id,
            target: None,
            unnameable: false,
        }
    }

    /// Its path's fold key.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(self.path.as_str())
    }
}
