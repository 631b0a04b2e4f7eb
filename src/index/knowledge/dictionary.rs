//! The dictionary of all words, and the similar words of a word.
//!
//! Similarity is the Dice coefficient of the words' trigrams. It finds plurals, other endings and parts of compounds
//! in any language without its grammar. Misspelt words are found by edit distance.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::words;

/// The most similar words of a word, itself included.
pub(super) const MOST_LIKE: usize = 24;

/// The lowest Dice coefficient of similar words.
const LEAST_LIKE: f64 = 0.5;

/// Length from which a word may have two typing errors.
const TWO_ERRORS: usize = 7;

/// Length from which a word may have one typing error.
const ONE_ERROR: usize = 4;

/// Weights of words with one and two typing errors.
const WITH_ERRORS: [f64; 2] = [0.8, 0.5];

#[derive(Debug, Default)]
pub(super) struct Word {
    pub text: Box<str>,
    groups: u8,
    /// Postings by note; `table` describes the format.
    pub places: Vec<u8>,
    /// The number of the last note in the postings.
    pub last: u32,
}

#[derive(Default)]
pub(super) struct Dictionary {
    words: Vec<Word>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The words with each trigram.
    groups: HashMap<u64, Vec<u32>>,
}

impl Dictionary {
    pub fn word(&self, number: u32) -> &Word {
        &self.words[number as usize]
    }

    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The number of a normalised word.
    pub fn find(&self, text: &str) -> Option<u32> {
        let is_it = |number: &u32| *self.words[*number as usize].text == *text;
        self.numbers.find(self.hasher.hash_one(text), is_it).copied()
    }

    /// The number of a word; adds a new word.
    pub fn entry(&mut self, text: &str) -> &mut Word {
        let number = self.find(text).unwrap_or_else(|| self.add(text));
        &mut self.words[number as usize]
    }

    fn add(&mut self, text: &str) -> u32 {
        let number = self.words.len() as u32;
        let groups = groups(text);
        for group in &groups {
            self.groups.entry(*group).or_default().push(number);
        }
        let groups = groups.len() as u8;
        self.words.push(Word { text: text.into(), groups, ..Word::default() });
        let (words, hasher) = (&self.words, &self.hasher);
        let hash = |number: &u32| hasher.hash_one(&*words[*number as usize].text);
        self.numbers.insert_unique(hasher.hash_one(text), number, hash);
        number
    }

    /// The words similar to the normalised word `text` with weights from 0 to 1, most similar first. `text` itself has
    /// weight 1. Only words that are `there` are included. With `errors`, also words from which `text` differs by typing
    /// errors.
    pub fn like(&self, text: &str, errors: bool, there: impl Fn(u32) -> bool) -> Vec<(u32, f64)> {
        let mut like: HashMap<u32, f64> = HashMap::new();
        if words::is_dense(text) {
            like.extend(self.find(text).map(|number| (number, 1.0)));
            if text.chars().nth(1).is_none() {
                // The pairs that contain the character.
                let pairs = self.numbered().filter(|(_, word)| word.text.contains(text));
                like.extend(pairs.map(|(number, _)| (number, 1.0)));
            }
        } else {
            like.extend(self.alike(text));
            if errors {
                for (number, weight) in self.mistyped(text) {
                    let known = like.entry(number).or_default();
                    *known = known.max(weight);
                }
            }
        }
        let mut like: Vec<(u32, f64)> = like.into_iter().collect();
        like.sort_unstable_by(|(a, much), (b, more)| {
            more.total_cmp(much).then_with(|| self.word(*a).text.cmp(&self.word(*b).text))
        });
        let there = like.into_iter().filter(|(number, _)| there(*number));
        there.take(MOST_LIKE).collect()
    }

    /// The words that share enough trigrams with `text`.
    fn alike(&self, text: &str) -> impl Iterator<Item = (u32, f64)> {
        let asked = groups(text);
        let mut common: HashMap<u32, u32> = HashMap::new();
        for group in &asked {
            for number in self.groups.get(group).into_iter().flatten() {
                *common.entry(*number).or_default() += 1;
            }
        }
        let exact = self.find(text);
        let all = asked.len() as f64;
        common.into_iter().filter_map(move |(number, common)| {
            if Some(number) == exact {
                return Some((number, 1.0));
            }
            let share = 2.0 * f64::from(common) / (all + f64::from(self.word(number).groups));
            // No other word has the full weight.
            (share >= LEAST_LIKE).then(|| (number, share.powi(3).min(0.95)))
        })
    }

    /// The words from which `text` differs by typing errors.
    fn mistyped(&self, text: &str) -> impl Iterator<Item = (u32, f64)> {
        let length = text.chars().count();
        let most = usize::from(length >= ONE_ERROR) + usize::from(length >= TWO_ERRORS);
        let ends = |word: &str| (word.chars().next(), word.chars().next_back());
        let (first, last) = ends(text);
        self.numbered().filter(move |_| most > 0).filter_map(move |(number, word)| {
            // Typing errors are rare at both ends of a word at once.
            let (begin, end) = ends(&word.text);
            let is_near = (begin == first || end == last)
                && word.text.len().abs_diff(text.len()) <= 4 * most
                && word.text.chars().count().abs_diff(length) <= most;
            let errors = is_near.then(|| strsim::osa_distance(&word.text, text))?;
            let weight = WITH_ERRORS.get(errors.checked_sub(1)?)?;
            (errors <= most).then_some((number, *weight))
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Word)> {
        (0..).zip(&self.words)
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        let words = self.words.iter().map(|word| word.text.len() + word.places.capacity());
        let groups = self.groups.values().map(|words| 40 + words.capacity() * size_of::<u32>());
        self.words.capacity() * size_of::<Word>()
            + self.numbers.capacity() * 5
            + words.sum::<usize>()
            + groups.sum::<usize>()
    }
}

/// The distinct trigrams of a word with its ends marked; none for scripts that are indexed in pairs.
fn groups(word: &str) -> Vec<u64> {
    if words::is_dense(word) {
        return Vec::new();
    }
    let marked = std::iter::once('\0').chain(word.chars()).chain(std::iter::once('\0'));
    let letters: Vec<u64> = marked.map(|c| u64::from(u32::from(c))).collect();
    let mut groups: Vec<u64> =
        letters.windows(3).map(|group| group[0] << 42 | group[1] << 21 | group[2]).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(known: &[&str], text: &str, errors: bool) -> Vec<String> {
        let mut dictionary = Dictionary::default();
        known.iter().for_each(|word| _ = dictionary.entry(word));
        let like = dictionary.like(text, errors, |_| true);
        assert!(like.iter().all(|(_, much)| (0.0..=1.0).contains(much)));
        like.iter().map(|(number, _)| dictionary.word(*number).text.to_string()).collect()
    }

    #[test]
    fn words_are_like_by_their_letters() {
        let known = ["garden", "gardens", "gardening", "kindergarten", "warden", "sync", "cat"];
        assert_eq!(like(&known, "garden", false)[..3], ["garden", "gardens", "gardening"]);
        assert_eq!(like(&known, "synch", false), ["sync"]);
        assert_eq!(like(&known, "gadren", true)[0], "garden");
        assert_eq!(like(&known, "kindregraten", true), ["kindergarten"]);
        assert_eq!(like(&known, "xylophone", true), [""; 0]);
        assert_eq!(like(&known, "", true), [""; 0]);
        assert_eq!(like(&["東京", "京都", "大阪"], "京", true), ["京都", "東京"]);
        assert_eq!(like(&["東京", "京都"], "東京", true), ["東京"]);
    }
}
