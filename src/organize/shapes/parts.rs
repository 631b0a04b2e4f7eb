//! Cuts a file name into dates, numbers, codes, words and the signs between them.

use std::ops::Range;

use chrono::{Datelike as _, NaiveDate, NaiveDateTime, NaiveTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Date(DateForm),
    /// A time of day after a date.
    Time(TimeForm),
    /// A date and time in 12 or 14 digits.
    Id(u8),
    /// `1.2`, `v3`.
    Version,
    /// `0042`, with its number of digits.
    Digits(u8),
    /// Capitals and digits: `U41`, `ABC-123`.
    Code,
    Emoji,
    Word,
    /// Blanks and punctuation.
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePart {
    pub kind: Kind,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateForm {
    Dashed,
    Dotted,
    Underscored,
    Compact,
    DayFirst,
    Month,
    Week,
    Quarter,
    Year,
}

// The format in Moment's syntax.
words!(pub DateForm::format, ALL {
    Dashed => "YYYY-MM-DD", Dotted => "YYYY.MM.DD", Underscored => "YYYY_MM_DD",
    Compact => "YYYYMMDD", DayFirst => "DD.MM.YYYY", Month => "YYYY-MM", Week => "YYYY-[W]ww",
    Quarter => "YYYY-[Q]Q", Year => "YYYY",
});

impl DateForm {
    /// The format in chrono's syntax, which has no quarters.
    fn strftime(self) -> Option<&'static str> {
        Some(match self {
            Self::Dashed => "%Y-%m-%d",
            Self::Dotted => "%Y.%m.%d",
            Self::Underscored => "%Y_%m_%d",
            Self::Compact => "%Y%m%d",
            Self::DayFirst => "%d.%m.%Y",
            Self::Month => "%Y-%m",
            Self::Week => "%G-W%V",
            Self::Quarter => return None,
            Self::Year => "%Y",
        })
    }

    pub(super) fn write(self, day: NaiveDate) -> String {
        match self.strftime() {
            Some(format) => day.format(format).to_string(),
            None => format!("{}-Q{}", day.year(), day.month0() / 3 + 1),
        }
    }

    /// Parses the day; `None` for formats without one.
    pub(super) fn day(self, text: &str) -> Option<NaiveDate> {
        NaiveDate::parse_from_str(text, self.strftime()?).ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeForm {
    Compact,
    CompactSeconds,
    Dotted,
    DottedSeconds,
    Dashed,
    DashedSeconds,
}

// As Moment writes it.
words!(pub TimeForm::format {
    Compact => "HHmm", CompactSeconds => "HHmmss", Dotted => "HH.mm", DottedSeconds => "HH.mm.ss",
    Dashed => "HH-mm", DashedSeconds => "HH-mm-ss",
});

words!(pub(super) TimeForm::strftime {
    Compact => "%H%M", CompactSeconds => "%H%M%S", Dotted => "%H.%M", DottedSeconds => "%H.%M.%S",
    Dashed => "%H-%M", DashedSeconds => "%H-%M-%S",
});

impl TimeForm {
    pub(super) const ALL: [Self; 6] = [
        Self::CompactSeconds,
        Self::Compact,
        Self::DottedSeconds,
        Self::Dotted,
        Self::DashedSeconds,
        Self::Dashed,
    ];
}

/// Splits a name into contiguous parts.
pub fn cut(name: &str) -> Vec<NamePart> {
    let mut parts: Vec<NamePart> = Vec::new();
    let mut at = 0;
    while at < name.len() {
        let rest = &name[at..];
        let is_after_day = matches!(parts.last(), Some(NamePart { kind: Kind::Date(_), .. }));
        let is_after_sign = !matches!(parts.last(), Some(NamePart { kind: Kind::Word, .. }));
        let (kind, length) = match special(name, at, &parts) {
            // `2026-11-21T1030`.
            _ if is_after_day && rest.starts_with('T') => (Kind::Sign, 1),
            Some(found) if is_after_sign => found,
            _ => plain(rest),
        };
        if let Kind::Time(_) = kind
            && let Some(day) = parts.iter().rposition(|part| matches!(part.kind, Kind::Date(_)))
        {
            // ` at ` belongs to the date, not to the words.
            parts.truncate(day + 1);
            parts.push(NamePart { kind: Kind::Sign, range: parts[day].range.end..at });
        }
        match parts.last_mut() {
            // A plain letter continues the word before it; so does a sign.
            Some(last)
                if last.kind == kind && matches!(kind, Kind::Word | Kind::Sign | Kind::Emoji) =>
            {
                last.range.end = at + length;
            }
            _ => parts.push(NamePart { kind, range: at..at + length }),
        }
        at += length;
    }
    parts
}

/// The date, id, version, number or code at the start.
fn special(name: &str, at: usize, before: &[NamePart]) -> Option<(Kind, usize)> {
    let rest = &name[at..];
    let ends = |length: usize| !rest[length..].starts_with(char::is_alphanumeric);
    let bytes = rest.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return version(rest, 1).filter(|_| matches!(bytes[0], b'v' | b'V')).or_else(|| code(rest));
    }
    if let Some(form) = time_after_date(name, at, before) {
        return Some((Kind::Time(form), form.format().len()));
    }
    let dated = date(rest, digits);
    if let Some(form) = dated {
        let length = form_length(form);
        // `2026-11-21T1030`.
        let before_time = rest[length..]
            .strip_prefix('T')
            .is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()));
        if ends(length) || before_time {
            return Some((Kind::Date(form), length));
        }
    }
    if matches!(digits, 12 | 14) && ends(digits) && id(&rest[..digits]).is_some() {
        return Some((Kind::Id(digits as u8), digits));
    }
    if let Some(found) = version(rest, 0) {
        return Some(found);
    }
    (digits <= 64 && ends(digits)).then_some((Kind::Digits(digits as u8), digits))
}

fn form_length(form: DateForm) -> usize {
    match form {
        DateForm::Week => "2026-W01".len(),
        DateForm::Quarter => "2026-Q1".len(),
        other => other.format().len(),
    }
}

fn date(rest: &str, digits: usize) -> Option<DateForm> {
    let year = rest.get(..4).and_then(|year| year.parse::<u32>().ok());
    let is_year = year.is_some_and(|year| (1900..2100).contains(&year));
    let is_day = |form: DateForm| {
        rest.get(..form.format().len()).is_some_and(|text| form.day(text).is_some())
    };
    match digits {
        2 => is_day(DateForm::DayFirst).then_some(DateForm::DayFirst),
        8 if is_year => is_day(DateForm::Compact).then_some(DateForm::Compact),
        4 if is_year => {
            let whole = [DateForm::Dashed, DateForm::Dotted, DateForm::Underscored];
            if let Some(form) = whole.into_iter().find(|form| is_day(*form)) {
                return Some(form);
            }
            let two = rest.get(5..7).and_then(|two| two.parse::<u32>().ok());
            let goes_on = rest.get(7..).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_alphanumeric())
                    || rest
                        .strip_prefix('-')
                        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            });
            let week = rest.get(6..8).and_then(|week| week.parse::<u32>().ok());
            Some(match rest.get(4..6) {
                Some("-W") if week.is_some_and(|week| (1..=53).contains(&week)) => DateForm::Week,
                Some("-Q") if matches!(rest.as_bytes().get(6), Some(b'1'..=b'4')) => {
                    DateForm::Quarter
                }
                Some(dash)
                    if dash.starts_with('-')
                        && !goes_on
                        && two.is_some_and(|month| (1..=12).contains(&month)) =>
                {
                    DateForm::Month
                }
                _ => DateForm::Year,
            })
        }
        _ => None,
    }
}

/// Parses an id of 12 or 14 digits as a date and time.
fn id(digits: &str) -> Option<NaiveDateTime> {
    let year = digits.get(..4)?.parse::<u32>().ok().filter(|year| (1900..2100).contains(year));
    year?;
    let seconds = if digits.len() == 12 { "00" } else { "" };
    NaiveDateTime::parse_from_str(&format!("{digits}{seconds}"), "%Y%m%d%H%M%S").ok()
}

fn time_after_date(name: &str, at: usize, before: &[NamePart]) -> Option<TimeForm> {
    let rest = &name[at..];
    let day = before.iter().rev().take(4).find_map(|part| match part.kind {
        Kind::Date(form) => Some((form, part.range.end)),
        _ => None,
    });
    let (form, end) = day?;
    let is_part =
        matches!(form, DateForm::Year | DateForm::Month | DateForm::Week | DateForm::Quarter);
    if is_part {
        return None;
    }
    let behind = &name[end..at];
    if !matches!(behind, " " | "_" | "T" | "-" | " at ") {
        return None;
    }
    TimeForm::ALL.into_iter().find(|form| {
        let length = form.format().len();
        rest.get(..length).is_some_and(|text| {
            let is_time = NaiveTime::parse_from_str(text, form.strftime()).is_ok();
            is_time && !rest[length..].starts_with(|c: char| c.is_alphanumeric())
        })
    })
}

/// `1.2`, `10.0.3`; after a `v` (`skip` is 1) also `v3`.
fn version(rest: &str, skip: usize) -> Option<(Kind, usize)> {
    let bytes = rest.as_bytes();
    let mut at = skip;
    let mut numbers = 0;
    loop {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            break;
        }
        numbers += 1;
        at += digits;
        match bytes.get(at..) {
            Some([b'.', b'0'..=b'9', ..]) => at += 1,
            _ => break,
        }
    }
    let is_whole = numbers > 1 || (numbers == 1 && skip == 1);
    (is_whole && !rest[at..].starts_with(char::is_alphanumeric)).then_some((Kind::Version, at))
}

/// `U41`, `CS101`, `ABC-123`.
fn code(rest: &str) -> Option<(Kind, usize)> {
    let bytes = rest.as_bytes();
    let letters = bytes.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let dash = usize::from(letters >= 2 && bytes.get(letters) == Some(&b'-'));
    let digits = bytes[letters + dash..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = letters + dash + digits;
    let fits = (1..=6).contains(&letters) && (1..=6).contains(&digits);
    (fits && !rest[end..].starts_with(char::is_alphanumeric)).then_some((Kind::Code, end))
}

/// A word, an emoji or signs.
fn plain(rest: &str) -> (Kind, usize) {
    let mut characters = rest.char_indices().peekable();
    let Some((_, first)) = characters.next() else { return (Kind::Sign, 0) };
    let next = |at: Option<&(usize, char)>| at.map_or(rest.len(), |(at, _)| *at);
    if is_emoji(first) {
        while characters.peek().is_some_and(|(_, c)| is_emoji(*c) || joins_emoji(*c)) {
            characters.next();
        }
        return (Kind::Emoji, next(characters.peek()));
    }
    if !first.is_alphanumeric() {
        return (Kind::Sign, next(characters.peek()));
    }
    let mut end = first.len_utf8();
    while let Some((at, c)) = characters.next() {
        let goes_on = characters.peek().is_some_and(|(_, c)| c.is_alphanumeric());
        let inside = matches!(c, '\'' | '’' | '.') && goes_on;
        if !(c.is_alphanumeric() || is_mark(c) || inside) {
            return (Kind::Word, at);
        }
        end = at + c.len_utf8();
    }
    (Kind::Word, end)
}

pub(super) fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B1B..=0x2B55 | 0x231A..=0x23FF)
}

fn joins_emoji(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{20e3}')
}

/// A combining mark, as in decomposed names of macOS and in Indic scripts.
pub(super) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}
/// The first day and the first time in a name.
pub fn day_and_time(name: &str) -> (Option<NaiveDate>, Option<NaiveTime>) {
    let parts = cut(name);
    let date = parts.iter().find_map(|part| match part.kind {
        Kind::Date(form) => form.day(&name[part.range.clone()]),
        Kind::Id(_) => id(&name[part.range.clone()]).map(|time| time.date()),
        _ => None,
    });
    let time = parts.iter().find_map(|part| match part.kind {
        Kind::Time(form) => {
            NaiveTime::parse_from_str(&name[part.range.clone()], form.strftime()).ok()
        }
        Kind::Id(_) => id(&name[part.range.clone()]).map(|time| time.time()),
        _ => None,
    });
    (date, time)
}
/// Default names of new notes in Obsidian and other editors, by language.
const UNTITLED: [&str; 14] = [
    "untitled",
    "unbenannt",
    "sans titre",
    "sin título",
    "senza titolo",
    "sem título",
    "без названия",
    "未命名",
    "無題のファイル",
    "제목 없음",
    "naamloos",
    "bez nazwy",
    "new note",
    "new file",
];

/// Whether a name is an editor's default, with or without a number: `Untitled 3`.
pub fn is_untitled(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ').to_lowercase();
    UNTITLED.contains(&&*bare)
}

/// Replaces each run of digits, so that numbered names become equal: `IMG_{4 digits}`. `None` for names without digits,
/// and for names of digits and signs alone.
pub fn numbered(name: &str) -> Option<String> {
    let mut text = String::new();
    let (mut digits, mut runs, mut letters) = (0_usize, 0_usize, false);
    let close = |digits: &mut usize, text: &mut String| {
        if *digits > 0 {
            text.push_str(&format!("{{{digits} digit{}}}", if *digits == 1 { "" } else { "s" }));
            *digits = 0;
        }
    };
    for c in name.chars() {
        if c.is_ascii_digit() {
            runs += usize::from(digits == 0);
            digits += 1;
            continue;
        }
        close(&mut digits, &mut text);
        letters |= c.is_alphabetic();
        text.push(c);
    }
    close(&mut digits, &mut text);
    (runs > 0 && letters).then_some(text)
}
