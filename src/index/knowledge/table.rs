//! The notes and the postings of their words. A canvas, a PDF and an attachment that is found by its name alone are notes
//! here, too.
//!
//! A note gets a new number whenever it is read, and its old number becomes stale; so postings are only appended to.
//! When many numbers are stale, the table is compacted.
//!
//! A note takes a place for its names, and behind it one for each of its chunks. The postings of a word are the places that
//! contain it, each with a byte of counts by field.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher as _;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde_json::Value;

use super::content::{Content, Kind};
use super::dictionary::Dictionary;
use super::postings::{Postings, push};
use super::reading::{self, Source};
use super::words;
use crate::index::changes::Stamp;
use crate::index::synced::RecordTable;
use crate::note::chunks::{self, Chunk};
use crate::note::link::LinkKind;
use crate::note::markdown::Document;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Vault;

/// The table is compacted at this many stale numbers, if they are at least this share of those in
/// use.
const MAX_GONE: usize = 1_000;
const GONE_SHARE: usize = 4;

/// The most distinct words of a note that are indexed; prose never has more.
const MAX_WORDS: usize = 100_000;

/// Bit offsets of the counts of names, two bits each.
pub(super) const TITLE: u32 = 0;
pub(super) const ALIAS: u32 = 2;
pub(super) const FOLDER: u32 = 4;
pub(super) const PROPERTY: u32 = 6;

/// The greatest of these counts.
pub(super) const MAX_CALLED: u8 = 3;

/// Bit offsets of the counts of a chunk, four bits each.
pub(super) const BODY: u32 = 0;
pub(super) const HEADING: u32 = 4;

/// The greatest of these counts.
pub(super) const MAX_IN_CHUNK: u8 = 15;

/// The owner of places of removed notes.
const NOBODY: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Note {
    pub path: VaultPath,
    pub stamp: Stamp,
    /// The file's id on its disk.
    pub identity: u64,
    /// The place of its names; those of its chunks follow.
    pub names: u32,
    /// Words in all chunks.
    pub words: u32,
    pub chunks: u16,
    /// Whether its next change may have the same stamp.
    pub unsure: bool,
}

impl Note {
    /// Whether it is a text: a note, or another file of which some text is indexed. Others are found by their names and
    /// do not count in statistics.
    pub fn is_text(&self) -> bool {
        self.chunks > 0 || self.path.is_note()
    }

    /// Counted from 0; the names come before.
    pub fn place_of(&self, chunk: usize) -> usize {
        self.names as usize + 1 + chunk
    }

    /// The places of its chunks.
    pub fn places(&self) -> Range<usize> {
        self.place_of(0)..self.place_of(usize::from(self.chunks))
    }
}

/// The amount of text of some notes.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Totals {
    pub notes: u64,
    pub chunks: u64,
    pub words: u64,
}

impl Totals {
    pub fn add(&mut self, note: &Note) {
        self.change(note, u64::wrapping_add);
    }

    fn take(&mut self, note: &Note) {
        self.change(note, u64::wrapping_sub);
    }

    fn change(&mut self, note: &Note, change: fn(u64, u64) -> u64) {
        if note.is_text() {
            self.notes = change(self.notes, 1);
            self.chunks = change(self.chunks, u64::from(note.chunks.max(1)));
            self.words = change(self.words, u64::from(note.words));
        }
    }
}

/// A file as it was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub source: Source,
    /// Words in each chunk.
    pub lengths: Vec<u16>,
    /// The counts of each word by place, beginning with place 0.
    pub words: HashMap<String, Vec<(u16, u8)>>,
}

impl Read {
    /// This record of this file.
    pub fn from(self, source: Source) -> Self {
        Self { source, ..self }
    }
}

#[derive(Default)]
pub(super) struct Table {
    /// By number; `None` if stale.
    pub notes: Vec<Option<Note>>,
    /// The numbers by path.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    unsure: BTreeSet<VaultPath>,
    /// All PDFs, and whether their text is indexed.
    pub pdfs: BTreeMap<VaultPath, bool>,
    /// By place, the number of its note, and how many words its chunk has.
    owners: Vec<u32>,
    pub lengths: Vec<u16>,
    /// The text of all notes.
    pub totals: Totals,
    /// How many of the files are notes.
    pub count_of_notes: usize,
    path_bytes: usize,
    pub dictionary: Dictionary,
}

impl Table {
    pub fn number(&self, path: &VaultPath) -> Option<u32> {
        let is_it = |number: &u32| path_of(&self.notes, *number) == path.as_str();
        self.numbers.find(self.hasher.hash_one(path.as_str()), is_it).copied()
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The places of a word without those of stale notes: the number of the note, the place, and the counts.
    pub fn places(&self, word: u32) -> impl Iterator<Item = (u32, u32, u8)> {
        let places = self.dictionary.places(word).iter();
        let places = places.map(|(place, counts)| (self.owners[place as usize], place, counts));
        places.filter(|(owner, ..)| *owner != NOBODY)
    }

    /// Whether a place is that of the names of its note.
    pub fn is_names(&self, place: u32) -> bool {
        let owner = |place: u32| self.owners[place as usize];
        place.checked_sub(1).is_none_or(|before| owner(before) != owner(place))
    }

    pub fn add(&mut self, path: VaultPath, read: Read) {
        let (number, names) = (self.notes.len() as u32, self.owners.len() as u32);
        for (word, places) in &read.words {
            self.dictionary.change(word, |known| {
                places.iter().for_each(|(at, counts)| known.put(names + u32::from(*at), *counts));
            });
        }
        let Read { source: Source { stamp, identity, unsure }, lengths, .. } = read;
        if unsure {
            self.unsure.insert(path.clone());
        }
        if Kind::of(path.borrowed()) == Some(Kind::Pdf) {
            self.pdfs.insert(path.clone(), !lengths.is_empty());
        }
        for length in std::iter::once(&0).chain(&lengths) {
            push(&mut self.owners, number);
            push(&mut self.lengths, *length);
        }
        let (chunks, words) = (lengths.len() as u16, lengths.iter().copied().map(u32::from).sum());
        let hash = self.hasher.hash_one(path.as_str());
        let note = Note { path, stamp, identity, names, words, chunks, unsure };
        self.totals.add(&note);
        self.count_of_notes += usize::from(note.path.is_note());
        self.path_bytes += bytes_of(&note.path);
        push(&mut self.notes, Some(note));
        let (notes, hasher) = (&self.notes, &self.hasher);
        let rehash = |number: &u32| hasher.hash_one(path_of(notes, *number));
        self.numbers.insert_unique(hash, number, rehash);
    }

    /// A copy without stale and unwanted notes.
    pub fn closed_up(&self, wanted: impl Fn(&Note) -> bool) -> Self {
        let mut table = Self::default();
        // By number, how far the places of the note move to the front.
        let mut moved = vec![None; self.notes.len()];
        for (note, moved) in self.notes.iter().zip(&mut moved) {
            let Some(note) = note.as_ref().filter(|note| wanted(note)) else { continue };
            *moved = Some(note.names - table.owners.len() as u32);
            let Note { stamp, identity, unsure, .. } = *note;
            let lengths = self.lengths[note.places()].to_vec();
            let source = Source { stamp, identity, unsure };
            table.add(note.path.clone(), Read { source, lengths, ..Read::default() });
        }
        for (word, text) in self.dictionary.words() {
            let mut places = Postings::default();
            for (note, place, counts) in self.places(word) {
                if let Some(moved) = moved[note as usize] {
                    places.put(place - moved, counts);
                }
            }
            if !places.is_empty() {
                table.dictionary.change(text, |known| *known = places);
            }
        }
        table
    }

    /// Whether all postings refer to existing places, in order.
    pub fn is_sound(&self) -> bool {
        self.dictionary.words().all(|(word, _)| {
            let places = self.dictionary.places(word);
            let mut last = None;
            let is_sound = places.iter().all(|(place, _)| {
                let is_next = last.is_none_or(|last| last < place);
                last = Some(place);
                is_next && (place as usize) < self.owners.len()
            });
            is_sound && last == Some(places.parts().1)
        })
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.notes.capacity() * size_of::<Option<Note>>()
            + self.numbers.allocation_size()
            + self.path_bytes
            + self.owners.capacity() * size_of::<u32>()
            + self.lengths.capacity() * size_of::<u16>()
            + self.dictionary.memory()
    }
}

fn bytes_of(path: &VaultPath) -> usize {
    // An `Arc<str>` has two reference counts.
    2 * size_of::<usize>() + path.as_str().len()
}

fn path_of(notes: &[Option<Note>], number: u32) -> &str {
    notes[number as usize].as_ref().map_or("", |note| note.path.as_str())
}

impl RecordTable for Table {
    type Record = Note;
    type Read = Read;

    fn wants(path: PathRef<'_>) -> bool {
        Kind::of(path).is_some()
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Read> {
        let (source, read) = reading::file(vault, path, seen, |content| of(path, content))?;
        Some(read.from(source))
    }

    fn stamp(note: &Note) -> (Stamp, bool) {
        (note.stamp, note.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Note> {
        self.notes[self.number(path)? as usize].as_ref()
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Note)> {
        self.notes.iter().flatten().map(|note| (&note.path, note))
    }

    fn put(&mut self, path: VaultPath, read: Read) {
        self.remove(&path);
        self.add(path, read);
        let gone = self.notes.len() - self.len();
        if gone > MAX_GONE && gone > self.len() / GONE_SHARE {
            *self = self.closed_up(|_| true);
        }
    }

    fn remove(&mut self, path: &VaultPath) {
        let hash = self.hasher.hash_one(path.as_str());
        let is_it = |number: &u32| path_of(&self.notes, *number) == path.as_str();
        let Ok(found) = self.numbers.find_entry(hash, is_it) else { return };
        let (number, _) = found.remove();
        let Some(note) = self.notes[number as usize].take() else { return };
        self.totals.take(&note);
        self.count_of_notes -= usize::from(note.path.is_note());
        self.path_bytes -= bytes_of(&note.path);
        self.owners[note.names as usize..note.places().end].fill(NOBODY);
        self.unsure.remove(path);
        self.pdfs.remove(path);
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

/// Counts the words of a note.
#[derive(Default)]
struct Counting(HashMap<String, Vec<(u16, u8)>>);

impl Counting {
    fn called(&mut self, text: &str, field: u32) {
        self.count(0, text, field, MAX_CALLED);
    }

    /// Counts the words of a text in a field of a place, up to `most` of each. Returns how many there are.
    fn count(&mut self, place: u16, text: &str, field: u32, most: u8) -> u16 {
        let mut length = 0u16;
        words::each(text, |_, word| {
            length = length.saturating_add(1);
            let Some(places) = self.of(word) else { return };
            if places.last().is_none_or(|(last, _)| *last != place) {
                places.push((place, 0));
            }
            if let Some((_, counts)) = places.last_mut()
                && *counts >> field & most < most
            {
                *counts += 1 << field;
            }
        });
        length
    }

    fn of(&mut self, word: &str) -> Option<&mut Vec<(u16, u8)>> {
        if !self.0.contains_key(word) {
            if self.0.len() >= MAX_WORDS {
                return None;
            }
            self.0.insert(word.to_owned(), Vec::new());
        }
        self.0.get_mut(word)
    }
}

pub(super) fn of(path: &VaultPath, content: &Content<'_>) -> Read {
    let (text, document) = (&*content.text, &content.document);
    let mut counting = Counting::default();
    counting.called(path.stem(), TITLE);
    if let Some(folder) = path.parent() {
        counting.called(folder.as_str(), FOLDER);
    }
    if let Some(frontmatter) = &document.frontmatter {
        frontmatter.aliases().iter().for_each(|alias| counting.called(alias, ALIAS));
        for property in frontmatter.properties.iter().flatten() {
            if !["aliases", "alias"].contains(&&*property.name) {
                properties(&property.value, &mut |text| counting.called(text, PROPERTY));
            }
        }
    }
    let images = images(text, document);
    let mut lengths = Vec::new();
    for (place, chunk) in (1u16..).zip(chunks::cut(text, document)) {
        let mut length = 0u16;
        for part in subtract_ranges(&chunk.range, &images) {
            let part = counting.count(place, &text[part], BODY, MAX_IN_CHUNK);
            length = length.saturating_add(part);
        }
        for heading in headings_of(&chunk, document) {
            let heading = &text[document.headings[heading].text.clone()];
            counting.count(place, heading, HEADING, MAX_IN_CHUNK);
        }
        lengths.push(length);
    }
    Read { lengths, words: counting.0, ..Read::default() }
}

/// The headings above a chunk, and those in it.
fn headings_of(chunk: &Chunk, document: &Document) -> Vec<usize> {
    let first = document.headings.partition_point(|it| it.text.start < chunk.range.start);
    let inside = document.headings[first..].iter().take_while(|it| it.text.start < chunk.range.end);
    let inside = (first..).zip(inside).map(|(number, _)| number);
    let own = chunk.path.iter().copied().filter(|number| *number < first);
    own.chain(inside).collect()
}

/// Visits the texts and numbers in the value of a property.
fn properties(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Number(number) => found(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| properties(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| properties(item, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The ranges of image addresses, which are not indexed, in order.
fn images(text: &str, document: &Document) -> Vec<Range<usize>> {
    const ENDINGS: [&str; 8] = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".avif"];
    let is_image = |address: &str| {
        let address = address.to_ascii_lowercase();
        ENDINGS.iter().any(|ending| address.ends_with(ending))
    };
    let links = document.links.iter().filter(|link| match link.kind {
        LinkKind::Image => true,
        LinkKind::Embed => is_image(&text[link.path.clone()]),
        LinkKind::Wikilink | LinkKind::Markdown => false,
    });
    links.map(|link| link.path.clone()).collect()
}

/// Subtracts the sorted ranges `holes` from a range.
fn subtract_ranges(range: &Range<usize>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let first = holes.partition_point(|hole| hole.end <= range.start);
    let mut parts = Vec::new();
    let mut start = range.start;
    for hole in holes[first..].iter().take_while(|hole| hole.start < range.end) {
        if hole.start > start {
            parts.push(start..hole.start);
        }
        start = start.max(hole.end);
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}
