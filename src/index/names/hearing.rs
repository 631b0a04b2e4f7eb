//! How near what was asked is to each name: by its words, the rare ones most, in any order.
//!
//! In two steps. The words that were said, and the same in the plural, say whose name holds all of them. Words
//! that are merely alike, how rare each is, and what is alike by its letters alone make a score, which ranks
//! what is suggested and never decides what is meant.

use std::collections::HashMap;

use super::asked::{Asked, MOST_WORDS};
use super::likeness::{Bag, Likeness, Pairs, letters};
use super::table::{Known, Label, Origin, Sound, Table, Word};
use crate::note::spoken;
use crate::vault::View;

/// What a word that is only said around names counts for, beside others.
const FILLER: f64 = 0.15;

/// What a word of a folder counts for, beside one of the name.
const FOLDER: f64 = 0.8;

/// Words less alike than this are others.
const LEAST_ALIKE: f64 = 0.6;

/// The least likeness by letters of what is offered where nothing is near.
pub(super) const FAR_OFF: f64 = 0.45;

/// The same where two words that were said would be one.
const LEAST_ALIKE_AS_ONE: f64 = 0.75;

/// Words that differ in the ending of a verb alone.
const SAME_STEM: f64 = 0.9;

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
    said: Vec<SaidWord>,
    /// Each word that was said and the next as one, which a name may have: `foot notes`.
    pairs: Vec<SaidWord>,
}

impl<'a> Hearing<'a> {
    /// With the words that were said, one way or another.
    pub fn new(asked: &'a Asked, table: &'a Table) -> Self {
        let said = asked.words.iter().map(|word| SaidWord::new(word.clone())).collect();
        let pairs = asked.words.windows(2).map(|pair| SaidWord::new(pair.concat())).collect();
        let (alike, compounds) = (HashMap::new(), Vec::new());
        let mut hearing = Self { asked, table, alike, compounds, said, pairs };
        let forms = hearing.said.iter().chain(&hearing.pairs).flat_map(SaidWord::forms);
        let known: Vec<u32> = forms.filter_map(|form| table.words.number(&form)).collect();
        known.into_iter().for_each(|word| hearing.hear(word));
        hearing.find_compounds();
        hearing
    }

    /// Takes in how alike a word is to each one that was said, if it is.
    fn hear(&mut self, number: u32) {
        let word = self.table.words.get(number);
        let mut alike = [0.0; MOST_WORDS];
        alike.iter_mut().zip(&self.said).for_each(|(alike, said)| *alike = said.alike(word));
        for (at, pair) in self.pairs.iter().enumerate() {
            let as_one = pair.alike_as_a_whole(word);
            if as_one >= LEAST_ALIKE_AS_ONE {
                alike[at..at + 2].iter_mut().for_each(|alike| *alike = alike.max(as_one));
            }
        }
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
    }

    /// The words that say a word that was said, perhaps with the one beside it.
    fn saying(&self, at: usize) -> impl Iterator<Item = u32> {
        let same = self.alike.iter().filter(move |(_, alike)| alike[at] >= SAME);
        let compounds = self.compounds.iter().filter(move |(said, ..)| *said == at);
        same.map(|(word, _)| *word).chain(compounds.map(|(_, first, _)| *first))
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

    /// Whether all the words that were said are in it, and the numbers of a version or date in their order.
    pub fn holds_all(&self, label: Label<'_>) -> bool {
        let best = self.best(label, |_, _| ());
        let is = |word: &u32, said: &String| *self.table.words.get(*word).text == **said;
        let stands_there = |run: &Vec<String>| {
            label.words.windows(run.len()).any(|words| words.iter().zip(run).all(|(a, b)| is(a, b)))
        };
        (0..self.asked.words.len()).all(|at| best[at] >= SAME || !self.counts(at))
            && self.asked.numbers.iter().all(stands_there)
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
    pairs: Pairs,
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
            pairs: Pairs::of(&asked.name),
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
        let Hearing { table, alike, compounds, .. } = &self.hearing;
        let mut held = vec![0.0_f64; table.len()];
        let worth = |alike: &[f64]| {
            let weights = self.said_weights.iter().zip(alike);
            weights.map(|(weight, alike)| weight * alike).fold(0.0, f64::max)
        };
        for (word, alike) in alike {
            let whole = compounds.iter().filter(|(_, first, _)| first == word);
            let weights = whole.map(|(said, ..)| self.said_weights[*said]);
            let worth = weights.fold(worth(alike), f64::max);
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
    /// have, and `key` room for the key of the other name.
    pub fn score(&self, known: &Known, folder: &[f64], key: &mut String) -> f64 {
        let scores = known.labels.iter().map(|label| {
            let (of_origin, by_letters) = match label.origin {
                Origin::Name => (1.0, self.by_letters(label, LEAST_ALIKE, key)),
                Origin::Alias => (0.99, self.by_letters(label, LEAST_ALIKE, key)),
                Origin::Heading => (0.8, 0.0),
            };
            let concerned = Self::is_said(folder)
                || label.words.iter().any(|word| self.hearing.alike.contains_key(word));
            let by_words = if concerned { self.by_words(label, folder) } else { 0.0 };
            (by_words.max(by_letters) + BOTH * by_words.min(by_letters)) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    /// The files of which a name may be as near by its letters alone as `least`, in order.
    pub fn alike_by_letters(&self, least: f64) -> Vec<u32> {
        let least = least.max(LEAST_ALIKE);
        let may = |sound: &&Sound| {
            self.bag.most_alike(sound.bag) >= least
                && self.shares_letters(sound.letters)
                && self.is_seen(sound.file)
        };
        let mut files: Vec<u32> =
            self.hearing.table.sounds().filter(may).map(|sound| sound.file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// How near a file is by nothing but letters; of what cannot come to `least` this says nothing. `key` is
    /// room for the key of the other name.
    pub fn score_by_letters(&self, known: &Known, least: f64, key: &mut String) -> f64 {
        let least = least.max(LEAST_ALIKE);
        let scores = known.labels.names().map(|label| {
            let of_origin = if label.origin == Origin::Alias { 0.99 } else { 1.0 };
            self.by_letters(label, least, key) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    /// How near a file is by letters in any place, where nothing is near by its words. `key` and `pairs` are room for
    /// the key of the other name and its pairs.
    pub fn score_far_off(&self, known: &Known, key: &mut String, pairs: &mut Pairs) -> f64 {
        let scores = known.labels.names().map(|label| {
            let of_origin = if label.origin == Origin::Alias { 0.99 } else { 1.0 };
            self.hearing.table.words.write_key(label, key);
            pairs.set(key);
            self.pairs.alike(pairs).max(self.name.with(key, FAR_OFF)) * of_origin
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

    fn by_letters(&self, label: Label<'_>, least: f64, key: &mut String) -> f64 {
        let words = &self.hearing.table.words;
        if !self.shares_letters(words.letters(label)) {
            return 0.0;
        }
        words.write_key(label, key);
        self.name.with(key, least)
    }

    /// Whether a name of these letters has enough of those that were said.
    fn shares_letters(&self, theirs: u64) -> bool {
        let common = (self.name_letters & theirs).count_ones();
        let fewer = self.name_letters.count_ones().min(theirs.count_ones());
        common * 10 >= fewer * 7
    }
}

/// A word that was said, ready to be compared with every word.
struct SaidWord {
    text: String,
    stem: String,
    singular: String,
    likeness: Likeness,
    letters: u64,
    is_number: bool,
}

impl SaidWord {
    fn new(text: String) -> Self {
        Self {
            stem: spoken::stem(&text).to_owned(),
            singular: spoken::singular(&text),
            likeness: Likeness::of(&text),
            letters: letters(&text),
            is_number: text.starts_with(|c: char| c.is_ascii_digit()),
            text,
        }
    }

    /// It, and what it could be in the plural or in the singular.
    fn forms(&self) -> [String; 8] {
        let (one, stem) = (&self.singular, self.singular.get(..self.singular.len() - 1));
        let other = |ending| format!("{}{ending}", stem.unwrap_or_default());
        let [s, es] = ["s", "es"].map(|ending| format!("{one}{ending}"));
        // "movies" is not one "movy".
        let plain = self.text.strip_suffix('s').unwrap_or(&self.text).to_owned();
        let many = format!("{}s", self.text);
        [self.text.clone(), one.clone(), plain, many, s, es, other("ies"), other("ves")]
    }

    /// 0 (another word) to 1 (the same), also where one is the beginning of the other.
    fn alike(&self, other: &Word) -> f64 {
        let theirs = &*other.text;
        let (short, long) = (self.text.len().min(theirs.len()), self.text.len().max(theirs.len()));
        let is_beginning = short >= 4
            && !self.is_number
            && !theirs.starts_with(|c: char| c.is_ascii_digit())
            && (self.text.starts_with(theirs) || theirs.starts_with(&*self.text));
        let part = if is_beginning { 0.7 + 0.25 * short as f64 / long as f64 } else { 0.0 };
        self.alike_as_a_whole(other).max(part)
    }

    /// 0 (another word) to 1 (the same).
    fn alike_as_a_whole(&self, other: &Word) -> f64 {
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
        if self.text.as_bytes()[..2] == theirs.as_bytes()[..2] {
            let is_plural = |many: &str, one: &str| many.strip_suffix('s') == Some(one);
            if self.singular == spoken::singular(theirs)
                || is_plural(&self.text, theirs)
                || is_plural(theirs, &self.text)
            {
                return 0.97;
            }
            if self.stem == spoken::stem(theirs) {
                return SAME_STEM;
            }
        }
        // A change of one letter makes two others differ.
        if differ as f64 > 2.0 * (1.0 - LEAST_ALIKE) * long as f64 {
            return 0.0;
        }
        let alike = self.likeness.with(theirs, LEAST_ALIKE);
        if alike >= LEAST_ALIKE { alike * 0.95 } else { 0.0 }
    }
}
