//! The records of all files, with an index by the names in their links.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::record::{self, Gap, Record, StoredLink};
use super::resolver::{last, lower};
use crate::index::changes::Stamp;
use crate::index::synced::RecordTable;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Vault;

/// Size of the graph, and the number of files whose links are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of notes and canvases that were read.
    pub files: usize,
    pub links: usize,
    /// Files with unknown links.
    pub gaps: Vec<(VaultPath, Gap)>,
    /// Memory use in bytes, without the allocator's overhead.
    pub bytes: usize,
}

#[derive(Default)]
pub(super) struct Graph {
    records: HashMap<VaultPath, Record>,
    /// The files by the last component of their links, in lower case.
    by_name: HashMap<Box<str>, BTreeSet<VaultPath>>,
    gaps: BTreeMap<VaultPath, Gap>,
    /// Files whose stamp does not tell whether they have changed since they were read.
    unsure: BTreeSet<VaultPath>,
}

impl RecordTable for Graph {
    type Record = Record;
    type Read = Record;

    fn wants(path: PathRef<'_>) -> bool {
        record::is_source(path)
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Record> {
        record::read(vault, path, seen)
    }

    fn stamp(record: &Record) -> (Stamp, bool) {
        (record.stamp, record.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Record> {
        self.records.get(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Record)> {
        self.records.iter()
    }

    fn put(&mut self, path: VaultPath, record: Record) {
        self.remove(&path);
        for name in names(&record) {
            self.by_name.entry(name).or_default().insert(path.clone());
        }
        self.gaps.extend(record.gap.map(|gap| (path.clone(), gap)));
        self.unsure.extend(record.unsure.then(|| path.clone()));
        self.records.insert(path, record);
    }

    fn remove(&mut self, path: &VaultPath) {
        let Some(record) = self.records.remove(path) else { return };
        self.gaps.remove(path);
        self.unsure.remove(path);
        for name in names(&record) {
            if let Some(sources) = self.by_name.get_mut(&name) {
                sources.remove(path);
                if sources.is_empty() {
                    self.by_name.remove(&name);
                }
            }
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

impl Graph {
    /// The files with a link whose last component is one of `names`.
    pub fn sources(&self, names: &[String]) -> BTreeSet<VaultPath> {
        let sets = names.iter().filter_map(|name| self.by_name.get(name.as_str()));
        sets.flatten().cloned().collect()
    }

    /// How many files have a link whose last component is one of `names`; one with two of them counts twice.
    pub fn count(&self, names: &[String]) -> usize {
        names.iter().filter_map(|name| self.by_name.get(name.as_str())).map(BTreeSet::len).sum()
    }

    /// The files with unknown links, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        self.gaps.iter().map(|(path, gap)| (path.clone(), *gap)).collect()
    }

    pub fn summary(&self) -> Summary {
        let mut summary =
            Summary { files: self.records.len(), gaps: self.gaps(), ..Summary::default() };
        summary.bytes = self.records.capacity() * (size_of::<(VaultPath, Record)>() + 1)
            + self.by_name.capacity() * (size_of::<(Box<str>, BTreeSet<VaultPath>)>() + 1);
        for (path, record) in &self.records {
            summary.links += record.links.len();
            // An `Arc<str>` has two reference counts.
            summary.bytes += 2 * size_of::<usize>()
                + path.as_str().len()
                + record
                    .links
                    .iter()
                    .map(|link| size_of::<StoredLink>() + link.text.len())
                    .sum::<usize>()
                + record.tags.iter().map(|tag| 24 + tag.name.len()).sum::<usize>();
        }
        // A node of a `BTreeSet` has eleven entries.
        let names = self.by_name.iter();
        let piece = 11 * size_of::<VaultPath>() + 16;
        summary.bytes +=
            names.map(|(name, set)| name.len() + set.len().div_ceil(11) * piece).sum::<usize>();
        summary
    }
}

/// The last components of a record's links in lower case, each once.
fn names(record: &Record) -> BTreeSet<Box<str>> {
    let written = record.links.iter().filter(|link| !link.path().is_empty());
    written.map(|link| lower(last(link.path())).into_boxed_str()).collect()
}

/// The last components with which links can name the file at `path`.
pub(super) fn names_of(path: &VaultPath) -> Vec<String> {
    let name = lower(path.name());
    let bare = name.strip_suffix(".md").map(str::to_owned);
    std::iter::once(name).chain(bare).collect()
}

/// Whether a link's last component is one of `names`.
pub(super) fn is_named(link: &StoredLink, names: &[String]) -> bool {
    let name = last(link.path());
    match name.is_ascii() {
        true => names.iter().any(|other| other.eq_ignore_ascii_case(name)),
        false => names.contains(&lower(name)),
    }
}
