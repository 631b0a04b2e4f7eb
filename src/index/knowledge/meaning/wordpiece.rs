//! Splits text into the tokens of an uncased BERT model: words and marks; words missing in the
//! vocabulary are split into its longest pieces.
//!
//! Does what `tokenizer.json` of the models says, with two differences: for static models a word
//! with an unknown piece has no token instead of `[UNK]`, which model2vec leaves out, too; and
//! special tokens such as `[SEP]` in a text are ordinary text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Characters of the longest word that is split into pieces.
const LONGEST: usize = 100;

/// The prefix in the vocabulary of pieces after a word's first.
const CONTINUED: &[u8] = b"##";

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{Mn}").ok());
static PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{P}").ok());

/// The tokens, sorted by their bytes.
pub(super) struct Vocabulary {
    /// The end of each token in `names`: u32, little-endian.
    ends: Cow<'static, [u8]>,
    names: Cow<'static, [u8]>,
    /// The tokens that begin with `##`.
    continued: (usize, usize),
}

impl Vocabulary {
    /// Checks that the tokens are in order; `None` if not.
    pub fn new(
        ends: impl Into<Cow<'static, [u8]>>,
        names: impl Into<Cow<'static, [u8]>>,
    ) -> Option<Self> {
        let mut all = Self { ends: ends.into(), names: names.into(), continued: (0, 0) };
        let count = all.ends.len() / 4;
        let is_sound = |token: usize| {
            let start = if token == 0 { 0 } else { all.end(token - 1) };
            start < all.end(token)
                && all.end(token) <= all.names.len()
                && (token == 0 || all.name(token - 1) < all.name(token))
        };
        if count == 0 || !(0..count).all(is_sound) || all.end(count - 1) != all.names.len() {
            return None;
        }
        let continued = (0..CONTINUED.len())
            .fold((0, count), |among, at| all.narrowed(among, at, CONTINUED[at]));
        all.continued = continued;
        Some(all)
    }

    /// The text of a token.
    pub fn name(&self, token: usize) -> &[u8] {
        let start = if token == 0 { 0 } else { self.end(token - 1) };
        &self.names[start..self.end(token)]
    }

    /// The token with this name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        let all = (0, self.ends.len() / 4);
        let (token, length) = self.longest(name, all, 0)?;
        (length == name.len()).then_some(token)
    }

    /// Calls `found` with each token of `text` in order; with `unknown` for a word without tokens.
    pub fn tokens(&self, text: &str, unknown: Option<usize>, mut found: impl FnMut(usize)) {
        let (mut word, mut pieces) = (String::new(), Vec::new());
        let mut end = |word: &mut String| {
            self.pieces(word, &mut pieces);
            if pieces.is_empty() && !word.is_empty() {
                pieces.extend(unknown);
            }
            pieces.drain(..).for_each(&mut found);
            word.clear();
        };
        each_normal(text, |next| match next {
            next if next.is_whitespace() => end(&mut word),
            next if is_punctuation(next) || is_ideograph(next) => {
                end(&mut word);
                word.push(next);
                end(&mut word);
            }
            next => word.push(next),
        });
        end(&mut word);
    }

    /// Collects the longest pieces of a word, from its beginning; none if the vocabulary lacks one of them.
    fn pieces(&self, word: &str, pieces: &mut Vec<usize>) {
        if word.chars().nth(LONGEST).is_some() {
            return;
        }
        let mut rest = word.as_bytes();
        while !rest.is_empty() {
            let is_first = rest.len() == word.len();
            let (among, prefix) = if is_first {
                ((0, self.ends.len() / 4), 0)
            } else {
                (self.continued, CONTINUED.len())
            };
            let Some((token, length)) = self.longest(rest, among, prefix) else {
                pieces.clear();
                return;
            };
            pieces.push(token);
            rest = &rest[length..];
        }
    }

    /// The longest token that `text` begins with, and its length, among those that share `prefix` bytes before.
    fn longest(
        &self,
        text: &[u8],
        mut among: (usize, usize),
        prefix: usize,
    ) -> Option<(usize, usize)> {
        let mut longest = None;
        for (at, byte) in text.iter().enumerate() {
            among = self.narrowed(among, prefix + at, *byte);
            if among.0 == among.1 {
                break;
            }
            // The shortest token with a common beginning comes first.
            if self.name(among.0).len() == prefix + at + 1 {
                longest = Some((among.0, at + 1));
            }
        }
        longest
    }

    /// The tokens of a range that have `byte` at a position; all of them share the bytes before.
    fn narrowed(&self, (mut start, end): (usize, usize), at: usize, byte: u8) -> (usize, usize) {
        let first = |mut low: usize, wanted: Option<u8>| {
            let mut high = end;
            while low < high {
                let middle = low.midpoint(high);
                if self.name(middle).get(at).copied() < wanted {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            low
        };
        start = first(start, Some(byte));
        let end = byte.checked_add(1).map_or(end, |next| first(start, Some(next)));
        (start, end)
    }

    fn end(&self, token: usize) -> usize {
        u32::from_le_bytes(std::array::from_fn(|at| self.ends[token * 4 + at])) as usize
    }
}

/// Calls `found` with the characters of a text in lower case, without accents and control characters.
fn each_normal(text: &str, mut found: impl FnMut(char)) {
    let mut start = 0;
    // Most text needs no normalisation: process runs of ASCII and of other characters separately.
    while start < text.len() {
        let is_ascii = text.as_bytes()[start].is_ascii();
        let length = text[start..].bytes().position(|byte| byte.is_ascii() != is_ascii);
        let run = &text[start..length.map_or(text.len(), |length| start + length)];
        start += run.len();
        if is_ascii {
            let kept = run.chars().filter(|c| !is_control(*c));
            kept.for_each(|c| found(c.to_ascii_lowercase()));
        } else {
            let kept = run.chars().filter(|c| !is_control(*c)).nfd().filter(|c| !is_accent(*c));
            kept.flat_map(char::to_lowercase).for_each(&mut found);
        }
    }
}

/// Whether a character is dropped: of the categories Cc, Cf and Co, but for tabs and line ends.
fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
        || matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffd}' | '\u{110bd}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}'..='\u{e007f}'
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}')
}

/// Whether a character is a combining accent.
fn is_accent(c: char) -> bool {
    is_combining_mark(c) && is_of(&MARK, c)
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_punctuation()
    } else {
        !c.is_alphanumeric() && is_of(&PUNCTUATION, c)
    }
}

fn is_of(category: &Option<Regex>, c: char) -> bool {
    category.as_ref().is_some_and(|category| category.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Whether a character is an ideograph, which is a word by itself.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
