//! Scores notes by BM25: half by their best chunk, half as a whole.
//!
//! All statistics cover only the notes that the caller may see, so that an answer is the same as if there were no
//! others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::table::{
    ALIAS, BODY, FOLDER, HEADING, MAX_CALLED, MAX_IN_CHUNK, Note, PROPERTY, TITLE, Table, Totals,
};
use super::words;
use crate::vault::View;

/// The most words of a query that are used: the rarest.
pub(super) const MAX_WORDS: usize = 32;

/// The weight of a file found only by its name: texts come first.
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
#[derive(Default)]
struct Hits {
    /// The note, the place, and the counts.
    places: Vec<(u32, u32, u8)>,
    /// Notes with the word.
    notes: usize,
    /// Chunks with the word; a note with it in its names alone counts as one.
    chunks: usize,
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

/// The sum of the contributions of all terms, and that of the current term: the best of its similar
/// words.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    all: f64,
    part: f64,
}

impl Sum {
    fn close(&mut self) {
        self.all += std::mem::take(&mut self.part);
    }
}

/// A note with any of the words.
#[derive(Debug)]
struct Met {
    note: u32,
    /// The position of its first chunk among those of all these notes.
    first: u32,
    sum: Sum,
    is_called: bool,
    is_in_text: bool,
}

/// The notes of a table that one caller may see.
pub(super) struct Ranking<'t> {
    table: &'t Table,
    /// By note; `None` if the caller sees all.
    seen: Option<Vec<bool>>,
    totals: Totals,
    weights: Weights,
    hits: RefCell<HashMap<u32, Rc<Hits>>>,
    met: Vec<Met>,
    /// By note, its position in `met` from 1; 0 if it is not there.
    positions: Vec<u32>,
    /// The chunks of the notes in `met`.
    chunks: Vec<Sum>,
}

impl<'t> Ranking<'t> {
    pub fn new(table: &'t Table, view: &View, weights: Weights) -> Self {
        let is_seen = |note: &Option<Note>| note.as_ref().is_some_and(|it| view.shows(&it.path));
        let seen = (!view.is_all()).then(|| table.notes.iter().map(is_seen).collect());
        let mut ranking = Self {
            table,
            seen,
            totals: table.totals,
            weights,
            hits: RefCell::default(),
            met: Vec::new(),
            positions: vec![0; table.notes.len()],
            chunks: Vec::new(),
        };
        if ranking.seen.is_some() {
            let mut totals = Totals::default();
            ranking.seen().for_each(|(_, note)| totals.add(note));
            ranking.totals = totals;
        }
        ranking
    }

    fn sees(&self, note: u32) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen[note as usize])
    }

    pub fn seen(&self) -> impl Iterator<Item = (u32, &'t Note)> {
        let notes = (0..).zip(&self.table.notes).filter(|(number, _)| self.sees(*number));
        notes.filter_map(|(number, note)| Some((number, note.as_ref()?)))
    }

    pub fn has_word(&self, note: u32) -> bool {
        self.positions[note as usize] > 0
    }

    /// The number of visible notes that contain exactly this word, and the word's number.
    pub fn known(&self, word: &str) -> Option<(usize, u32)> {
        let number = self.table.dictionary.find(word)?;
        Some((self.hits(number).notes, number))
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
        if terms.len() > MAX_WORDS {
            left_out = terms.len() - MAX_WORDS;
            terms.sort_by_cached_key(|word| {
                (self.known(word).unwrap_or_default().0, (*word).clone())
            });
            terms.truncate(MAX_WORDS);
        }
        let term = |text: &String| {
            let is_known = self.known(text).is_some_and(|(notes, _)| notes > 0);
            let is_there = |word| self.hits(word).notes > 0;
            let like = self.table.dictionary.like(text, !is_known, is_there);
            Term { like }
        };
        (terms.into_iter().map(term).collect(), left_out)
    }

    /// Scores the notes that contain any of the words, in no order.
    pub fn rank(&mut self, terms: &[Term]) -> Vec<Scored> {
        for term in terms {
            for (word, weight) in &term.like {
                self.add(*word, *weight);
            }
            self.met.iter_mut().for_each(|met| met.sum.close());
            self.chunks.iter_mut().for_each(Sum::close);
        }
        let score = |met: &Met| {
            let note = self.table.notes[met.note as usize].as_ref()?;
            let best = self.sums(met, note).iter().map(|sum| sum.all).fold(0.0, f64::max);
            let mut score = self.weights.chunk * best + (1.0 - self.weights.chunk) * met.sum.all;
            if !note.is_text() {
                score *= OF_NAMES;
            }
            let Met { note, is_called, is_in_text, .. } = *met;
            Some(Scored { note, score, is_called, is_in_text })
        };
        self.met.iter().filter_map(score).collect()
    }

    pub fn best_chunks(&self, number: u32, note: &Note, most: usize) -> Vec<usize> {
        let position = self.positions[number as usize] as usize;
        let Some(met) = position.checked_sub(1).map(|at| &self.met[at]) else { return Vec::new() };
        let sums = self.sums(met, note);
        let mut best: Vec<usize> = (0..sums.len()).filter(|at| sums[*at].all > 0.0).collect();
        best.sort_by(|a, b| sums[*b].all.total_cmp(&sums[*a].all).then(a.cmp(b)));
        best.truncate(most);
        best
    }

    fn sums(&self, met: &Met, note: &Note) -> &[Sum] {
        &self.chunks[met.first as usize..][..usize::from(note.chunks)]
    }

    /// Adds the contribution of one word to the notes and chunks that contain it.
    fn add(&mut self, word: u32, weight: f64) {
        let hits = self.hits(word);
        let (weights, totals, table) = (self.weights, self.totals, self.table);
        let rarity = |all: u64, with: usize| {
            let all = all as f64;
            // Files without text may have it in their names.
            let with = (with as f64).min(all);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        };
        let of_note = weight * rarity(totals.notes, hits.notes);
        let of_chunk = weight * rarity(totals.chunks, hits.chunks);
        let of_each = |count: u64| totals.words as f64 / (count as f64).max(1.0);
        let (note_length, chunk_length) = (of_each(totals.notes), of_each(totals.chunks));
        let saturated = |count: f64, length: f64, usual: f64| {
            let length = 1.0 - weights.length + weights.length * length / usual.max(1.0);
            count * (weights.saturation + 1.0) / (count + weights.saturation * length)
        };
        for places in hits.places.chunk_by(|(note, ..), (other, ..)| note == other) {
            let (number, place, counts) = places[0];
            let Some(note) = &table.notes[number as usize] else { continue };
            let (called, places) =
                if table.is_names(place) { (counts, &places[1..]) } else { (0, places) };
            let times = |field: u32| f64::from(called >> field & MAX_CALLED);
            let as_called = weights.title * times(TITLE)
                + weights.alias * times(ALIAS)
                + weights.folder * times(FOLDER)
                + weights.property * times(PROPERTY);
            let (mut body, mut heading) = (0.0, 0.0f64);
            let met = self.position(number, note);
            let (first, chunks) = (self.met[met].first as usize, usize::from(note.chunks));
            let scores = &mut self.chunks[first..first + chunks];
            let mut usual = 0;
            let mut score = |at: usize, count: f64| {
                let length = f64::from(table.lengths[note.place_of(at)]);
                let score = of_chunk * saturated(count, length, chunk_length);
                scores[at].part = scores[at].part.max(score);
            };
            for (_, place, counts) in places {
                let at = (place - note.names - 1) as usize;
                let times = |field: u32| f64::from(counts >> field & MAX_IN_CHUNK);
                body += times(BODY);
                heading = heading.max(times(HEADING));
                if as_called > 0.0 {
                    (usual..at).for_each(|at| score(at, as_called));
                    usual = at + 1;
                }
                score(at, as_called + times(BODY) + weights.heading * times(HEADING));
            }
            if as_called > 0.0 {
                (usual..chunks).for_each(|at| score(at, as_called));
            }
            let count = as_called + body + weights.heading * heading;
            let score = of_note * saturated(count, f64::from(note.words), note_length);
            let met = &mut self.met[met];
            met.sum.part = met.sum.part.max(score);
            met.is_called |= called & 0b1111 > 0;
            met.is_in_text |= !places.is_empty();
        }
    }

    /// The position of a note among those with any of the words.
    fn position(&mut self, number: u32, note: &Note) -> usize {
        let position = &mut self.positions[number as usize];
        if *position == 0 {
            let first = self.chunks.len();
            self.chunks.resize(first + usize::from(note.chunks), Sum::default());
            let (first, sum) = (first as u32, Sum::default());
            let met = Met { note: number, first, sum, is_called: false, is_in_text: false };
            self.met.push(met);
            *position = self.met.len() as u32;
        }
        *position as usize - 1
    }

    fn hits(&self, word: u32) -> Rc<Hits> {
        if let Some(known) = self.hits.borrow().get(&word) {
            return Rc::clone(known);
        }
        let places = self.table.places(word).filter(|(note, ..)| self.sees(*note)).collect();
        let mut hits = Hits { places, ..Hits::default() };
        for places in hits.places.chunk_by(|(note, ..), (other, ..)| note == other) {
            let has_names = self.table.is_names(places[0].1);
            hits.notes += 1;
            hits.chunks += (places.len() - usize::from(has_names)).max(1);
        }
        let hits = Rc::new(hits);
        self.hits.borrow_mut().insert(word, Rc::clone(&hits));
        hits
    }
}
