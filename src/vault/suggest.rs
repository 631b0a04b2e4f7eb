//! "Did you mean": the nearest real paths to one that does not exist.
//!
//! Ranked for how speech and memory go wrong: spaces, hyphens and underscores alike, numbers as
//! words, a missing folder or extension, small misspellings. Never acted on, only shown.

use super::{Kind, Vault};
use crate::note::path::VaultPath;

/// How many are shown.
const SHOWN: usize = 5;

/// Bytes of the longest text compared.
const LONGEST: usize = 160;

/// Names less alike than this (0 to 1) would only mislead.
const LEAST: f64 = 0.55;

/// The nearest paths to `asked`, best first, none if nothing is near. `folders_only` when only a
/// folder could be meant.
pub(super) fn near(vault: &Vault, asked: &VaultPath, folders_only: bool) -> Vec<VaultPath> {
    let wanted = Spoken::of(&asked.fold_key());
    // Only those that could be near are taken along; they are compared without holding anyone up.
    let candidates: Vec<VaultPath> = vault
        .catalogue()
        .recent()
        .filter(|entry| !entry.unnameable && (!folders_only || entry.kind == Kind::Folder))
        .filter(|entry| wanted.could_be(entry.key()))
        .map(|entry| entry.path().clone())
        .collect();
    best(&wanted, candidates)
}

fn best(wanted: &Spoken, candidates: Vec<VaultPath>) -> Vec<VaultPath> {
    let mut best: Vec<(f64, VaultPath)> = candidates
        .into_iter()
        .map(|path| (wanted.likeness(&path.fold_key()), path))
        .filter(|(score, _)| *score >= LEAST)
        .collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    best.into_iter().take(SHOWN).map(|(_, path)| path).collect()
}

/// A folded path as it sounds.
struct Spoken {
    name: String,
    folder: String,
    letters: u64,
}

impl Spoken {
    fn of(key: &str) -> Self {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let name = plain(strip_extension(name));
        Self { letters: letters(&name), name, folder: plain(folder) }
    }

    /// Whether a path can be near at all: most of the letters of one name must occur in the other,
    /// and neither be far longer.
    fn could_be(&self, key: &str) -> bool {
        let name = strip_extension(key.rsplit('/').next().unwrap_or_default());
        let theirs = letters(name);
        let common = (self.letters & theirs).count_ones();
        let fewer = self.letters.count_ones().min(theirs.count_ones());
        common * 10 >= fewer * 7
    }

    /// 0 to 1; the name counts most, the folder decides between equals.
    fn likeness(&self, key: &str) -> f64 {
        let other = Spoken::of(key);
        let name = alike(&self.name, &other.name);
        // "garden plan" for `Garden/Plan.md`: a folder said as part of the name, or the reverse.
        let whole = alike(&join(&self.folder, &self.name), &join(&other.folder, &other.name));
        let folder = if self.folder.is_empty() { 0.0 } else { alike(&self.folder, &other.folder) };
        let shorter = self.name.len().min(other.name.len());
        let part =
            shorter >= 4 && (other.name.contains(&self.name) || self.name.contains(&other.name));
        name.max(whole).max(if part { 0.75 } else { 0.0 }) + folder * 0.05
    }
}

/// 0 to 1. The comparison costs the product of the lengths, so texts too long for a name, or of
/// lengths too different to reach [`LEAST`], are not compared.
fn alike(a: &str, b: &str) -> f64 {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    if a == b {
        1.0
    } else if long > LONGEST || (short as f64) < LEAST * (long as f64) * 0.5 {
        0.0
    } else {
        strsim::normalized_damerau_levenshtein(a, b)
    }
}

fn join(folder: &str, name: &str) -> String {
    format!("{folder}{name}")
}

fn strip_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= 5 => stem,
        _ => name,
    }
}

/// Letters and digits only, number words as digits.
fn plain(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric()).map(|word| number(word).unwrap_or(word)).collect()
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
    WORDS.iter().find(|(spoken, _)| *spoken == word).map(|(_, digits)| *digits)
}

/// Which letters occur, one bit each (others share bits by their code).
fn letters(text: &str) -> u64 {
    text.chars().fold(0, |bits, c| bits | 1 << (c as u32 % 64))
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
        ];
        let wanted = Spoken::of(&VaultPath::parse(asked, None).expect("sound").fold_key());
        let paths = paths.iter().map(|path| VaultPath::from_disk(path).expect("sound"));
        best(&wanted, paths.filter(|path| wanted.could_be(&path.fold_key())).collect())
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
        ] {
            let near = near(asked);
            assert_eq!(near.first().map(VaultPath::as_str), Some(meant), "{asked}: {near:?}");
        }
        assert_eq!(near("quantum chromodynamics"), []);
    }
}
