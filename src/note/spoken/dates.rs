//! Dates within a name, as numbers in one order: year, month, day.

pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month of this name, or of its usual short form: 1 to 12.
pub(super) fn month(word: &str) -> Option<u32> {
    let is_short = word.len() == 3 || word == "sept";
    let names = |name: &&str| **name == *word || (is_short && name.starts_with(word));
    let at = MONTHS.iter().position(names)?;
    u32::try_from(at + 1).ok()
}

pub(super) fn is_digits(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words, with each month that is next to a day or a year in digits, year first.
pub(super) fn in_digits(words: Vec<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        match date(&words[at..]) {
            Some((numbers, length)) => {
                found.extend(numbers.iter().map(u32::to_string));
                at += length;
            }
            None => {
                found.push(words[at].clone());
                at += 1;
            }
        }
    }
    found
}

/// The date that begins here, with only its spoken parts, and the number of its words.
fn date(words: &[String]) -> Option<(Vec<u32>, usize)> {
    let number = |at: usize| words.get(at).filter(|word| is_digits(word))?.parse::<u32>().ok();
    let day = |at: usize| number(at).filter(|day| (1..=31).contains(day));
    let year = |at: usize| number(at).filter(|year| (1000..=2999).contains(year));
    let word =
        |at: usize, expected: &str| usize::from(words.get(at).is_some_and(|word| word == expected));
    let with_year = |month: u32, day: u32, end: usize| match year(end) {
        Some(year) => (vec![year, month, day], end + 1),
        None => (vec![month, day], end),
    };
    if let Some(month) = month(&words[0]) {
        let at = 1 + word(1, "the");
        if let Some(day) = day(at) {
            return Some(with_year(month, day, at + 1));
        }
        return year(1).map(|year| (vec![year, month], 2));
    }
    let first = day(0)?;
    let at = 1 + word(1, "of");
    if let Some(month) = words.get(at).and_then(|word| month(word)) {
        return Some(with_year(month, first, at + 1));
    }
    // `14-11-2026` and `11-14-2026`; of two small numbers, the month is ambiguous.
    let (second, year) = (day(1)?, year(2)?);
    match (first > 12, second > 12) {
        (true, false) => Some((vec![year, second, first], 3)),
        (false, true) => Some((vec![year, first, second], 3)),
        _ => None,
    }
}
