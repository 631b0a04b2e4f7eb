//! The names, aliases and headings of all files as words, found by word and by the key of a whole name.

use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::likeness::{Bag, letters};
use crate::index::changes::{Stamp, identity, stamp, unsure_for};
use crate::index::synced::RecordTable;
use crate::note::path::{PathRef, VaultPath};
use crate::note::text::Text;
use crate::note::{markdown, spoken};
use crate::vault::{Kind, Vault, VaultError};

/// The most aliases per note.
const MAX_ALIASES: usize = 64;

/// The most headings per note, used for suggestions.
const MAX_HEADINGS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Name,
    Alias,
    Heading,
}

/// A name, alias or heading of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label<'t> {
    pub origin: Origin,
    /// The numbers of its words, in order.
    pub words: &'t [u32],
}

/// The labels of a file: for each label its word count and origin in one number, then its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Labels(pub Box<[u32]>);

impl Labels {
    fn new(called: Vec<(Origin, Vec<String>)>, words: &mut Words) -> Self {
        let mut labels = Vec::new();
        for (origin, label_words) in called {
            labels.push((label_words.len() as u32) << 2 | origin as u32);
            labels.extend(label_words.iter().map(|word| words.add(word)));
        }
        Self(labels.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = Label<'_>> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (head, after) = rest.split_first()?;
            let (words, after) = after.split_at_checked((head >> 2) as usize)?;
            rest = after;
            let origin = match head & 3 {
                0 => Origin::Name,
                1 => Origin::Alias,
                _ => Origin::Heading,
            };
            Some(Label { origin, words })
        })
    }

    /// The name and aliases, without headings.
    pub fn names(&self) -> impl Iterator<Item = Label<'_>> {
        self.iter().filter(|label| label.origin != Origin::Heading)
    }
}

/// An entry of the table: a file, folder or link.
pub(super) struct NameEntry {
    pub path: VaultPath,
    pub kind: Kind,
    pub stamp: Stamp,
    /// The inode that was read.
    pub identity: u64,
    /// Whether its next change may have the same stamp.
    pub unsure: bool,
    pub labels: Labels,
}

pub(super) struct Read {
    stamp: Stamp,
    identity: u64,
    unsure: bool,
    called: Vec<(Origin, Vec<String>)>,
}

pub(super) struct Word {
    pub text: Box<str>,
    pub letters: u64,
    /// A filler word: spoken around names, not part of them.
    pub is_filler: bool,
    /// The number of names and aliases with it.
    pub names: u32,
    /// The files with it, in order; headings count.
    pub files: Vec<u32>,
}

/// All distinct words. Unused words stay, since most return.
#[derive(Default)]
pub(super) struct Words {
    words: Vec<Word>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Words {
    pub fn get(&self, number: u32) -> &Word {
        &self.words[number as usize]
    }

    /// Every word, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Word> {
        self.words.iter()
    }

    /// The number of a word, if it is in the list.
    pub fn number(&self, word: &str) -> Option<u32> {
        let is_it = |number: &u32| *self.get(*number).text == *word;
        self.numbers.find(self.hasher.hash_one(word), is_it).copied()
    }

    /// The number of a word, which is added if missing.
    pub fn add(&mut self, word: &str) -> u32 {
        if let Some(number) = self.number(word) {
            return number;
        }
        let number =
            u32::try_from(self.words.len()).expect("memory ends before four billion words");
        self.words.push(Word {
            text: word.into(),
            letters: letters(word),
            is_filler: spoken::is_filler(word),
            names: 0,
            files: Vec::new(),
        });
        let Self { words, numbers, hasher } = self;
        let hash = |number: &u32| hasher.hash_one(&*words[*number as usize].text);
        numbers.insert_unique(hash(&number), number, hash);
        number
    }

    pub fn letters(&self, label: Label<'_>) -> u64 {
        label.words.iter().fold(0, |all, word| all | self.get(*word).letters)
    }

    pub fn write_key(&self, label: Label<'_>, key: &mut String) {
        key.clear();
        spoken::write_key(label.words.iter().map(|word| &*self.get(*word).text), key);
    }
}

/// The key of a name or alias as a hash, with its file.
pub(super) struct NameKey {
    hash: u32,
    pub file: u32,
    pub bag: Bag,
    pub letters: u64,
}

impl NameKey {
    /// The slot in the hash table.
    fn place(hash: u32) -> u64 {
        u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[derive(Default)]
pub(super) struct Table {
    pub words: Words,
    files: Vec<Option<NameEntry>>,
    /// Free file numbers.
    free: Vec<u32>,
    by_path: HashTable<u32>,
    name_keys: HashTable<NameKey>,
    unsure: BTreeSet<VaultPath>,
    /// Folders and links, in the order of the catalogue.
    others: Vec<u32>,
    hasher: DefaultHashBuilder,
}

impl Table {
    /// The number of file numbers, free ones included.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn count(&self) -> usize {
        self.files.len() - self.free.len()
    }

    pub fn known(&self, file: u32) -> Option<&NameEntry> {
        self.files.get(file as usize)?.as_ref()
    }

    /// All entries with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &NameEntry)> {
        (0..).zip(&self.files).filter_map(|(number, known)| Some((number, known.as_ref()?)))
    }

    pub fn number(&self, path: PathRef<'_>) -> Option<u32> {
        let is_it = |file: &u32| self.known(*file).is_some_and(|known| path == known.path);
        self.by_path.find(self.hasher.hash_one(path.as_str()), is_it).copied()
    }

    pub fn name_keys(&self) -> impl Iterator<Item = &NameKey> {
        self.name_keys.iter()
    }

    /// The entries with a name or alias of this key.
    pub fn with_key(&self, key: &str) -> Vec<&NameEntry> {
        let hash = self.hash(key);
        let alike = self.name_keys.iter_hash(NameKey::place(hash)).filter(|key| key.hash == hash);
        let files: BTreeSet<u32> = alike.map(|key| key.file).collect();
        let mut other = String::new();
        let mut is_so = |label| {
            self.words.write_key(label, &mut other);
            other == key
        };
        let known = files.into_iter().filter_map(|file| self.known(file));
        known.filter(|known| known.labels.names().any(&mut is_so)).collect()
    }

    /// The files with an alias that begins with these words; the last word may be incomplete.
    pub fn with_alias_prefix(&self, words: &[String]) -> Vec<&NameEntry> {
        let Some((last, whole)) = words.split_last() else { return Vec::new() };
        let text = |number: &u32| &*self.words.get(*number).text;
        let begins = |label: Label<'_>| {
            let (before, after) = label.words.split_at(whole.len().min(label.words.len()));
            label.origin == Origin::Alias
                && before.iter().map(text).eq(whole.iter().map(String::as_str))
                && after.first().is_some_and(|word| text(word).starts_with(last.as_str()))
        };
        let begun = self.words.iter().filter(|word| word.text.starts_with(last.as_str()));
        let files: BTreeSet<u32> = begun.flat_map(|word| &word.files).copied().collect();
        let known = files.into_iter().filter_map(|file| self.known(file));
        known.filter(|known| known.labels.iter().any(begins)).collect()
    }

    /// Folders and links, parents first.
    pub fn others(&self) -> impl Iterator<Item = &NameEntry> {
        self.others.iter().filter_map(|other| self.known(*other))
    }

    /// Replaces the folders and links.
    pub fn set_others(&mut self, now: Vec<(VaultPath, Kind)>) {
        let mut others = Vec::with_capacity(now.len());
        for (path, kind) in now {
            let known = self.number(path.borrowed());
            let same = known.filter(|file| self.known(*file).is_some_and(|it| it.kind == kind));
            others.push(same.unwrap_or_else(|| {
                let labels = Labels::new(names_of(path.borrowed()), &mut self.words);
                let (stamp, identity, unsure) = ((0, 0), 0, false);
                self.set(NameEntry { path, kind, stamp, identity, unsure, labels })
            }));
        }
        let there: HashSet<u32> = others.iter().copied().collect();
        for other in std::mem::replace(&mut self.others, others) {
            let is_other = self.known(other).is_some_and(|known| known.kind != Kind::File);
            if is_other && !there.contains(&other) {
                self.forget(other);
            }
        }
    }

    pub fn set(&mut self, known: NameEntry) -> u32 {
        if known.unsure {
            self.unsure.insert(known.path.clone())
        } else {
            self.unsure.remove(&known.path)
        };
        let number = self.number(known.path.borrowed());
        if let Some(number) = number {
            let old = &mut self.files[number as usize];
            if old.as_ref().is_some_and(|old| old.labels == known.labels) {
                *old = Some(known);
                return number;
            }
            self.unlink(number);
        }
        let number = number.unwrap_or_else(|| self.add(&known.path));
        self.files[number as usize] = Some(known);
        self.link(number);
        number
    }

    /// The number for an entry at this path.
    fn add(&mut self, path: &VaultPath) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.files.push(None);
            u32::try_from(self.files.len() - 1).expect("memory ends before four billion files")
        });
        let Self { files, hasher, .. } = self;
        let hash = |other: &u32| {
            let path = files[*other as usize].as_ref().map(|known| known.path.as_str());
            hasher.hash_one(path.unwrap_or_default())
        };
        self.by_path.insert_unique(hasher.hash_one(path.as_str()), number, hash);
        number
    }

    fn forget(&mut self, number: u32) {
        self.unlink(number);
        let Some(known) = self.files[number as usize].take() else { return };
        let hash = self.hasher.hash_one(known.path.as_str());
        if let Ok(place) = self.by_path.find_entry(hash, |other| *other == number) {
            place.remove();
        }
        self.unsure.remove(&known.path);
        self.free.push(number);
    }

    fn link(&mut self, number: u32) {
        let mut key = String::new();
        let labels = std::mem::take(self.labels(number));
        for label in labels.iter() {
            for word in label.words {
                let word = &mut self.words.words[*word as usize];
                word.names += u32::from(label.origin != Origin::Heading);
                if let Err(place) = word.files.binary_search(&number) {
                    word.files.insert(place, number);
                }
            }
        }
        for label in labels.names() {
            self.words.write_key(label, &mut key);
            let hash = self.hash(&key);
            let letters = self.words.letters(label);
            let key = NameKey { hash, file: number, bag: Bag::of(&key), letters };
            let place = |key: &NameKey| NameKey::place(key.hash);
            self.name_keys.insert_unique(NameKey::place(hash), key, place);
        }
        *self.labels(number) = labels;
    }

    fn unlink(&mut self, number: u32) {
        let mut key = String::new();
        let labels = std::mem::take(self.labels(number));
        for label in labels.iter() {
            for word in label.words {
                let word = &mut self.words.words[*word as usize];
                word.names -= u32::from(label.origin != Origin::Heading);
                if let Ok(place) = word.files.binary_search(&number) {
                    word.files.remove(place);
                }
            }
        }
        for label in labels.names() {
            self.words.write_key(label, &mut key);
            let hash = self.hash(&key);
            let is_it = |key: &NameKey| key.hash == hash && key.file == number;
            if let Ok(place) = self.name_keys.find_entry(NameKey::place(hash), is_it) {
                place.remove();
            }
        }
    }

    fn labels(&mut self, number: u32) -> &mut Labels {
        &mut self.files[number as usize].as_mut().expect("it is known").labels
    }

    fn hash(&self, key: &str) -> u32 {
        (self.hasher.hash_one(key) >> 32) as u32
    }
}

impl RecordTable for Table {
    type Record = NameEntry;
    type Read = Read;

    fn wants(_: PathRef<'_>) -> bool {
        true
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Read> {
        let called = names_of(path.borrowed());
        let mut read = Read { stamp: seen, identity: 0, unsure: false, called };
        if !path.is_note() {
            return Some(read);
        }
        // Taken before the read: a change during the read is later.
        let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
        match vault.read(path) {
            Ok(content) => {
                read.stamp = stamp(&content.meta);
                read.identity = identity(content.meta.id, content.meta.change_mark());
                read.unsure = unsure_for(read.stamp.1, now).is_some();
                if let Ok(text) = Text::decode(&content.bytes, path.name()) {
                    read.called.extend(other_names(text.body()));
                }
            }
            Err(VaultError::TooLarge { .. }) => {}
            Err(_) if vault.stat(path).is_err_and(|error| error.is_absence()) => return None,
            Err(_) => read.unsure = true,
        }
        Some(read)
    }

    fn stamp(known: &NameEntry) -> (Stamp, bool) {
        (known.stamp, known.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&NameEntry> {
        self.known(self.number(path.borrowed())?).filter(|known| known.kind == Kind::File)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &NameEntry)> {
        let files = self.files.iter().flatten().filter(|known| known.kind == Kind::File);
        files.map(|known| (&known.path, known))
    }

    fn put(&mut self, path: VaultPath, read: Read) {
        let Read { stamp, identity, unsure, called } = read;
        let labels = Labels::new(called, &mut self.words);
        self.set(NameEntry { path, kind: Kind::File, stamp, identity, unsure, labels });
    }

    fn remove(&mut self, path: &VaultPath) {
        let number = self.number(path.borrowed());
        let is_file = |file: &u32| self.known(*file).is_some_and(|it| it.kind == Kind::File);
        if let Some(number) = number.filter(is_file) {
            self.forget(number);
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

/// The labels of a path's last component: of a note without extension, of others with it.
pub(super) fn names_of(path: PathRef<'_>) -> Vec<(Origin, Vec<String>)> {
    let name = if path.is_note() { path.stem() } else { path.name() };
    called(Origin::Name, name).collect()
}

/// The labels of a name, also with umlauts transcribed.
fn called(origin: Origin, name: &str) -> impl Iterator<Item = (Origin, Vec<String>)> {
    let spellings = std::iter::once(spoken::words(name))
        .chain(spoken::spelt_out(name).map(|spelt| spoken::words(&spelt)));
    spellings.filter(|words| !words.is_empty()).map(move |words| (origin, words))
}

/// The aliases and headings of a note.
fn other_names(text: &str) -> Vec<(Origin, Vec<String>)> {
    let document = markdown::read(text);
    let aliases = document.frontmatter.iter().flat_map(|found| found.aliases());
    let aliases = aliases.take(MAX_ALIASES).flat_map(|alias| called(Origin::Alias, alias));
    let headings = document.headings.iter().take(MAX_HEADINGS);
    let headings = headings.map(|heading| spoken::words(&text[heading.text.clone()]));
    let headings = headings.filter(|words| !words.is_empty());
    aliases.chain(headings.map(|words| (Origin::Heading, words))).collect()
}
