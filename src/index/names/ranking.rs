//! Compares a requested name with all names, by its words in any order; rare words count most.
//!
//! Two steps: [`Matcher`] finds the names that contain all requested words, or their plurals. [`Ranking`] scores
//! names with similar words or letters; the score ranks suggestions and never resolves a name.

use std::collections::HashMap;

use super::likeness::{Bag, Likeness, Pairs, letters, most_alike};
use super::query::{MAX_WORDS, NameQuery};
use super::table::{Label, NameEntry, NameKey, Origin, Table, Word};
use crate::note::spoken;
use crate::vault::View;

/// The weight of a filler word.
const FILLER: f64 = 0.15;

/// The weight of a folder's word, relative to a word of the name.
const FOLDER: f64 = 0.8;

/// Less similar words count as different.
const MIN_ALIKE: f64 = 0.6;

/// The least similarity by letters of a suggestion if no name is similar by its words.
pub(super) const FAR_OFF: f64 = 0.45;

/// The same for two requested words that may be one word of a name.
const MIN_ALIKE_AS_ONE: f64 = 0.75;

/// The similarity of words that differ only in a verb ending.
const SAME_STEM: f64 = 0.9;

/// The similarity from which words count as equal, such as singular and plural.
const SAME: f64 = 0.95;

/// The weight of the share of the name that was requested; the rest is for the share of the request
/// that the name contains.
const OF_THE_NAME: f64 = 0.25;

/// The bonus if all words are adjacent as in the request.
const IN_ORDER: f64 = 0.06;

/// The bonus that the weaker of the two comparisons adds to the stronger one.
const BOTH: f64 = 0.05;

/// A request prepared for comparison with names.
pub(super) struct Matcher<'a> {
    asked: &'a NameQuery,
    table: &'a Table,
    /// For each related word of the table, its similarity to each requested word.
    alike: HashMap<u32, Box<[f64]>>,
    /// A requested word that is two words of the table: its position and the two words.
    compounds: Vec<(usize, u32, u32)>,
    requested: Vec<QueryWord>,
    /// Each requested word joined with the next, since a name may have them as one: `foot notes`.
    pairs: Vec<QueryWord>,
}

impl<'a> Matcher<'a> {
    /// Finds the related words of the table.
    pub fn new(asked: &'a NameQuery, table: &'a Table) -> Self {
        let requested = asked.words.iter().map(|word| QueryWord::new(word.clone())).collect();
        let pairs = asked.words.windows(2).map(|pair| QueryWord::new(pair.concat())).collect();
        let (alike, compounds) = (HashMap::new(), Vec::new());
        let mut matcher = Self { asked, table, alike, compounds, requested, pairs };
        let forms = matcher.requested.iter().chain(&matcher.pairs).flat_map(QueryWord::forms);
        let known: Vec<u32> = forms.filter_map(|form| table.words.number(&form)).collect();
        known.into_iter().for_each(|word| matcher.add_if_similar(word));
        matcher.find_compounds();
        matcher
    }

    /// Adds a word of the table if it is similar to a requested one.
    fn add_if_similar(&mut self, number: u32) {
        let word = self.table.words.get(number);
        let mut alike = [0.0; MAX_WORDS];
        alike
            .iter_mut()
            .zip(&self.requested)
            .for_each(|(alike, requested)| *alike = requested.alike(word));
        for (at, pair) in self.pairs.iter().enumerate() {
            let as_one = pair.alike_as_a_whole(word);
            if as_one >= MIN_ALIKE_AS_ONE {
                alike[at..at + 2].iter_mut().for_each(|alike| *alike = alike.max(as_one));
            }
        }
        let alike = &alike[..self.requested.len()];
        if alike.iter().any(|alike| *alike > 0.0) {
            self.alike.insert(number, alike.into());
        }
    }

    fn find_compounds(&mut self) {
        let words = &self.table.words;
        let concerns = || vec![0.0; self.asked.words.len()].into();
        for (at, requested) in self.asked.words.iter().enumerate() {
            let cuts = (1..requested.len()).filter(|cut| requested.is_char_boundary(*cut));
            for (first, second) in cuts.map(|cut| requested.split_at(cut)) {
                if let (Some(first), Some(second)) = (words.number(first), words.number(second)) {
                    self.compounds.push((at, first, second));
                    self.alike.entry(first).or_insert_with(concerns);
                }
            }
        }
    }

    /// The words of the table that match the requested word `at`, alone or with its neighbour.
    fn saying(&self, at: usize) -> impl Iterator<Item = u32> {
        let same = self.alike.iter().filter(move |(_, alike)| alike[at] >= SAME);
        let compounds = self.compounds.iter().filter(move |(requested, ..)| *requested == at);
        same.map(|(word, _)| *word).chain(compounds.map(|(_, first, _)| *first))
    }

    /// Whether a name must contain the requested word `at`.
    fn counts(&self, at: usize) -> bool {
        let fillers_alone = self.asked.words.iter().all(|word| spoken::is_filler(word));
        fillers_alone || !spoken::is_filler(&self.asked.words[at])
    }

    /// The files with the rarest requested word: only they can contain all words.
    pub fn candidates_for_all(&self) -> Vec<u32> {
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

    /// Whether a label contains all requested words, with the numbers of a version or date in order.
    pub fn holds_all(&self, label: Label<'_>) -> bool {
        let best = self.best(label, |_, _| ());
        let is = |word: &u32, requested: &String| *self.table.words.get(*word).text == **requested;
        let stands_there = |run: &Vec<String>| {
            label.words.windows(run.len()).any(|words| words.iter().zip(run).all(|(a, b)| is(a, b)))
        };
        (0..self.asked.words.len()).all(|at| best[at] >= SAME || !self.counts(at))
            && self.asked.numbers.iter().all(stands_there)
    }

    /// The similarity of each requested word to its best match in a label. `covered` gets, for each word of the
    /// label, the share of it that was requested.
    fn best(&self, label: Label<'_>, mut covered: impl FnMut(u32, f64)) -> [f64; MAX_WORDS] {
        let mut best = [0.0_f64; MAX_WORDS];
        for (at, word) in label.words.iter().enumerate() {
            let mut most = 0.0_f64;
            if let Some(alike) = self.alike.get(word) {
                for (best, alike) in best.iter_mut().zip(alike) {
                    *best = best.max(*alike);
                    most = most.max(*alike);
                }
            }
            for (requested, first, second) in &self.compounds {
                let (before, after) =
                    (at.checked_sub(1).map(|at| label.words[at]), label.words.get(at + 1));
                if (word == first && after == Some(second))
                    || (word == second && before == Some(*first))
                {
                    (best[*requested], most) = (1.0, 1.0);
                }
            }
            covered(*word, most);
        }
        best
    }
}

/// A matcher with the statistics for scores.
pub(super) struct Ranking<'a> {
    matcher: Matcher<'a>,
    /// The visible files and the count of each word in their names; `None` if all files are visible.
    part: Option<(Vec<bool>, Vec<u32>)>,
    /// The number of visible files.
    total: usize,
    requested_weights: Vec<f64>,
    name: Likeness,
    name_letters: u64,
    bag: Bag,
    pairs: Pairs,
}

impl<'a> Ranking<'a> {
    pub fn new(mut matcher: Matcher<'a>, view: &View) -> Self {
        let Matcher { asked, table, .. } = matcher;
        let seen = || table.all().filter(|(_, known)| view.shows(&known.path));
        let (part, total) = if view.is_all() {
            (None, table.count())
        } else {
            let mut part = (vec![false; table.len()], vec![0; table.words.iter().len()]);
            for (file, known) in seen() {
                part.0[file as usize] = true;
                let words = known.labels.names().flat_map(|label| label.words);
                words.for_each(|word| part.1[*word as usize] += 1);
            }
            (Some(part), seen().count())
        };
        (0..).zip(table.words.iter()).for_each(|(number, word): (u32, &Word)| {
            if !word.files.is_empty() {
                matcher.add_if_similar(number);
            }
        });
        let mut ranking = Self {
            matcher,
            part,
            total,
            requested_weights: Vec::new(),
            name: Likeness::of(&asked.name),
            name_letters: letters(&asked.name),
            bag: Bag::of(&asked.name),
            pairs: Pairs::of(&asked.name),
        };
        let weight = |word: &String| {
            let count = table.words.number(word).map_or(0, |number| ranking.count(number));
            ranking.weight(word, spoken::is_filler(word), count)
        };
        ranking.requested_weights = asked.words.iter().map(weight).collect();
        ranking
    }

    pub fn is_seen(&self, file: u32) -> bool {
        self.part.as_ref().is_none_or(|(seen, _)| seen[file as usize])
    }

    /// The count of a word in the visible names.
    fn count(&self, word: u32) -> u32 {
        match &self.part {
            Some((_, counts)) => counts[word as usize],
            None => self.matcher.table.words.get(word).names,
        }
    }

    fn weight(&self, text: &str, is_filler: bool, count: u32) -> f64 {
        let rarity = (1.0 + self.total as f64 / f64::from(count.max(1))).ln();
        if is_filler {
            rarity * FILLER
        } else {
            rarity * (0.6 + 0.4 * (text.len().min(4) as f64) / 4.0)
        }
    }

    fn weight_of(&self, number: u32) -> f64 {
        let word = self.matcher.table.words.get(number);
        self.weight(&word.text, word.is_filler, self.count(number))
    }

    /// The similarity of each requested word to the words of a folder and its parents; `None` if there is no
    /// match.
    pub fn folder(&self, folder: &NameEntry, above: Option<&[f64]>) -> Option<Box<[f64]>> {
        let words = folder.labels.iter().flat_map(|label| label.words);
        let mut matched = words.filter_map(|word| self.matcher.alike.get(word)).peekable();
        if matched.peek().is_none() {
            return above.map(Box::from);
        }
        let requested = &self.matcher.asked.words;
        let mut best: Box<[f64]> =
            above.map_or_else(|| vec![0.0; requested.len()].into(), Box::from);
        for alike in matched {
            best.iter_mut().zip(alike).for_each(|(best, alike)| *best = best.max(*alike));
        }
        // "the first note" does not request the folder "Release notes".
        let fillers = best.iter_mut().zip(requested).filter(|(_, word)| spoken::is_filler(word));
        fillers.for_each(|(best, _)| *best = 0.0);
        Some(best)
    }

    /// Whether a requested word is a word of the folder.
    pub fn has_matches(folder: &[f64]) -> bool {
        folder.iter().any(|alike| *alike >= SAME)
    }

    /// The files with most of the requested words; `inside` are those in requested folders, with the folders'
    /// share.
    pub fn foremost(&self, most: usize, inside: &[(u32, &[f64])]) -> Vec<u32> {
        let Matcher { table, alike, compounds, .. } = &self.matcher;
        let mut file_score = vec![0.0_f64; table.len()];
        let worth = |alike: &[f64]| {
            let weights = self.requested_weights.iter().zip(alike);
            weights.map(|(weight, alike)| weight * alike).fold(0.0, f64::max)
        };
        for (word, alike) in alike {
            let whole = compounds.iter().filter(|(_, first, _)| first == word);
            let weights = whole.map(|(requested, ..)| self.requested_weights[*requested]);
            let worth = weights.fold(worth(alike), f64::max);
            let files = &table.words.get(*word).files;
            files.iter().for_each(|file| file_score[*file as usize] += worth);
        }
        for (file, alike) in inside {
            file_score[*file as usize] += worth(alike) * FOLDER;
        }
        let any = (0_u32..)
            .zip(&file_score)
            .filter(|(file, file_score)| **file_score > 0.0 && self.is_seen(*file));
        let mut files: Vec<u32> = any.map(|(file, _)| file).collect();
        if files.len() > most {
            let by_worth = |a: &u32, b: &u32| {
                file_score[*b as usize].total_cmp(&file_score[*a as usize]).then_with(|| a.cmp(b))
            };
            files.select_nth_unstable_by(most, by_worth);
            files.truncate(most);
        }
        files
    }

    /// The score of a file, from 0 to a little over 1; `folder` is its folders' share of the words, and `key` a
    /// buffer.
    pub fn score(&self, known: &NameEntry, folder: &[f64], key: &mut String) -> f64 {
        let scores = known.labels.iter().map(|label| {
            let (of_origin, by_letters) = match label.origin {
                Origin::Name => (1.0, self.by_letters(label, MIN_ALIKE, key)),
                Origin::Alias => (0.99, self.by_letters(label, MIN_ALIKE, key)),
                Origin::Heading => (0.8, 0.0),
            };
            let concerned = Self::has_matches(folder)
                || label.words.iter().any(|word| self.matcher.alike.contains_key(word));
            let by_words = if concerned { self.by_words(label, folder) } else { 0.0 };
            (by_words.max(by_letters) + BOTH * by_words.min(by_letters)) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    /// The files that may reach the score `least` by letters alone, in order.
    pub fn alike_by_letters(&self, least: f64) -> Vec<u32> {
        let least = least.max(MIN_ALIKE);
        let may = |key: &&NameKey| {
            self.bag.most_alike(key.bag) >= least
                && self.shares_letters(key.letters)
                && self.is_seen(key.file)
        };
        let mut files: Vec<u32> =
            self.matcher.table.name_keys().filter(may).map(|key| key.file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The score of a file by letters alone; 0 if it cannot reach `least`. `key` is a buffer.
    pub fn score_by_letters(&self, known: &NameEntry, least: f64, key: &mut String) -> f64 {
        let least = least.max(MIN_ALIKE);
        let scores = known.labels.names().map(|label| {
            let of_origin = if label.origin == Origin::Alias { 0.99 } else { 1.0 };
            self.by_letters(label, least, key) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    /// The similarity of a file's names by letters in any place, for requests that no name is similar to by its words.
    /// `key` and `pairs` are buffers.
    pub fn score_far_off(&self, known: &NameEntry, key: &mut String, pairs: &mut Pairs) -> f64 {
        let scores = known.labels.names().map(|label| {
            let of_origin = if label.origin == Origin::Alias { 0.99 } else { 1.0 };
            self.matcher.table.words.write_key(label, key);
            pairs.set(key);
            self.pairs.alike(pairs).max(self.name.with(key, FAR_OFF)) * of_origin
        });
        scores.fold(0.0, f64::max)
    }

    fn by_words(&self, label: Label<'_>, folder: &[f64]) -> f64 {
        let (mut own, mut all) = (0.0, 0.0);
        let best = self.matcher.best(label, |word, covered| {
            let weight = self.weight_of(word);
            own += weight * covered;
            all += weight;
        });
        let (mut found, mut sought) = (0.0, 0.0);
        for (at, weight) in self.requested_weights.iter().enumerate() {
            found += weight * best[at].max(folder.get(at).copied().unwrap_or(0.0) * FOLDER);
            sought += weight;
        }
        let alike = &self.matcher.alike;
        let pairs = self.requested_weights.len().saturating_sub(1);
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
        let words = &self.matcher.table.words;
        if !self.shares_letters(words.letters(label)) {
            return 0.0;
        }
        words.write_key(label, key);
        self.name.with(key, least)
    }

    /// Whether a name with these letters can be similar enough.
    fn shares_letters(&self, theirs: u64) -> bool {
        let common = (self.name_letters & theirs).count_ones();
        let fewer = self.name_letters.count_ones().min(theirs.count_ones());
        common * 10 >= fewer * 7
    }
}

/// A requested word prepared for comparison with every word.
struct QueryWord {
    text: String,
    stem: String,
    singular: String,
    likeness: Likeness,
    letters: u64,
    is_number: bool,
}

impl QueryWord {
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

    /// The word and its possible plural and singular forms.
    fn forms(&self) -> [String; 8] {
        let (one, stem) = (&self.singular, self.singular.get(..self.singular.len() - 1));
        let other = |ending| format!("{}{ending}", stem.unwrap_or_default());
        let [s, es] = ["s", "es"].map(|ending| format!("{one}{ending}"));
        // The singular of "movies" is not "movy".
        let plain = self.text.strip_suffix('s').unwrap_or(&self.text).to_owned();
        let many = format!("{}s", self.text);
        [self.text.clone(), one.clone(), plain, many, s, es, other("ies"), other("ves")]
    }

    /// The similarity from 0 (different) to 1 (equal); a prefix is similar too.
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

    /// The similarity of the whole words, from 0 (different) to 1 (equal).
    fn alike_as_a_whole(&self, other: &Word) -> f64 {
        let theirs = &*other.text;
        if self.text == theirs {
            return 1.0;
        }
        let (short, long) = (self.text.len().min(theirs.len()), self.text.len().max(theirs.len()));
        let differ = (self.letters ^ other.letters).count_ones() as usize;
        // Numbers and short words must match exactly.
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
        if most_alike(self.letters, other.letters, long) < MIN_ALIKE {
            return 0.0;
        }
        let alike = self.likeness.with(theirs, MIN_ALIKE);
        if alike >= MIN_ALIKE { alike * 0.95 } else { 0.0 }
    }
}
