//! The records of all files, with an index by the linkpaths in them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::record::{self, Form, Gap, Record, StoredLink};
use super::resolver::{Choices, Files, file_at, last, lower};
use crate::index::changes::Stamp;
use crate::index::synced::RecordTable;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::catalogue::NamesAt;
use crate::vault::{Catalogue, Vault};

/// The most linkpaths resolved before the lock on the graph is released.
const AT_ONCE: usize = 4_096;

/// Bytes of the two reference counts of an `Arc<str>`.
const COUNTS: usize = 2 * size_of::<usize>();

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
    /// By number; the place of a removed file is taken by the next new one.
    files: Vec<Option<(VaultPath, Record)>>,
    free: Vec<u32>,
    /// The numbers by path.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// By [`key`], so that those with the same last component are adjacent.
    linkpaths: BTreeMap<Box<str>, Linkpath>,
    /// The vault's names when linkpaths were last resolved.
    names: NamesAt,
    /// Whether all of them are resolved.
    is_resolved: bool,
    gaps: BTreeMap<VaultPath, Gap>,
    /// Files whose stamp does not tell whether they have changed since they were read.
    unsure: BTreeSet<VaultPath>,
    /// Those of all records.
    pub links: usize,
    /// Memory of the records and linkpaths.
    pub bytes: usize,
}

/// A linkpath in one or more files. Its candidates are the same from all of them.
pub(super) struct Linkpath {
    text: Arc<str>,
    /// Whether it is the whole path of a file, in a canvas.
    is_file: bool,
    /// The numbers of these files.
    pub sources: Vec<u32>,
    /// Its candidates, if it was resolved.
    pub choices: Option<Choices>,
}

impl Linkpath {
    fn new(text: &str, is_file: bool) -> Self {
        Self { text: text.into(), is_file, sources: Vec::new(), choices: None }
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether this link of a source has this linkpath.
    pub fn is_of(&self, link: &StoredLink) -> bool {
        (link.form == Form::CanvasFile) == self.is_file && link.path() == &*self.text
    }

    /// Its memory in bytes, with its key.
    fn bytes(&self, key: &str) -> usize {
        // Nodes are two thirds full.
        (size_of::<Box<str>>() + size_of::<Self>()) * 3 / 2
            + key.len()
            + COUNTS
            + self.text.len()
            + self.sources.capacity() * size_of::<u32>()
    }

    /// Where it leads among `files`, from `source` and all others.
    pub fn resolve(&self, files: &dyn Files, source: &VaultPath) -> Choices {
        if self.is_file {
            Choices::Exactly(file_at(files, &self.text).map(PathRef::to_path))
        } else {
            Choices::of(files, source, &self.text)
        }
    }
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
        Some(&self.file(self.number(path.as_str())?)?.1)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Record)> {
        self.files.iter().flatten().map(|(path, record)| (path, record))
    }

    fn put(&mut self, path: VaultPath, mut record: Record) {
        self.remove(&path);
        let number = self.next_number();
        for link in &mut record.links {
            let Some(key) = key(link, &path) else { continue };
            let linkpath = match self.linkpaths.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let linkpath = Linkpath::new(link.path(), link.form == Form::CanvasFile);
                    self.bytes += linkpath.bytes(place.key());
                    place.insert(linkpath)
                }
            };
            self.is_resolved &= linkpath.choices.is_some();
            if linkpath.sources.last() != Some(&number) {
                let before = linkpath.sources.capacity();
                linkpath.sources.push(number);
                self.bytes += (linkpath.sources.capacity() - before) * size_of::<u32>();
            }
            if link.is_shared() {
                link.text = Arc::clone(&linkpath.text);
            }
        }
        self.store(number, path, record);
    }

    fn remove(&mut self, path: &VaultPath) {
        let hash = self.hasher.hash_one(path.as_str());
        let Self { files, numbers, .. } = self;
        let is_here = |number: &u32| path_at(files, *number) == path.as_str();
        let Ok(found) = numbers.find_entry(hash, is_here) else { return };
        let (number, _) = found.remove();
        let removed = files[number as usize].take();
        self.free.push(number);
        self.gaps.remove(path);
        self.unsure.remove(path);
        let Some((_, record)) = removed else { return };
        self.links -= record.links.len();
        self.bytes -= bytes_of(path, &record);
        for key in record.links.iter().filter_map(|link| key(link, path)) {
            let Some(linkpath) = self.linkpaths.get_mut(&key) else { continue };
            if let Some(at) = linkpath.sources.iter().rposition(|other| *other == number) {
                linkpath.sources.swap_remove(at);
            }
            if linkpath.sources.is_empty() {
                self.bytes -= linkpath.bytes(&key);
                self.linkpaths.remove(&key);
            }
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

impl Graph {
    /// The number for a new file.
    fn next_number(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.files.push(None);
            u32::try_from(self.files.len() - 1).expect("a vault has less than four billion files")
        })
    }

    fn store(&mut self, number: u32, path: VaultPath, record: Record) {
        self.links += record.links.len();
        self.bytes += bytes_of(&path, &record);
        self.gaps.extend(record.gap.map(|gap| (path.clone(), gap)));
        self.unsure.extend(record.unsure.then(|| path.clone()));
        let hash = self.hasher.hash_one(path.as_str());
        self.files[number as usize] = Some((path, record));
        let Self { files, numbers, hasher, .. } = self;
        numbers.insert_unique(hash, number, |number| hasher.hash_one(path_at(files, *number)));
    }

    /// Stores the record of a new file, and adds the file to the linkpaths at these places: one for each link that has
    /// a linkpath. [`Self::set_linkpaths`] then adds the linkpaths to the graph.
    pub fn put_linked(
        &mut self,
        path: VaultPath,
        record: Record,
        linkpaths: &mut [(Box<str>, Linkpath)],
        places: impl Iterator<Item = usize>,
    ) {
        let number = self.next_number();
        for place in places {
            let sources = &mut linkpaths[place].1.sources;
            if sources.last() != Some(&number) {
                sources.push(number);
            }
        }
        self.store(number, path, record);
    }

    /// Sets the linkpaths of an empty graph, by their keys in order, after [`Self::put_linked`].
    pub fn set_linkpaths(&mut self, linkpaths: Vec<(Box<str>, Linkpath)>) {
        let used = linkpaths.into_iter().filter(|(_, linkpath)| !linkpath.sources.is_empty());
        self.linkpaths = used.collect();
        self.bytes += self.linkpaths.iter().map(|(key, it)| it.bytes(key)).sum::<usize>();
        self.is_resolved = false;
    }

    /// The keys of all linkpaths in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.linkpaths.keys().map(|key| &**key)
    }

    pub fn number(&self, path: &str) -> Option<u32> {
        let is_here = |number: &u32| path_at(&self.files, *number) == path;
        self.numbers.find(self.hasher.hash_one(path), is_here).copied()
    }

    pub fn file(&self, number: u32) -> Option<&(VaultPath, Record)> {
        self.files.get(number as usize)?.as_ref()
    }

    /// More than any number.
    pub fn numbers(&self) -> usize {
        self.files.len()
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn linkpaths(&self) -> impl Iterator<Item = &Linkpath> {
        self.linkpaths.values()
    }

    /// The linkpaths whose last component is one of `names`.
    pub fn named(&self, names: &[String]) -> impl Iterator<Item = &Linkpath> {
        names.iter().flat_map(|name| {
            let [from, to] = around(name);
            let range = (Bound::Included(&*from), Bound::Excluded(&*to));
            self.linkpaths.range::<str, _>(range).map(|(_, linkpath)| linkpath)
        })
    }

    /// The files with a link whose last component is one of `names`.
    pub fn sources(&self, names: &[String]) -> BTreeSet<VaultPath> {
        let numbers = self.named(names).flat_map(|linkpath| &linkpath.sources);
        numbers.filter_map(|number| Some(self.file(*number)?.0.clone())).collect()
    }

    /// Whether the resolutions of the linkpaths are still valid.
    pub fn is_resolved_for(&self, catalogue: &Catalogue) -> bool {
        self.names == catalogue.names_at()
    }

    /// Resolves linkpaths that are unresolved, or that had a possible target appear or disappear: a
    /// part, beginning after that key. Returns the last key of the part, if it was not the last.
    pub fn resolve(&mut self, catalogue: &Catalogue, after: Option<Box<str>>) -> Option<Box<str>> {
        self.forget_changed(catalogue);
        if self.is_resolved {
            return None;
        }
        let Self { files, numbers, hasher, linkpaths, .. } = self;
        // Most targets are files with a record, whose path is shared.
        let shared = |path: VaultPath| {
            let is_here = |number: &u32| path_at(files, *number) == path.as_str();
            let number = numbers.find(hasher.hash_one(path.as_str()), is_here);
            let known = number.and_then(|number| files[*number as usize].as_ref());
            known.map_or(path, |(known, _)| known.clone())
        };
        let is_first = after.is_none();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut done = 0;
        for (key, linkpath) in linkpaths.range_mut((from, Bound::Unbounded)) {
            let source = linkpath.sources.first().and_then(|first| files[*first as usize].as_ref());
            if let (None, Some((source, _))) = (&linkpath.choices, source) {
                linkpath.choices = Some(linkpath.resolve(catalogue, source).map(shared));
                done += 1;
                if done == AT_ONCE {
                    return Some(key.clone());
                }
            }
        }
        self.is_resolved = is_first;
        None
    }

    /// Forgets the targets of linkpaths if a possible target appeared or disappeared since they
    /// were resolved.
    fn forget_changed(&mut self, catalogue: &Catalogue) {
        match catalogue.names_since(self.names) {
            Some(changed) => {
                for name in changed.flat_map(names_of) {
                    let [from, to] = around(&name);
                    let range = (Bound::Included(&*from), Bound::Excluded(&*to));
                    for (_, linkpath) in self.linkpaths.range_mut::<str, _>(range) {
                        linkpath.choices = None;
                        self.is_resolved = false;
                    }
                }
            }
            None => {
                self.linkpaths.values_mut().for_each(|linkpath| linkpath.choices = None);
                self.is_resolved = false;
            }
        }
        self.names = catalogue.names_at();
    }

    /// How many files have a link whose last component is one of `names`; one with two such linkpaths counts twice.
    pub fn count(&self, names: &[String]) -> usize {
        self.named(names).map(|linkpath| linkpath.sources.len()).sum()
    }

    /// The files with unknown links, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        self.gaps.iter().map(|(path, gap)| (path.clone(), *gap)).collect()
    }

    /// Counts of what is stored; nothing is added up for it.
    pub fn summary(&self) -> Summary {
        let files = self.files.capacity() * size_of::<Option<(VaultPath, Record)>>();
        Summary {
            files: self.len(),
            links: self.links,
            gaps: self.gaps(),
            bytes: files + self.numbers.allocation_size() + self.bytes,
        }
    }
}

/// Memory of a record in bytes without what it shares.
fn bytes_of(path: &VaultPath, record: &Record) -> usize {
    let alone = record.links.iter().filter(|link| !link.is_shared());
    COUNTS
        + path.as_str().len()
        + record.links.len() * size_of::<StoredLink>()
        + alone.map(|link| COUNTS + link.text.len()).sum::<usize>()
        + record.tags.iter().map(|tag| 24 + tag.name.len()).sum::<usize>()
}

fn path_at(files: &[Option<(VaultPath, Record)>], number: u32) -> &str {
    files[number as usize].as_ref().map_or("", |(path, _)| path.as_str())
}

/// The key of a link's linkpath: its last component in lower case, how it is resolved, and the linkpath. `None` for a
/// link to the note itself.
fn key(link: &StoredLink, source: &VaultPath) -> Option<Box<str>> {
    let (kind, path, folder) = parts(link, source)?;
    let name = lower(last(path));
    let key = match kind {
        FROM => format!("{name}{kind}{path}\0{folder}"),
        _ => format!("{name}{kind}{path}"),
    };
    Some(key.into_boxed_str())
}

/// In the [`key`] of the linkpath of a file in a canvas.
const FILE: &str = "/file ";
/// In the [`key`] of a linkpath that depends on the note's folder.
const FROM: &str = "/from ";
/// In the other [`keys`](key).
const PATH: &str = "/path ";

/// The parts of the [`key`] of a link's linkpath: how it is resolved, its text, and the folder on which it depends.
/// `None` for a link to the note itself.
pub(super) fn parts<'l>(
    link: &'l StoredLink,
    source: &'l VaultPath,
) -> Option<(&'static str, &'l str, &'l str)> {
    match link.path() {
        path if link.form == Form::CanvasFile => Some((FILE, path, "")),
        "" => None,
        path if path.starts_with('.') => {
            Some((FROM, path, source.borrowed().parent().map_or("", PathRef::as_str)))
        }
        path => Some((PATH, path, "")),
    }
}

/// The [`parts`] of which a key was made; `None` if it is none.
pub(super) fn parts_of_key(key: &str) -> Option<(&'static str, &str, &str)> {
    let rest = &key[key.find('/')?..];
    let kind = [FILE, FROM, PATH].into_iter().find(|kind| rest.starts_with(kind))?;
    let rest = &rest[kind.len()..];
    // Folders never contain NUL.
    let (path, folder) = if kind == FROM { rest.rsplit_once('\0')? } else { (rest, "") };
    Some((kind, path, folder))
}

/// The linkpath with this key, without sources; `None` if it is no key.
pub(super) fn linkpath_of_key(key: &str) -> Option<Linkpath> {
    let (kind, text, _) = parts_of_key(key)?;
    Some(Linkpath::new(text, kind == FILE))
}

/// The [keys](key) of linkpaths with this last component, which has no `/`, are between these: `0`
/// follows `/`.
fn around(name: &str) -> [String; 2] {
    [format!("{name}/"), format!("{name}0")]
}

/// The last components, in lower case, with which links can name a file of this name.
pub(super) fn names_of(name: &str) -> Vec<String> {
    let name = lower(name);
    let bare = name.strip_suffix(".md").map(str::to_owned);
    std::iter::once(name).chain(bare).collect()
}
