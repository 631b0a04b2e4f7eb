//! The strings that the parts of a pattern can match, in terms of signatures.
//!
//! Sets of short strings are computed bottom up on the pattern's syntax tree, as in Russ Cox's "Regular
//! Expression Matching with a Trigram Index": all that a part can match if that is few, else prefixes and
//! suffixes of its matches.
//!
//! The strings are over an [`Alphabet`]. Over the letters of `signature` an ignored case needs no alternatives: the
//! members of the class that the parser makes of a letter, such as the Kelvin sign and the long s, are the same letter,
//! with a few exceptions for which both are tried. Over kinds, `[A-Z]` is one string, and a character beyond ASCII is
//! its number of bytes.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::plan::{Plan, and, or};
use super::signature::{self, SEQUENCES};

pub fn plan_of(hir: &Hir) -> Plan {
    let by_letters = PatternPart::of(hir, Alphabet::Letters).into_plan();
    if by_letters.asks_for_sequences() {
        return by_letters;
    }
    // Ranges of letters and digits have too many members to list.
    and(vec![by_letters, PatternPart::of(hir, Alphabet::Kinds).into_plan()])
}

/// Maximum number of strings of a part; more are reduced to their common part.
const MAX_STRINGS: usize = 64;

/// Maximum number of members of a class that are listed.
const MAX_MEMBERS: u32 = 64;

/// Maximum length of prefixes and suffixes: with one more letter they have a bit.
const KNOWN: usize = 3;

/// Maximum number of copies to which a repetition is unrolled.
const MAX_COPIES: u32 = 4;

/// A string of an alphabet's letters.
type Letters = Vec<signature::Letter>;

/// How bytes of a text are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Letters,
    Kinds,
}

impl Alphabet {
    /// The possible strings of these bytes: none if there is a line end among them, since lines have none.
    /// `None` if the bytes are not UTF-8.
    pub fn spell(self, bytes: &[u8]) -> Option<Vec<Letters>> {
        let letters: Option<Letters> = match self {
            Self::Letters => str::from_utf8(bytes).ok()?.chars().map(signature::letter).collect(),
            Self::Kinds => {
                bytes.iter().map(|byte| signature::kind(*byte).map(Into::into)).collect()
            }
        };
        Some(letters.into_iter().collect())
    }

    /// The strings of all members of a class; `None` if they are too many.
    fn spell_class(self, class: &Class) -> Option<Vec<Letters>> {
        let mut strings = Vec::new();
        match class {
            Class::Bytes(class) => {
                for byte in class.iter().flat_map(|range| range.start()..=range.end()) {
                    strings.extend(self.spell(&[byte])?);
                }
            }
            Class::Unicode(class) => {
                let ranges = || class.iter().map(|range| (range.start(), range.end()));
                let length = |(start, end)| u32::from(end) - u32::from(start) + 1;
                let members = ranges().map(length).fold(0, u32::saturating_add);
                if self == Self::Letters && members > MAX_MEMBERS {
                    return None;
                }
                for (start, end) in ranges() {
                    self.spell_range(start, end, &mut strings);
                }
            }
        }
        Some(strings)
    }

    /// Adds the strings of the characters from `start` to `end`; equal ones may be added once.
    fn spell_range(self, start: char, end: char, strings: &mut Vec<Letters>) {
        // Over kinds, characters beyond ASCII differ in their number of bytes only, which grows.
        let last = match self {
            Self::Letters => end,
            Self::Kinds => end.min('\x7f'),
        };
        for member in start..=last {
            let spelt = self.spell(member.encode_utf8(&mut [0; 4]).as_bytes());
            strings.extend(spelt.into_iter().flatten());
        }
        if self == Self::Kinds && end > '\x7f' {
            let lengths = start.max('\u{80}').len_utf8()..=end.len_utf8();
            let spelt = lengths.filter_map(|length| self.spell(&[0x80; 4][..length]));
            strings.extend(spelt.flatten());
        }
    }

    /// The condition for a text with one of these strings.
    fn of_strings(self, strings: &[Letters]) -> Plan {
        or(strings.iter().map(|string| self.of_string(string)).collect())
    }

    /// The condition for a text with this string.
    pub fn of_string(self, string: &[signature::Letter]) -> Plan {
        let mut bits = match self {
            Self::Letters => signature::bits(string),
            Self::Kinds => string.windows(3).map(signature::kinds).collect(),
        };
        let is_sequence = |bit: &u16| usize::from(*bit) < SEQUENCES;
        if bits.iter().any(is_sequence) {
            // Pairs of classes exclude little in addition to the sequences.
            bits.retain(is_sequence);
        }
        and(bits.into_iter().map(Plan::Row).collect())
    }
}

/// The known properties of the matches of a part of the pattern.
#[derive(Debug, Clone)]
pub(super) struct PatternPart {
    alphabet: Alphabet,
    /// All possible matches, if they are known.
    all: Option<Vec<Letters>>,
    /// Prefixes and suffixes of at most [`KNOWN`] letters, if `all` is not known.
    starts: Vec<Letters>,
    ends: Vec<Letters>,
    /// A further condition for each match, if `all` is not known.
    plan: Plan,
}

impl PatternPart {
    /// Analyses a part of the pattern.
    pub fn of(hir: &Hir, alphabet: Alphabet) -> Self {
        let of = |hir: &Hir| Self::of(hir, alphabet);
        let exactly = |all| Self::exactly(all, alphabet);
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => exactly(vec![Letters::new()]),
            HirKind::Literal(literal) => match alphabet.spell(&literal.0) {
                Some(strings) => exactly(strings),
                None => Self::anything(alphabet),
            },
            HirKind::Class(class) => match alphabet.spell_class(class) {
                Some(strings) => exactly(strings),
                None => Self::anything(alphabet),
            },
            HirKind::Capture(capture) => of(&capture.sub),
            HirKind::Concat(parts) => {
                let first = exactly(vec![Letters::new()]);
                parts.iter().map(of).fold(first, Self::then)
            }
            HirKind::Alternation(parts) => Self::one_of(parts.iter().map(of).collect(), alphabet),
            HirKind::Repetition(repetition) => {
                let part = of(&repetition.sub);
                if repetition.min == 0 {
                    return match (repetition.max, part.all) {
                        (Some(1), Some(mut all)) => {
                            all.push(Letters::new());
                            exactly(all)
                        }
                        (Some(0), _) => exactly(vec![Letters::new()]),
                        _ => Self::anything(alphabet),
                    };
                }
                let copies = repetition.min.min(MAX_COPIES);
                let written = (1..copies).fold(part.clone(), |so_far, _| so_far.then(part.clone()));
                if repetition.max == Some(copies) {
                    written
                } else {
                    // More copies may follow: only prefixes and suffixes are known.
                    written.given_up()
                }
            }
        }
    }

    /// The condition for a text with a match of the part.
    pub fn into_plan(self) -> Plan {
        match self.all {
            Some(all) => self.alphabet.of_strings(&all),
            None => self.plan,
        }
    }

    fn exactly(mut all: Vec<Letters>, alphabet: Alphabet) -> Self {
        all.sort_unstable();
        all.dedup();
        let part = Self { all: Some(all), ..Self::anything(alphabet) };
        if part.all.as_ref().is_some_and(|all| all.len() > MAX_STRINGS) {
            part.given_up()
        } else {
            part
        }
    }

    fn anything(alphabet: Alphabet) -> Self {
        let unknown = vec![Letters::new()];
        Self { alphabet, all: None, starts: unknown.clone(), ends: unknown, plan: Plan::All }
    }

    /// Reduces the part to prefixes, suffixes and a plan.
    fn given_up(self) -> Self {
        match &self.all {
            None => self,
            Some(all) => Self {
                alphabet: self.alphabet,
                starts: cut_to_starts(all.clone(), KNOWN),
                ends: cut_to_ends(all.clone(), KNOWN),
                plan: self.alphabet.of_strings(all),
                all: None,
            },
        }
    }

    /// This part followed by another.
    fn then(self, next: Self) -> Self {
        let alphabet = self.alphabet;
        if let (Some(here), Some(there)) = (&self.all, &next.all)
            && let Some(all) = product(here, there)
        {
            return Self::exactly(all, alphabet);
        }
        let here = self.all.as_ref().unwrap_or(&self.ends);
        let there = next.all.as_ref().unwrap_or(&next.starts);
        let seam = product(here, there);
        let first = match &self.all {
            Some(_) => cut_to_starts(seam.clone().unwrap_or_else(|| here.clone()), KNOWN),
            None => self.starts.clone(),
        };
        let last = match &next.all {
            Some(_) => cut_to_ends(seam.clone().unwrap_or_else(|| there.clone()), KNOWN),
            None => next.ends.clone(),
        };
        let plan = match seam {
            // The seam contains what each part needs.
            Some(seam) => and(vec![self.plan, next.plan, alphabet.of_strings(&seam)]),
            None => {
                let (here, there) = (self.given_up(), next.given_up());
                // With shorter strings there may be few enough.
                let shorter = || {
                    product(
                        &cut_to_ends(here.ends.clone(), 2),
                        &cut_to_starts(there.starts.clone(), 2),
                    )
                };
                let seam = product(&here.ends, &there.starts).or_else(shorter);
                let seam = seam.map_or(Plan::All, |seam| alphabet.of_strings(&seam));
                and(vec![here.plan, there.plan, seam])
            }
        };
        Self { alphabet, all: None, starts: first, ends: last, plan }
    }

    fn one_of(parts: Vec<Self>, alphabet: Alphabet) -> Self {
        let known: Option<Vec<&Vec<Letters>>> =
            parts.iter().map(|part| part.all.as_ref()).collect();
        if let Some(known) = known
            && known.iter().map(|all| all.len()).sum::<usize>() <= MAX_STRINGS
        {
            return Self::exactly(known.into_iter().flatten().cloned().collect(), alphabet);
        }
        let parts: Vec<Self> = parts.into_iter().map(Self::given_up).collect();
        Self {
            alphabet,
            all: None,
            starts: cut_to_starts(
                parts.iter().flat_map(|part| part.starts.clone()).collect(),
                KNOWN,
            ),
            ends: cut_to_ends(parts.iter().flat_map(|part| part.ends.clone()).collect(), KNOWN),
            plan: or(parts.into_iter().map(|part| part.plan).collect()),
        }
    }
}

/// Each of the one followed by each of the other, if those are few.
fn product(here: &[Letters], there: &[Letters]) -> Option<Vec<Letters>> {
    if here.len() * there.len() > MAX_STRINGS {
        return None;
    }
    let each = |a: &Letters| there.iter().map(|b| [&a[..], b].concat()).collect::<Vec<_>>();
    Some(here.iter().flat_map(each).collect())
}

/// At most the first `most` letters of each, fewer if those are too many strings.
fn cut_to_starts(strings: Vec<Letters>, most: usize) -> Vec<Letters> {
    cut_letters(strings, most, |string, length| string.truncate(length))
}

/// At most the last `most` letters of each.
fn cut_to_ends(strings: Vec<Letters>, most: usize) -> Vec<Letters> {
    let to =
        |string: &mut Letters, length| drop(string.drain(..string.len().saturating_sub(length)));
    cut_letters(strings, most, to)
}

fn cut_letters(
    mut strings: Vec<Letters>,
    most: usize,
    to: impl Fn(&mut Letters, usize),
) -> Vec<Letters> {
    for length in (0..=most).rev() {
        strings.iter_mut().for_each(|string| to(string, length));
        strings.sort_unstable();
        strings.dedup();
        if strings.len() <= MAX_STRINGS / 4 {
            break;
        }
    }
    strings
}
