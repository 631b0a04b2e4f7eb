//! Every file and folder of the vault, resident: what a request can be answered from without
//! touching the disk.
//!
//! A statement about the past, kept true by the watcher and by every use: whoever acts on an entry
//! looks at the disk first and tells the catalogue what it saw.
//!
//! Entries sit in one table; the rest are lists and hash tables of their numbers, four bytes each.
//! About 300 bytes a note in all.

use std::cmp::{Ordering, Reverse};
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::dir::{FileId, Kind, Meta};
use crate::note::path::VaultPath;

/// Where a symbolic link leads, as far as its text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// To a path of this vault, which may or may not exist.
    Inside(VaultPath),
    /// Out of the vault, or to an absolute place: never followed.
    Outside,
}

/// One file, folder or link of the vault as last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    path: VaultPath,
    key: Box<str>,
    /// What it is.
    pub kind: Kind,
    /// Bytes of content; 0 for folders.
    pub size: u64,
    /// Last change, nanoseconds since the Unix epoch.
    pub modified: i64,
    /// Birth, nanoseconds since the Unix epoch, where the file system keeps it.
    pub created: Option<i64>,
    /// Who it is.
    pub id: FileId,
    /// For a link, where it leads.
    pub target: Option<Box<LinkTarget>>,
    /// Whether its name on disk is not UTF-8: `path` then shows the name escaped, and no tool can
    /// open it.
    pub unnameable: bool,
}

impl Entry {
    /// An entry for `path` in the state `meta`.
    pub(super) fn new(path: VaultPath, meta: &Meta) -> Self {
        let key = path.fold_key().into_boxed_str();
        Self {
            path,
            key,
            kind: meta.kind,
            size: if meta.kind == Kind::Folder { 0 } else { meta.size },
            modified: meta.modified,
            created: meta.created,
            id: meta.id,
            target: None,
            unnameable: false,
        }
    }

    /// Where it is, as spelt on disk.
    pub fn path(&self) -> &VaultPath {
        &self.path
    }

    /// Its path's [fold key](crate::note::fold::fold_key).
    pub fn key(&self) -> &str {
        &self.key
    }

    fn key_name(&self) -> &str {
        last(&self.key)
    }

    /// Whether `meta` is what this entry says already. A folder's size and time are its file
    /// system's business and never count as a change; identities do not count either, since
    /// user-space file systems give a file another at every look.
    pub(super) fn agrees(&self, meta: &Meta) -> bool {
        self.kind == meta.kind
            && (self.kind == Kind::Folder
                || (self.size, self.modified) == (meta.size, meta.modified))
    }

    /// Whether two entries of one path say the same.
    pub(super) fn same_state(&self, other: &Entry) -> bool {
        self.kind == other.kind
            && (self.kind == Kind::Folder
                || (self.size, self.modified) == (other.size, other.modified))
    }
}

/// How many of each there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files ending in `.md`.
    pub notes: usize,
    /// All files, notes included.
    pub files: usize,
    /// Folders, the root not counted.
    pub folders: usize,
    /// Symbolic links.
    pub links: usize,
    /// Entries that no tool can open: pipes, devices, names that are not UTF-8.
    pub unusable: usize,
}

/// See the module's documentation.
#[derive(Default)]
pub struct Catalogue {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_path: HashTable<u32>,
    by_key: HashTable<u32>,
    by_name: HashTable<u32>,
    /// Depth first: a folder, then what is in it.
    ordered: Vec<u32>,
    /// Newest first; equal times by path.
    recent: Vec<u32>,
    counts: Counts,
    hasher: DefaultHashBuilder,
}

impl Catalogue {
    /// A catalogue of `entries`. Of two with one path the later counts.
    pub(super) fn build(entries: Vec<Entry>) -> Self {
        let mut catalogue = Self::default();
        for entry in entries {
            catalogue.place(entry);
        }
        let mut ordered = std::mem::take(&mut catalogue.ordered);
        ordered.sort_unstable_by(|a, b| tree_order(catalogue.path(*a), catalogue.path(*b)));
        catalogue.ordered = ordered;
        let mut recent = std::mem::take(&mut catalogue.recent);
        recent.sort_unstable_by(|a, b| catalogue.recency(*a).cmp(&catalogue.recency(*b)));
        catalogue.recent = recent;
        catalogue.entries.shrink_to_fit();
        catalogue
    }

    /// The entry at exactly this path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        let id = *self.by_path.find(self.hash(path), |id| self.path(*id) == path)?;
        Some(self.entry(id))
    }

    /// All entries whose path has this [fold key](crate::note::fold::fold_key), in path order.
    pub fn folded(&self, key: &str) -> Vec<&Entry> {
        let same = |id: &&u32| &*self.entry(**id).key == key;
        self.collect(self.by_key.iter_hash(self.hash(key)).filter(same))
    }

    /// All entries whose last component has this fold key, in path order.
    pub fn named(&self, name_key: &str) -> Vec<&Entry> {
        let same = |id: &&u32| self.entry(**id).key_name() == name_key;
        self.collect(self.by_name.iter_hash(self.hash(name_key)).filter(same))
    }

    fn collect<'a>(&'a self, ids: impl Iterator<Item = &'a u32>) -> Vec<&'a Entry> {
        let mut entries: Vec<&Entry> = ids.map(|id| self.entry(*id)).collect();
        entries.sort_unstable_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        entries
    }

    /// Everything, newest change first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.recent.iter().map(|id| self.entry(*id))
    }

    /// What lies below `folder`, itself excluded, depth first in path order.
    pub fn within<'a>(&'a self, folder: &'a VaultPath) -> impl Iterator<Item = &'a Entry> {
        let start = self.ordered.partition_point(|id| {
            !folder.is_root() && tree_order(self.path(*id), folder.as_str()) != Ordering::Greater
        });
        self.ordered[start..]
            .iter()
            .map(|id| self.entry(*id))
            .take_while(move |entry| entry.path.is_within(folder))
    }

    /// The paths of all files, in path order.
    pub fn files(&self) -> impl Iterator<Item = &VaultPath> {
        let entries = self.ordered.iter().map(|id| self.entry(*id));
        entries.filter(|entry| entry.kind == Kind::File && !entry.unnameable).map(Entry::path)
    }

    /// How many of each there are.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of memory held, allocator overhead not counted.
    pub fn memory(&self) -> usize {
        let texts: usize =
            self.entries.iter().flatten().map(|e| e.path.as_str().len() + 16 + e.key.len()).sum();
        let tables = [&self.by_path, &self.by_key, &self.by_name];
        texts
            + self.entries.capacity() * size_of::<Option<Entry>>()
            + (self.ordered.capacity() + self.recent.capacity()) * size_of::<u32>()
            + tables.iter().map(|table| table.allocation_size()).sum::<usize>()
    }

    /// Puts an entry in, in place of one at the same path, which is given back.
    pub(super) fn insert(&mut self, entry: Entry) -> Option<Entry> {
        let old = self.remove(entry.path.as_str());
        let id = self.place(entry);
        self.ordered.pop();
        self.recent.pop();
        let path = self.path(id);
        let at = self.ordered.partition_point(|o| tree_order(self.path(*o), path).is_lt());
        self.ordered.insert(at, id);
        let recency = self.recency(id);
        let at = self.recent.partition_point(|o| self.recency(*o) < recency);
        self.recent.insert(at, id);
        old
    }

    /// Takes the entry at `path` out.
    pub(super) fn remove(&mut self, path: &str) -> Option<Entry> {
        let hash = self.hash(path);
        let id = *self.by_path.find(hash, |id| self.path(*id) == path)?;
        let at = self.ordered.partition_point(|o| tree_order(self.path(*o), path).is_lt());
        debug_assert_eq!(self.ordered[at], id, "the order is by path");
        self.ordered.remove(at);
        let recency = self.recency(id);
        let at = self.recent.partition_point(|o| self.recency(*o) < recency);
        debug_assert_eq!(self.recent[at], id, "the order is by time");
        self.recent.remove(at);
        let entry = self.entries[id as usize].take().expect("a listed number has an entry");
        let (key, name) = (self.hash(&entry.key), self.hash(entry.key_name()));
        for (table, hash) in
            [(&mut self.by_path, hash), (&mut self.by_key, key), (&mut self.by_name, name)]
        {
            if let Ok(found) = table.find_entry(hash, |other| *other == id) {
                found.remove();
            }
        }
        self.free.push(id);
        count(&mut self.counts, &entry, false);
        Some(entry)
    }

    /// Takes `folder` and everything below it out.
    pub(super) fn remove_tree(&mut self, folder: &VaultPath) -> Vec<Entry> {
        let mut paths: Vec<VaultPath> = self.within(folder).map(|e| e.path.clone()).collect();
        paths.push(folder.clone());
        paths.iter().filter_map(|path| self.remove(path.as_str())).collect()
    }

    /// Adds an entry to table and hashes; its place in the two orders is the last until the
    /// caller puts it right.
    fn place(&mut self, entry: Entry) -> u32 {
        if let Some(id) = self
            .by_path
            .find(self.hash(entry.path.as_str()), |id| self.path(*id) == entry.path.as_str())
        {
            // Only a build can meet its own path again: a folder renamed under the scan.
            let id = *id;
            let slot = &mut self.entries[id as usize];
            let old = slot.replace(entry).expect("a hashed number has an entry");
            count(&mut self.counts, &old, false);
            let new = self.entries[id as usize].clone().expect("just replaced");
            count(&mut self.counts, &new, true);
            return id;
        }
        count(&mut self.counts, &entry, true);
        let hashes =
            [entry.path.as_str(), &entry.key, entry.key_name()].map(|text| self.hash(text));
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = Some(entry);
                id
            }
            None => {
                self.entries.push(Some(entry));
                u32::try_from(self.entries.len() - 1).expect("a vault has under 2^32 entries")
            }
        };
        let Self { entries, hasher, by_path, by_key, by_name, .. } = self;
        let of = |id: &u32| entries[*id as usize].as_ref().expect("a hashed number has an entry");
        by_path.insert_unique(hashes[0], id, |id| hasher.hash_one(of(id).path.as_str()));
        by_key.insert_unique(hashes[1], id, |id| hasher.hash_one(&*of(id).key));
        by_name.insert_unique(hashes[2], id, |id| hasher.hash_one(of(id).key_name()));
        self.ordered.push(id);
        self.recent.push(id);
        id
    }

    fn entry(&self, id: u32) -> &Entry {
        self.entries[id as usize].as_ref().expect("a listed number has an entry")
    }

    fn path(&self, id: u32) -> &str {
        self.entry(id).path.as_str()
    }

    fn recency(&self, id: u32) -> (Reverse<i64>, &str) {
        let entry = self.entry(id);
        (Reverse(entry.modified), entry.path.as_str())
    }

    fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }
}

fn count(counts: &mut Counts, entry: &Entry, add: bool) {
    let step = |number: &mut usize| if add { *number += 1 } else { *number -= 1 };
    if entry.unnameable {
        return step(&mut counts.unusable);
    }
    match entry.kind {
        Kind::File => {
            step(&mut counts.files);
            if entry.path.is_note() {
                step(&mut counts.notes);
            }
        }
        Kind::Folder => step(&mut counts.folders),
        Kind::Link => step(&mut counts.links),
        Kind::Other => step(&mut counts.unusable),
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Path order with `/` before every other character, so that what lies in a folder follows it.
pub fn tree_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(path: &str, modified: i64) -> Entry {
        let meta = Meta {
            kind: if path.ends_with(".md") { Kind::File } else { Kind::Folder },
            size: 1,
            modified,
            created: None,
            accessed: 0,
            names: 1,
            mode: None,
            id: FileId { device: 0, inode: 0 },
        };
        Entry::new(VaultPath::from_disk(path).expect("a sound path"), &meta)
    }

    fn all(catalogue: &Catalogue) -> (Vec<String>, Vec<String>) {
        let root = VaultPath::root();
        let ordered = catalogue.within(&root).map(|e| e.path().to_string()).collect();
        (ordered, catalogue.recent().map(|e| e.path().to_string()).collect())
    }

    #[test]
    fn a_folder_is_followed_by_what_is_in_it() {
        let names = ["b.md", "a", "a b.md", "a/z.md", "a.md", "a/b", "a/b/c.md"];
        let catalogue = Catalogue::build(names.iter().map(|n| entry(n, 0)).collect());
        let (ordered, _) = all(&catalogue);
        assert_eq!(ordered, ["a", "a/b", "a/b/c.md", "a/z.md", "a b.md", "a.md", "b.md"]);
        let folder = VaultPath::from_disk("a").expect("sound");
        let within: Vec<_> = catalogue.within(&folder).map(|e| e.path().as_str()).collect();
        assert_eq!(within, ["a/b", "a/b/c.md", "a/z.md"]);
        assert_eq!(catalogue.counts().notes, 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_history_gives_the_catalogue_of_its_outcome(
            steps in prop::collection::vec((0_u8..3, "[aAbB]{1,2}(/[cC]{1,2}){0,2}(\\.md)?", 0_i64..5), 0..60)
        ) {
            let mut catalogue = Catalogue::build(Vec::new());
            let mut model = std::collections::BTreeMap::new();
            for (what, path, modified) in steps {
                if what == 0 {
                    prop_assert_eq!(catalogue.remove(&path).is_some(), model.remove(&path).is_some());
                } else {
                    catalogue.insert(entry(&path, modified));
                    model.insert(path, modified);
                }
            }
            let fresh = Catalogue::build(model.iter().map(|(p, m)| entry(p, *m)).collect());
            prop_assert_eq!(all(&catalogue), all(&fresh));
            prop_assert_eq!(catalogue.counts(), fresh.counts());
            for (path, modified) in &model {
                prop_assert_eq!(catalogue.get(path).map(|e| e.modified), Some(*modified));
                let key = crate::note::fold::fold_key(path);
                prop_assert!(catalogue.folded(&key).iter().any(|e| e.path().as_str() == path));
            }
        }
    }
}
