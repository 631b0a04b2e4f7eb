//! A file name, without its extension, cut into its parts, and the patterns it can be read as.
//!
//! A name is read from the most exact pattern to the loosest: `2024 Trip 03` is a year, words and two digits, then
//! two numbers around a word, then words alone. Which reading a folder means is decided over all its names
//! ([`super::conventions`]). Pure, and linear in the length of the name.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

/// What a part of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Date(DateForm),
    /// A time of day behind a date.
    Time(TimeForm),
    /// A date and time in 12 or 14 digits.
    Id(u8),
    /// `1.2`, `v3`.
    Version,
    /// `0042`: the number is that of its places.
    Digits(u8),
    /// Capitals and digits: `U41`, `ABC-123`.
    Code,
    Emoji,
    Word,
    /// What stands between: blanks and punctuation.
    Sign,
}

/// A part of a name and the bytes it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// The ways a date is written.
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

impl DateForm {
    const ALL: [Self; 9] = [
        Self::Dashed,
        Self::Dotted,
        Self::Underscored,
        Self::Compact,
        Self::DayFirst,
        Self::Month,
        Self::Week,
        Self::Quarter,
        Self::Year,
    ];

    /// As Moment writes it.
    pub fn format(self) -> &'static str {
        match self {
            Self::Dashed => "YYYY-MM-DD",
            Self::Dotted => "YYYY.MM.DD",
            Self::Underscored => "YYYY_MM_DD",
            Self::Compact => "YYYYMMDD",
            Self::DayFirst => "DD.MM.YYYY",
            Self::Month => "YYYY-MM",
            Self::Week => "YYYY-[W]ww",
            Self::Quarter => "YYYY-[Q]Q",
            Self::Year => "YYYY",
        }
    }

    fn write(self, day: NaiveDate) -> String {
        let format = match self {
            Self::Dashed => "%Y-%m-%d",
            Self::Dotted => "%Y.%m.%d",
            Self::Underscored => "%Y_%m_%d",
            Self::Compact => "%Y%m%d",
            Self::DayFirst => "%d.%m.%Y",
            Self::Month => "%Y-%m",
            Self::Week => "%G-W%V",
            Self::Quarter => {
                use chrono::Datelike as _;
                return format!("{}-Q{}", day.year(), day.month0() / 3 + 1);
            }
            Self::Year => "%Y",
        };
        day.format(format).to_string()
    }

    /// The day, for forms that name one.
    fn day(self, text: &str) -> Option<NaiveDate> {
        let format = match self {
            Self::Dashed => "%Y-%m-%d",
            Self::Dotted => "%Y.%m.%d",
            Self::Underscored => "%Y_%m_%d",
            Self::Compact => "%Y%m%d",
            Self::DayFirst => "%d.%m.%Y",
            Self::Month | Self::Week | Self::Quarter | Self::Year => return None,
        };
        NaiveDate::parse_from_str(text, format).ok()
    }
}

/// The ways a time of day is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeForm {
    Compact,
    CompactSeconds,
    Dotted,
    DottedSeconds,
    Dashed,
    DashedSeconds,
}

impl TimeForm {
    const ALL: [Self; 6] = [
        Self::CompactSeconds,
        Self::Compact,
        Self::DottedSeconds,
        Self::Dotted,
        Self::DashedSeconds,
        Self::Dashed,
    ];

    /// As Moment writes it.
    pub fn format(self) -> &'static str {
        match self {
            Self::Compact => "HHmm",
            Self::CompactSeconds => "HHmmss",
            Self::Dotted => "HH.mm",
            Self::DottedSeconds => "HH.mm.ss",
            Self::Dashed => "HH-mm",
            Self::DashedSeconds => "HH-mm-ss",
        }
    }

    fn strftime(self) -> &'static str {
        match self {
            Self::Compact => "%H%M",
            Self::CompactSeconds => "%H%M%S",
            Self::Dotted => "%H.%M",
            Self::DottedSeconds => "%H.%M.%S",
            Self::Dashed => "%H-%M",
            Self::DashedSeconds => "%H-%M-%S",
        }
    }
}

/// Cuts a name into parts, which follow each other without a gap.
pub fn cut(name: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 0;
    while at < name.len() {
        let rest = &name[at..];
        let is_after_day = matches!(parts.last(), Some(Part { kind: Kind::Date(_), .. }));
        let is_after_sign = !matches!(parts.last(), Some(Part { kind: Kind::Word, .. }));
        let (kind, length) = match special(name, at, &parts) {
            // `2026-11-21T1030`.
            _ if is_after_day && rest.starts_with('T') => (Kind::Sign, 1),
            Some(found) if is_after_sign => found,
            _ => plain(rest),
        };
        if let Kind::Time(_) = kind
            && let Some(day) = parts.iter().rposition(|part| matches!(part.kind, Kind::Date(_)))
        {
            // ` at ` is no word of the name.
            parts.truncate(day + 1);
            parts.push(Part { kind: Kind::Sign, range: parts[day].range.end..at });
        }
        match parts.last_mut() {
            // A letter that no special part begins with goes on the word before it, a sign likewise.
            Some(last)
                if last.kind == kind && matches!(kind, Kind::Word | Kind::Sign | Kind::Emoji) =>
            {
                last.range.end = at + length;
            }
            _ => parts.push(Part { kind, range: at..at + length }),
        }
        at += length;
    }
    parts
}

/// The date, id, version, number or code that begins here.
fn special(name: &str, at: usize, before: &[Part]) -> Option<(Kind, usize)> {
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

/// The time that an id of 12 or 14 digits is.
fn id(digits: &str) -> Option<NaiveDateTime> {
    let year = digits.get(..4)?.parse::<u32>().ok().filter(|year| (1900..2100).contains(year));
    year?;
    let seconds = if digits.len() == 12 { "00" } else { "" };
    NaiveDateTime::parse_from_str(&format!("{digits}{seconds}"), "%Y%m%d%H%M%S").ok()
}

fn time_after_date(name: &str, at: usize, before: &[Part]) -> Option<TimeForm> {
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

/// `1.2`, `10.0.3`; behind a `v` (`skip` is 1) also `v3`.
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

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B1B..=0x2B55 | 0x231A..=0x23FF)
}

fn joins_emoji(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{20e3}')
}

/// An accent of its own, as macOS and Indic scripts write them.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// How the words of a name are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Style {
    /// In no way that all names share.
    Any,
    /// With blanks, in any case.
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
    /// In a script without capitals.
    Uncased,
}

impl Style {
    pub const ALL: [Self; 14] = [
        Self::Any,
        Self::Spaced,
        Self::Title,
        Self::Sentence,
        Self::Lower,
        Self::Upper,
        Self::Kebab,
        Self::Train,
        Self::Snake,
        Self::ScreamingSnake,
        Self::TitleSnake,
        Self::Camel,
        Self::Pascal,
        Self::Uncased,
    ];

    /// Words in this style, which stand for them in a pattern.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Any => "words",
            Self::Spaced => "words with blanks",
            Self::Title => "Title Words",
            Self::Sentence => "Sentence words",
            Self::Lower => "lower words",
            Self::Upper => "UPPER WORDS",
            Self::Kebab => "kebab-words",
            Self::Train => "Train-Words",
            Self::Snake => "snake_words",
            Self::ScreamingSnake => "UPPER_WORDS",
            Self::TitleSnake => "Title_Words",
            Self::Camel => "camelWords",
            Self::Pascal => "PascalWords",
            Self::Uncased => "uncased words",
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "words",
            Self::Spaced => "words with blanks",
            Self::Title => "Title Case",
            Self::Sentence => "Sentence case",
            Self::Lower => "lower case",
            Self::Upper => "UPPER CASE",
            Self::Kebab => "kebab-case",
            Self::Train => "Train-Case",
            Self::Snake => "snake_case",
            Self::ScreamingSnake => "UPPER_SNAKE_CASE",
            Self::TitleSnake => "Title_Snake_Case",
            Self::Camel => "camelCase",
            Self::Pascal => "PascalCase",
            Self::Uncased => "words without capitals",
        }
    }

    /// Whether every name of this style is one of the other.
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

/// Several styles that a name has at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Styles(u16);

impl Styles {
    const EVERY: Self = Self(u16::MAX);

    /// Whether this style is among them.
    pub fn has(self, style: Style) -> bool {
        self.0 & style.bit() != 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn add(&mut self, style: Style) {
        self.0 |= style.bit();
    }

    fn add_all(&mut self, fits: impl IntoIterator<Item = (bool, Style)>) {
        fits.into_iter().filter(|(fits, _)| *fits).for_each(|(_, style)| self.add(style));
    }

    /// Each of them, in the order of [`Style::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Style> {
        Style::ALL.into_iter().filter(move |style| self.has(*style))
    }
}

/// A place in a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Slot {
    /// This very text.
    Text(String),
    Date(DateForm),
    Time(TimeForm),
    Id(u8),
    Version,
    /// A number written in so many places.
    Digits(u8),
    Number,
    Code,
    Emoji,
    Words,
}

impl Slot {
    /// What stands between braces in a pattern.
    pub fn placeholder(&self, style: Style) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Date(form) => form.format().to_owned(),
            Self::Time(form) => form.format().to_owned(),
            Self::Id(digits) => format!("id of {digits} digits"),
            Self::Version => "version".to_owned(),
            Self::Digits(1) => "1 digit".to_owned(),
            Self::Digits(digits) => format!("{digits} digits"),
            Self::Number => "number".to_owned(),
            Self::Code => "code".to_owned(),
            Self::Emoji => "emoji".to_owned(),
            Self::Words => style.placeholder().to_owned(),
        }
    }

    /// The slot that a placeholder stands for, and the style if it is for words.
    fn of(placeholder: &str) -> Option<(Self, Option<Style>)> {
        if let Some(style) = Style::ALL.into_iter().find(|style| style.placeholder() == placeholder)
        {
            return Some((Self::Words, Some(style)));
        }
        let date =
            DateForm::ALL.into_iter().find(|form| form.format() == placeholder).map(Self::Date);
        let time =
            || TimeForm::ALL.into_iter().find(|form| form.format() == placeholder).map(Self::Time);
        let digits = || {
            let (digits, rest) = placeholder.split_once(' ')?;
            let is_digits = matches!(rest, "digit" | "digits");
            digits
                .parse()
                .ok()
                .filter(|digits| is_digits && (1..=64).contains(digits))
                .map(Self::Digits)
        };
        let other = || match placeholder {
            "id of 12 digits" => Some(Self::Id(12)),
            "id of 14 digits" => Some(Self::Id(14)),
            "version" => Some(Self::Version),
            "number" => Some(Self::Number),
            "code" => Some(Self::Code),
            "emoji" => Some(Self::Emoji),
            _ => None,
        };
        date.or_else(time).or_else(digits).or_else(other).map(|slot| (slot, None))
    }
}

/// What a name can be read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub slots: Vec<Slot>,
    /// The styles that all its words have; every one where it has no words.
    pub styles: Styles,
    /// Those that the name is an example of: `garden` fits kebab-case and shows nothing of it.
    pub shown: Styles,
}

/// How exact a reading is, from the most exact.
const LEVELS: u8 = 5;

/// All that a name can be read as, the most exact first, each once.
pub fn readings(name: &str, vocabulary: &Vocabulary) -> Vec<Reading> {
    let parts = cut(name);
    let mut found: Vec<Reading> = Vec::with_capacity(LEVELS.into());
    for level in 0..LEVELS {
        if let Some(reading) = read(name, &parts, level, vocabulary)
            && found.iter().all(|other| other.slots != reading.slots)
        {
            found.push(reading);
        }
    }
    found
}

/// Reads the parts: at level 1 a year is four digits, at level 2 digits are a number, at level 3 numbers, codes and
/// versions are words, at level 4 whatever stands between words is part of them.
fn read(name: &str, parts: &[Part], level: u8, vocabulary: &Vocabulary) -> Option<Reading> {
    let has_words = parts.iter().any(|part| part.kind == Kind::Word);
    let last = parts.len().saturating_sub(1);
    let slot = |at: usize| {
        Some(match parts[at].kind {
            Kind::Date(DateForm::Year) if level >= 1 => match level {
                1 => Slot::Digits(4),
                2 => Slot::Number,
                _ => Slot::Words,
            },
            Kind::Digits(digits) => match level {
                0 | 1 => Slot::Digits(digits),
                2 => Slot::Number,
                _ => Slot::Words,
            },
            Kind::Version | Kind::Code if level >= 3 => Slot::Words,
            Kind::Version => Slot::Version,
            Kind::Code => Slot::Code,
            Kind::Date(form) => Slot::Date(form),
            Kind::Time(form) => Slot::Time(form),
            Kind::Id(digits) => Slot::Id(digits),
            // Elsewhere it is an ornament of the words.
            Kind::Emoji if at == 0 || at == last => Slot::Emoji,
            Kind::Word => Slot::Words,
            Kind::Emoji | Kind::Sign => return None,
        })
    };
    if level >= 3 && !has_words {
        return None;
    }
    let mut slots: Vec<Slot> = Vec::new();
    let (mut styles, mut shown) = (Styles::EVERY, Styles::default());
    // The words that are open, and where the last slot ended.
    let (mut words, mut end): (Option<Range<usize>>, usize) = (None, 0);
    let mut close = |words: &mut Option<Range<usize>>, slots: &mut Vec<Slot>| {
        if let Some(range) = words.take() {
            let own = styles_of(&name[range.clone()], vocabulary);
            styles = styles.and(own);
            shown = shown.or(shown_by(&name[range]));
            slots.push(Slot::Words);
        }
    };
    for (at, part) in parts.iter().enumerate() {
        let Some(slot) = slot(at) else { continue };
        let between = &name[end..part.range.start];
        if slot == Slot::Words {
            match &mut words {
                Some(range) if level >= 4 || !divides(between) => range.end = part.range.end,
                _ => {
                    close(&mut words, &mut slots);
                    let text = leading(between, slots.is_empty());
                    push_text(&mut slots, text);
                    words = Some(part.range.clone());
                }
            }
        } else {
            close(&mut words, &mut slots);
            push_text(&mut slots, between);
            slots.push(slot);
        }
        end = part.range.end;
    }
    let is_open = words.is_some();
    close(&mut words, &mut slots);
    // `What now?` ends with its words, `Log 2026 (draft)` with the bracket that closes one of the pattern.
    let is_in_bracket = slots.iter().rev().find_map(|slot| match slot {
        Slot::Text(text) => Some(text.ends_with(['(', '['])),
        _ => None,
    });
    let is_closed = name[end..].starts_with([')', ']']);
    if !is_open || (is_closed && is_in_bracket == Some(true)) {
        push_text(&mut slots, &name[end..]);
    }
    slots.iter().any(|slot| !matches!(slot, Slot::Text(_))).then_some(Reading {
        slots,
        styles,
        shown: shown.and(styles),
    })
}

fn push_text(slots: &mut Vec<Slot>, text: &str) {
    if !text.is_empty() {
        slots.push(Slot::Text(text.to_owned()));
    }
}

/// What stands before the first word, where that is a mark such as `@` and no bracket or quote.
fn leading(between: &str, is_first: bool) -> &str {
    let is_mark = between.starts_with(['@', '#', '+', '!', '$', '~', '=', '^', '_', '%', '&']);
    if is_first && !is_mark { "" } else { between }
}

/// Whether signs between two words part them: `Author - Title`.
fn divides(between: &str) -> bool {
    let spaced = [" - ", " – ", " — ", " | ", " ~ ", " · "];
    spaced.contains(&between) || between == "--" || between == "__"
}

/// How a word is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// No letter that could be a capital.
    Neutral,
    Lower,
    /// A capital first, and none after.
    Capital,
    /// Capitals alone.
    Upper,
    /// Begins with a capital: `OneNote`.
    MixedCapital,
    /// Begins without: `iPhone`.
    MixedLower,
}

impl Case {
    fn of(word: &str) -> Self {
        let mut cased =
            word.chars().filter(|c| c.is_uppercase() || c.is_lowercase()).map(char::is_uppercase);
        let Some(first) = cased.next() else { return Self::Neutral };
        let (mut upper, mut lower) = (false, false);
        cased.for_each(|is_upper| if is_upper { upper = true } else { lower = true });
        // `2nd` may begin either.
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

/// Words that titles write small.
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

/// The styles of which these words could be an example.
fn shown_by(words: &str) -> Styles {
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

/// The styles of a row of words, blanks or signs between them.
fn styles_of(words: &str, vocabulary: &Vocabulary) -> Styles {
    let mut styles = Styles::default();
    styles.add(Style::Any);
    if !words.chars().any(|c| c.is_uppercase() || c.is_lowercase()) {
        styles.add_all([(true, Style::Uncased), (true, Style::Spaced)]);
        return styles;
    }
    let has = |sign: char| words.contains(sign);
    if words.contains(char::is_whitespace) {
        add_spaced(&mut styles, &spaced(words), vocabulary);
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

/// The words between blanks, without the signs around them.
fn spaced(words: &str) -> Vec<&str> {
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
    // `iPhone notes` may begin a title, `myNote` is none.
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

/// What the names of a vault say of words: which are written small within a name, and which never are.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    small: HashSet<String>,
    capital: HashSet<String>,
}

impl Vocabulary {
    /// Learns from a name that has words of both sorts.
    pub fn learn(&mut self, name: &str) {
        if !name.contains(char::is_whitespace) {
            return;
        }
        let words = spaced(name);
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

    /// Whether a word is written with a capital wherever it stands.
    fn is_proper(&self, word: &str) -> bool {
        self.capital.contains(word) && !self.is_small(word)
    }

    fn is_small(&self, word: &str) -> bool {
        self.small.contains(&word.to_lowercase())
    }
}

/// A pattern: slots, and how the words in them are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub slots: Vec<Slot>,
    /// [`Style::Any`] where it has no words.
    pub style: Style,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slots.iter().try_for_each(|slot| match slot {
            Slot::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            slot => write!(f, "{{{}}}", slot.placeholder(self.style)),
        })
    }
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("a brace is not closed")]
    Unclosed,
    #[error("`{{{0}}}` stands for nothing")]
    Unknown(String),
    #[error("words are written in two ways")]
    TwoStyles,
    #[error("the pattern has no part in braces")]
    Empty,
}

impl Pattern {
    /// Reads what [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let mut slots = Vec::new();
        let mut style = None;
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{").ok_or(PatternError::Unclosed)?;
            let (placeholder, after) = (&rest[..end], &rest[end + 1..]);
            let found = Slot::of(placeholder);
            let (slot, own) = found.ok_or_else(|| PatternError::Unknown(placeholder.to_owned()))?;
            if own.is_some() && style.is_some() && own != style {
                return Err(PatternError::TwoStyles);
            }
            style = own.or(style);
            push_text(&mut slots, &std::mem::take(&mut literal));
            slots.push(slot);
            rest = after;
        }
        literal.push_str(rest);
        if slots.is_empty() {
            return Err(PatternError::Empty);
        }
        push_text(&mut slots, &literal);
        Ok(Self { slots, style: style.unwrap_or(Style::Any) })
    }

    /// Whether a name fits it.
    pub fn fits(&self, name: &str, vocabulary: &Vocabulary) -> bool {
        let (slots, inside) = match inside(&self.slots, name) {
            Some(inside) => inside,
            None => return false,
        };
        let is_it = |reading: &Reading| reading.slots == slots && reading.styles.has(self.style);
        let whole =
            |reading: &Reading| reading.slots == self.slots && reading.styles.has(self.style);
        readings(inside, vocabulary).iter().any(is_it)
            || (inside.len() < name.len() && readings(name, vocabulary).iter().any(whole))
    }

    /// A sentence on how names look.
    pub fn description(&self) -> String {
        let part = |slot: &Slot| match slot {
            Slot::Text(text) if text == " " => "a blank".to_owned(),
            Slot::Text(text) => format!("\"{text}\""),
            Slot::Date(form) => format!("a date as {}", form.format()),
            Slot::Time(form) => format!("a time as {}", form.format()),
            Slot::Id(digits) => format!("date and time in {digits} digits"),
            Slot::Version => "a version".to_owned(),
            Slot::Digits(1) => "a digit".to_owned(),
            Slot::Digits(digits) => format!("{digits} digits"),
            Slot::Number => "a number".to_owned(),
            Slot::Code => "a code such as U41".to_owned(),
            Slot::Emoji => "an emoji".to_owned(),
            Slot::Words => match self.style {
                Style::Any => "words".to_owned(),
                Style::Spaced => "words with blanks between them".to_owned(),
                Style::Uncased => "words in a script without capitals".to_owned(),
                style => format!("words in {}", style.name()),
            },
        };
        let parts: Vec<String> = self.slots.iter().map(part).collect();
        parts.join(", ")
    }

    /// A short name for people: `Date, Title Case`.
    pub fn title(&self) -> String {
        let part = |slot: &Slot| match slot {
            Slot::Text(text) => {
                text.contains(char::is_alphanumeric).then(|| format!("\"{}\"", text.trim()))
            }
            Slot::Date(DateForm::Week) => Some("week".to_owned()),
            Slot::Date(DateForm::Month) => Some("month".to_owned()),
            Slot::Date(DateForm::Quarter) => Some("quarter".to_owned()),
            Slot::Date(DateForm::Year) => Some("year".to_owned()),
            Slot::Date(_) => Some("date".to_owned()),
            Slot::Time(_) => Some("time".to_owned()),
            Slot::Id(_) => Some("id".to_owned()),
            Slot::Version => Some("version".to_owned()),
            Slot::Digits(_) | Slot::Number => Some("number".to_owned()),
            Slot::Code => Some("code".to_owned()),
            Slot::Emoji => Some("emoji".to_owned()),
            Slot::Words => Some(self.style.name().to_owned()),
        };
        let parts: Vec<String> = self.slots.iter().filter_map(part).collect();
        parts.join(", ")
    }

    /// The pattern without braces, blanks as `+`, so that it can be typed in a shell without quotes.
    pub fn id(&self) -> String {
        let slots = self.slots.iter().map(|slot| slot.placeholder(self.style));
        slots.collect::<String>().replace(' ', "+")
    }

    /// Whether it has a place for words.
    pub fn has_words(&self) -> bool {
        self.slots.contains(&Slot::Words)
    }
}

/// What of a name stands between the words that the pattern begins and ends with, and the slots for it. `None` where
/// the name does not have them.
fn inside<'s, 'n>(slots: &'s [Slot], name: &'n str) -> Option<(&'s [Slot], &'n str)> {
    let is_word = |text: &str| text.contains(char::is_alphanumeric) || text.contains(is_emoji);
    let (mut slots, mut name) = (slots, name);
    if let [Slot::Text(text), rest @ ..] = slots
        && is_word(text)
    {
        (slots, name) = (rest, name.strip_prefix(text.as_str())?);
    }
    if let [rest @ .., Slot::Text(text)] = slots
        && is_word(text)
    {
        (slots, name) = (rest, name.strip_suffix(text.as_str())?);
    }
    Some((slots, name))
}

/// What a new name is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// Its words, as they are written in a title or a name.
    pub words: String,
    pub date: Option<NaiveDate>,
    pub time: Option<NaiveTime>,
    /// Digits, code, version and emoji of the present name.
    pub digits: Option<String>,
    pub code: Option<String>,
    pub version: Option<String>,
    pub emoji: Option<String>,
}

/// The day and time that a name says, the first of each.
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

impl Pattern {
    /// What the pattern takes of a name; whatever it has no place for stays among the words.
    pub fn material(&self, name: &str) -> Material {
        let name = inside(&self.slots, name).map_or(name, |(_, inside)| inside);
        let wants = |wanted: fn(&Slot) -> bool| self.slots.iter().any(wanted);
        let wants_date = wants(|slot| matches!(slot, Slot::Date(_) | Slot::Id(_)));
        let wants_time = wants(|slot| matches!(slot, Slot::Time(_) | Slot::Id(_)));
        let (date, time) = day_and_time(name);
        let mut material = Material { date, time, ..Material::default() };
        let mut rest = String::new();
        let mut gap = false;
        for part in cut(name) {
            let text = &name[part.range];
            let place = match part.kind {
                Kind::Date(form) if wants_date && form.day(text).is_some() => None,
                Kind::Id(_) if wants_date => None,
                Kind::Time(_) if wants_time => None,
                Kind::Digits(_) | Kind::Date(DateForm::Year)
                    if wants(|slot| matches!(slot, Slot::Digits(_) | Slot::Number)) =>
                {
                    Some(&mut material.digits)
                }
                Kind::Code if wants(|slot| *slot == Slot::Code) => Some(&mut material.code),
                Kind::Version if wants(|slot| *slot == Slot::Version) => {
                    Some(&mut material.version)
                }
                Kind::Emoji if wants(|slot| *slot == Slot::Emoji) => Some(&mut material.emoji),
                _ => {
                    // What was taken out takes the signs behind it along.
                    if !(gap && part.kind == Kind::Sign) {
                        rest.push_str(text);
                    }
                    gap = false;
                    continue;
                }
            };
            match place {
                Some(taken @ None) => *taken = Some(text.to_owned()),
                Some(Some(_)) => {
                    rest.push_str(text);
                    continue;
                }
                None => {}
            }
            gap = true;
        }
        material.words =
            rest.trim_matches(|c: char| c.is_whitespace() || "-_–—,.".contains(c)).to_owned();
        material
    }

    /// The name that the pattern gives for this material; `None` where something that it wants is missing.
    pub fn fill(&self, material: &Material, vocabulary: &Vocabulary) -> Option<String> {
        let mut name = String::new();
        let slots = self.slots.iter().filter(|slot| **slot == Slot::Words).count();
        let pieces: Vec<&str> = match slots {
            0 => Vec::new(),
            1 => vec![&material.words],
            _ => material.words.split(" - ").collect(),
        };
        if pieces.len() != slots || (slots == 0 && !material.words.is_empty()) {
            return None;
        }
        let mut pieces = pieces.into_iter();
        for slot in &self.slots {
            match slot {
                Slot::Text(text) => name.push_str(text),
                Slot::Date(form) => name.push_str(&form.write(material.date?)),
                Slot::Time(form) => {
                    name.push_str(&material.time?.format(form.strftime()).to_string());
                }
                Slot::Id(digits) => {
                    let time = material.date?.and_time(material.time?);
                    let format = if *digits == 12 { "%Y%m%d%H%M" } else { "%Y%m%d%H%M%S" };
                    name.push_str(&time.format(format).to_string());
                }
                Slot::Number => name.push_str(material.digits.as_ref()?),
                Slot::Digits(digits) => {
                    let bare = material.digits.as_ref()?.trim_start_matches('0');
                    let padded = format!("{bare:0>width$}", width = usize::from(*digits));
                    (padded.len() == usize::from(*digits)).then(|| name.push_str(&padded))?;
                }
                Slot::Version => name.push_str(material.version.as_ref()?),
                Slot::Code => name.push_str(material.code.as_ref()?),
                Slot::Emoji => name.push_str(material.emoji.as_ref()?),
                Slot::Words => {
                    let words = written(pieces.next()?, self.style, vocabulary);
                    if words.is_empty() {
                        return None;
                    }
                    name.push_str(&words);
                }
            }
        }
        Some(name)
    }
}

/// Words in a style.
pub fn written(text: &str, style: Style, vocabulary: &Vocabulary) -> String {
    let words = words_of(text);
    let recased = |word: &str| match Case::of(word) {
        // What has capitals of its own keeps them.
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
    // Names without blanks hold letters, digits and one sign. Other signs go before the text is split, so that
    // the result is split the same way.
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

/// The words of a title or name: parted by blanks; where there are none, by signs; else by capitals.
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

/// What Obsidian and other editors call a note that nobody has named, in the languages that they speak.
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

/// Whether a name is one that a program gave, with a number or without: `Untitled 3`.
pub fn is_untitled(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ').to_lowercase();
    UNTITLED.contains(&&*bare)
}

/// A name with each run of digits replaced, so that numbered names are alike: `IMG_{4 digits}`. `None` without digits,
/// and for names that are digits and signs alone.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(name: &str) -> String {
        let reading = readings(name, &Vocabulary::default()).into_iter().next();
        let Some(reading) = reading else { return String::new() };
        Pattern { slots: reading.slots, style: Style::Any }.to_string()
    }

    fn styles(name: &str) -> Vec<&'static str> {
        let readings = readings(name, &Vocabulary::default());
        let found = readings.first().map(|reading| reading.styles).unwrap_or_default();
        let special = |style: &Style| !matches!(style, Style::Any | Style::Spaced);
        found.iter().filter(special).map(Style::name).collect()
    }

    #[test]
    fn names_are_cut_into_their_parts() {
        for (name, pattern) in [
            ("2026-11-21", "{YYYY-MM-DD}"),
            ("2026-11-21 Meeting with Ada", "{YYYY-MM-DD} {words}"),
            ("20261121_notes", "{YYYYMMDD}_{words}"),
            ("21.11.2026 Brief", "{DD.MM.YYYY} {words}"),
            ("2026.11.21", "{YYYY.MM.DD}"),
            ("2026-11", "{YYYY-MM}"),
            ("2026-W47", "{YYYY-[W]ww}"),
            ("2026-Q4", "{YYYY-[Q]Q}"),
            ("2026", "{YYYY}"),
            ("2026-13-40", "{YYYY}-{2 digits}-{2 digits}"),
            ("2026-11-21T1030", "{YYYY-MM-DD}T{HHmm}"),
            ("2026-11-21 10.30.05", "{YYYY-MM-DD} {HH.mm.ss}"),
            ("Screenshot 2026-11-21 at 10.30.05", "{words} {YYYY-MM-DD} at {HH.mm.ss}"),
            ("202611211030 Idea", "{id of 12 digits} {words}"),
            ("20261121103005", "{id of 14 digits}"),
            ("Release v1.2", "{words} {version}"),
            ("3.1 Aims", "{version} {words}"),
            ("IMG_0042", "{words}_{4 digits}"),
            ("U41 Roses", "{code} {words}"),
            ("SRD-0042", "{code}"),
            ("🌱 Seeds", "{emoji} {words}"),
            ("Seeds 🌱 and more", "{words}"),
            ("@Ada Lovelace", "@{words}"),
            ("Blade Runner (1982)", "{words} ({YYYY})"),
            ("Log 2026 (draft)", "{words} {YYYY} ({words})"),
            ("Jazz - Bass on Top", "{words} - {words}"),
            ("What's up, Doc?", "{words}"),
            ("3D printing", "{words}"),
            ("H2O", "{words}"),
            ("日本語のノート", "{words}"),
            ("", ""),
            ("---", ""),
        ] {
            assert_eq!(first(name), pattern, "{name}");
        }
    }

    #[test]
    fn a_name_that_fits_several_styles_counts_for_each() {
        for (name, expected) in [
            (
                "Garden",
                vec!["Title Case", "Sentence case", "Train-Case", "Title_Snake_Case", "PascalCase"],
            ),
            ("garden", vec!["lower case", "kebab-case", "snake_case", "camelCase"]),
            ("Bass on Top", vec!["Title Case"]),
            ("Brown butter tart", vec!["Sentence case"]),
            ("Import from the cloud", vec!["Sentence case"]),
            ("notes of today", vec!["lower case"]),
            ("READ ME FIRST", vec!["UPPER CASE"]),
            ("my-first-note", vec!["kebab-case"]),
            ("My-First-Note", vec!["Train-Case"]),
            ("my_note", vec!["snake_case"]),
            ("MY_NOTE", vec!["UPPER_SNAKE_CASE"]),
            ("myNote", vec!["camelCase"]),
            ("MyNote", vec!["Title Case", "Sentence case", "PascalCase"]),
            ("Sci-fi", vec!["Title Case", "Sentence case"]),
            ("日本語", vec!["words without capitals"]),
            ("2026-11-21 roses", vec!["lower case", "kebab-case", "snake_case", "camelCase"]),
        ] {
            assert_eq!(styles(name), expected, "{name}");
        }
    }

    #[test]
    fn names_that_are_always_capital_are_no_title() {
        let mut vocabulary = Vocabulary::default();
        let is_sentence = |name: &str, vocabulary: &Vocabulary| {
            readings(name, vocabulary)[0].styles.has(Style::Sentence)
        };
        assert!(!is_sentence("Headless Sync", &vocabulary));
        vocabulary.learn("Set up Obsidian Sync");
        assert!(is_sentence("Headless Sync", &vocabulary));
        vocabulary.learn("How to sync notes");
        assert!(!is_sentence("Headless Sync", &vocabulary));
    }

    #[test]
    fn words_are_written_in_a_style() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.learn("All about roses and the garden");
        for (words, style, expected) in [
            ("my first note", Style::Title, "My First Note"),
            ("the book of tea", Style::Title, "The Book of Tea"),
            ("my-first-note", Style::Title, "My First Note"),
            ("myFirstNote", Style::Title, "My First Note"),
            ("Roses In The Garden", Style::Sentence, "Roses in the garden"),
            ("Letters To Ada", Style::Sentence, "Letters to Ada"),
            ("READ ME FIRST", Style::Title, "Read Me First"),
            ("What's up, iPhone?", Style::Kebab, "whats-up-iphone"),
            ("What's up", Style::Snake, "whats_up"),
            ("MyPlan (", Style::Train, "My-Plan"),
            ("Ab'Cd", Style::TitleSnake, "Ab_Cd"),
            ("new iPhone", Style::Title, "New iPhone"),
            ("my first note", Style::Pascal, "MyFirstNote"),
            ("My first note", Style::Camel, "myFirstNote"),
            ("日本語", Style::Title, "日本語"),
        ] {
            assert_eq!(written(words, style, &vocabulary), expected, "{words}");
        }
    }

    #[test]
    fn a_pattern_takes_what_it_has_a_place_for() {
        let vocabulary = Vocabulary::default();
        for (pattern, name, expected) in [
            ("{YYYY-MM-DD} {Title Words}", "20261121 my plan", Some("2026-11-21 My Plan")),
            ("{YYYY-MM-DD} {Title Words}", "my plan", None),
            ("{kebab-words}", "My Plan (draft)", Some("my-plan-draft")),
            ("{kebab-words}", "2026-11-21 My Plan", Some("2026-11-21-my-plan")),
            ("{Title Words} Template", "book", Some("Book Template")),
            ("{Title Words} Template", "Book Template", Some("Book Template")),
            ("{3 digits} {Title Words}", "7 swans", Some("007 Swans")),
            ("{number} {lower words}", "07 Swans", Some("07 swans")),
            ("{id of 12 digits} {words}", "20261121103005 idea", Some("202611211030 idea")),
            ("{YYYY-MM-DD}", "Journal 2026-11-21", None),
            ("{emoji} {Title Words}", "🌱 seeds", Some("🌱 Seeds")),
            ("{YYYY} {Title Words}", "2026-11-21 trip", Some("2026 Trip")),
        ] {
            let pattern = Pattern::parse(pattern).expect("a pattern");
            let name = pattern.fill(&pattern.material(name), &vocabulary);
            assert_eq!(name.as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_read_and_refused() {
        for wrong in ["", "words", "{words", "}", "{wrods}", "{Title Words} {kebab-words}"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        let pattern = Pattern::parse("{{x}} {Title Words}").expect("a pattern");
        assert_eq!(pattern.slots, [Slot::Text("{x} ".to_owned()), Slot::Words]);
        assert_eq!(pattern.to_string(), "{{x}} {Title Words}");
        let pattern = Pattern::parse("{YYYY-MM-DD} {Title Words}").expect("a pattern");
        assert_eq!(pattern.id(), "YYYY-MM-DD+Title+Words");
        assert_eq!(pattern.title(), "date, Title Case");
        assert_eq!(pattern.description(), "a date as YYYY-MM-DD, a blank, words in Title Case");
    }

    #[test]
    fn digits_count_and_do_not_matter() {
        assert_eq!(numbered("IMG_0042").as_deref(), Some("IMG_{4 digits}"));
        assert_eq!(numbered("2026-11-21"), None);
        assert_eq!(numbered("Roses"), None);
        assert_eq!(numbered("Part 1 of 12").as_deref(), Some("Part {1 digit} of {2 digits}"));
    }

    fn names() -> impl Strategy<Value = String> {
        prop_oneof!["\\PC{0,16}", plain_names()]
    }

    /// Of letters that have a capital, or no case at all.
    fn plain_names() -> impl Strategy<Value = String> {
        "(20[0-9]{2}[-._]?[01][0-9][-._]?[0-3][0-9])?[ _-]{0,2}[A-Za-zé日🌱]{0,6}[ _-]{0,3}[A-Za-z0-9.']{0,8}[ ()@v]{0,2}[0-9]{0,14}"
    }

    proptest! {
        #[test]
        fn parts_follow_each_other_without_a_gap(name in names()) {
            let mut end = 0;
            for part in cut(&name) {
                prop_assert_eq!(part.range.start, end);
                prop_assert!(part.range.end > end);
                end = part.range.end;
                prop_assert!(name.is_char_boundary(end));
            }
            prop_assert_eq!(end, name.len());
        }

        #[test]
        fn a_name_fits_all_that_it_is_read_as(name in names()) {
            let vocabulary = Vocabulary::default();
            for reading in readings(&name, &vocabulary) {
                for style in reading.styles.iter() {
                    let pattern = Pattern { slots: reading.slots.clone(), style };
                    prop_assert!(pattern.fits(&name, &vocabulary), "{} {:?}", pattern, name);
                    let again = Pattern::parse(&pattern.to_string());
                    if pattern.has_words() {
                        prop_assert_eq!(again, Ok(pattern));
                    }
                }
            }
        }

        #[test]
        fn what_is_made_of_a_name_is_made_once(name in plain_names(), style in 0..Style::ALL.len()) {
            let vocabulary = Vocabulary::default();
            // Where capitals alone part words, `A1 b` gives what no longer says where they were.
            if matches!(Style::ALL[style], Style::Camel | Style::Pascal) {
                return Ok(());
            }
            let pattern = Pattern { slots: vec![Slot::Words], style: Style::ALL[style] };
            if let Some(made) = pattern.fill(&pattern.material(&name), &vocabulary) {
                let again = pattern.fill(&pattern.material(&made), &vocabulary);
                prop_assert_eq!(again.as_deref(), Some(&*made), "{:?}", name);
            }
        }
    }
}
