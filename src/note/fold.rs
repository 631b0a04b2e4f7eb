//! One key for all spellings of a name that people and machines take for the same.
//!
//! The key is the NFC form under Unicode *simple* case folding, with the no-break spaces U+00A0
//! and U+202F as plain space. Simple folding maps one character to one, so `ß` is not `SS` and
//! `ﬁ` is not `fi`: no case-insensitive file system takes those for the same name either, and a
//! key that did would call two files one. NFC and the spaces are Obsidian's own path
//! normalisation (its `normalizePath`).

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The form Obsidian keeps paths in: NFC, no-break spaces as spaces.
pub fn normal(text: &str) -> Cow<'_, str> {
    let spaces = |c: char| matches!(c, '\u{a0}' | '\u{202f}');
    match (is_nfc(text), text.contains(spaces)) {
        (true, false) => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().map(|c| if spaces(c) { ' ' } else { c }).collect()),
    }
}

/// The key under which names that differ only by case, Unicode form or kind of space are equal.
///
/// `fold_key(a) == fold_key(b)` says "a person would take these for one name". Idempotent.
pub fn fold_key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mapper = CaseMapper::new();
    let folded: String = normal(text).chars().map(|c| mapper.simple_fold(c)).collect();
    // Folding can leave a base letter before a mark that composes with it only in lower case.
    match normal(&folded) {
        Cow::Borrowed(_) => folded,
        Cow::Owned(composed) => composed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_one_to_a_person() {
        for (a, b) in [
            ("Projects/My Note.md", "projects/my note.md"),
            ("Cafe\u{301}", "CAFÉ"),
            ("a\u{a0}b\u{202f}c", "A B C"),
            ("ΟΔΟΣ", "οδος"),
            ("\u{212a}elvin", "kelvin"),
            ("STRAẞE", "straße"),
        ] {
            assert_eq!(fold_key(a), fold_key(b), "{a} and {b}");
        }
    }

    #[test]
    fn names_that_stay_two() {
        for (a, b) in [("straße", "strasse"), ("İ", "i"), ("I", "ı"), ("ﬁn", "fin"), ("a b", "a-b")]
        {
            assert_ne!(fold_key(a), fold_key(b), "{a} and {b}");
        }
    }
}
