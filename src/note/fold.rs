//! The fold key: one key for all spellings of a name that people and machines treat as the same.
//!
//! The key is the NFC form under Unicode *simple* case folding, with the no-break spaces U+00A0 and
//! U+202F as plain space. Simple folding maps one character to one, so `ß` does not equal `SS` and
//! `ﬁ` does not equal `fi`: no case-insensitive file system treats them as the same either, and a
//! key that did would merge two files into one. NFC and the spaces follow Obsidian's own
//! `normalizePath`.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The form in which Obsidian stores paths: NFC, no-break spaces as spaces.
pub fn normal(text: &str) -> Cow<'_, str> {
    let spaces = |c: char| matches!(c, '\u{a0}' | '\u{202f}');
    match (is_nfc(text), text.contains(spaces)) {
        (true, false) => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().map(|c| if spaces(c) { ' ' } else { c }).collect()),
    }
}

/// The key that is equal for names that differ only in case, Unicode form or kind of space: names
/// that a person would take for the same. Idempotent.
pub fn fold_key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mapper = CaseMapper::new();
    let folded: String = normal(text).chars().map(|c| mapper.simple_fold(c)).collect();
    // Case folding can produce a base letter and a mark that compose only in lower case.
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
