//! Styles of names: recognising them, and writing words in one.

use std::collections::HashSet;

use super::parts::is_mark;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Style {
    /// No common style.
    Any,
    /// Words with blanks, in any case.
    Spaced,
    Title,
    Sentence,
    Lower,
    Upper,
    Kebab,
    Train,
    Snake,
    ScreamingSnake,
    TitleSnake,
    Camel,
    Pascal,
    /// Words in a script without capitals.
    Uncased,
}

// The placeholder for words of this style in a pattern.
words!(pub Style::placeholder {
    Any => "words", Spaced => "words with blanks", Title => "Title Words",
    Sentence => "Sentence words", Lower => "lower words", Upper => "UPPER WORDS",
    Kebab => "kebab-words", Train => "Train-Words", Snake => "snake_words",
    ScreamingSnake => "UPPER_WORDS", TitleSnake => "Title_Words", Camel => "camelWords",
    Pascal => "PascalWords", Uncased => "uncased words",
});

words!(pub Style::name, ALL {
    Any => "words", Spaced => "words with blanks", Title => "Title Case",
    Sentence => "Sentence case", Lower => "lower case", Upper => "UPPER CASE",
    Kebab => "kebab-case", Train => "Train-Case", Snake => "snake_case",
    ScreamingSnake => "UPPER_SNAKE_CASE", TitleSnake => "Title_Snake_Case", Camel => "camelCase",
    Pascal => "PascalCase", Uncased => "words without capitals",
});

impl Style {
    /// Whether this style is a special case of the other.
    pub fn is_kind_of(self, other: Self) -> bool {
        let spaced = matches!(
            self,
            Self::Title | Self::Sentence | Self::Lower | Self::Upper | Self::Uncased
        );
        self == other || other == Self::Any || (other == Self::Spaced && spaced)
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Styles(u16);

impl Styles {
    pub(super) const EVERY: Self = Self(u16::MAX);

    /// Whether the set contains a style.
    pub fn has(self, style: Style) -> bool {
        self.0 & style.bit() != 0
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn add(&mut self, style: Style) {
        self.0 |= style.bit();
    }

    fn add_all(&mut self, fits: impl IntoIterator<Item = (bool, Style)>) {
        fits.into_iter().filter(|(fits, _)| *fits).for_each(|(_, style)| self.add(style));
    }

    /// The styles in the order of [`Style::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Style> {
        Style::ALL.into_iter().filter(move |style| self.has(*style))
    }
}
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// No letter with case.
    Neutral,
    Lower,
    /// Only the first letter is a capital.
    Capital,
    /// Only capitals.
    Upper,
    /// Mixed, with a capital first: `OneNote`.
    MixedCapital,
    /// Mixed, with a small letter first: `iPhone`.
    MixedLower,
}

impl Case {
    fn of(word: &str) -> Self {
        let mut cased =
            word.chars().filter(|c| c.is_uppercase() || c.is_lowercase()).map(char::is_uppercase);
        let Some(first) = cased.next() else { return Self::Neutral };
        let (mut upper, mut lower) = (false, false);
        cased.for_each(|is_upper| if is_upper { upper = true } else { lower = true });
        // `2nd` fits both at the start.
        let is_numeric = word.starts_with(char::is_numeric);
        match (first, upper, lower) {
            (false, false, _) if is_numeric => Self::Neutral,
            (false, false, _) => Self::Lower,
            (false, true, _) => Self::MixedLower,
            (true, false, false) => Self::Capital,
            (true, true, false) => Self::Upper,
            (true, false, true) => Self::Capital,
            (true, true, true) => Self::MixedCapital,
        }
    }

    fn begins_with_capital(self) -> bool {
        !matches!(self, Self::Lower)
    }
}

/// Words that are in lower case within titles.
const MINOR: &[&str] = &[
    "a", "an", "the", "and", "but", "or", "nor", "for", "so", "yet", "as", "at", "by", "in", "of",
    "on", "per", "to", "via", "with", "from", "into", "over", "vs", "is", "it", "if", "than", "de",
    "la", "le", "les", "du", "des", "et", "und", "der", "die", "das", "den", "dem", "von", "van",
    "el", "los", "las", "y", "e", "da", "do", "di", "del", "della", "il", "och", "en", "het", "i",
    "im", "zu", "mit", "für", "con",
];

fn is_minor(word: &str) -> bool {
    word.len() <= 5 && MINOR.contains(&word)
}

/// The styles for which these words are evidence.
pub(super) fn shown_by(words: &str) -> Styles {
    let has = |sign: char| words.contains(sign);
    let shown: &[Style] = match (words.contains(char::is_whitespace), has('-'), has('_')) {
        (true, ..) => &[Style::Spaced, Style::Title, Style::Sentence, Style::Lower, Style::Upper],
        (_, true, true) => &[],
        (_, true, _) => &[Style::Kebab, Style::Train],
        (_, _, true) => &[Style::Snake, Style::ScreamingSnake, Style::TitleSnake],
        _ => match Case::of(words) {
            Case::MixedLower => &[Style::Camel],
            Case::MixedCapital => &[Style::Pascal],
            Case::Upper => &[Style::Upper],
            _ => &[],
        },
    };
    let mut styles = Styles::default();
    shown.iter().chain(&[Style::Any, Style::Uncased]).for_each(|style| styles.add(*style));
    styles
}

/// The styles that fit words with blanks or signs between them.
pub(super) fn styles_of(words: &str, vocabulary: &Vocabulary) -> Styles {
    let mut styles = Styles::default();
    styles.add(Style::Any);
    if !words.chars().any(|c| c.is_uppercase() || c.is_lowercase()) {
        styles.add_all([(true, Style::Uncased), (true, Style::Spaced)]);
        return styles;
    }
    let has = |sign: char| words.contains(sign);
    if words.contains(char::is_whitespace) {
        add_spaced(&mut styles, &words_between_blanks(words), vocabulary);
        return styles;
    }
    match (has('-'), has('_')) {
        (true, true) => {}
        (false, false) => {
            add_spaced(&mut styles, &[words], vocabulary);
            let case = Case::of(words);
            styles.add_all([
                (case == Case::Lower, Style::Kebab),
                (case == Case::Lower, Style::Snake),
                (matches!(case, Case::Lower | Case::MixedLower), Style::Camel),
                (matches!(case, Case::Capital | Case::MixedCapital), Style::Pascal),
                (case == Case::Upper, Style::ScreamingSnake),
                (matches!(case, Case::Capital | Case::Upper), Style::Train),
                (matches!(case, Case::Capital | Case::Upper), Style::TitleSnake),
            ]);
        }
        (dashed, _) => {
            let pieces: Vec<&str> =
                words.split(['-', '_']).filter(|piece| !piece.is_empty()).collect();
            let all = |fits: fn(Case) -> bool| {
                pieces.iter().all(|piece| Case::of(piece) == Case::Neutral || fits(Case::of(piece)))
            };
            let capital = all(Case::begins_with_capital);
            let (lower, upper) = (all(|case| case == Case::Lower), all(|case| case == Case::Upper));
            let own = if dashed {
                [(lower, Style::Kebab), (capital, Style::Train), (false, Style::Any)]
            } else {
                [
                    (lower, Style::Snake),
                    (capital && !upper, Style::TitleSnake),
                    (upper, Style::ScreamingSnake),
                ]
            };
            styles.add_all(own);
            // `Sci-fi` is one word.
            if dashed && pieces.len() <= 2 {
                add_spaced(&mut styles, &[words], vocabulary);
            }
        }
    }
    styles
}

/// The words between blanks, without surrounding signs.
fn words_between_blanks(words: &str) -> Vec<&str> {
    let bare = |word: &'_ str| -> bool { word.contains(char::is_alphanumeric) };
    words
        .split_whitespace()
        .filter(|word| bare(word))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect()
}

fn add_spaced(styles: &mut Styles, words: &[&str], vocabulary: &Vocabulary) {
    styles.add(Style::Spaced);
    let cases: Vec<Case> = words.iter().map(|word| Case::of(word)).collect();
    let cased = cases.iter().filter(|case| **case != Case::Neutral).count();
    let is_loud = |word: &&str| !word.contains(char::is_lowercase);
    let is_upper = cases.contains(&Case::Upper) && words.iter().all(is_loud);
    styles.add_all([
        (cases.iter().all(|case| matches!(case, Case::Lower | Case::Neutral)), Style::Lower),
        (is_upper, Style::Upper),
    ]);
    if is_upper && cased > 1 {
        return;
    }
    let Some((first, later)) = cases.split_first() else { return };
    // `iPhone notes` may be a title, `myNote` is not.
    if !first.begins_with_capital() || (words.len() == 1 && *first == Case::MixedLower) {
        return;
    }
    let later: Vec<(&str, Case)> = words[1..].iter().copied().zip(later.iter().copied()).collect();
    let is_lower = |(word, case): &(&str, Case)| *case == Case::Lower && !is_minor(word);
    let is_mixed = later.iter().any(is_lower);
    let is_fixed = |(word, case): &(&str, Case)| match case {
        Case::Capital => vocabulary.is_proper(word),
        _ => true,
    };
    styles.add_all([
        (!is_mixed, Style::Title),
        (is_mixed || later.iter().all(is_fixed), Style::Sentence),
    ]);
}

/// Words that the names of a vault write in lower case within a name, and words that they always capitalise.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    small: HashSet<String>,
    capital: HashSet<String>,
}

impl Vocabulary {
    /// Learns from a name that has both kinds of words.
    pub fn learn(&mut self, name: &str) {
        if !name.contains(char::is_whitespace) {
            return;
        }
        let words = words_between_blanks(name);
        let first = words.iter().position(|word| Case::of(word) != Case::Neutral).unwrap_or(0);
        let later = words.get(first + 1..).unwrap_or_default();
        let is_small = |word: &&str| Case::of(word) == Case::Lower && !is_minor(word);
        if !later.iter().any(is_small) {
            return;
        }
        for word in later {
            match Case::of(word) {
                Case::Lower if !self.small.contains(*word) => {
                    self.small.insert((*word).to_owned());
                }
                Case::Capital if !self.capital.contains(*word) => {
                    self.capital.insert((*word).to_owned());
                }
                _ => {}
            }
        }
    }

    /// Whether a word is always capitalised.
    fn is_proper(&self, word: &str) -> bool {
        self.capital.contains(word) && !self.is_small(word)
    }

    fn is_small(&self, word: &str) -> bool {
        self.small.contains(&word.to_lowercase())
    }
}
/// Writes words in a style.
pub fn written(text: &str, style: Style, vocabulary: &Vocabulary) -> String {
    let words = words_of(text);
    let recased = |word: &str| match Case::of(word) {
        // A word with inner capitals keeps them.
        Case::Lower | Case::Capital => word.to_lowercase(),
        _ => word.to_owned(),
    };
    let is_shouted = words.len() > 1
        && words.iter().all(|word| matches!(Case::of(word), Case::Upper | Case::Neutral));
    let calm = |word: &str| if is_shouted { word.to_lowercase() } else { word.to_owned() };
    let title = |(at, word): (usize, &String)| {
        let word = calm(word);
        if at > 0 && is_minor(&word.to_lowercase()) {
            word.to_lowercase()
        } else {
            capitalised(&word)
        }
    };
    let sentence = |(at, word): (usize, &String)| {
        let word = calm(word);
        match at {
            0 => capitalised(&word),
            _ if vocabulary.is_small(&word) || is_minor(&word.to_lowercase()) => recased(&word),
            _ => word,
        }
    };
    // Names without blanks consist of letters, digits and one separator. Other signs are removed before the text is
    // split, so that the result splits the same way.
    let bare = || {
        let is_sign = |c: char| !(c.is_alphanumeric() || is_mark(c));
        let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '’')).collect();
        let words = words_of(plain.trim_matches(is_sign));
        let pieces = words.iter().flat_map(|word| word.split(is_sign));
        pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let joined = |sign: &str, each: fn(&str) -> String| {
        bare().iter().map(|word| each(word)).collect::<Vec<_>>().join(sign)
    };
    match style {
        Style::Any | Style::Uncased => text.trim().to_owned(),
        Style::Spaced => words.join(" "),
        Style::Title => words.iter().enumerate().map(title).collect::<Vec<_>>().join(" "),
        Style::Sentence => words.iter().enumerate().map(sentence).collect::<Vec<_>>().join(" "),
        Style::Lower => words.iter().map(|word| word.to_lowercase()).collect::<Vec<_>>().join(" "),
        Style::Upper => words.iter().map(|word| word.to_uppercase()).collect::<Vec<_>>().join(" "),
        Style::Kebab => joined("-", str::to_lowercase),
        Style::Train => joined("-", capitalised),
        Style::Snake => joined("_", str::to_lowercase),
        Style::ScreamingSnake => joined("_", str::to_uppercase),
        Style::TitleSnake => joined("_", capitalised),
        Style::Pascal => joined("", capitalised),
        Style::Camel => {
            let words = bare();
            let each = words.iter().enumerate().map(|(at, word)| match at {
                0 => word.to_lowercase(),
                _ => capitalised(word),
            });
            each.collect()
        }
    }
}

fn capitalised(word: &str) -> String {
    if Case::of(word) == Case::MixedLower {
        return word.to_owned();
    }
    let mut characters = word.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Splits a title or name into words: at blanks; if it has none, at separators; else at capitals.
fn words_of(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.contains(char::is_whitespace) {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    if text.contains(['-', '_']) {
        return text.split(['-', '_']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    }
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if !(was_lower && c.is_uppercase()) => word.push(c),
            _ => words.push(c.to_string()),
        }
        was_lower = c.is_lowercase();
    }
    words
}
