//! "Did you mean": the nearest real paths to one that does not exist.
//!
//! Ranked for how speech and memory go wrong: spaces, hyphens and underscores alike, numbers as
//! words, a missing folder or extension, small misspellings. Never acted on, only shown.

use super::catalogue::Catalogue;
use super::dir::Kind;
use super::protect::is_hidden;
use crate::note::path::VaultPath;

/// How many are shown.
const SHOWN: usize = 5;

/// Names less alike than this (0 to 1) would only mislead.
const LEAST: f64 = 0.55;

/// The nearest paths to `asked`, best first, none if nothing is near. `folders_only` when only a
/// folder could be meant.
pub(super) fn near(catalogue: &Catalogue, asked: &VaultPath, folders_only: bool) -> Vec<VaultPath> {
    let wanted = Spoken::of(&asked.fold_key());
    let mut best: Vec<(f64, &VaultPath)> = Vec::new();
    for entry in catalogue.recent() {
        if entry.unnameable || (folders_only && entry.kind != Kind::Folder) {
            continue;
        }
        // A cheap bound first: most of a large vault is nothing like the name asked for.
        let name = entry.key().rsplit('/').next().unwrap_or_default();
        if !wanted.could_be(name) {
            continue;
        }
        let score = wanted.likeness(entry.key());
        if score >= LEAST && !is_hidden(entry.path()) {
            best.push((score, entry.path()));
        }
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    best.into_iter().take(SHOWN).map(|(_, path)| path.clone()).collect()
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

    /// Whether a name can be near at all: most of the letters of one must occur in the other.
    fn could_be(&self, name: &str) -> bool {
        let theirs = letters(&fold_words(name));
        let common = (self.letters & theirs).count_ones();
        let fewer = self.letters.count_ones().min(theirs.count_ones());
        common * 2 >= fewer
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

fn alike(a: &str, b: &str) -> f64 {
    if a == b { 1.0 } else { strsim::normalized_damerau_levenshtein(a, b) }
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

fn fold_words(name: &str) -> String {
    plain(strip_extension(name))
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
    use crate::vault::catalogue::Entry;
    use crate::vault::dir::{FileId, Meta};

    fn catalogue() -> Catalogue {
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
        let meta = |path: &str| Meta {
            kind: if path.ends_with(".md") { Kind::File } else { Kind::Folder },
            size: 0,
            modified: 0,
            created: None,
            accessed: 0,
            names: 1,
            mode: None,
            id: FileId { device: 0, inode: 0 },
        };
        let entry =
            |path: &&str| Entry::new(VaultPath::from_disk(path).expect("sound"), &meta(path));
        Catalogue::build(paths.iter().map(entry).collect())
    }

    #[test]
    fn the_way_people_say_names() {
        let catalogue = catalogue();
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
            let path = VaultPath::parse(asked, None).expect("sound");
            let near = near(&catalogue, &path, false);
            assert_eq!(near.first().map(VaultPath::as_str), Some(meant), "{asked}: {near:?}");
        }
        let path = VaultPath::parse("quantum chromodynamics", None).expect("sound");
        assert_eq!(super::near(&catalogue, &path, false), []);
    }
}
