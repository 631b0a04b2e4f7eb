//! Numbers in words, ordinals, decades and versions, as digits.

use super::dates::{self, is_digits};

/// A word that is a number, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberPart {
    /// 0 to 9.
    Unit(u64),
    /// 10 to 19.
    Teen(u64),
    /// 20 to 90.
    Tens(u64),
    Hundred,
    Thousand,
}

const UNITS: [(&str, &str); 10] = [
    ("zero", "zeroth"),
    ("one", "first"),
    ("two", "second"),
    ("three", "third"),
    ("four", "fourth"),
    ("five", "fifth"),
    ("six", "sixth"),
    ("seven", "seventh"),
    ("eight", "eighth"),
    ("nine", "ninth"),
];

const TEENS: [(&str, &str); 10] = [
    ("ten", "tenth"),
    ("eleven", "eleventh"),
    ("twelve", "twelfth"),
    ("thirteen", "thirteenth"),
    ("fourteen", "fourteenth"),
    ("fifteen", "fifteenth"),
    ("sixteen", "sixteenth"),
    ("seventeen", "seventeenth"),
    ("eighteen", "eighteenth"),
    ("nineteen", "nineteenth"),
];

/// From twenty, with the decade.
const TENS: [(&str, &str, &str); 8] = [
    ("twenty", "twentieth", "twenties"),
    ("thirty", "thirtieth", "thirties"),
    ("forty", "fortieth", "forties"),
    ("fifty", "fiftieth", "fifties"),
    ("sixty", "sixtieth", "sixties"),
    ("seventy", "seventieth", "seventies"),
    ("eighty", "eightieth", "eighties"),
    ("ninety", "ninetieth", "nineties"),
];

/// Roman numbers that are no other word.
const ROMAN: [(&str, &str); 7] = [
    ("ii", "2"),
    ("iii", "3"),
    ("iv", "4"),
    ("vii", "7"),
    ("viii", "8"),
    ("xii", "12"),
    ("xiii", "13"),
];

/// The words with every number in digits.
pub(super) fn in_digits(words: Vec<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let word = &*words[at];
        if is_pronoun(&words, at) {
            found.push(word.to_owned());
            at += 1;
        } else if let Some((number, decade, next)) = spoken_number(&words, at) {
            found.push(number.to_string());
            found.extend(decade.then(|| "s".to_owned()));
            at = next;
        } else if is_digits(word) {
            let digits = word.trim_start_matches('0');
            found.push(if digits.is_empty() { "0" } else { digits }.to_owned());
            // "5th"
            let ends =
                words.get(at + 1).is_some_and(|end| matches!(&**end, "st" | "nd" | "rd" | "th"));
            at += 1 + usize::from(ends);
        } else if let Some((_, digits)) = ROMAN.iter().find(|(roman, _)| *roman == word) {
            found.push((*digits).to_owned());
            at += 1;
        } else {
            found.push(word.to_owned());
            at += 1;
        }
    }
    versions(found)
}

/// Whether a word is the "one" of "the one about compost".
fn is_pronoun(words: &[String], at: usize) -> bool {
    const AFTER: [&str; 10] =
        ["about", "on", "with", "called", "named", "from", "for", "where", "that", "which"];
    words[at] == "one"
        && at.checked_sub(1).is_some_and(|at| matches!(&*words[at], "the" | "that" | "this"))
        && word(words, at + 1).is_some_and(|next| AFTER.contains(&next))
}

/// The number that begins at a word, whether it is a decade, and the place after it.
fn spoken_number(words: &[String], at: usize) -> Option<(u64, bool, usize)> {
    let first = small(words, at)?;
    let Small { mut value, mut next, ends, decade } = first;
    if ends || decade {
        return Some((value, decade, next));
    }
    if (10..=20).contains(&value) && first.is_plain() {
        // "nineteen oh five"
        if matches!(word(words, next), Some("oh" | "o"))
            && let Some(NumberPart::Unit(unit)) =
                word(words, next + 1).and_then(part).map(|(part, _)| part)
        {
            return Some((value * 100 + unit, false, next + 2));
        }
        // "nineteen eighty four", "twenty twenty six"
        if let Some(rest) = small(words, next).filter(|rest| (10..100).contains(&rest.value))
            && !is_day(words, at, next)
        {
            return Some((value * 100 + rest.value, rest.decade, rest.next));
        }
    }
    for (scale, factor) in [("hundred", 100), ("thousand", 1000)] {
        let is_ordinal =
            word(words, next).is_some_and(|word| word.strip_suffix("th") == Some(scale));
        if is_ordinal || word(words, next) == Some(scale) {
            (value, next) = (value.saturating_mul(factor), next + 1);
            if is_ordinal {
                return Some((value, false, next));
            }
            let rest_at = next + usize::from(word(words, next) == Some("and"));
            if let Some(rest) = small(words, rest_at).filter(|rest| rest.value < 100) {
                let hundreds =
                    factor == 1000 && word(words, rest.next) == Some("hundred") && rest.value < 10;
                if hundreds {
                    (value, next) = (value + rest.value * 100, rest.next + 1)
                } else {
                    return Some((value + rest.value, false, rest.next));
                }
                let rest_at = next + usize::from(word(words, next) == Some("and"));
                if let Some(rest) = small(words, rest_at).filter(|rest| rest.value < 100) {
                    return Some((value + rest.value, false, rest.next));
                }
            }
        }
    }
    Some((value, false, next))
}

/// Whether the number from `at` to `next` is the day in "september twelve twenty twenty three".
fn is_day(words: &[String], at: usize, next: usize) -> bool {
    let follows_month = at.checked_sub(1).is_some_and(|at| dates::month(&words[at]).is_some());
    let is_year = |number: u64| (1000..3000).contains(&number);
    follows_month
        && spoken_number(words, next).is_some_and(|(number, decade, _)| !decade && is_year(number))
}

/// A number below a hundred, or a bare "hundred" or "thousand".
#[derive(Clone, Copy)]
struct Small {
    value: u64,
    next: usize,
    /// It is an ordinal, which ends a number.
    ends: bool,
    decade: bool,
}

impl Small {
    fn is_plain(&self) -> bool {
        !self.ends && !self.decade
    }
}

fn small(words: &[String], at: usize) -> Option<Small> {
    let (first, ends) = part(word(words, at)?)?;
    let decade = |word: &str| TENS.iter().any(|(_, _, decade)| *decade == word);
    let is_decade = decade(&words[at]);
    let value = match first {
        NumberPart::Unit(value) | NumberPart::Teen(value) | NumberPart::Tens(value) => value,
        NumberPart::Hundred => 100,
        NumberPart::Thousand => 1000,
    };
    if let (NumberPart::Tens(tens), false, false) = (first, ends, is_decade)
        && let Some((NumberPart::Unit(unit), ends)) = word(words, at + 1).and_then(part)
        && unit > 0
    {
        return Some(Small { value: tens + unit, next: at + 2, ends, decade: false });
    }
    Some(Small { value, next: at + 1, ends, decade: is_decade })
}

fn word(words: &[String], at: usize) -> Option<&str> {
    words.get(at).map(|word| &**word)
}

/// The part of a number that a word is, and whether it is an ordinal.
fn part(word: &str) -> Option<(NumberPart, bool)> {
    // The shortest has three letters, the longest is "seventeenth".
    if !(3..=11).contains(&word.len()) {
        return None;
    }
    let of = |table: &[(&str, &str)]| {
        let at = table.iter().position(|(number, ordinal)| word == *number || word == *ordinal)?;
        Some((u64::try_from(at).ok()?, table[at].1 == word))
    };
    if let Some((value, ordinal)) = of(&UNITS) {
        return Some((NumberPart::Unit(value), ordinal));
    }
    if let Some((value, ordinal)) = of(&TEENS) {
        return Some((NumberPart::Teen(value + 10), ordinal));
    }
    if let Some(at) = TENS.iter().position(|(a, b, c)| word == *a || word == *b || word == *c) {
        return Some((NumberPart::Tens(u64::try_from(at).ok()? * 10 + 20), TENS[at].1 == word));
    }
    match word {
        "hundred" | "hundredth" => Some((NumberPart::Hundred, word.ends_with("th"))),
        "thousand" | "thousandth" => Some((NumberPart::Thousand, word.ends_with("th"))),
        _ => None,
    }
}

/// Removes words between the numbers of a version and before a number: `point`, `number`.
fn versions(words: Vec<String>) -> Vec<String> {
    let is_point = |word: &String| matches!(&**word, "point" | "dot");
    let is_number = |at: usize| words.get(at).is_some_and(|word| is_digits(word));
    let is_oh = |at: usize| words.get(at).is_some_and(|word| matches!(&**word, "oh" | "o"));
    let mut found: Vec<String> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let follows_number = found.last().is_some_and(|last| is_digits(last));
        match &**word {
            "point" | "dot" if follows_number && (is_number(at + 1) || is_oh(at + 1)) => {}
            "oh" | "o" if follows_number && words[..at].last().is_some_and(is_point) => {
                found.push("0".to_owned());
            }
            // "oh point six"
            "oh" | "o" if words.get(at + 1).is_some_and(is_point) && is_number(at + 2) => {
                found.push("0".to_owned());
            }
            "no" | "nr" | "number" | "num" if is_number(at + 1) => {}
            "version" | "ver" if is_number(at + 1) || is_oh(at + 1) => found.push("v".to_owned()),
            _ => found.push(word.clone()),
        }
    }
    found
}
