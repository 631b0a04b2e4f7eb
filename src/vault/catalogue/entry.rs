//! One file, folder or link: as a row of the catalogue ([`Entry`]) and as scanned ([`NewEntry`]).

use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::dir::{FileId, Kind, Meta};

/// Where a symbolic link leads according to its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// A path of this vault, which may not exist.
    Inside(VaultPath),
    /// A place outside the vault, or an absolute path: never followed.
    Outside,
}

/// One file, folder or link as last seen; borrows from the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'c> {
    pub(super) path: PathRef<'c>,
    pub(super) key: &'c str,
    pub kind: Kind,
    /// Bytes of content; 0 for folders.
    pub size: u64,
    /// Nanoseconds since the Unix epoch.
    pub modified: i64,
    /// [`Meta::change_mark`] when it was found.
    pub change_mark: u32,
    pub id: FileId,
    pub target: Option<&'c LinkTarget>,
    /// Whether its name on disk is not UTF-8: `path` then has the name escaped, and no tool can
    /// open it.
    pub unnameable: bool,
}

impl<'c> Entry<'c> {
    /// As spelt on disk.
    pub fn path(&self) -> PathRef<'c> {
        self.path
    }

    /// Its path's [fold key](crate::note::fold::fold_key).
    pub fn key(&self) -> &'c str {
        self.key
    }

    /// Whether `meta` shows no change of content. Ignored are: size and time of a folder, which
    /// depend on the file system; identities, since FUSE may give a file another one at every stat;
    /// and ctime, which changes with permissions.
    pub(in crate::vault) fn agrees(&self, meta: &Meta) -> bool {
        self.kind == meta.kind
            && (self.kind == Kind::Folder
                || (self.size, self.modified) == (meta.size, meta.modified))
    }

    /// As [`Self::agrees`], and the ctime of a file is the same too: it changes even when a program
    /// sets size and mtime back.
    pub(in crate::vault) fn agrees_with_ctime(&self, meta: &Meta) -> bool {
        self.agrees(meta) && (self.kind == Kind::Folder || self.change_mark == meta.change_mark())
    }

    /// [`Self::agrees_with_ctime`] for a scanned entry.
    pub(in crate::vault) fn same_state(&self, other: &NewEntry) -> bool {
        self.kind == other.kind && (self.kind == Kind::Folder || self.state() == other.state())
    }

    fn state(&self) -> (u64, i64, u32) {
        (self.size, self.modified, self.change_mark)
    }

    /// Whether the two are equal apart from their paths.
    pub(super) fn is(&self, found: &NewEntry) -> bool {
        (self.kind, self.id, self.unnameable) == (found.kind, found.id, found.unnameable)
            && self.state() == found.state()
            && self.target == found.target.as_deref()
    }

    /// An owned copy.
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

/// An entry found on the disk, to be put into the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::vault) struct NewEntry {
    /// As spelt on disk.
    pub path: VaultPath,
    /// Its path's fold key, if that differs from the path.
    pub(super) key: Option<Box<str>>,
    pub kind: Kind,
    /// Bytes of content; 0 for folders.
    pub size: u64,
    /// Nanoseconds since the Unix epoch.
    pub modified: i64,
    /// [`Meta::change_mark`] when it was found.
    pub change_mark: u32,
    pub id: FileId,
    /// Set for links alone.
    pub target: Option<Box<LinkTarget>>,
    /// Whether its name on disk is not UTF-8.
    pub unnameable: bool,
}

impl NewEntry {
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

    fn state(&self) -> (u64, i64, u32) {
        (self.size, self.modified, self.change_mark)
    }

    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(self.path.as_str())
    }
}
