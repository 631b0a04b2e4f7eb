//! Dates in the format language of Moment.js, which Obsidian's settings and templates use; names in
//! English.
//!
//! Letters that are not tokens are copied, as in Moment; [`Formatted::unknown`] lists them, since
//! the user most often expected a part of the date there.

use chrono::{DateTime, Datelike, Days, FixedOffset, Offset, Timelike};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    pub text: String,
    /// The letters of the format without a meaning, each once.
    pub unknown: Vec<char>,
}

/// The tokens in the order in which Moment tries them: of tokens with the same beginning, the
/// longest first.
const TOKENS: [&str; 79] = [
    "Hmmss", "hmmss", "Hmm", "hmm", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDDo", "DDD", "DD",
    "Do", "D", "dddd", "ddd", "dd", "do", "d", "wo", "ww", "w", "Wo", "WW", "W", "Qo", "Q",
    "YYYYYY", "YYYYY", "YYYY", "YY", "Y", "yyyy", "yyy", "yy", "yo", "y", "ggggg", "gggg", "gg",
    "GGGGG", "GGGG", "GG", "e", "E", "a", "A", "hh", "h", "HH", "H", "kk", "k", "mm", "m", "ss",
    "s", "x", "X", "zz", "z", "ZZ", "Z", "LTS", "LT", "LLLL", "LLL", "LL", "L", "llll", "lll",
    "ll", "l", "NNNNN", "NNNN", "NNN", "NN", "N",
];

pub fn format(time: &DateTime<FixedOffset>, format: &str) -> Formatted {
    let mut formatted = Formatted { text: String::new(), unknown: Vec::new() };
    write(time, format, &mut formatted);
    formatted
}

fn write(time: &DateTime<FixedOffset>, format: &str, formatted: &mut Formatted) {
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        if let Some(literal) = bracketed(rest) {
            formatted.text.push_str(&literal[1..literal.len() - 1]);
            rest = &rest[literal.len()..];
            continue;
        }
        let escaped = rest.strip_prefix('\\');
        let token = token_at(escaped.unwrap_or(rest));
        match (escaped, token) {
            (Some(after), Some(token)) => {
                formatted.text.push_str(token);
                rest = &after[token.len()..];
            }
            (None, Some(token)) => {
                match long_form(token) {
                    Some(long) => write(time, long, formatted),
                    None => formatted.text.push_str(&value(time, token)),
                }
                rest = &rest[token.len()..];
            }
            (Some(after), None) => {
                let next = after.chars().next();
                formatted.text.extend(next);
                rest = &after[next.map_or(0, char::len_utf8)..];
            }
            (None, None) => {
                formatted.text.push(first);
                if first.is_ascii_alphabetic() && !formatted.unknown.contains(&first) {
                    formatted.unknown.push(first);
                }
                rest = &rest[first.len_utf8()..];
            }
        }
    }
}

/// `[literal text]` at the beginning, with its brackets: up to the last `]` before another `[`.
fn bracketed(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('[')?;
    let end = inside.find('[').unwrap_or(inside.len());
    let close = inside[..end].rfind(']')?;
    Some(&rest[..close + 2])
}

fn token_at(rest: &str) -> Option<&str> {
    let fraction = rest.bytes().take(9).take_while(|byte| *byte == b'S').count();
    if fraction > 0 {
        return Some(&rest[..fraction]);
    }
    TOKENS.into_iter().find(|token| rest.starts_with(token))
}

fn long_form(token: &str) -> Option<&'static str> {
    Some(match token {
        "LT" => "h:mm A",
        "LTS" => "h:mm:ss A",
        "L" => "MM/DD/YYYY",
        "LL" => "MMMM D, YYYY",
        "LLL" => "MMMM D, YYYY h:mm A",
        "LLLL" => "dddd, MMMM D, YYYY h:mm A",
        "l" => "M/D/YYYY",
        "ll" => "MMM D, YYYY",
        "lll" => "MMM D, YYYY h:mm A",
        "llll" => "ddd, MMM D, YYYY h:mm A",
        _ => return None,
    })
}

fn value(time: &DateTime<FixedOffset>, token: &str) -> String {
    let (year, month, day) = (time.year(), time.month(), time.day());
    let weekday = time.weekday().num_days_from_sunday();
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let half = if hour % 12 == 0 { 12 } else { hour % 12 };
    let quarter = (month - 1) / 3 + 1;
    let iso = time.iso_week();
    // Names in English.
    let name = |format| time.format(format).to_string();
    match token {
        "M" => month.to_string(),
        "Mo" => ordinal(month),
        "MM" => two(month),
        "MMM" => name("%b"),
        "MMMM" => name("%B"),
        "Q" => quarter.to_string(),
        "Qo" => ordinal(quarter),
        "D" => day.to_string(),
        "Do" => ordinal(day),
        "DD" => two(day),
        "DDD" => time.ordinal().to_string(),
        "DDDo" => ordinal(time.ordinal()),
        "DDDD" => format!("{:03}", time.ordinal()),
        "d" | "e" => weekday.to_string(),
        "do" => ordinal(weekday),
        "dd" => name("%A")[..2].to_owned(),
        "ddd" => name("%a"),
        "dddd" => name("%A"),
        "E" => time.weekday().number_from_monday().to_string(),
        "w" => week(time).1.to_string(),
        "wo" => ordinal(week(time).1),
        "ww" => two(week(time).1),
        "W" => iso.week().to_string(),
        "Wo" => ordinal(iso.week()),
        "WW" => two(iso.week()),
        "YY" => two(year.rem_euclid(100).unsigned_abs()),
        "YYYY" => format!("{year:04}"),
        "YYYYY" => format!("{year:05}"),
        "YYYYYY" => format!("{year:+07}"),
        "Y" => year.to_string(),
        "gg" => two(week(time).0.rem_euclid(100).unsigned_abs()),
        "ggggg" => format!("{:05}", week(time).0),
        "gggg" => format!("{:04}", week(time).0),
        "GG" => two(iso.year().rem_euclid(100).unsigned_abs()),
        "GGGGG" => format!("{:05}", iso.year()),
        "GGGG" => format!("{:04}", iso.year()),
        "A" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        "a" => if hour < 12 { "am" } else { "pm" }.to_owned(),
        "H" => hour.to_string(),
        "HH" => two(hour),
        "h" => half.to_string(),
        "hh" => two(half),
        "k" => (if hour == 0 { 24 } else { hour }).to_string(),
        "kk" => two(if hour == 0 { 24 } else { hour }),
        "m" => minute.to_string(),
        "mm" => two(minute),
        "s" => second.to_string(),
        "ss" => two(second),
        "hmm" => format!("{half}{minute:02}"),
        "hmmss" => format!("{half}{minute:02}{second:02}"),
        "Hmm" => format!("{hour}{minute:02}"),
        "Hmmss" => format!("{hour}{minute:02}{second:02}"),
        "X" => time.timestamp().to_string(),
        "x" => time.timestamp_millis().to_string(),
        "Z" => zone(time, ":"),
        "ZZ" => zone(time, ""),
        "NNNN" => "Anno Domini".to_owned(),
        "N" | "NN" | "NNN" | "NNNNN" => "AD".to_owned(),
        "y" | "yy" | "yyy" | "yyyy" => year.to_string(),
        "yo" => ordinal(year.unsigned_abs()),
        // The zone's name. Moment has none for local times either.
        "z" | "zz" => String::new(),
        fraction => {
            format!("{:03}000000", time.timestamp_subsec_millis())[..fraction.len()].to_owned()
        }
    }
}

/// The week of the US calendar and its year: weeks begin on Sunday, and week 1 holds January 1.
fn week(time: &DateTime<FixedOffset>) -> (i32, u32) {
    let until_saturday = 6 - time.weekday().num_days_from_sunday();
    let saturday = time.date_naive().checked_add_days(Days::new(u64::from(until_saturday)));
    let saturday = saturday.unwrap_or(time.date_naive());
    (saturday.year(), saturday.ordinal0() / 7 + 1)
}

fn two(number: u32) -> String {
    format!("{number:02}")
}

fn ordinal(number: u32) -> String {
    let ending = match (number % 100 / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn zone(time: &DateTime<FixedOffset>, colon: &str) -> String {
    let minutes = time.offset().fix().local_minus_utc() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}{colon}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> DateTime<FixedOffset> {
        DateTime::parse_from_rfc3339(time).expect("a time")
    }

    /// The right-hand sides are what Moment.js 2.30 gives.
    #[test]
    fn every_token() {
        let time = at("2026-03-01T00:05:09.123456789+05:30");
        for (format, text) in [
            ("YYYY-MM-DD", "2026-03-01"),
            ("YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2026/03-March/2026-03-01-Sunday"),
            ("M Mo MM MMM MMMM", "3 3rd 03 Mar March"),
            ("Q Qo", "1 1st"),
            ("D Do DD DDD DDDo DDDD", "1 1st 01 60 60th 060"),
            ("d do dd ddd dddd e E", "0 0th Su Sun Sunday 0 7"),
            ("w wo ww W Wo WW", "10 10th 10 9 9th 09"),
            ("YY YYYY YYYYY YYYYYY Y", "26 2026 02026 +002026 2026"),
            ("gg gggg GG GGGG", "26 2026 26 2026"),
            ("a A H HH h hh k kk", "am AM 0 00 12 12 24 24"),
            ("m mm s ss S SS SSS SSSSSS", "5 05 9 09 1 12 123 123000"),
            ("Hmm Hmmss hmm hmmss", "005 00509 1205 120509"),
            ("X x", "1772303709 1772303709123"),
            ("Z ZZ", "+05:30 +0530"),
            ("LT|LTS|L|LL", "12:05 AM|12:05:09 AM|03/01/2026|March 1, 2026"),
            ("LLL|LLLL", "March 1, 2026 12:05 AM|Sunday, March 1, 2026 12:05 AM"),
            (
                "l|ll|lll|llll",
                "3/1/2026|Mar 1, 2026|Mar 1, 2026 12:05 AM|Sun, Mar 1, 2026 12:05 AM",
            ),
            ("N NNNN y yy yo ggggg GGGGG", "AD Anno Domini 2026 2026 2026th 02026 02026"),
            ("[Week] ww [of] YYYY", "Week 10 of 2026"),
            ("[[a]]", "[a]"),
            ("[]YYYY", "2026"),
            ("[open YYYY", "[op0n 2026"),
            ("\\YYYY \\[D] \\J \\", "YYYY [1] J "),
            ("Größe 🌱 D.", "Größ0 🌱 1."),
            ("", ""),
        ] {
            assert_eq!(super::format(&time, format).text, text, "{format}");
        }
    }

    #[test]
    fn weeks_at_the_turn_of_the_year() {
        for (date, text) in [
            ("2027-01-01", "2027-01 2026-53"),
            ("2026-12-26", "2026-52 2026-52"),
            ("2026-12-27", "2027-01 2026-52"),
            ("2023-01-01", "2023-01 2022-52"),
            ("2022-12-31", "2022-53 2022-52"),
        ] {
            let time = at(&format!("{date}T12:00:00Z"));
            assert_eq!(super::format(&time, "gggg-ww GGGG-WW").text, text, "{date}");
        }
        for (day, text) in
            [("11", "11th"), ("12", "12th"), ("13", "13th"), ("22", "22nd"), ("23", "23rd")]
        {
            assert_eq!(super::format(&at(&format!("2026-01-{day}T00:00:00Z")), "Do").text, text);
        }
    }

    #[test]
    fn letters_without_meaning_are_reported() {
        let formatted = super::format(&at("2026-03-01T10:00:00Z"), "YYYY-MM-DDTHH J [T]J");
        assert_eq!(formatted.text, "2026-03-01T10 J TJ");
        assert_eq!(formatted.unknown, ['T', 'J']);
    }
}
