//! A name as people say it: the words that a written name and a dictated one have in common.
//!
//! Both sides go the same way: letters of every script in plain Latin ones, without accents; words apart at
//! spaces, signs, digits and capitals within a word; numbers, versions and dates in digits (`numbers`,
//! `dates`). Two names with one [`key`] sound the same. [`day`] parses a day in words.

mod dates;
pub mod day;
mod numbers;

use super::path::is_invisible;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum number of words of one name.
pub const MAX_WORDS: usize = 64;

/// Words that speakers add before names, or leave out.
const ARTICLES: [&str; 3] = ["the", "a", "an"];

/// Filler words: spoken around a name, but not part of it.
const FILLERS: [&str; 82] = [
    "the", "my", "our", "a", "an", "that", "this", "of", "for", "on", "in", "to", "with", "from",
    "at", "by", "about", "and", "or", "is", "it", "note", "notes", "file", "page", "document",
    "doc", "folder", "called", "named", "titled", "open", "show", "read", "find", "get", "go",
    "me", "please", "um", "uh", "er", "where", "what", "which", "one", "md", "slash", "dot", "der",
    "die", "das", "le", "la", "can", "could", "would", "will", "you", "i", "im", "id", "we", "us",
    "let", "lets", "want", "need", "look", "looking", "see", "tell", "give", "bring", "pull", "up",
    "okay", "ok", "hey", "hmm", "erm", "uhm",
];

/// The words of a name in their spoken form, at most 64.
pub fn words(name: &str) -> Vec<String> {
    let mut words = dates::in_digits(numbers::in_digits(split_words(name)));
    words.truncate(MAX_WORDS);
    words
}

/// One text for all names that sound the same: the words without a leading article, joined, since the gap in a compound
/// is not audible. Empty only without words.
pub fn key(words: &[String]) -> String {
    let mut key = String::new();
    write_key(words.iter().map(String::as_str), &mut key);
    key
}

/// Writes the [`key`] of these words.
pub fn write_key<'w>(words: impl Iterator<Item = &'w str>, key: &mut String) {
    let mut words = words.peekable();
    if let Some(first) = words.next_if(|word| is_article(word))
        && words.peek().is_none()
    {
        key.push_str(first);
    }
    for word in words {
        // "1 11" and "11 1" sound different.
        let ends_in_digit = key.ends_with(|c: char| c.is_ascii_digit());
        if ends_in_digit && word.starts_with(|c: char| c.is_ascii_digit()) {
            key.push('-');
        }
        key.push_str(word);
    }
}

/// Whether a word is put before names, and left out there, as people like.
pub fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word)
}

/// Whether a word belongs around names, rather than in them.
pub fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// A word without the ending of a verb, for words that differ only in that: `buying`, `planned`, `baking`. The result
/// need not be a word: `bak` for `bake` and `baking`.
pub fn stem(word: &str) -> &str {
    let stem = ["ing", "ed", "e"].into_iter().find_map(|end| word.strip_suffix(end));
    let Some(stem) = stem.filter(|stem| stem.len() >= 3) else { return word };
    match stem.as_bytes() {
        // "planned"
        [.., a, b] if a == b && stem.len() > 3 && !matches!(b, b'l' | b's') => {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

/// A word without the ending of its plural, where it has one: `tomatoes`, `shanties`, `shelves`.
pub fn singular(word: &str) -> String {
    let cut = |end: &str| word.strip_suffix(end).filter(|stem| stem.len() >= 3);
    if let Some(stem) = cut("ies") {
        return format!("{stem}y");
    }
    if let Some(stem) = cut("ves") {
        return format!("{stem}f");
    }
    let endings = ["oes", "shes", "ches", "sses", "xes"];
    if let Some(end) = endings.into_iter().find(|end| cut(end).is_some() || word.ends_with(end)) {
        return word[..word.len() - 2.min(end.len())].to_owned();
    }
    match cut("s").filter(|stem| !stem.ends_with(['s', 'u', 'i'])) {
        Some(stem) => stem.to_owned(),
        None => word.to_owned(),
    }
}

/// A name with umlauts transcribed as in German, if that differs: `Mueller`.
pub fn spelt_out(name: &str) -> Option<String> {
    let mut found = false;
    let spelt: String = name
        .nfc()
        .flat_map(|c| {
            let e =
                matches!(c, 'ä' | 'ö' | 'ü' | 'Ä' | 'Ö' | 'Ü' | 'å' | 'Å' | 'ø' | 'Ø').then_some(c);
            found |= e.is_some();
            let (first, second) = match e {
                Some('ä') => ('a', Some('e')),
                Some('Ä') => ('A', Some('e')),
                Some('ö' | 'ø') => ('o', Some('e')),
                Some('Ö' | 'Ø') => ('O', Some('e')),
                Some('ü') => ('u', Some('e')),
                Some('Ü') => ('U', Some('e')),
                Some('å') => ('a', Some('a')),
                Some('Å') => ('A', Some('a')),
                _ => (c, None),
            };
            std::iter::once(first).chain(second)
        })
        .collect();
    found.then_some(spelt)
}

/// The kind of the previous character, which decides where a word ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Gap,
    Digit,
    Lower,
    Upper,
    /// A character that is a word, or a part of one, by itself.
    Sign,
}

/// Words in small Latin letters and digits, numbers not yet read.
fn split_words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.nfc().collect();
    let mut words: Vec<String> = Vec::new();
    let mut previous = CharKind::Gap;
    for (at, &c) in characters.iter().enumerate() {
        let next = characters.get(at + 1).copied();
        // An apostrophe, or a mark that composes with nothing, is not audible.
        if matches!(c, '\'' | '’' | 'ʼ' | '`' | '´') || is_combining_mark(c) {
            continue;
        }
        if c == ',' && previous == CharKind::Digit && groups_digits(&characters[at + 1..]) {
            continue;
        }
        // "1.05" is not "1.5", while "14.03.2026" is a date.
        if c == '.' && previous == CharKind::Digit && ends_in_zeros_first(&characters[at + 1..]) {
            words.push("0".to_owned());
        }
        let latin = if c.is_alphanumeric() { any_ascii::any_ascii_char(c) } else { "" };
        let Some(first) = latin.chars().next() else {
            let sign = match c {
                '&' => Some("and"),
                '+' => Some("plus"),
                '%' => Some("percent"),
                '@' => Some("at"),
                _ => None,
            };
            words.extend(sign.map(str::to_owned));
            previous = CharKind::Gap;
            continue;
        };
        let current = match () {
            () if first.is_ascii_digit() => CharKind::Digit,
            () if c.is_uppercase() => CharKind::Upper,
            () if c.is_lowercase() => CharKind::Lower,
            // An ideograph, whose reading begins with a capital, or a syllable.
            () if first.is_ascii_uppercase() => CharKind::Sign,
            () => CharKind::Lower,
        };
        let is_start = match (previous, current) {
            (CharKind::Gap | CharKind::Sign, _) | (_, CharKind::Sign) => true,
            (CharKind::Digit, other) | (other, CharKind::Digit) if previous != current => {
                other != CharKind::Gap
            }
            (CharKind::Lower, CharKind::Upper) => true,
            (CharKind::Upper, CharKind::Upper) => next.is_some_and(char::is_lowercase),
            _ => false,
        };
        if is_start {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(
                latin.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()),
            );
        }
        previous = current;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the last digits behind a point begin with a zero that counts: `05`.
fn ends_in_zeros_first(rest: &[char]) -> bool {
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    digits > 1 && rest[0] == '0' && rest.get(digits) != Some(&'.')
}

/// The unpronounced signs of a name that distinguish it from others: `🌱`, `#`, `$`.
pub fn signs(name: &str) -> Vec<char> {
    const SAID_OR_SILENT: &str = "&+%@-–—_.,:;!?¡¿'’ʼ`´\"“”„«»()[]{}/\\|·…";
    let is_sign = |c: &char| {
        !c.is_alphanumeric()
            && !c.is_whitespace()
            && !is_combining_mark(*c)
            && !is_invisible(*c)
            && !('\u{fe00}'..='\u{fe0f}').contains(c)
            && !SAID_OR_SILENT.contains(*c)
    };
    name.chars().filter(is_sign).collect()
}

/// Whether exactly three digits follow a comma: `20,000`.
fn groups_digits(rest: &[char]) -> bool {
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    digits == 3
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spoken(text: &str) -> String {
        words(text).join(" ")
    }

    #[test]
    fn a_name_is_the_same_written_and_spoken() {
        for (written, spoken) in [
            ("SmartHole Notes", "smart hole notes"),
            ("To-Do List", "todo list"),
            ("O'Neill, Siobhán", "oneill siobhan"),
            ("Crème brûlée", "creme brulee"),
            ("Ρίγανη", "rigani"),
            ("Иван Петров", "ivan petrov"),
            ("李雷", "li lei"),
            ("Macaroni & cheese", "macaroni and cheese"),
            ("C++ notes", "c plus plus notes"),
            ("100% comfrey tea", "one hundred percent comfrey tea"),
            ("07 Letters", "seven letters"),
            ("v1.11.6", "version one point eleven point six"),
            ("v2.0.0-beta", "version two point zero point oh beta"),
            ("20,000 Leagues", "twenty thousand leagues"),
            ("Nineteen Eighty-Four", "1984"),
            ("80s playlist", "eighties playlist"),
            ("Birthday 2026", "birthday two thousand and twenty six"),
            ("Isles 2024", "isles twenty twenty four"),
            ("Symphony No. 9", "symphony number nine"),
            ("World War II convoys", "world war two convoys"),
            ("The Old Man and the Sea", "old man and the sea"),
            ("2026-11-14", "november fourteenth twenty twenty six"),
            ("14-11-2026", "november 14th 2026"),
            ("2026-03-04 Committee", "the fourth of march 2026 committee"),
            ("boatRegister", "boat register"),
            ("5th Avenue", "fifth avenue"),
            ("1905", "nineteen oh five"),
            ("v0.6.7", "version oh point six point seven"),
            ("2023-09-12", "september twelve twenty twenty three"),
            ("2026-11-20", "november twenty twenty twenty six"),
            ("march 2026", "march twenty twenty six"),
            ("the one about boats", "the one about boats"),
            ("v1.05", "version one point oh five"),
            ("14.03.2026", "march fourteenth 2026"),
            ("21 rules", "twenty-one rules"),
        ] {
            let (written, spoken) = (words(written), words(spoken));
            assert_eq!(key(&written), key(&spoken), "{written:?}, {spoken:?}");
        }
    }

    #[test]
    fn what_is_heard_apart_stays_apart() {
        for (one, other) in [
            ("v1.11", "v11.1"),
            ("Chapter 2", "Chapter 3"),
            ("Rule 12", "Rule 21"),
            ("2026-11-14", "2025-11-14"),
            ("November 14", "December 14"),
            ("1.2.3", "12.3"),
            ("v1.05", "v1.5"),
            ("My plan", "Our plan"),
            ("bed one", "bed"),
            ("the one ring", "the ring"),
        ] {
            assert_ne!(key(&words(one)), key(&words(other)), "{one} and {other}");
        }
    }

    #[test]
    fn words_are_cut_where_they_are_heard() {
        for (name, expected) in [
            ("", ""),
            ("🌱", ""),
            ("APIKey2Go", "api key 2 go"),
            ("GitHub", "git hub"),
            ("Müller's pear", "mullers pear"),
            ("straße", "strasse"),
            ("No. 5 jack plane", "5 jack plane"),
            ("may I", "may i"),
            ("may 5", "5 5"),
            ("march 2026", "2026 3"),
            ("the march", "the march"),
            ("no news", "no news"),
            ("point of no return", "point of no return"),
        ] {
            assert_eq!(spoken(name), expected, "{name}");
        }
    }

    #[test]
    fn plurals_lose_their_ending() {
        for (plural, one) in [
            ("tomatoes", "tomato"),
            ("shanties", "shanty"),
            ("shelves", "shelf"),
            ("lists", "list"),
            ("finishes", "finish"),
            ("boxes", "box"),
            ("bus", "bus"),
            ("moss", "moss"),
            ("is", "is"),
            ("compost", "compost"),
            ("notes", "note"),
            ("heroes", "hero"),
        ] {
            assert_eq!(singular(plural), one, "{plural}");
        }
    }

    #[test]
    fn verbs_lose_their_ending() {
        for (one, other) in [
            ("buying", "buy"),
            ("planned", "plan"),
            ("baking", "bake"),
            ("calling", "called"),
            ("importing", "import"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} and {other}");
        }
        for (one, other) in [("ring", "r"), ("red", "r"), ("bed", "bing"), ("sting", "sted")] {
            assert_ne!(stem(one), stem(other), "{one} and {other}");
        }
    }

    #[test]
    fn umlauts_are_spelt_out() {
        assert_eq!(spelt_out("Müller Öl").as_deref(), Some("Mueller Oel"));
        assert_eq!(spelt_out("Muller"), None);
    }

    proptest! {
        #[test]
        fn every_name_has_its_words(name in "\\PC{0,24}|[a-zA-Z0-9 .,'&-]{0,24}|(twenty|one|oh|hundred|thousand|point|first|may|of|[0-9]{1,4}| ){0,12}") {
            let found = words(&name);
            prop_assert!(found.iter().all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())), "{found:?}");
            prop_assert!(found.len() <= MAX_WORDS);
            prop_assert_eq!(key(&found).is_empty(), found.is_empty());
        }
    }
}
