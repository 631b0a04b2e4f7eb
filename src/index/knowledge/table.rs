//! The notes and the postings of their words. A canvas, a PDF and an attachment that is found by its name alone are notes
//! here, too.
//!
//! A note gets a new number whenever it is read, and its old number becomes stale; so postings are only appended to.
//! When many numbers are stale, the table is compacted.
//!
//! The postings of a word are, for each note: the difference of the note's number to the previous one, the number of
//! places, and for each place the difference of its number to the previous one and a byte of counts. All but the
//! counts are variable-length integers. Place 0 is the note's names, place 1 its first chunk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use serde_json::Value;

use super::content::{Content, Kind};
use super::dictionary::Dictionary;
use super::reading::{self, Source};
use super::words;
use crate::index::changes::Stamp;
use crate::index::sealed::{Fields, put};
use crate::index::synced::RecordTable;
use crate::note::chunks::{self, Chunk};
use crate::note::link::LinkKind;
use crate::note::markdown::Document;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Vault;

/// The table is compacted at this many stale numbers, if they are this share of those in use.
const MOST_GONE: usize = 1_000;
const GONE_SHARE: usize = 4;

/// The most distinct words of a note that are indexed; prose never has more.
const MOST_WORDS: usize = 100_000;

/// Bit offsets of the counts of place 0, two bits each.
pub(super) const TITLE: u32 = 0;
pub(super) const ALIAS: u32 = 2;
pub(super) const FOLDER: u32 = 4;
pub(super) const PROPERTY: u32 = 6;

/// Bit offsets of the counts of a chunk, four bits each.
pub(super) const BODY: u32 = 0;
pub(super) const HEADING: u32 = 4;

#[derive(Debug)]
pub(super) struct Note {
    pub path: VaultPath,
    pub stamp: Stamp,
    /// The file's id on its disk.
    pub identity: u64,
    /// Whether its next change may have the same stamp.
    pub unsure: bool,
    /// The number of its first chunk among the chunks of all notes.
    pub first_chunk: u32,
    /// Words in each chunk.
    pub lengths: Box<[u16]>,
}

impl Note {
    /// Whether it is a text: a note, or another file of which some text is indexed. Others are found by their names and
    /// do not count in statistics.
    pub fn is_text(&self) -> bool {
        !self.lengths.is_empty() || self.path.is_note()
    }

    /// Words in all chunks.
    pub fn length(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }
}

#[derive(Debug, Default)]
pub(super) struct Read {
    pub stamp: Stamp,
    pub identity: u64,
    pub unsure: bool,
    pub lengths: Vec<u16>,
    /// Each word with its places.
    pub words: Vec<(Box<str>, Vec<u8>)>,
}

impl Read {
    /// This record of this file.
    pub fn from(self, Source { stamp, identity, unsure }: Source) -> Self {
        Self { stamp, identity, unsure, ..self }
    }
}

#[derive(Default)]
pub(super) struct Table {
    /// By number; `None` if stale.
    pub notes: Vec<Option<Note>>,
    numbers: HashMap<VaultPath, u32>,
    unsure: BTreeSet<VaultPath>,
    /// All PDFs, and whether their text is indexed.
    pub pdfs: BTreeMap<VaultPath, bool>,
    pub chunks: u32,
    pub dictionary: Dictionary,
}

impl Table {
    pub fn number(&self, path: &VaultPath) -> Option<u32> {
        self.numbers.get(path).copied()
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Calls `found` for each note that contains a word: the note's number, the counts in its names, and its chunks
    /// from 0 with their counts. Includes stale numbers.
    pub fn places(&self, word: u32, mut found: impl FnMut(u32, u8, &[(u16, u8)])) {
        let mut chunks = Vec::new();
        let mut note = 0;
        let mut rest = Fields(&self.dictionary.word(word).places);
        while let Some((step, count)) = rest.small().zip(rest.small()) {
            note += step;
            chunks.clear();
            let (mut place, mut called) = (0, 0);
            for _ in 0..count {
                let (Some(step), Some([counts])) = (rest.small(), rest.bytes(1)) else { return };
                place += step;
                match place {
                    0 => called = *counts,
                    _ => chunks.push((place as u16 - 1, *counts)),
                }
            }
            found(note, called, &chunks);
        }
    }

    pub fn add(&mut self, path: VaultPath, read: Read) {
        let number = self.notes.len() as u32;
        for (word, places) in &read.words {
            let word = self.dictionary.entry(word);
            put(&mut word.places, u64::from(number - word.last));
            word.places.extend(places);
            word.last = number;
        }
        if read.unsure {
            self.unsure.insert(path.clone());
        }
        self.numbers.insert(path.clone(), number);
        let Read { stamp, identity, unsure, lengths, .. } = read;
        let (lengths, first_chunk) = (lengths.into_boxed_slice(), self.chunks);
        if Kind::of(path.borrowed()) == Some(Kind::Pdf) {
            self.pdfs.insert(path.clone(), !lengths.is_empty());
        }
        self.chunks += lengths.len() as u32;
        self.notes.push(Some(Note { path, stamp, identity, unsure, first_chunk, lengths }));
    }

    /// A copy without stale and unwanted notes.
    pub fn closed_up(&self, wanted: impl Fn(&Note) -> bool) -> Self {
        let mut table = Self::default();
        let mut renumbered = vec![None; self.notes.len()];
        for (note, number) in self.notes.iter().zip(&mut renumbered) {
            let Some(note) = note.as_ref().filter(|note| wanted(note)) else { continue };
            *number = Some(table.notes.len() as u32);
            let Note { stamp, identity, unsure, .. } = *note;
            let lengths = note.lengths.to_vec();
            let read = Read { stamp, identity, unsure, lengths, words: Vec::new() };
            table.add(note.path.clone(), read);
        }
        for (word, known) in (0..).zip(self.dictionary.words()) {
            let (mut places, mut last) = (Vec::new(), 0);
            self.places(word, |note, called, chunks| {
                let Some(number) = renumbered[note as usize] else { return };
                put(&mut places, u64::from(number - last));
                write_places(&mut places, called, chunks);
                last = number;
            });
            if !places.is_empty() {
                places.shrink_to_fit();
                let word = table.dictionary.entry(&known.text);
                (word.places, word.last) = (places, last);
            }
        }
        table
    }

    /// Whether all postings refer to existing chunks.
    pub fn is_sound(&self) -> bool {
        (0..).zip(self.dictionary.words()).all(|(number, word)| {
            let (mut stands, mut is_sound) = (false, true);
            self.places(number, |note, _, chunks| {
                let chunks = chunks.last().map_or(0, |(chunk, _)| usize::from(*chunk) + 1);
                let note = self.notes.get(note as usize).and_then(Option::as_ref);
                is_sound &= note.is_some_and(|note| chunks <= note.lengths.len());
                stands = true;
            });
            is_sound && stands && (word.last as usize) < self.notes.len()
        })
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        let notes = self.notes.iter().flatten();
        // A path has two counts before its text.
        let each = notes.map(|note| 16 + note.path.as_str().len() + 2 * note.lengths.len());
        self.notes.capacity() * size_of::<Option<Note>>()
            + self.numbers.capacity() * (size_of::<(VaultPath, u32)>() + 1)
            + each.sum::<usize>()
            + self.dictionary.memory()
    }
}

fn write_places(to: &mut Vec<u8>, called: u8, chunks: &[(u16, u8)]) {
    put(to, chunks.len() as u64 + u64::from(called > 0));
    if called > 0 {
        to.extend([0, called]);
    }
    let mut last = 0;
    for (chunk, counts) in chunks {
        let place = u64::from(*chunk) + 1;
        put(to, place - last);
        to.push(*counts);
        last = place;
    }
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
        if gone > MOST_GONE && gone > self.len() / GONE_SHARE {
            *self = self.closed_up(|_| true);
        }
    }

    fn remove(&mut self, path: &VaultPath) {
        if let Some(number) = self.numbers.remove(path) {
            self.notes[number as usize] = None;
            self.unsure.remove(path);
            self.pdfs.remove(path);
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

/// Counts the words of a note.
#[derive(Default)]
struct Counting(HashMap<String, (u8, Vec<(u16, u8)>)>);

impl Counting {
    fn called(&mut self, text: &str, field: u32) {
        words::each(text, |_, word| {
            if let Some((called, _)) = self.of(word)
                && *called >> field & 3 < 3
            {
                *called += 1 << field;
            }
        });
    }

    fn in_chunk(&mut self, chunk: u16, text: &str, field: u32) -> u16 {
        let mut length = 0u16;
        words::each(text, |_, word| {
            length = length.saturating_add(1);
            let Some((_, chunks)) = self.of(word) else { return };
            if chunks.last().is_none_or(|(last, _)| *last != chunk) {
                chunks.push((chunk, 0));
            }
            if let Some((_, counts)) = chunks.last_mut()
                && *counts >> field & 15 < 15
            {
                *counts += 1 << field;
            }
        });
        length
    }

    fn of(&mut self, word: &str) -> Option<&mut (u8, Vec<(u16, u8)>)> {
        if !self.0.contains_key(word) {
            if self.0.len() >= MOST_WORDS {
                return None;
            }
            self.0.insert(word.to_owned(), Default::default());
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
    for (number, chunk) in (0u16..).zip(chunks::cut(text, document)) {
        let mut length = 0u16;
        for part in without(&chunk.range, &images) {
            length = length.saturating_add(counting.in_chunk(number, &text[part], BODY));
        }
        for heading in headings_of(&chunk, document) {
            counting.in_chunk(number, &text[document.headings[heading].text.clone()], HEADING);
        }
        lengths.push(length);
    }
    let words = counting.0.into_iter().map(|(word, (called, chunks))| {
        let mut places = Vec::new();
        write_places(&mut places, called, &chunks);
        (word.into_boxed_str(), places)
    });
    Read { lengths, words: words.collect(), ..Read::default() }
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
fn without(range: &Range<usize>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
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
