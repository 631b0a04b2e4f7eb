//! Splits text into normalised words: lower case, without accents, full width as half width.
//!
//! Scripts without blanks between words (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) are indexed in
//! overlapping pairs of characters, so that they need no dictionary. An emoji is a word.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Significant characters of a word; the rest of a longer one is ignored.
const LONGEST: usize = 40;

/// Stop words of some twenty languages, one language a line.
static STOP_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut words = HashSet::new();
    each(include_str!("stop_words.txt"), |_, word| _ = words.insert(word.to_owned()));
    words
});

pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// Whether a normalised word is of a script without blanks between words.
pub(super) fn is_dense(word: &str) -> bool {
    word.chars().next().is_some_and(is_dense_letter)
}

/// The normalised words of `text` in order.
pub fn of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each(text, |_, word| words.push(word.to_owned()));
    words
}

/// Calls `found` with the byte range and the normalised form of every word of `text`.
pub fn each(text: &str, mut found: impl FnMut(Range<usize>, &str)) {
    let mut word = String::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let start = at;
        if is_emoji(next) {
            at += next.len_utf8();
            found(start..at, &text[start..at]);
        } else if is_dense_letter(next) {
            at = end(text, start, is_dense_letter);
            pairs(text, start..at, &mut word, &mut found);
        } else if is_letter(next) {
            at = end(text, start, |c| is_letter(c) && !is_dense_letter(c));
            spell(&text[start..at], &mut word);
            if !word.is_empty() {
                found(start..at, &word);
            }
        } else {
            at += next.len_utf8();
        }
    }
}

fn pairs(
    text: &str,
    run: Range<usize>,
    word: &mut String,
    found: &mut impl FnMut(Range<usize>, &str),
) {
    let mut add = |range: Range<usize>| {
        spell(&text[range.clone()], word);
        if !word.is_empty() {
            found(range, word);
        }
    };
    let letters = text[run.clone()].char_indices().map(|(at, c)| (run.start + at, c.len_utf8()));
    let mut before = None;
    for (at, length) in letters {
        if let Some(before) = before {
            add(before..at + length);
        }
        before = Some(at);
    }
    if let Some(only) = before.filter(|last| *last == run.start) {
        add(only..run.end);
    }
}

/// The end of the run of such characters from `start` on.
fn end(text: &str, start: usize, is_such: impl Fn(char) -> bool) -> usize {
    text[start..].find(|c| !is_such(c)).map_or(text.len(), |length| start + length)
}

/// Writes the normalised form of a word to `to`.
fn spell(word: &str, to: &mut String) {
    to.clear();
    if word.is_ascii() {
        to.push_str(&word[..word.len().min(LONGEST)]);
        to.make_ascii_lowercase();
        return;
    }
    let letters = word.nfkd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase);
    for letter in letters.nfkd().filter(|c| !is_accent(*c)).nfc() {
        match letter {
            'ß' => to.push_str("ss"),
            'ς' => to.push('σ'),
            'ø' => to.push('o'),
            'ł' => to.push('l'),
            'æ' => to.push_str("ae"),
            'œ' => to.push_str("oe"),
            _ => to.push(letter),
        }
    }
    if let Some((end, _)) = to.char_indices().nth(LONGEST) {
        to.truncate(end);
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && (is_combining_mark(c) || is_unseen(c)))
}

/// Invisible characters within words: soft hyphens, joiners, direction marks.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

/// Marks that are often left out: accents, vowel points of Hebrew and Arabic.
fn is_accent(c: char) -> bool {
    is_unseen(c)
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{652}' | '\u{670}')
}

fn is_dense_letter(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1f300}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_has_one_spelling() {
        for (text, expected) in [
            ("What's C++ — foo-bar?", &["what", "s", "c", "foo", "bar"][..]),
            ("2024-01-01 #tag/sub", &["2024", "01", "01", "tag", "sub"]),
            ("Café CAFE\u{301} ﬁn ＡＢＣ", &["cafe", "cafe", "fin", "abc"]),
            ("Straße Ærø", &["strasse", "aero"]),
            ("ΟΔΟΣ οδός", &["οδοσ", "οδοσ"]),
            ("ёлка Й", &["елка", "и"]),
            ("soft\u{ad}hyphen \u{200f}שָׁלוֹם", &["softhyphen", "שלום"]),
            ("東京都へ go", &["東京", "京都", "都へ", "go"]),
            ("猫 한국어", &["猫", "한국", "국어"]),
            ("हिन्दी", &["हिन्दी"]),
            ("party🎉on", &["party", "🎉", "on"]),
            ("", &[]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn stop_words_are_of_many_languages() {
        for word in of("the und les che что και 的是 är ne") {
            assert!(is_stop_word(&word), "{word}");
        }
        assert!(!is_stop_word("garden"));
    }

    proptest! {
        #[test]
        fn any_text_has_words_and_spelling_one_again_changes_nothing(text in "\\PC{0,40}|[a-zßİΣς\u{301}\u{ad}漢ก가ﾊﾞ🎉 ]{0,20}") {
            let mut end = 0;
            each(&text, |range, word| {
                assert!(text.get(range.clone()).is_some() && range.end >= end);
                end = range.end;
                let mut again = String::new();
                spell(word, &mut again);
                assert_eq!(&again, word);
            });
        }
    }
}
