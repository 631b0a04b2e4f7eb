//! Parses a requested name: the words of the name, those of folders, and filler words.

use chrono::NaiveDate;

use crate::note::path::VaultPath;
use crate::note::spoken::{self, day};

/// The most words of a requested name.
pub(super) const MAX_WORDS: usize = 12;

pub(super) struct NameQuery {
    /// The folders from the root and the name, each as its normalised key.
    pub path: Vec<String>,
    /// The distinct words of the name and the folders.
    pub words: Vec<String>,
    /// The joined words of the name.
    pub name: String,
    /// Adjacent numbers of the name, as in a version or date.
    pub numbers: Vec<Vec<String>>,
    /// Signs that are not pronounced, which a matching name must have.
    pub signs: Vec<char>,
    pub day: Option<day::Day>,
    /// Whether nothing can match exactly: it names a part of a note, or has too many words.
    pub is_inexact: bool,
}

impl NameQuery {
    pub fn new(path: &VaultPath, today: NaiveDate) -> Self {
        let text = path.as_str().trim();
        let link = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let text = link.map_or(text, |link| link.split('|').next().unwrap_or(link));
        let (text, part) = match link.and_then(|_| text.split_once('#')) {
            Some((text, part)) => (text, !part.is_empty()),
            None => (text, false),
        };
        let text = text.trim_end_matches(['.', ',', '!', '?', ' ']);
        let typed = said_signs(text);
        let without_extension = |typed: &str| {
            let end = typed.len().checked_sub(3)?;
            let is_note = typed.get(end..)?.eq_ignore_ascii_case(".md");
            is_note.then(|| typed[..end].trim_end().to_owned())
        };
        let typed = without_extension(&typed).unwrap_or(typed);
        let components: Vec<Vec<String>> =
            typed.split('/').map(spoken::words).filter(|words| !words.is_empty()).collect();
        let name = components.last().cloned().unwrap_or_default();
        let mut words: Vec<String> = Vec::new();
        // The words of the name first, in order.
        for word in components.iter().rev().flatten() {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        if words.len() > 1 && spoken::is_article(&words[0]) {
            words.remove(0);
        }
        // "Garden/🌱" names something in the folder, not the folder.
        let has_silent = components.len() < typed.split('/').count();
        let is_cut = name.len() == spoken::MAX_WORDS;
        let is_inexact = part || has_silent || is_cut || name.is_empty();
        words.truncate(MAX_WORDS);
        Self {
            path: components.iter().map(|words| spoken::key(words)).collect(),
            words,
            numbers: name
                .chunk_by(|one, other| is_number(one) && is_number(other))
                .filter(|run| run.len() > 1)
                .map(<[String]>::to_vec)
                .collect(),
            name: spoken::key(&name),
            signs: spoken::signs(&typed),
            day: day::parse(&typed, today),
            is_inexact,
        }
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Replaces spoken signs: `garden slash compost dot md`.
fn said_signs(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is =
        |at: usize, word: &str| words.get(at).is_some_and(|typed| typed.eq_ignore_ascii_case(word));
    let mut found = String::with_capacity(text.len());
    let mut at = 0;
    while at < words.len() {
        let is_inside = !found.is_empty() && at + 1 < words.len();
        let letters = usize::from(is(at + 1, "m") && is(at + 2, "d"));
        let is_last = at + 2 + letters == words.len();
        if is_inside && is(at, "slash") {
            found.push('/');
        } else if is_inside
            && is(at, "dot")
            && is_last
            && (letters == 1 || is_extension(words[at + 1]))
        {
            found.push('.');
            found.push_str(if letters == 1 { "md" } else { words[at + 1] });
            break;
        } else {
            if !found.is_empty() && !found.ends_with('/') {
                found.push(' ');
            }
            found.push_str(words[at]);
        }
        at += 1;
    }
    found
}

/// Extensions that may follow a spoken "dot".
fn is_extension(word: &str) -> bool {
    let known =
        ["md", "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "canvas", "base", "txt", "csv"];
    known.iter().any(|extension| word.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_brackets_that_were_said() {
        let today = NaiveDate::from_ymd_opt(2026, 11, 22).expect("a day");
        for (typed, expected) in [
            ("garden slash compost", "garden/compost"),
            ("garden / compost", "garden/compost"),
            ("compost dot md", "compost"),
            ("compost dot M D", "compost"),
            ("Compost.md.", "compost"),
            ("slash and burn", "slashandburn"),
            ("dot com notes", "dotcomnotes"),
            ("keel bolts dot png", "keelboltspng"),
            ("[[Garden/Compost|the heap]]", "garden/compost"),
            ("The Shed", "shed"),
            ("?", ""),
        ] {
            let path = VaultPath::parse(typed, None).expect("a path");
            assert_eq!(NameQuery::new(&path, today).path.join("/"), expected, "{typed}");
        }
        for part in ["[[Compost#Bins]]", "garden/🌱", "🌱"] {
            let path = VaultPath::parse(part, None).expect("a path");
            assert!(
                NameQuery::new(&path, today).is_inexact,
                "{part}: a part of a note is not a note"
            );
        }
    }
}
