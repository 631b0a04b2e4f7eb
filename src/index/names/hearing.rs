//! How near what was asked is to each name: by its words, the rare ones most, in any order.
//!
//! In two steps. The words that were said, and the same in the plural, say whose name holds all of them. Words
//! that are merely alike, how rare each is, and what is alike by its letters alone make a score, which ranks
//! what is suggested and never decides what is meant.

use std::collections::HashMap;

use super::asked::{Asked, MOST_WORDS};
use super::likeness::{Bag, Likeness, letters};
use super::table::{Known, Label, Origin, Sound, Table, Word};
use crate::note::spoken;
use crate::vault::View;

/// What a word that is only said around names counts for, beside others.
const FILLER: f64 = 0.15;

/// What a word of a folder counts for, beside one of the name.
const FOLDER: f64 = 0.8;

/// Words less alike than this are others.
const LEAST_ALIKE: f64 = 0.6;

/// From here on, a word is the one that was said, perhaps in the plural.
const SAME: f64 = 0.95;

/// How much of a score is how much was said of the name; the rest is how much of what was said is in it.
const OF_THE_NAME: f64 = 0.25;

/// What words that stand beside each other as they were said add, where all do.
const IN_ORDER: f64 = 0.06;

/// What one of the two ways to compare adds where the other counts.
const BOTH: f64 = 0.05;

/// What was asked, ready to be compared with names.
pub(super) struct Hearing<'a> {
    asked: &'a Asked,
    table: &'a Table,
    /// By the number of a word that has to do with what was said: how alike it is to each word of that.
    alike: HashMap<u32, Box<[f64]>>,
    /// Words that were said as one: which, and the two that they are.
    compounds: Vec<(usize, u32, u32)>,
    /// Two neighbours that were said apart: the first, and the word that they are.
    apart: Vec<(usize, u32)>,
    said: Vec<SaidWord<'a>>,
}

impl<'a> Hearing<'a> {
    /// With the words that were said, one way or another.
    pub fn new(asked: &'a Asked, table: &'a Table) -> Self {
        let said = asked.words.iter().map(|word| SaidWord::new(word)).collect();
        let (alike, compounds, apart) = (HashMap::new(), Vec::new(), Vec::new());
        let mut hearing = Self { asked, table, alike, compounds, apart, said };
        for at in 0..asked.words.len() {
            let forms = hearing.said[at].forms();
            forms
                .iter()
                .filter_map(|form| table.words.number(form))
                .for_each(|word| hearing.hear(word));
        }
        hearing.find_compounds();
        hearing
    }

    /// Takes in how alike a word is to each one that was said, if it is.
    fn hear(&mut self, number: u32) {
        let word = self.table.words.get(number);
        let mut alike = [0.0; MOST_WORDS];
        alike.iter_mut().zip(&self.said).for_each(|(alike, said)| *alike = said.alike(word));
        let alike = &alike[..self.said.len()];
        if alike.iter().any(|alike| *alike > 0.0) {
            self.alike.insert(number, alike.into());
        }
    }

    fn find_compounds(&mut self) {
        let words = &self.table.words;
        let concerns = || vec![0.0; self.asked.words.len()].into();
        for (at, said) in self.asked.words.iter().enumerate() {
            let cuts = (1..said.len()).filter(|cut| said.is_char_boundary(*cut));
            for (first, second) in cuts.map(|cut| said.split_at(cut)) {
                if let (Some(first), Some(second)) = (words.number(first), words.number(second)) {
                    self.compounds.push((at, first, second));
                    self.alike.entry(first).or_insert_with(concerns);
                }
            }
        }
        for (at, pair) in self.asked.words.windows(2).enumerate() {
            if let Some(number) = words.number(&pair.concat()) {
                self.apart.push((at, number));
                self.alike.entry(number).or_insert_with(concerns);
            }
        }
    }

    /// The words that say a word that was said, perhaps with the one beside it.
    fn saying(&self, at: usize) -> impl Iterator<Item = u32> {
        let same = self.alike.iter().filter(move |(_, alike)| alike[at] >= SAME);
        let compounds = self.compounds.iter().filter(move |(said, ..)| *said == at);
        let apart = self.apart.iter().filter(move |(first, _)| *first == at || first + 1 == at);
        let split = compounds.map(|(_, first, _)| *first).chain(apart.map(|(_, word)| *word));
        same.map(|(word, _)| *word).chain(split)
    }

    /// Whether a word has to be in a name that holds all that was said.
    fn counts(&self, at: usize) -> bool {
        let fillers_alone = self.asked.words.iter().all(|word| spoken::is_filler(word));
        fillers_alone || !spoken::is_filler(&self.asked.words[at])
    }

    /// What is called by the rarest of the words that were said: nothing else can hold all of them.
    pub fn may_hold_all(&self) -> Vec<u32> {
        let counting = (0..self.asked.words.len()).filter(|at| self.counts(*at));
        let files = |word: u32| self.table.words.get(word).files.as_slice();
        let rarest =
            counting.min_by_key(|at| self.saying(*at).map(|it| files(it).len()).sum::<usize>());
        let mut found: Vec<u32> =
            rarest.iter().flat_map(|at| self.saying(*at)).flat_map(files).copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether all the words that were said are in it.
    pub fn holds_all(&self, label: Label<'_>) -> bool {
        let best = self.best(label, |_, _| ());
        (0..self.asked.words.len()).all(|at| best[at] >= SAME || !self.counts(at))
    }

    /// How much of each word that was said is in a label. `covered` is told of each of its words how much of
    /// it was said.
    fn best(&self, label: Label<'_>, mut covered: impl FnMut(u32, f64)) -> [f64; MOST_WORDS] {
        let mut best = [0.0_f64; MOST_WORDS];
        for (at, word) in label.words.iter().enumerate() {
            let mut most = 0.0_f64;
            if let Some(alike) = self.alike.get(word) {
                for (best, alike) in best.iter_mut().zip(alike) {
                    *best = best.max(*alike);
                    most = most.max(*alike);
                }
            }
            for (said, first, second) in &self.compounds {
                let (before, after) =
                    (at.checked_sub(1).map(|at| label.words[at]), label.words.get(at + 1));
                if (word == first && after == Some(second))
                    || (word == second && before == Some(*first))
                {
                    (best[*said], most) = (1.0, 1.0);
                }
            }
            for (said, whole) in &self.apart {
                if word == whole {
                    (best[*said], best[said + 1], most) = (1.0, 1.0, 1.0);
                }
            }
            covered(*word, most);
        }
        best
    }
}

/// The same with all that is needed for a score.
pub(super) struct Ranking<'a> {
    hearing: Hearing<'a>,
    /// Which may be seen, and how often each word is in their names; nothing where all may be.
    part: Option<(Vec<bool>, Vec<u32>)>,
    /// How many may be seen.
    total: usize,
    /// How much each word counts that was said.
    said_weights: Vec<f64>,
    name: Likeness,
    name_letters: u64,
    bag: Bag,
    /// Room for the key of the other name.
    key: String,
}

impl<'a> Ranking<'a> {
    pub fn new(mut hearing: Hearing<'a>, view: &View) -> Self {
        let Hearing { asked, table, .. } = hearing;
        let seen = || table.all().filter(|(_, known)| view.shows(&known.path));
        let (part, total) = match view.is_all() {
            true => (None, table.count()),
            false => {
                let mut part = (vec![false; table.len()], vec![0; table.words.iter().len()]);
                for (file, known) in seen() {
                    part.0[file as usize] = true;
                    let words = known.labels.names().flat_map(|label| label.words);
                    words.for_each(|word| part.1[*word as usize] += 1);
                }
                (Some(part), seen().count())
            }
        };
        (0..).zip(table.words.iter()).for_each(|(number, word): (u32, &Word)| {
            if !word.files.is_empty() {
                hearing.hear(number);
            }
        });
        let mut ranking = Self {
            hearing,
            part,
            total,
            said_weights: Vec::new(),
            name: Likeness::of(&asked.name),
            name_letters: letters(&asked.name),
            bag: Bag::of(&asked.name),
            key: String::new(),
        };
        let weight = |word: &String| {
            let count = table.words.number(word).map_or(0, |number| ranking.count(number));
            ranking.weight(word, spoken::is_filler(word), count)
        };
        ranking.said_weights = asked.words.iter().map(weight).collect();
        ranking
    }

    pub fn is_seen(&self, file: u32) -> bool {
        self.part.as_ref().is_none_or(|(seen, _)| seen[file as usize])
    }

    /// How often a word is in the names that may be seen.
    fn count(&self, word: u32) -> u32 {
        match &self.part {
            Some((_, counts)) => counts[word as usize],
            None => self.hearing.table.words.get(word).names,
        }
    }

    fn weight(&self, text: &str, is_filler: bool, count: u32) -> f64 {
        let rarity = (1.0 + self.total as f64 / f64::from(count.max(1))).ln();
        match is_filler {
            true => rarity * FILLER,
            false => rarity * (0.6 + 0.4 * (text.len().min(4) as f64) / 4.0),
        }
    }

    fn weight_of(&self, number: u32) -> f64 {
        let word = self.hearing.table.words.get(number);
        self.weight(&word.text, word.is_filler, self.count(number))
    }

    /// How much of each word that was said the words of a folder have, and those of the folder above it;
    /// nothing where they have none.
    pub fn folder(&self, folder: &Known, above: Option<&[f64]>) -> Option<Box<[f64]>> {
        let words = folder.labels.iter().flat_map(|label| label.words);
        let mut heard = words.filter_map(|word| self.hearing.alike.get(word)).peekable();
        if heard.peek().is_none() {
            return above.map(Box::from);
        }
        let said = &self.hearing.asked.words;
        let mut best: Box<[f64]> = above.map_or_else(|| vec![0.0; said.len()].into(), Box::from);
        for alike in heard {
            best.iter_mut().zip(alike).for_each(|(best, alike)| *best = best.max(*alike));
        }
        // "the first note" says nothing of a folder "Release notes".
        let fillers = best.iter_mut().zip(said).filter(|(_, word)| spoken::is_filler(word));
        fillers.for_each(|(best, _)| *best = 0.0);
        Some(best)
    }

    /// Whether a word that was said is one of a folder's.
    pub fn is_said(folder: &[f64]) -> bool {
        folder.iter().any(|alike| *alike >= SAME)
    }

    /// The files that have most of what was said, as far as their single words tell; `inside` are those in
    /// folders that were said, with what the folders have of it.
    pub fn foremost(&self, most: usize, inside: &[(u32, &[f64])]) -> Vec<u32> {
        let Hearing { table, alike, apart, compounds, .. } = &self.hearing;
        let mut held = vec![0.0_f64; table.len()];
        let worth = |alike: &[f64]| {
            let weights = self.said_weights.iter().zip(alike);
            weights.map(|(weight, alike)| weight * alike).fold(0.0, f64::max)
        };
        for (word, alike) in alike {
            let split = apart.iter().map(|(said, whole)| (*said, *whole));
            let split = split.chain(compounds.iter().map(|(said, first, _)| (*said, *first)));
            let whole = split.filter(|(_, other)| other == word);
            let worth = whole.map(|(said, _)| self.said_weights[said]).fold(worth(alike), f64::max);
            let files = &table.words.get(*word).files;
            files.iter().for_each(|file| held[*file as usize] += worth);
        }
        for (file, alike) in inside {
            held[*file as usize] += worth(alike) * FOLDER;
        }
        let any = (0_u32..).zip(&held).filter(|(file, held)| **held > 0.0 && self.is_seen(*file));
        let mut files: Vec<u32> = any.map(|(file, _)| file).collect();
        if files.len() > most {
            let by_worth = |a: &u32, b: &u32| {
                held[*b as usize].total_cmp(&held[*a as usize]).then_with(|| a.cmp(b))
            };
            files.select_nth_unstable_by(most, by_worth);
            files.truncate(most);
        }
        files
    }

    /// How near a file is, 0 to a little over 1; `folder` is how much of what was said the folders above it
    /// have.
    pub fn score(&mut self, known: &Known, folder: &[f64]) -> f64 {
        let scores = known.labels.iter().map(|label| {
            let (of_origin, by_letters) = match label.origin {
                Origin::Name => (1.0, self.by_letters(label, LEAST_ALIKE)),
                Origin::Alias => (0.99, self.by_letters(label, LEAST_ALIKE)),
                Origin::Heading => (0.8, 0.0),
            };
            let concerned = Self::is_said(folder)
                || label.words.iter().any(|word| self.hearing.alike.contains_key(word));
            let by_words = if concerned { self.by_words(label, folder) } else { 0.0 };
            (by_words.max(by_letters) + BOTH * by_words.min(by_letters)) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    /// The same by nothing but letters; 0 for what cannot come to `least`.
    pub fn score_by_letters(&mut self, sound: &Sound, least: f64) -> f64 {
        let least = least.max(LEAST_ALIKE);
        if self.bag.most_alike(sound.bag) < least {
            return 0.0;
        }
        let table = self.hearing.table;
        let Some(known) = table.known(sound.file) else { return 0.0 };
        let scores = known.labels.names().map(|label| {
            let of_origin = if label.origin == Origin::Alias { 0.99 } else { 1.0 };
            self.by_letters(label, least) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    fn by_words(&self, label: Label<'_>, folder: &[f64]) -> f64 {
        let (mut own, mut all) = (0.0, 0.0);
        let best = self.hearing.best(label, |word, covered| {
            let weight = self.weight_of(word);
            own += weight * covered;
            all += weight;
        });
        let (mut found, mut sought) = (0.0, 0.0);
        for (at, weight) in self.said_weights.iter().enumerate() {
            found += weight * best[at].max(folder.get(at).copied().unwrap_or(0.0) * FOLDER);
            sought += weight;
        }
        let alike = &self.hearing.alike;
        let pairs = self.said_weights.len().saturating_sub(1);
        let in_order = (0..pairs).filter(|at| {
            let is = |word: &u32, at: usize| alike.get(word).is_some_and(|it| it[at] >= SAME);
            best[*at] >= SAME
                && label.words.windows(2).any(|pair| is(&pair[0], *at) && is(&pair[1], at + 1))
        });
        let in_order = in_order.count() as f64 / pairs.max(1) as f64;
        let part = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        (1.0 - OF_THE_NAME) * part(found, sought)
            + OF_THE_NAME * part(own, all)
            + IN_ORDER * in_order
    }

    fn by_letters(&mut self, label: Label<'_>, least: f64) -> f64 {
        let words = &self.hearing.table.words;
        let theirs = label.words.iter().fold(0, |bits, word| bits | words.get(*word).letters);
        let common = (self.name_letters & theirs).count_ones();
        let fewer = self.name_letters.count_ones().min(theirs.count_ones());
        if common * 10 < fewer * 7 {
            return 0.0;
        }
        words.write_key(label, &mut self.key);
        self.name.with(&self.key, least)
    }
}

/// A word that was said, ready to be compared with every word.
struct SaidWord<'a> {
    text: &'a str,
    singular: String,
    likeness: Likeness,
    letters: u64,
    is_number: bool,
}

impl<'a> SaidWord<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            singular: spoken::singular(text),
            likeness: Likeness::of(text),
            letters: letters(text),
            is_number: text.starts_with(|c: char| c.is_ascii_digit()),
        }
    }

    /// It, and what it could be in the plural or in the singular.
    fn forms(&self) -> [String; 6] {
        let (one, stem) = (&self.singular, self.singular.get(..self.singular.len() - 1));
        let other = |ending| format!("{}{ending}", stem.unwrap_or_default());
        let [s, es] = ["s", "es"].map(|ending| format!("{one}{ending}"));
        [self.text.to_owned(), one.clone(), s, es, other("ies"), other("ves")]
    }

    /// 0 (another word) to 1 (the same).
    fn alike(&self, other: &Word) -> f64 {
        let theirs = &*other.text;
        if self.text == theirs {
            return 1.0;
        }
        let (short, long) = (self.text.len().min(theirs.len()), self.text.len().max(theirs.len()));
        let differ = (self.letters ^ other.letters).count_ones() as usize;
        // Of a number every digit counts, and of a short word every letter.
        if self.is_number
            || short < 3
            || theirs.starts_with(|c: char| c.is_ascii_digit())
            || differ > long
        {
            return 0.0;
        }
        if self.text.as_bytes()[..2] == theirs.as_bytes()[..2]
            && self.singular == spoken::singular(theirs)
        {
            return 0.97;
        }
        let part =
            match short >= 4 && (self.text.starts_with(theirs) || theirs.starts_with(self.text)) {
                true => 0.7 + 0.25 * short as f64 / long as f64,
                false => 0.0,
            };
        // A change of one letter makes two others differ.
        if differ as f64 > 2.0 * (1.0 - LEAST_ALIKE) * long as f64 {
            return part;
        }
        let alike = self.likeness.with(theirs, LEAST_ALIKE);
        let alike = if alike >= LEAST_ALIKE { alike * 0.95 } else { 0.0 };
        part.max(alike)
    }
}
