//! Applies a filter to a file. The text is scanned once for each part of the filter.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

use super::{Comparison, Filter, Pattern, SearchScope, Text};
use crate::note::fold;
use crate::note::markdown::{self, Block, Document};
use crate::note::path::VaultPath;
use crate::note::tag;

/// A file to which filters are applied. Its text is parsed when a filter first needs it.
pub struct SearchedFile<'n> {
    path: &'n VaultPath,
    text: &'n str,
    is_ascii: bool,
    folded: OnceCell<String>,
    document: OnceCell<Document>,
    sections: OnceCell<Vec<Range<usize>>>,
}

/// The subject of a filter.
#[derive(Clone, Copy)]
enum NotePart<'a> {
    /// Path and text.
    File,
    Lines(&'a Range<usize>),
    /// A file name or a path.
    Name(&'a str),
    /// One of these, without `#`.
    Tags(&'a [&'a str]),
    PropertyName(&'a str),
    PropertyValue(&'a Value),
}

impl Filter {
    pub fn holds(&self, file: &SearchedFile<'_>) -> bool {
        self.holds_in(file, NotePart::File)
    }

    fn holds_in(&self, file: &SearchedFile<'_>, part: NotePart<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|filter| filter.holds_in(file, part)),
            Self::Any(any) => any.iter().any(|filter| filter.holds_in(file, part)),
            Self::Not(filter) => !filter.holds_in(file, part),
            Self::Text(text) => match part {
                NotePart::File => {
                    text.is_in(file.path.as_str()) || file.contains(text, &file.whole())
                }
                NotePart::Lines(range) => file.contains(text, range),
                NotePart::Name(name) => text.is_in(name),
                NotePart::Tags(tags) => tags.iter().any(|tag| text.names_tag(tag)),
                NotePart::PropertyName(name) => text.is(name),
                NotePart::PropertyValue(value) => {
                    items(value).iter().any(|item| text.is_value(item))
                }
            },
            Self::Pattern(pattern) => match part {
                NotePart::File => pattern.is_in(file.path.as_str()) || pattern.is_in(file.text),
                NotePart::Lines(range) => pattern.is_in(&file.text[range.clone()]),
                NotePart::Name(name) | NotePart::PropertyName(name) => pattern.is_in(name),
                NotePart::Tags(tags) => tags.iter().any(|tag| pattern.is_in(&format!("#{tag}"))),
                NotePart::PropertyValue(value) => {
                    items(value).iter().any(|item| pattern.is_in(&value_text(item)))
                }
            },
            Self::Compared(bound) => match part {
                NotePart::PropertyValue(value) => {
                    items(value).iter().any(|item| bound.is_kept(item))
                }
                _ => false,
            },
            Self::Null => matches!(part, NotePart::PropertyValue(Value::Null)),
            Self::Within(place, filter) => {
                file.any_part(*place, part, &|part| filter.holds_in(file, part))
            }
            Self::Property { name, value } => file.properties().any(|(found, held)| {
                name.holds_in(file, NotePart::PropertyName(found))
                    && value
                        .as_ref()
                        .is_none_or(|value| value.holds_in(file, NotePart::PropertyValue(held)))
            }),
        }
    }
}

impl<'n> SearchedFile<'n> {
    /// Creates a file from its text without byte-order mark: empty for an attachment, the text of the
    /// cards for a canvas.
    pub fn new(path: &'n VaultPath, text: &'n str) -> Self {
        Self {
            path,
            text,
            is_ascii: text.is_ascii(),
            folded: OnceCell::new(),
            document: OnceCell::new(),
            sections: OnceCell::new(),
        }
    }

    fn whole(&self) -> Range<usize> {
        0..self.text.len()
    }

    fn document(&self) -> &Document {
        self.document.get_or_init(|| markdown::read(self.text))
    }

    fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let found = self.path.is_note().then(|| self.document().frontmatter.as_ref()).flatten();
        let properties = found.and_then(|found| found.properties.as_ref().ok());
        properties.into_iter().flatten().map(|property| (&*property.name, &property.value))
    }

    fn contains(&self, text: &Text, range: &Range<usize>) -> bool {
        let part = &self.text[range.clone()];
        if text.match_case {
            return text.is_in(part);
        }
        let folded = self.folded.get_or_init(|| fold::fold_key(self.text));
        match (*range == self.whole(), self.is_ascii) {
            (true, _) => is_within(&text.key, folded),
            (false, true) => is_within(&text.key, &folded[range.clone()]),
            (false, false) => text.is_in(part),
        }
    }

    /// Whether the filter holds for any place of this kind within a part of the file.
    fn any_part(
        &self,
        place: SearchScope,
        part: NotePart<'_>,
        holds: &dyn Fn(NotePart<'_>) -> bool,
    ) -> bool {
        let whole = self.whole();
        let within = match part {
            NotePart::Lines(range) => range,
            _ => &whole,
        };
        let in_lines = |range: &Range<usize>| holds(NotePart::Lines(range));
        match place {
            SearchScope::FileName => holds(NotePart::Name(self.path.name())),
            SearchScope::Path => holds(NotePart::Name(self.path.as_str())),
            SearchScope::Content => in_lines(within),
            SearchScope::Tag => holds(NotePart::Tags(&self.tags(within))),
            SearchScope::Line => {
                let mut at = within.start;
                self.text[within.clone()].split('\n').any(|line| {
                    let range = at..at + line.trim_end_matches('\r').len();
                    at += line.len() + 1;
                    in_lines(&range)
                })
            }
            SearchScope::Section => {
                let sections = self.sections.get_or_init(|| sections(self.text, self.document()));
                let first = sections.partition_point(|section| section.end <= within.start);
                let met = sections[first..].iter().take_while(|one| one.start < within.end);
                met.map(|section| common(section, within)).any(|range| in_lines(&range))
            }
            SearchScope::Block => {
                let frontmatter = self.document().frontmatter.as_ref().map(|found| &found.range);
                let frontmatter = frontmatter.filter(|range| range.end > within.start);
                let mut blocks = self.blocks(within).map(|block| &block.range);
                frontmatter.is_some_and(|range| in_lines(&common(range, within)))
                    || blocks.any(|range| in_lines(&common(range, within)))
            }
            SearchScope::Task | SearchScope::OpenTask | SearchScope::DoneTask => {
                let mut tasks = self.blocks(within).filter(|block| match place {
                    SearchScope::OpenTask => block.task == Some(' '),
                    SearchScope::DoneTask => block.task.is_some_and(|mark| mark != ' '),
                    _ => block.task.is_some(),
                });
                tasks.any(|block| in_lines(&common(&block.range, within)))
            }
        }
    }

    fn blocks<'a>(&'a self, within: &'a Range<usize>) -> impl Iterator<Item = &'a Block> {
        let blocks = &self.document().block_ranges;
        let first = blocks.partition_point(|block| block.range.end <= within.start);
        blocks[first..].iter().take_while(|block| block.range.start < within.end)
    }

    /// The tags within a range; those of the properties belong to the whole file.
    fn tags(&self, within: &Range<usize>) -> Vec<&str> {
        if !self.path.is_note() {
            return Vec::new();
        }
        let document = self.document();
        let first = document.tags.partition_point(|tag| tag.name.start < within.start);
        let here = document.tags[first..].iter().take_while(|tag| tag.name.end <= within.end);
        let mut found: Vec<&str> = here.map(|tag| &self.text[tag.name.clone()]).collect();
        if let Some(properties) = &document.frontmatter
            && *within == self.whole()
        {
            found.extend(properties.tags());
        }
        found
    }
}

/// The beginning of the text up to the first heading, and each heading with what is below it.
fn sections(text: &str, document: &Document) -> Vec<Range<usize>> {
    let line = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let begins = document.headings.iter().map(|heading| line(heading.text.start));
    let begins: Vec<usize> = std::iter::once(0).chain(begins).collect();
    let ends = begins[1..].iter().copied().chain([text.len()]);
    let all = begins.iter().copied().zip(ends).map(|(start, end)| start..end);
    all.filter(|section| !section.is_empty()).collect()
}

fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

fn is_within(what: &str, text: &str) -> bool {
    memmem::find(text.as_bytes(), what.as_bytes()).is_some()
}

/// The items of a list, or the one value.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

fn value_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

impl Text {
    /// Normalises a text for comparison with the key.
    fn form<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.match_case { fold::normal(text) } else { Cow::Owned(fold::fold_key(text)) }
    }

    fn is_in(&self, text: &str) -> bool {
        is_within(&self.key, &self.form(text))
    }

    fn is(&self, text: &str) -> bool {
        self.form(text) == self.key
    }

    /// Whether the tag is this one or nested in it.
    fn names_tag(&self, tag: &str) -> bool {
        let asked = tag::key(self.text.strip_prefix('#').unwrap_or(&self.text));
        tag::with_parents(tag).any(|name| tag::key(name) == asked)
    }

    fn is_value(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Number(number) => match self.text.parse::<f64>() {
                Ok(asked) => number.as_f64() == Some(asked),
                Err(_) => false,
            },
            Value::String(text) if !self.is_quoted => self.is_in(text),
            other => self.is(&value_text(other)),
        }
    }
}

impl Pattern {
    fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl Comparison {
    /// Whether the bound is a number or a date.
    pub(super) fn is_sound(&self) -> bool {
        self.bound.parse::<f64>().is_ok() || is_date(&self.bound)
    }

    fn is_kept(&self, value: &Value) -> bool {
        let order = match value {
            Value::Number(number) => number.as_f64().and_then(|value| self.with_number(value)),
            Value::String(text) => match text.trim().parse() {
                Ok(value) => self.with_number(value),
                Err(_) => self.with_date(text.trim()),
            },
            _ => None,
        };
        order.is_some_and(|order| match order {
            Ordering::Less => self.is_less,
            Ordering::Equal => self.or_equal,
            Ordering::Greater => !self.is_less,
        })
    }

    fn with_number(&self, value: f64) -> Option<Ordering> {
        value.partial_cmp(&self.bound.parse().ok()?)
    }

    /// Dates are compared as far as the bound goes: all of a day is that day.
    fn with_date(&self, value: &str) -> Option<Ordering> {
        let value = value.get(..self.bound.len()).unwrap_or(value);
        (is_date(value) && is_date(&self.bound)).then(|| value.cmp(&*self.bound))
    }
}

/// Whether a text is a date as properties have it, or begins like one: `2026`, `2026-11`,
/// `2026-11-25`, `2026-11-25T08:30`.
fn is_date(text: &str) -> bool {
    const FORM: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, form): (u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        _ => byte == *form,
    };
    matches!(text.len(), 4 | 7 | 10 | 13 | 16 | 19) && text.bytes().zip(FORM).all(fits)
}
