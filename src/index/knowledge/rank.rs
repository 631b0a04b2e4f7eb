//! Scores notes by BM25: half by their best chunk, half as a whole.
//!
//! All statistics cover only the notes that the caller may see, so that an answer is the same as if there were no
//! others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::table::{ALIAS, BODY, FOLDER, HEADING, Note, PROPERTY, TITLE, Table};
use super::words;

/// The most words of a query that are used: the rarest.
pub(super) const MOST_WORDS: usize = 32;

/// The weight of a file that is found by its name alone: texts come first.
const OF_NAMES: f64 = 0.5;

/// Weights of the fields, relative to the body of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub title: f64,
    pub alias: f64,
    pub heading: f64,
    pub folder: f64,
    pub property: f64,
    /// BM25's k1: saturation of repeated words.
    pub saturation: f64,
    /// BM25's b: normalisation by length, from 0 to 1.
    pub length: f64,
    /// The share of the best chunk in the score; the whole note has the rest.
    pub chunk: f64,
}

pub(super) const WEIGHTS: Weights = Weights {
    title: 5.0,
    alias: 4.0,
    heading: 3.0,
    folder: 0.5,
    property: 1.0,
    saturation: 1.2,
    length: 0.75,
    chunk: 0.5,
};

/// The visible occurrences of a word.
struct Hits {
    /// The note, counts in its names, and the end of its chunks in `chunks`.
    notes: Vec<(u32, u8, usize)>,
    /// The chunk's index in the note, and counts.
    chunks: Vec<(u16, u8)>,
}

impl Hits {
    fn each(&self) -> impl Iterator<Item = (u32, u8, &[(u16, u8)])> {
        let mut start = 0;
        self.notes.iter().map(move |(note, called, end)| {
            let chunks = &self.chunks[start..*end];
            start = *end;
            (*note, *called, chunks)
        })
    }
}

/// A word of a query.
pub(super) struct Term {
    /// The word and similar ones, with their weights.
    pub like: Vec<(u32, f64)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub note: u32,
    pub score: f64,
    /// Whether one of its names contains one of the words.
    pub is_called: bool,
    /// Whether its text contains one of the words.
    pub is_in_text: bool,
}

impl Scored {
    pub fn without_words(note: u32) -> Self {
        Self { note, score: 0.0, is_called: false, is_in_text: false }
    }
}

/// The score of a note under construction.
#[derive(Debug, Clone, Copy, Default)]
struct How {
    is_called: bool,
    is_in_text: bool,
}

/// The contribution of one term to each note and chunk: that of the best of its similar words.
struct Parts {
    notes: Vec<f64>,
    chunks: Vec<f64>,
}

/// The notes of a table that one caller may see.
pub(super) struct Ranking<'t> {
    table: &'t Table,
    seen: Vec<bool>,
    notes: f64,
    chunks: f64,
    words: f64,
    weights: Weights,
    hits: RefCell<HashMap<u32, Rc<Hits>>>,
    of_chunks: Vec<f64>,
}

impl<'t> Ranking<'t> {
    pub fn new(table: &'t Table, sees: impl Fn(&Note) -> bool, weights: Weights) -> Self {
        let seen: Vec<bool> =
            table.notes.iter().map(|note| note.as_ref().is_some_and(&sees)).collect();
        let (mut notes, mut chunks, mut words) = (0.0, 0.0, 0.0);
        let texts = table.notes.iter().zip(&seen);
        let texts = texts.filter_map(|(note, seen)| note.as_ref().filter(|_| *seen));
        for note in texts.filter(|note| note.is_text()) {
            notes += 1.0;
            chunks += note.lengths.len().max(1) as f64;
            words += note.length() as f64;
        }
        let of_chunks = vec![0.0; table.chunks as usize];
        Self { table, seen, notes, chunks, words, weights, hits: RefCell::default(), of_chunks }
    }

    pub fn seen(&self) -> impl Iterator<Item = (u32, &'t Note)> {
        let notes = (0..).zip(&self.table.notes).zip(&self.seen);
        notes.filter_map(|((number, note), seen)| Some((number, note.as_ref().filter(|_| *seen)?)))
    }

    /// The number of visible notes that contain exactly this word, and the word's number.
    pub fn known(&self, word: &str) -> Option<(usize, u32)> {
        let number = self.table.dictionary.find(word)?;
        Some((self.hits(number).notes.len(), number))
    }

    /// The distinct words of a query with similar words, without stop words if two others remain. Also returns how many
    /// were dropped since there were too many.
    pub fn terms(&self, asked: &[String]) -> (Vec<Term>, usize) {
        let mut terms: Vec<&String> = Vec::new();
        for word in asked {
            if !terms.contains(&word) {
                terms.push(word);
            }
        }
        let telling = terms.iter().filter(|word| !words::is_stop_word(word)).count();
        if telling >= 2 {
            terms.retain(|word| !words::is_stop_word(word));
        }
        let mut left_out = 0;
        if terms.len() > MOST_WORDS {
            left_out = terms.len() - MOST_WORDS;
            terms.sort_by_cached_key(|word| {
                (self.known(word).unwrap_or_default().0, (*word).clone())
            });
            terms.truncate(MOST_WORDS);
        }
        let term = |text: &String| {
            let is_known = self.known(text).is_some_and(|(notes, _)| notes > 0);
            let is_there = |word| !self.hits(word).notes.is_empty();
            let like = self.table.dictionary.like(text, !is_known, is_there);
            Term { like }
        };
        (terms.into_iter().map(term).collect(), left_out)
    }

    /// Scores the notes that contain any of the words, in no order.
    pub fn rank(&mut self, terms: &[Term]) -> Vec<Scored> {
        let size = self.table.notes.len();
        let mut of_notes = vec![0.0; size];
        let mut how = vec![How::default(); size];
        let mut parts = Parts { notes: vec![0.0; size], chunks: vec![0.0; self.of_chunks.len()] };
        for term in terms {
            for (word, weight) in &term.like {
                self.add(*word, *weight, &mut parts, &mut how);
            }
            for (total, part) in of_notes.iter_mut().zip(&mut parts.notes) {
                *total += std::mem::take(part);
            }
            for (total, part) in self.of_chunks.iter_mut().zip(&mut parts.chunks) {
                *total += std::mem::take(part);
            }
        }
        let scored = self.seen().filter(|(note, _)| of_notes[*note as usize] > 0.0);
        let score = |(number, note): (u32, &Note)| {
            let best = self.chunk_scores(note).iter().copied().fold(0.0, f64::max);
            let How { is_called, is_in_text } = how[number as usize];
            let whole = of_notes[number as usize];
            let mut score = self.weights.chunk * best + (1.0 - self.weights.chunk) * whole;
            if !note.is_text() {
                score *= OF_NAMES;
            }
            Scored { note: number, score, is_called, is_in_text }
        };
        scored.map(score).collect()
    }

    pub fn best_chunks(&self, note: &Note, most: usize) -> Vec<usize> {
        let scores = self.chunk_scores(note);
        let mut best: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        best.truncate(most);
        best
    }

    fn chunk_scores(&self, note: &Note) -> &[f64] {
        let first = note.first_chunk as usize;
        &self.of_chunks[first..first + note.lengths.len()]
    }

    /// Adds the contribution of one word to the notes and chunks that contain it.
    fn add(&self, word: u32, weight: f64, parts: &mut Parts, how: &mut [How]) {
        let hits = self.hits(word);
        let weights = &self.weights;
        let rarity = |all: f64, with: usize| {
            // Files without text may have it in their names.
            let with = (with as f64).min(all);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        };
        let in_chunks: usize = hits.each().map(|(.., chunks)| chunks.len().max(1)).sum();
        let of_note = weight * rarity(self.notes, hits.notes.len());
        let of_chunk = weight * rarity(self.chunks, in_chunks);
        let of_each = |count: f64| self.words / count.max(1.0);
        let (note_length, chunk_length) = (of_each(self.notes), of_each(self.chunks));
        let saturated = |count: f64, length: f64, usual: f64| {
            let length = 1.0 - weights.length + weights.length * length / usual.max(1.0);
            count * (weights.saturation + 1.0) / (count + weights.saturation * length)
        };
        for (number, called, chunks) in hits.each() {
            let Some(note) = &self.table.notes[number as usize] else { continue };
            let times = |field: u32| f64::from(called >> field & 3);
            let as_called = weights.title * times(TITLE)
                + weights.alias * times(ALIAS)
                + weights.folder * times(FOLDER)
                + weights.property * times(PROPERTY);
            let (mut body, mut heading) = (0.0, 0.0f64);
            let first = note.first_chunk as usize;
            let scores = &mut parts.chunks[first..first + note.lengths.len()];
            let mut usual = 0;
            let mut score = |at: usize, count: f64| {
                let length = f64::from(note.lengths[at]);
                let score = of_chunk * saturated(count, length, chunk_length);
                scores[at] = scores[at].max(score);
            };
            for (at, counts) in chunks {
                let at = usize::from(*at);
                let times = |field: u32| f64::from(counts >> field & 15);
                body += times(BODY);
                heading = heading.max(times(HEADING));
                if as_called > 0.0 {
                    (usual..at).for_each(|at| score(at, as_called));
                    usual = at + 1;
                }
                score(at, as_called + times(BODY) + weights.heading * times(HEADING));
            }
            if as_called > 0.0 {
                (usual..note.lengths.len()).for_each(|at| score(at, as_called));
            }
            let count = as_called + body + weights.heading * heading;
            let score = of_note * saturated(count, note.length() as f64, note_length);
            let part = &mut parts.notes[number as usize];
            *part = part.max(score);
            let how = &mut how[number as usize];
            how.is_called |= called & 0b1111 > 0;
            how.is_in_text |= !chunks.is_empty();
        }
    }

    fn hits(&self, word: u32) -> Rc<Hits> {
        if let Some(known) = self.hits.borrow().get(&word) {
            return Rc::clone(known);
        }
        let mut hits = Hits { notes: Vec::new(), chunks: Vec::new() };
        self.table.places(word, |note, called, chunks| {
            if self.seen[note as usize] {
                hits.chunks.extend(chunks);
                hits.notes.push((note, called, hits.chunks.len()));
            }
        });
        let hits = Rc::new(hits);
        self.hits.borrow_mut().insert(word, Rc::clone(&hits));
        hits
    }
}
