//! Patterns of names: matching names with patterns, and creating names by a pattern.

use std::fmt;
use std::ops::Range;

use chrono::{NaiveDate, NaiveTime};

use super::parts::{DateForm, Kind, NamePart, TimeForm, cut, day_and_time, is_emoji};
use super::style::{Style, Styles, Vocabulary, shown_by, styles_of, written};

/// An element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Slot {
    Text(String),
    Date(DateForm),
    Time(TimeForm),
    Id(u8),
    Version,
    /// A number with a fixed number of digits.
    Digits(u8),
    Number,
    Code,
    Emoji,
    Words,
}

impl Slot {
    /// The placeholder in braces.
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

    /// Parses a placeholder: the slot, and the style if it is one of words.
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

/// One interpretation of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub slots: Vec<Slot>,
    /// The styles that fit all its words; all styles if it has no words.
    pub styles: Styles,
    /// The styles for which the name is evidence: `garden` fits kebab-case but is no evidence for it.
    pub shown: Styles,
}

/// The number of levels of exactness.
const LEVELS: u8 = 5;

/// All distinct readings of a name, most exact first.
pub fn readings(name: &str, vocabulary: &Vocabulary) -> Vec<Reading> {
    let parts = cut(name);
    let mut found: Vec<Reading> = Vec::with_capacity(LEVELS.into());
    for level in 0..LEVELS {
        if let Some(reading) = read_pattern(name, &parts, level, vocabulary)
            && found.iter().all(|other| other.slots != reading.slots)
        {
            found.push(reading);
        }
    }
    found
}

/// Reads the parts at a level: at 1 a year is four digits, at 2 digits are a number, at 3 numbers, codes and versions
/// are words, at 4 everything between words is part of them.
fn read_pattern(
    name: &str,
    parts: &[NamePart],
    level: u8,
    vocabulary: &Vocabulary,
) -> Option<Reading> {
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
            // In the middle it belongs to the words.
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
    // The range of the current words, and the end of the last slot.
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
    // `What now?` ends with its words, `Log 2026 (draft)` with a bracket that belongs to the pattern.
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

/// The text before the first word if it is a mark such as `@`; brackets and quotes belong to the words.
fn leading(between: &str, is_first: bool) -> &str {
    let is_mark = between.starts_with(['@', '#', '+', '!', '$', '~', '=', '^', '_', '%', '&']);
    if is_first && !is_mark { "" } else { between }
}

/// Whether the signs between two words separate them: `Author - Title`.
fn divides(between: &str) -> bool {
    let spaced = [" - ", " – ", " — ", " | ", " ~ ", " · "];
    spaced.contains(&between) || between == "--" || between == "__"
}
/// A pattern: slots, and the style of their words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub slots: Vec<Slot>,
    /// [`Style::Any`] for a pattern without words.
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("a brace is not closed")]
    Unclosed,
    #[error("`{{{0}}}` has no meaning")]
    Unknown(String),
    #[error("words are written in two ways")]
    TwoStyles,
    #[error("the pattern has no part in braces")]
    Empty,
}

impl Pattern {
    /// Parses the text that [`Display`](fmt::Display) writes.
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

    pub fn fits(&self, name: &str, vocabulary: &Vocabulary) -> bool {
        let (slots, inside) = match read_inside(&self.slots, name) {
            Some(inside) => inside,
            None => return false,
        };
        let is_it = |reading: &Reading| reading.slots == slots && reading.styles.has(self.style);
        let whole =
            |reading: &Reading| reading.slots == self.slots && reading.styles.has(self.style);
        readings(inside, vocabulary).iter().any(is_it)
            || (inside.len() < name.len() && readings(name, vocabulary).iter().any(whole))
    }

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

    /// The pattern without braces and with `+` for blanks, so that it needs no quotes in a shell.
    pub fn id(&self) -> String {
        let slots = self.slots.iter().map(|slot| slot.placeholder(self.style));
        slots.collect::<String>().replace(' ', "+")
    }

    /// Whether it has a slot for words.
    pub fn has_words(&self) -> bool {
        self.slots.contains(&Slot::Words)
    }
}

/// Strips the literal words at both ends of the pattern from the slots and from the name. `None` if the name does not
/// have them.
fn read_inside<'s, 'n>(slots: &'s [Slot], name: &'n str) -> Option<(&'s [Slot], &'n str)> {
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
/// The material for a new name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// The words as written in a title or name.
    pub words: String,
    pub date: Option<NaiveDate>,
    pub time: Option<NaiveTime>,
    /// Digits, code, version and emoji of the current name.
    pub digits: Option<String>,
    pub code: Option<String>,
    pub version: Option<String>,
    pub emoji: Option<String>,
}
impl Pattern {
    /// Extracts from a name the material for this pattern; everything without a slot stays part of the words.
    pub fn material(&self, name: &str) -> Material {
        let name = read_inside(&self.slots, name).map_or(name, |(_, inside)| inside);
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
                    // An extracted part takes the signs after it along.
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

    /// Creates a name from material; `None` if something that the pattern needs is missing.
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
