//! "Did you mean": the nearest real paths to one that does not exist.
//!
//! Ranked for how speech and memory go wrong: spaces, hyphens and underscores alike, numbers as
//! words, accents left out, words in another order, a missing folder or extension, small misspellings.
//! Never acted on, only shown.

mod likeness;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::note::path::{PathRef, VaultPath};
use crate::vault::catalogue::Entry;
use crate::vault::dir::Kind;
use crate::vault::tracker::Tracker;
use crate::vault::view::View;
use likeness::Likeness;

/// How many are shown.
const SHOWN: usize = 5;

/// Names less alike than this (0 to 1) would only mislead.
const LEAST: f64 = 0.55;

/// What a folder that is alike adds.
const FOLDER: f64 = 0.05;

/// What one name that is a part of the other counts for.
const PART: f64 = 0.75;

/// What stands within a word.
const APOSTROPHES: &str = "'’ʼ";

/// Words of what was asked that are looked for.
const MOST_WORDS: usize = 12;

/// Words that people put before a name and that are hardly ever its first.
const BEFORE_A_NAME: [&str; 5] = ["the", "my", "our", "a", "an"];

/// Entries looked at before the catalogue is let go for others.
const PIECE: usize = 4_096;

/// The nearest paths to `asked`, best first, none if nothing is near. `folders_only` when only a
/// folder could be meant.
pub(super) fn near(
    tracker: &Tracker,
    view: &View,
    asked: &VaultPath,
    folders_only: bool,
) -> Vec<VaultPath> {
    let mut search = Search::of(&asked.fold_key());
    let is_meant = |entry: &Entry<'_>| {
        !entry.unnameable
            && (!folders_only || entry.kind == Kind::Folder)
            && view.shows(entry.path())
    };
    for start in (0..).step_by(PIECE) {
        let catalogue = tracker.known();
        let Some(piece) = catalogue.piece(start, PIECE) else { break };
        for entry in piece.iter().filter(|entry| is_meant(entry)) {
            search.look_at(entry.path(), entry.key());
        }
    }
    search.best.into_iter().map(|(_, path)| path).collect()
}

/// A folded path as it sounds, and the nearest found so far.
struct Search {
    name: Likeness,
    /// Folders and name in one.
    whole: Likeness,
    folder: Likeness,
    /// The words of both, where there are several.
    words: Vec<String>,
    letters: u64,
    /// Best first, equal ones by path.
    best: Vec<(f64, VaultPath)>,
    /// Room for what the other path sounds like, folder first.
    other: String,
}

impl Search {
    fn of(key: &str) -> Self {
        let key = BEFORE_A_NAME
            .iter()
            .find_map(|word| key.strip_prefix(word)?.strip_prefix(' '))
            .unwrap_or(key);
        let mut words: Vec<String> = Vec::new();
        for word in key.split(|c: char| !c.is_alphanumeric() && !APOSTROPHES.contains(c)) {
            let mut sound = String::new();
            plain(word, &mut sound);
            words.extend(Some(sound).filter(|sound| !sound.is_empty() && sound != "md"));
        }
        words.truncate(if words.len() > 1 { MOST_WORDS } else { 0 });
        let mut whole = String::new();
        let folder = sound(key, &mut whole);
        Self {
            name: Likeness::of(&whole[folder..]),
            letters: letters(&whole[folder..]),
            folder: Likeness::of(&whole[..folder]),
            whole: Likeness::of(&whole),
            words,
            best: Vec::new(),
            other: String::new(),
        }
    }

    /// Takes a path in if it is nearer than what was found.
    fn look_at(&mut self, path: PathRef<'_>, key: &str) {
        if !self.could_be(key) {
            return;
        }
        let worst = self.best.get(SHOWN - 1).map_or(LEAST, |(score, _)| *score);
        let score = self.likeness(key, worst - FOLDER);
        if score < worst {
            return;
        }
        let comes_before = |other: &(f64, VaultPath)| {
            other.0 > score || (other.0 == score && other.1.borrowed() < path)
        };
        let at = self.best.partition_point(comes_before);
        if at < SHOWN {
            self.best.truncate(SHOWN - 1);
            self.best.insert(at, (score, path.to_path()));
        }
    }

    /// Whether a path can be near at all: most of the letters of one name must occur in the other.
    fn could_be(&self, key: &str) -> bool {
        let name = strip_extension(key.rsplit('/').next().unwrap_or_default());
        let theirs = letters(name);
        let common = (self.letters & theirs).count_ones();
        let fewer = self.letters.count_ones().min(theirs.count_ones());
        common * 10 >= fewer * 7
    }

    /// 0 to 1; the name counts most, the folder decides between equals. Anything below `least` where
    /// it cannot come to that.
    fn likeness(&mut self, key: &str, least: f64) -> f64 {
        let mut other = std::mem::take(&mut self.other);
        other.clear();
        let split = sound(key, &mut other);
        let (folder, name) = other.split_at(split);
        let own = self.name.text();
        let shorter = own.len().min(name.len());
        let part = shorter >= 4 && (name.contains(own) || own.contains(name));
        let by_name = self.name.with(name, least);
        // "garden plan" for `Garden/Plan.md`: a folder said as part of the name, or the reverse.
        let by_whole = self.whole.with(&other, least.max(by_name));
        // "siobhan oneill" for `O'Neill, Siobhán`: each word is there, in whatever order.
        let is_all =
            !self.words.is_empty() && self.words.iter().all(|word| other.contains(&**word));
        let by_part = if part || is_all { PART } else { 0.0 };
        let found = by_name.max(by_whole).max(by_part);
        let folders_alike = match found < least || self.folder.text().is_empty() {
            true => 0.0,
            false => self.folder.with(folder, 0.0),
        };
        self.other = other;
        found + folders_alike * FOLDER
    }
}

/// Writes what a folded path sounds like, and says where in that the name begins.
fn sound(key: &str, sound: &mut String) -> usize {
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    plain(folder, sound);
    let split = sound.len();
    plain(strip_extension(name), sound);
    split
}

fn strip_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        // `v1.2` has none.
        Some((stem, extension))
            if !stem.is_empty()
                && extension.len() <= 5
                && extension.contains(|c: char| c.is_alphabetic()) =>
        {
            stem
        }
        _ => name,
    }
}

/// Letters and digits only, without accents, number words as digits.
fn plain(text: &str, sound: &mut String) {
    for word in text.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c)) {
        match number(word) {
            Some(digits) => sound.push_str(digits),
            None if word.is_ascii() => sound.push_str(word),
            None => sound.extend(without_accents(word)),
        }
    }
}

fn without_accents(text: &str) -> impl Iterator<Item = char> {
    text.nfd().filter(|c| !is_combining_mark(*c))
}

fn number(word: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 21] = [
        ("zero", "0"),
        ("one", "1"),
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("eleven", "11"),
        ("twelve", "12"),
        ("first", "1"),
        ("second", "2"),
        ("third", "3"),
        ("twenty", "20"),
        ("thirty", "30"),
        ("forty", "40"),
        ("fifty", "50"),
        ("hundred", "100"),
    ];
    // The longest of them has seven letters.
    let could_be = (3..=7).contains(&word.len());
    let mut words = WORDS.iter().filter(|_| could_be);
    words.find(|(spoken, _)| *spoken == word).map(|(_, digits)| *digits)
}

/// Which letters occur, one bit each (others share bits by their code).
fn letters(text: &str) -> u64 {
    let bit = |bits, c| bits | 1 << (u32::from(c) % 64);
    match text.is_ascii() {
        true => text.chars().fold(0, bit),
        false => without_accents(text).fold(0, bit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(asked: &str) -> Vec<VaultPath> {
        let paths = [
            "Projects/SmartHole Notes.md",
            "Projects/Garden Plan.md",
            "To-Do List.md",
            "Chapter 2.md",
            "Chapter 3.md",
            "Recipes/Mushroom risotto.md",
            "Projects",
            "Daily/2026-11-20.md",
            "Unrelated.md",
            "Reading/Über Gärten.md",
            "People/O'Neill, Siobhán.md",
            "Potting shed.md",
            "Releases/v1.1.md",
            "Releases/v1.2.md",
        ];
        let mut search = Search::of(&VaultPath::parse(asked, None).expect("sound").fold_key());
        for path in paths {
            let path = VaultPath::from_disk(path).expect("sound");
            search.look_at(path.borrowed(), &path.fold_key());
        }
        search.best.into_iter().map(|(_, path)| path).collect()
    }

    #[test]
    fn the_way_people_say_names() {
        for (asked, meant) in [
            ("projects/smart hole notes", "Projects/SmartHole Notes.md"),
            ("smarthole notes", "Projects/SmartHole Notes.md"),
            ("to do list", "To-Do List.md"),
            ("todo_list.md", "To-Do List.md"),
            ("chapter two", "Chapter 2.md"),
            ("Garden/plan", "Projects/Garden Plan.md"),
            ("mushrom rissotto", "Recipes/Mushroom risotto.md"),
            ("uber garten", "Reading/Über Gärten.md"),
            ("project", "Projects"),
            ("siobhan", "People/O'Neill, Siobhán.md"),
            ("siobhan oneill", "People/O'Neill, Siobhán.md"),
            ("people/siobhan o’neill", "People/O'Neill, Siobhán.md"),
            ("the potting shed", "Potting shed.md"),
            ("the shed", "Potting shed.md"),
            ("v1.2", "Releases/v1.2.md"),
        ] {
            let near = near(asked);
            assert_eq!(near.first().map(VaultPath::as_str), Some(meant), "{asked}: {near:?}");
        }
        assert!(near("quantum chromodynamics").is_empty());
    }
}
