//! The file index of the vault: a cache of the disk, never an authority.
//!
//! Answers by path, fold key, name, folder in tree order, time and glob. All paths are stored in
//! two strings, one as spelt and one folded, in order of modification time as of the last build; an
//! entry is a row of 40 bytes, and four for the prefix of its name. A hundred thousand files take
//! 15 to 19 MB, and a pattern is searched in one text.
//!
//! Rows never move: a change updates its row in place, a removal leaves a gap, and once a quarter
//! of the rows are gaps everything is rebuilt.
//!
//! In reading order: [`entry`] (input and output), this file (queries), `listing` (globs),
//! `name_prefix`, `build`, `change` (updates), `names` (their history), `snapshot` (saved across
//! restarts), `visible` (a caller's view).

mod build;
mod change;
mod conflicts;
pub mod entry;
pub mod listing;
mod name_prefix;
mod names;
mod snapshot;
#[cfg(test)]
mod tests;
mod visible;

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

pub(super) use change::{Difference, Edit};
pub(super) use entry::NewEntry;
pub use entry::{Entry, LinkTarget};
pub use listing::{EntryQuery, Listing, Order};
use name_prefix::name_prefix;
use names::NameHistory;
pub use names::NamesAt;
pub use visible::VisibleCatalogue;

use super::dir::{FileId, Kind};
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files ending in `.md`.
    pub notes: usize,
    pub files: usize,
    /// Folders, the root not counted.
    pub folders: usize,
    pub links: usize,
    /// Entries that no tool can open: pipes, devices, names that are not UTF-8.
    pub unusable: usize,
}

/// One entry without its texts, packed since there are many. Its texts end where the next row's
/// begin.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
struct Row {
    modified: i64,
    size: u64,
    inode: u64,
    change_mark: u32,
    /// Offset of its fold key in `keys`; ascending.
    key_at: u32,
    /// Offset of its path in `paths`, where a path that equals its key takes no bytes.
    path_at: u32,
    /// Index into `devices`.
    device: u16,
    /// Components of its path.
    depth: u8,
    /// The kind in the lower bits, then the flags below.
    marks: u8,
}

const NOTE_ENDING: &str = ".md";

const KIND: u8 = 0b0011;
const UNNAMEABLE: u8 = 0b0100;
/// The entry was removed.
const GONE: u8 = 0b1000;
/// Its place in `by_time` is about to change; only set during an update.
const MOVING: u8 = 0b1_0000;

/// See the module's documentation.
#[derive(Default)]
pub struct Catalogue {
    rows: Vec<Row>,
    /// The prefix of each row's name: see [`mod@name_prefix`].
    name_prefixes: Vec<u32>,
    keys: String,
    paths: String,
    /// How many rows are [`GONE`].
    gone: usize,
    /// How many rows the last build made, in order of time; later rows are in order of arrival.
    built: usize,
    by_key: HashTable<u32>,
    by_name: HashTable<u32>,
    /// Rows in tree order: a folder, then everything below it.
    ordered: Vec<u32>,
    /// Rows by modification time, oldest first; of equal times the later path first. Read from the
    /// end.
    by_time: Vec<u32>,
    targets: HashMap<u32, Box<LinkTarget>>,
    devices: Vec<u64>,
    counts: Counts,
    /// Entries of any kind whose key ends with [`NOTE_ENDING`].
    note_keys: usize,
    names: NameHistory,
    hasher: DefaultHashBuilder,
}

impl Catalogue {
    /// The entry at exactly this path.
    pub fn get(&self, path: &str) -> Option<Entry<'_>> {
        self.row_at(path).map(|row| self.entry(row))
    }

    /// All entries whose path has this [fold key](crate::note::fold::fold_key), in path order.
    pub fn folded(&self, key: &str) -> Vec<Entry<'_>> {
        let rows = self.by_key.iter_hash(self.hash(key)).copied();
        self.collect(rows.filter(|row| self.key(*row) == key))
    }

    /// All entries whose last component has this fold key, in path order.
    pub fn named(&self, name_key: &str) -> Vec<Entry<'_>> {
        self.collect(self.rows_named(name_key))
    }

    fn collect(&self, rows: impl Iterator<Item = u32>) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = rows.map(|row| self.entry(row)).collect();
        if entries.len() > 1 {
            entries.sort_unstable_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        }
        entries
    }

    /// All entries, newest change first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.by_time.iter().rev().map(|row| self.entry(*row))
    }

    /// Everything below `folder`, itself excluded, in tree order.
    pub fn within<'c>(
        &'c self,
        folder: &VaultPath,
    ) -> impl DoubleEndedIterator<Item = Entry<'c>> + ExactSizeIterator + use<'c> {
        self.ordered[self.range(folder.borrowed())].iter().map(|row| self.entry(*row))
    }

    /// The direct children of `folder`, in path order.
    pub fn directly_in<'c>(
        &'c self,
        folder: &VaultPath,
    ) -> impl Iterator<Item = Entry<'c>> + use<'c> {
        let mut rest = &self.ordered[self.range(folder.borrowed())];
        std::iter::from_fn(move || {
            let (row, after) = rest.split_first()?;
            let path = self.entry_path(*row);
            let below = match self.row(*row).kind() {
                Kind::Folder => after.partition_point(|row| self.entry_path(*row).is_within(path)),
                _ => 0,
            };
            rest = &after[below..];
            Some(self.entry(*row))
        })
    }

    /// The range of `ordered` below `folder`.
    fn range(&self, folder: PathRef<'_>) -> std::ops::Range<usize> {
        if folder.is_root() {
            return 0..self.ordered.len();
        }
        let place = |row: &u32| tree_order(self.path(*row), folder.as_str());
        let start = self.ordered.partition_point(|row| place(row).is_le());
        let inside = |row: &u32| self.entry_path(*row).is_within(folder);
        let length = self.ordered[start..].partition_point(inside);
        start..start + length
    }

    /// The paths of all files with a UTF-8 name, in tree order.
    pub fn files(&self) -> impl Iterator<Item = PathRef<'_>> {
        self.nameable(true).map(|row| self.entry_path(row))
    }

    /// All entries but files with a UTF-8 name, in tree order.
    pub fn others(&self) -> impl Iterator<Item = Entry<'_>> {
        self.nameable(false).map(|row| self.entry(row))
    }

    fn nameable(&self, files: bool) -> impl Iterator<Item = u32> {
        self.ordered.iter().copied().filter(move |row| {
            let row = self.row(*row);
            (row.kind() == Kind::File) == files && !row.is(UNNAMEABLE)
        })
    }

    /// Numbers of entries by kind, kept up to date with every change.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of memory held, without allocator overhead.
    pub fn memory(&self) -> usize {
        let tables = self.by_key.allocation_size() + self.by_name.allocation_size();
        self.rows.capacity() * size_of::<Row>()
            + self.name_prefixes.capacity() * size_of::<u32>()
            + self.keys.capacity()
            + self.paths.capacity()
            + (self.ordered.capacity() + self.by_time.capacity()) * size_of::<u32>()
            + self.targets.capacity() * size_of::<(u32, Box<LinkTarget>)>()
            + tables
    }

    fn row_at(&self, path: &str) -> Option<u32> {
        self.row_with_key(&fold_key(path), path)
    }

    fn row_with_key(&self, key: &str, path: &str) -> Option<u32> {
        self.by_key.find(self.hash(key), |row| self.path(*row) == path).copied()
    }

    fn entry(&self, number: u32) -> Entry<'_> {
        let row = self.row(number);
        let kind = row.kind();
        Entry {
            path: self.entry_path(number),
            key: self.key(number),
            kind,
            size: row.size,
            modified: row.modified,
            change_mark: row.change_mark,
            id: FileId { device: self.devices[usize::from(row.device)], inode: row.inode },
            target: match kind {
                Kind::Link => self.targets.get(&number).map(|target| &**target),
                Kind::File | Kind::Folder | Kind::Other => None,
            },
            unnameable: row.is(UNNAMEABLE),
        }
    }

    fn row(&self, number: u32) -> &Row {
        &self.rows[number as usize]
    }

    fn key(&self, number: u32) -> &str {
        &self.keys[key_range(&self.rows, &self.keys, number)]
    }

    fn path(&self, number: u32) -> &str {
        let end = self
            .rows
            .get(number as usize + 1)
            .map_or(self.paths.len(), |next| next.path_at as usize);
        match &self.paths[self.row(number).path_at as usize..end] {
            "" => self.key(number),
            path => path,
        }
    }

    fn entry_path(&self, number: u32) -> PathRef<'_> {
        PathRef::of(self.path(number))
    }

    /// The sort key of `by_time`.
    fn age(&self, number: u32) -> (i64, Reverse<&str>) {
        (self.row(number).modified, Reverse(self.path(number)))
    }

    fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }
}

impl Row {
    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    fn kind(&self) -> Kind {
        match self.marks & KIND {
            0 => Kind::File,
            1 => Kind::Folder,
            2 => Kind::Link,
            _ => Kind::Other,
        }
    }
}

/// The range of this row's key in `keys`.
#[inline]
fn key_range(rows: &[Row], keys: &str, number: u32) -> std::ops::Range<usize> {
    let end = rows.get(number as usize + 1).map_or(keys.len(), |next| next.key_at as usize);
    rows[number as usize].key_at as usize..end
}

/// The last component of a path or key.
fn last(path: &str) -> &str {
    match path.rfind('/') {
        Some(slash) => &path[slash + 1..],
        None => path,
    }
}

/// Path order with `/` before every other character, so that a folder's content follows it.
pub fn tree_order(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let other = a.iter().zip(b).position(|(a, b)| a != b);
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    match other {
        Some(at) => rank(a[at]).cmp(&rank(b[at])),
        None => a.len().cmp(&b.len()),
    }
}

/// All paths in the order of the tree.
#[cfg(test)]
fn all_of(catalogue: &Catalogue) -> Vec<VaultPath> {
    catalogue.within(&VaultPath::root()).map(|entry| entry.path.to_path()).collect()
}
