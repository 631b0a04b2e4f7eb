//! The dictionary of all words, and the similar words of a word.
//!
//! Similarity is the Dice coefficient of the words' trigrams. It finds plurals, other endings and parts of compounds
//! in any language without its grammar. Misspelt words are found by edit distance.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use super::postings::{self, Postings};
use super::words;

/// The most similar words of a word, itself included.
pub(super) const MAX_LIKE: usize = 24;

/// The lowest Dice coefficient of similar words.
const MIN_LIKE: f64 = 0.5;

/// Length from which a word may have two typing errors.
const TWO_ERRORS: usize = 7;

/// Length from which a word may have one typing error.
const ONE_ERROR: usize = 4;

/// Weights of words with one and two typing errors.
const WITH_ERRORS: [f64; 2] = [0.8, 0.5];

#[derive(Default)]
pub(super) struct Dictionary {
    /// By word, its places with counts; `table` defines them.
    places: Vec<Postings>,
    /// The words one after the other, and by word the end of it.
    texts: String,
    ends: Vec<u32>,
    /// By word, the number of its trigrams.
    sizes: Vec<u8>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The words with each trigram.
    groups: HashMap<u64, Postings>,
    /// Memory of all these lists, which are too many to add up.
    list_bytes: usize,
}

impl Dictionary {
    /// A word as it is written.
    pub fn text(&self, number: u32) -> &str {
        text(&self.texts, &self.ends, number)
    }

    /// The places of a word.
    pub fn places(&self, number: u32) -> &Postings {
        &self.places[number as usize]
    }

    /// All words with their numbers.
    pub fn words(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..self.ends.len() as u32).map(|number| (number, self.text(number)))
    }

    /// The number of a normalised word.
    pub fn find(&self, text: &str) -> Option<u32> {
        let is_it = |number: &u32| self.text(*number) == text;
        self.numbers.find(self.hasher.hash_one(text), is_it).copied()
    }

    /// Changes the places of a word; adds a new word.
    pub fn change(&mut self, text: &str, change: impl FnOnce(&mut Postings)) {
        let number = self.find(text).unwrap_or_else(|| self.add(text));
        let places = &mut self.places[number as usize];
        self.list_bytes -= places.memory();
        change(places);
        self.list_bytes += places.memory();
    }

    fn add(&mut self, added: &str) -> u32 {
        let number = self.ends.len() as u32;
        let groups = groups(added);
        for group in &groups {
            let words = self.groups.entry(*group).or_default();
            self.list_bytes -= words.memory();
            words.put(number, postings::ONCE);
            self.list_bytes += words.memory();
        }
        postings::push(&mut self.sizes, groups.len() as u8);
        postings::push(&mut self.places, Postings::default());
        self.texts.push_str(added);
        postings::push(&mut self.ends, self.texts.len() as u32);
        let (texts, ends, hasher) = (&self.texts, &self.ends, &self.hasher);
        let hash = |number: &u32| hasher.hash_one(text(texts, ends, *number));
        self.numbers.insert_unique(hasher.hash_one(added), number, hash);
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
                let pairs = self.words().filter(|(_, word)| word.contains(text));
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
            more.total_cmp(much).then_with(|| self.text(*a).cmp(self.text(*b)))
        });
        let there = like.into_iter().filter(|(number, _)| there(*number));
        there.take(MAX_LIKE).collect()
    }

    /// The words that share enough trigrams with `text`.
    fn alike(&self, text: &str) -> impl Iterator<Item = (u32, f64)> {
        let asked = groups(text);
        let mut common = vec![0u8; self.ends.len()];
        let mut met = Vec::new();
        for group in &asked {
            for (number, _) in self.groups.get(group).into_iter().flat_map(Postings::iter) {
                let common = &mut common[number as usize];
                if *common == 0 {
                    met.push(number);
                }
                *common += 1;
            }
        }
        let exact = self.find(text);
        let all = asked.len() as f64;
        met.into_iter().filter_map(move |number| {
            if Some(number) == exact {
                return Some((number, 1.0));
            }
            let common = f64::from(common[number as usize]);
            let share = 2.0 * common / (all + f64::from(self.sizes[number as usize]));
            // No other word has the full weight.
            (share >= MIN_LIKE).then(|| (number, share.powi(3).min(0.95)))
        })
    }

    /// The words from which `text` differs by typing errors.
    fn mistyped(&self, text: &str) -> impl Iterator<Item = (u32, f64)> {
        let length = text.chars().count();
        let most = usize::from(length >= ONE_ERROR) + usize::from(length >= TWO_ERRORS);
        let ends = |word: &str| (word.chars().next(), word.chars().next_back());
        let (first, last) = ends(text);
        self.words().filter(move |_| most > 0).filter_map(move |(number, word)| {
            // Typing errors are rare at both ends of a word at once.
            let (begin, end) = ends(word);
            let is_near = (begin == first || end == last)
                && word.len().abs_diff(text.len()) <= 4 * most
                && word.chars().count().abs_diff(length) <= most;
            let errors = is_near.then(|| strsim::osa_distance(word, text))?;
            let weight = WITH_ERRORS.get(errors.checked_sub(1)?)?;
            (errors <= most).then_some((number, *weight))
        })
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Postings>()
            + self.texts.capacity()
            + self.ends.capacity() * size_of::<u32>()
            + self.sizes.capacity()
            + self.numbers.allocation_size()
            + self.groups.allocation_size()
            + self.list_bytes
    }
}

fn text<'t>(texts: &'t str, ends: &[u32], number: u32) -> &'t str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start as usize..ends[number] as usize]
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
        known.iter().for_each(|word| dictionary.change(word, |places| places.put(7, 3)));
        let lists = dictionary.places.iter().chain(dictionary.groups.values());
        assert_eq!(dictionary.list_bytes, lists.map(Postings::memory).sum::<usize>());
        let like = dictionary.like(text, errors, |_| true);
        assert!(like.iter().all(|(_, much)| (0.0..=1.0).contains(much)));
        like.iter().map(|(number, _)| dictionary.text(*number).to_owned()).collect()
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
