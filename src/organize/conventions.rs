//! The naming conventions of a folder: the patterns that most of its names fit.
//!
//! Linear in the number of names: each is read once, and only the few most frequent patterns are compared.

use std::collections::HashMap;

use super::shapes::parts::{Kind, cut};
use super::shapes::pattern::{Pattern, Reading, Slot, readings};
use super::shapes::style::{Style, Vocabulary};

/// The most conventions of a folder.
const MAX_CONVENTIONS: usize = 3;

/// The number of most frequent patterns that are compared.
const CANDIDATES: usize = 48;

/// The share of a looser pattern's names, in percent, from which the more exact pattern replaces it.
const ENOUGH: usize = 80;

/// The least number of names for a convention with exceptions.
const MIN_NAMES: usize = 8;

/// The least number of names for which shared words are part of the pattern.
const MIN_SHARED: usize = 5;

/// Default suggestions for folders without a clear convention.
const COMMON: [(&str, &str); 6] = [
    ("{Title Words}", "Garden Plan"),
    ("{YYYY-MM-DD} {Title Words}", "2026-11-21 Garden Plan"),
    ("{kebab-words}", "garden-plan"),
    ("{Sentence words}", "Garden plan"),
    ("{YYYY-MM-DD}", "2026-11-21"),
    ("{snake_words}", "garden_plan"),
];

#[derive(Debug, Clone, PartialEq)]
pub struct Convention {
    pub pattern: Pattern,
    /// An example, from the folder if possible.
    pub example: String,
    /// The number of names that fit.
    pub matching: usize,
    /// The lower bound of Wilson's 95 % interval for the share of names that fit, from 0 to 1: three names of three are
    /// less certain than thirty of thirty.
    pub confidence: f64,
}

impl Convention {
    /// A convention that no name follows yet.
    pub fn unused(pattern: Pattern, example: &str) -> Self {
        Self { pattern, example: example.to_owned(), matching: 0, confidence: 0.0 }
    }

    /// Whether the other names are exceptions: four of five names fit, of at least eight.
    pub fn is_kept(&self, names: usize) -> bool {
        names >= MIN_NAMES && self.matching * 100 >= names * ENOUGH
    }
}

/// Well-known conventions.
pub fn common() -> impl Iterator<Item = Convention> {
    COMMON.into_iter().filter_map(|(pattern, example)| {
        Pattern::parse(pattern).ok().map(|pattern| Convention::unused(pattern, example))
    })
}

/// The lower bound of Wilson's interval at 95 % for `matching` of `names`.
fn confidence(matching: usize, names: usize) -> f64 {
    const Z: f64 = 1.96;
    if names == 0 {
        return 0.0;
    }
    let (n, share) = (names as f64, matching as f64 / names as f64);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((share + Z * Z / (2.0 * n) - spread) / (1.0 + Z * Z / n)).max(0.0)
}

/// The three conventions that describe most of these stems, most certain first, completed by well-known ones.
pub fn find(names: &[&str], vocabulary: &Vocabulary) -> Vec<Convention> {
    let mut tally = Tally::default();
    let shared = CommonAffixes::of(names);
    for name in names {
        tally.add(name, &shared, vocabulary);
    }
    let mut found = tally.chosen(names.len());
    for other in common() {
        if found.len() >= MAX_CONVENTIONS {
            break;
        }
        if !tally.has(&other.pattern) {
            found.push(other);
        }
    }
    found
}

/// Words at the start or end of nearly all names of a folder.
#[derive(Debug, Default, PartialEq)]
struct CommonAffixes {
    before: String,
    behind: String,
}

impl CommonAffixes {
    fn of(names: &[&str]) -> Self {
        if names.len() < MIN_SHARED {
            return Self::default();
        }
        let before = grown(
            names,
            |name, known| {
                let rest = name.strip_prefix(known)?;
                first_part(rest)
            },
            |known, part| format!("{known}{part}"),
        );
        let behind = grown(
            names,
            |name, known| {
                let rest = name.strip_suffix(known)?.strip_prefix(before.as_str())?;
                last_part(rest)
            },
            |known, part| format!("{part}{known}"),
        );
        Self { before, behind }
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.behind.is_empty()
    }

    /// The variable part of a name.
    fn inside<'n>(&self, name: &'n str) -> Option<&'n str> {
        let inside = name.strip_prefix(self.before.as_str())?.strip_suffix(self.behind.as_str())?;
        (!inside.is_empty()).then_some(inside)
    }

    fn around(&self, slots: Vec<Slot>) -> Vec<Slot> {
        let text = |text: &String| (!text.is_empty()).then(|| Slot::Text(text.clone()));
        text(&self.before).into_iter().chain(slots).chain(text(&self.behind)).collect()
    }
}

/// The longest common text of enough names, part by part.
fn grown<'n>(
    names: &[&'n str],
    next: impl Fn(&'n str, &str) -> Option<&'n str>,
    join: impl Fn(&str, &str) -> String,
) -> String {
    let mut known = String::new();
    loop {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        names.iter().filter_map(|name| next(name, &known)).for_each(|part| {
            *counts.entry(part).or_default() += 1;
        });
        let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
        match most {
            Some((part, count)) if count * 100 >= names.len() * ENOUGH => {
                known = join(&known, part)
            }
            _ => return known,
        }
    }
}

/// The first word of a name with the signs after it, if more follows; the letters of `SRD-0042`.
fn first_part(name: &str) -> Option<&str> {
    let parts = cut(name);
    let first = parts.first()?;
    let end = match (first.kind, parts.get(1)) {
        (Kind::Word | Kind::Emoji, Some(sign)) if sign.kind == Kind::Sign => sign.range.end,
        (Kind::Code, _) => name.find(|c: char| c.is_ascii_digit())?,
        _ => return None,
    };
    (end < name.len()).then(|| &name[..end])
}

/// The last word of a name with the signs around it, if more precedes.
fn last_part(name: &str) -> Option<&str> {
    let parts = cut(name);
    let parts = match &*parts {
        [rest @ .., last] if last.kind == Kind::Sign => rest,
        all => all,
    };
    let [.., before, sign, last] = parts else { return None };
    let fits = last.kind == Kind::Word && sign.kind == Kind::Sign && before.kind != Kind::Sign;
    fits.then(|| &name[sign.range.start..])
}

/// Counts the names of each pattern.
#[derive(Default)]
struct Tally<'n> {
    counts: HashMap<Vec<Slot>, Counted<'n>>,
}

/// The names of one pattern and style.
#[derive(Clone, Copy)]
struct Named<'n> {
    matching: usize,
    /// The number of names that are evidence for the style.
    shown: usize,
    example: &'n str,
    is_example: bool,
}

#[derive(Default)]
struct Counted<'n> {
    styles: [Option<Named<'n>>; Style::ALL.len()],
    /// Looser patterns that its names also fit.
    looser: Vec<Vec<Slot>>,
    is_shared: bool,
}

impl<'n> Tally<'n> {
    fn add(&mut self, name: &'n str, shared: &CommonAffixes, vocabulary: &Vocabulary) {
        let plain = readings(name, vocabulary);
        let inside = shared.inside(name).filter(|_| !shared.is_empty());
        let around = |reading: Reading| Reading { slots: shared.around(reading.slots), ..reading };
        let own = inside.map(|inside| readings(inside, vocabulary)).unwrap_or_default();
        let own: Vec<Reading> = own.into_iter().map(around).collect();
        let shared = own.len();
        let all: Vec<Reading> = own.into_iter().chain(plain).collect();
        for (at, reading) in all.iter().enumerate() {
            let looser = all[at + 1..].iter().map(|other| &other.slots);
            if !self.counts.contains_key(&reading.slots) {
                self.counts.insert(reading.slots.clone(), Counted::default());
            }
            let Some(counted) = self.counts.get_mut(&reading.slots) else { continue };
            counted.is_shared |= at < shared;
            for style in reading.styles.iter() {
                let is_example = reading.shown.has(style);
                let unseen = Named { matching: 0, shown: 0, example: name, is_example };
                let named = counted.styles[style as usize].get_or_insert(unseen);
                named.matching += 1;
                named.shown += usize::from(reading.shown.has(style));
                // Prefer evidence for the style, then a short name, independent of the order of files.
                let is_better = match (reading.shown.has(style), named.is_example) {
                    (is_shown, is_example) if is_shown == is_example => {
                        (name.len(), name) < (named.example.len(), named.example)
                    }
                    (is_shown, _) => is_shown,
                };
                if is_better {
                    named.is_example = reading.shown.has(style);
                    named.example = name;
                }
            }
            for other in looser {
                if !counted.looser.contains(other) {
                    counted.looser.push(other.clone());
                }
            }
        }
    }

    /// Whether any name fits.
    fn has(&self, pattern: &Pattern) -> bool {
        let counted = self.counts.get(&pattern.slots);
        let style = if pattern.has_words() { pattern.style } else { Style::Any };
        counted.is_some_and(|counted| counted.styles[style as usize].is_some())
    }

    fn chosen(&self, names: usize) -> Vec<Convention> {
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        for (slots, counted) in &self.counts {
            let has_words = slots.contains(&Slot::Words);
            let is_words = *slots == [Slot::Words];
            let styles = Style::ALL.into_iter().zip(counted.styles);
            for (style, found) in styles {
                let Some(Named { matching, shown, example, .. }) = found else { continue };
                // Words without a style are not a convention, and a pattern without words has no style.
                if (style == Style::Any && is_words) || (style != Style::Any && !has_words) {
                    continue;
                }
                candidates.push(Candidate { slots, style, matching, shown, example, counted });
            }
        }
        candidates.sort_by(|a, b| {
            b.matching
                .cmp(&a.matching)
                .then_with(|| (b.shown > 0).cmp(&(a.shown > 0)))
                .then_with(|| b.exactness().cmp(&a.exactness()))
                .then_with(|| a.slots.len().cmp(&b.slots.len()))
                .then_with(|| (a.style, a.example).cmp(&(b.style, b.example)))
        });
        candidates.truncate(CANDIDATES);
        let is_said = |loose: &Candidate<'_>| {
            candidates.iter().any(|exact| {
                exact.is_kind_of(loose) && exact.matching * 100 >= loose.matching * ENOUGH
            })
        };
        // A single word fits many styles; drop those without evidence.
        let is_shown = |at: usize, one: &Candidate<'_>| {
            let is_better = |better: &Candidate<'_>| {
                better.slots == one.slots && !one.style.is_kind_of(better.style)
            };
            one.shown > 0 || !candidates[..at].iter().any(is_better)
        };
        let left: Vec<bool> = candidates
            .iter()
            .enumerate()
            .map(|(at, candidate)| is_shown(at, candidate) && !is_said(candidate))
            .collect();
        let left = candidates.iter().zip(left).filter(|(_, is_left)| *is_left);
        let convention = |(candidate, _): (&Candidate<'_>, bool)| Convention {
            pattern: Pattern { slots: candidate.slots.to_vec(), style: candidate.style },
            example: candidate.example.to_owned(),
            matching: candidate.matching,
            confidence: confidence(candidate.matching, names),
        };
        left.take(MAX_CONVENTIONS).map(convention).collect()
    }
}

struct Candidate<'c> {
    slots: &'c [Slot],
    style: Style,
    matching: usize,
    shown: usize,
    example: &'c str,
    counted: &'c Counted<'c>,
}

impl Candidate<'_> {
    /// Whether the other pattern is looser and fits all its names.
    fn is_kind_of(&self, other: &Candidate<'_>) -> bool {
        let is_same = self.slots == other.slots;
        let is_looser = || self.counted.looser.iter().any(|slots| slots == other.slots);
        if is_same {
            self.style != other.style && self.style.is_kind_of(other.style)
        } else {
            is_looser()
                && (self.style.is_kind_of(other.style) || !self.slots.contains(&Slot::Words))
        }
    }

    fn exactness(&self) -> (bool, usize, bool) {
        let exact = self.counted.looser.len();
        (self.counted.is_shared, exact, !matches!(self.style, Style::Any | Style::Spaced))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn conventions(names: &[&str]) -> Vec<(String, usize)> {
        let mut vocabulary = Vocabulary::default();
        names.iter().for_each(|name| vocabulary.learn(name));
        let found = find(names, &vocabulary);
        found.iter().map(|found| (found.pattern.to_string(), found.matching)).collect()
    }

    fn first(names: &[&str]) -> String {
        conventions(names)[0].0.clone()
    }

    #[test]
    fn a_folder_says_how_it_is_named() {
        for (names, pattern) in [
            (vec!["2026-11-20", "2026-11-21", "2026-11-22"], "{YYYY-MM-DD}"),
            (
                vec!["2026-11-20 Call with Ada", "2026-11-21 Plan", "2026-11-22 New Roof"],
                "{YYYY-MM-DD} {Title Words}",
            ),
            (vec!["IMG_0001", "IMG_0002", "IMG_0010", "IMG_0011", "IMG_0500"], "IMG_{4 digits}"),
            (
                vec![
                    "Book Template",
                    "Film Template",
                    "Daily Note Template",
                    "Person Template",
                    "Recipe Template",
                ],
                "{Title Words} Template",
            ),
            (
                vec![
                    "Meeting with Ada",
                    "Meeting with Bo",
                    "Meeting with Cy Roe",
                    "Meeting with Di",
                    "Meeting with Ed",
                ],
                "Meeting with {Title Words}",
            ),
            (vec!["SRD-0001", "SRD-0002", "SRD-0003", "SRD-0004", "SRD-0005"], "SRD-{4 digits}"),
            (
                vec!["U1 Roses", "U2 Soil", "U3 Green Manure", "U41 Late Frost"],
                "{code} {Title Words}",
            ),
            (
                vec![
                    "Ipod (product)",
                    "Tea Pot (product)",
                    "Lamp (product)",
                    "Old Chair (product)",
                    "Bed (product)",
                ],
                "{Title Words} (product)",
            ),
            (vec!["my-note", "another-note", "third-little-note"], "{kebab-words}"),
            (vec!["First thing to do", "Watering the beds", "Roses"], "{Sentence words}"),
            (
                vec!["Blade Runner (1982)", "Alien (1979)", "Brazil (1985)"],
                "{Title Words} ({YYYY})",
            ),
            (vec!["🌱 Seeds", "🌳 Old Trees", "🍅 Tomatoes"], "{emoji} {Title Words}"),
            (vec!["@Ada Lovelace", "@Alan Turing", "@Grace Hopper"], "@{Title Words}"),
            (vec!["1 One", "2 Two", "10 Ten", "11 Eleven"], "{number} {Title Words}"),
            (vec!["日本", "東京タワー", "京都"], "{uncased words}"),
            (vec!["Trip 2025", "Trip 2026", "Trip 2027", "Trip 2028", "Trip 2029"], "Trip {YYYY}"),
        ] {
            assert_eq!(first(&names), pattern, "{names:?}: {:?}", conventions(&names));
        }
    }

    #[test]
    fn numbers_by_chance_make_no_convention() {
        let names = [
            "68 Bits of Advice",
            "Blade Runner",
            "Bass on Top",
            "Well Made 145",
            "2023 Japan Trip",
            "The Parks",
            "Out of Control",
            "Sci-fi",
            "Steph Ango",
        ];
        assert_eq!(conventions(&names)[0], ("{Title Words}".to_owned(), 9));
    }

    #[test]
    fn there_are_always_three_and_those_unused_have_no_file() {
        let found = conventions(&[]);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|(_, matching)| *matching == 0));
        let found = conventions(&["2026-11-20"]);
        assert_eq!(found[0], ("{YYYY-MM-DD}".to_owned(), 1));
        assert_eq!(found[1], ("{Title Words}".to_owned(), 0));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn few_names_are_no_certainty() {
        let three = find(&["my-note", "a-note", "b-note"], &Vocabulary::default())[0].confidence;
        assert!((0.43..0.45).contains(&three), "{three}");
        let names: Vec<String> = (0..100).map(|n| format!("note-{}", "x".repeat(n + 1))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hundred = find(&names, &Vocabulary::default())[0].confidence;
        assert!((0.96..0.97).contains(&hundred), "{hundred}");
    }

    proptest! {
        #[test]
        fn what_is_counted_fits(names in proptest::collection::vec("(20[0-9]{2}-0[1-9]-[12][0-9] )?[A-Za-z]{1,4}([ -][a-zA-Z0-9]{1,4}){0,2}", 0..12)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let vocabulary = Vocabulary::default();
            let found = find(&names, &vocabulary);
            prop_assert_eq!(found.len(), 3);
            for convention in &found {
                let fits = names.iter().filter(|name| convention.pattern.fits(name, &vocabulary)).count();
                prop_assert_eq!(convention.matching, fits, "{} {:?}", convention.pattern, names);
                prop_assert!((0.0..=1.0).contains(&convention.confidence));
                prop_assert!(convention.pattern.fits(&convention.example, &vocabulary));
            }
            prop_assert!(found.is_sorted_by(|a, b| a.confidence >= b.confidence));
        }
    }
}
