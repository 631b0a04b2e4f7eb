//! Types of property values: from the YAML value, the type that `.obsidian/types.json` assigns to the property, and
//! Obsidian's rules for links and dates.
//!
//! A text that is one wikilink is a link, in lists too. A text is a date if the property is assigned `date` or
//! `datetime` and the text reads as one, or if nothing is assigned and it is exactly `YYYY-MM-DD`,
//! `YYYY-MM-DDTHH:mm` or `YYYY-MM-DDTHH:mm:ss`.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::Value as Json;

use super::value::{Date, FileId, Link, Object, Text, Value};
use crate::note::link::LinkKind;
use crate::note::markdown::single_link;

/// The type that `types.json` assigns to a property, as far as it affects how a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assigned {
    /// `date` or `datetime`.
    Date,
    /// Any other type: its texts are no dates.
    Other,
}

impl Assigned {
    /// The type of this name in `types.json`.
    pub fn named(name: &str) -> Self {
        match name {
            "date" | "datetime" => Self::Date,
            _ => Self::Other,
        }
    }
}

/// A property's value before its note and the time zone are known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Typed {
    Null,
    Bool(bool),
    /// The bits of the number, so that values can be compared.
    Number(u64),
    Text(Text),
    /// A local time, as milliseconds since 1970 as if it were UTC.
    Local {
        millis: i64,
        has_time: bool,
    },
    /// A date with an offset, in milliseconds since 1970.
    Instant(i64),
    /// Its target and display text.
    Link(Box<(Text, Option<Text>)>),
    List(Box<[Self]>),
    Object(Box<[(Text, Self)]>),
}

impl Typed {
    /// The value of a property that is assigned this type.
    pub fn of(value: &Json, assigned: Option<Assigned>) -> Self {
        let date = |text: &str| match assigned {
            None => exact_date(text),
            Some(Assigned::Date) => exact_date(text).or_else(|| any_date(text)),
            Some(Assigned::Other) => None,
        };
        match value {
            Json::String(text) => date(text).unwrap_or_else(|| Self::of_text(text)),
            other => Self::inside(other),
        }
    }

    /// The value of an element of a list or mapping, where no text is a date.
    fn inside(value: &Json) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN).to_bits()),
            Json::String(text) => Self::of_text(text),
            Json::Array(items) => Self::List(items.iter().map(Self::inside).collect()),
            Json::Object(map) => {
                let entry =
                    |(key, value): (&String, &Json)| (key.as_str().into(), Self::inside(value));
                Self::Object(map.iter().map(entry).collect())
            }
        }
    }

    fn of_text(text: &str) -> Self {
        wikilink(text).unwrap_or_else(|| Self::Text(text.into()))
    }

    /// The value in the note `from`. `instant` converts a local time, in milliseconds as though it were UTC, to
    /// milliseconds since 1970.
    pub fn value(&self, from: FileId, instant: &dyn Fn(i64) -> i64) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(bits) => Value::Number(f64::from_bits(*bits)),
            Self::Text(text) => Value::Text(Arc::clone(text)),
            Self::Local { millis, has_time } => {
                Value::Date(Date { millis: instant(*millis), has_time: *has_time })
            }
            Self::Instant(millis) => Value::Date(Date { millis: *millis, has_time: true }),
            Self::Link(link) => {
                let (target, display) = link.as_ref().clone();
                Value::Link(Arc::new(Link {
                    target,
                    display,
                    from: Some(from),
                    is_external: false,
                }))
            }
            Self::List(items) => {
                Value::List(items.iter().map(|item| item.value(from, instant)).collect())
            }
            Self::Object(entries) => {
                let entry =
                    |(key, value): &(Text, Self)| (Arc::clone(key), value.value(from, instant));
                Value::Object(Arc::new(Object(entries.iter().map(entry).collect())))
            }
        }
    }
}

fn wikilink(text: &str) -> Option<Typed> {
    if !text.starts_with("[[") || !text.ends_with("]]") {
        return None;
    }
    let link = single_link(text, 0..text.len()).filter(|link| link.kind == LinkKind::Wikilink)?;
    let target = format!("{}{}", link.linkpath(text), link.subpath(text));
    let display = link.display.and_then(|range| text.get(range)).map(Text::from);
    Some(Typed::Link(Box::new((target.into(), display))))
}

/// `YYYY-MM-DD`, `YYYY-MM-DDTHH:mm` or `YYYY-MM-DDTHH:mm:ss`, and nothing else.
fn exact_date(text: &str) -> Option<Typed> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let is_shaped =
        matches!(text.len(), 10 | 16 | 19) && text.as_bytes().iter().zip(SHAPE).all(fits);
    if !is_shaped {
        return None;
    }
    local(text, text.len() > 10)
}

/// Further forms of a date where the property's assigned type is a date: a blank for the `T`, fractions of seconds, an
/// offset.
fn any_date(text: &str) -> Option<Typed> {
    let text = text.trim();
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(Typed::Instant(moment.timestamp_millis()));
    }
    local(&text.replacen(' ', "T", 1), text.len() > 10)
}

fn local(text: &str, has_time: bool) -> Option<Typed> {
    let time = if has_time {
        ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?
    } else {
        NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?
    };
    Some(Typed::Local { millis: time.and_utc().timestamp_millis(), has_time })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn local(millis: i64, has_time: bool) -> Typed {
        Typed::Local { millis, has_time }
    }

    #[test]
    fn a_text_is_a_date_by_its_shape_or_by_its_type() {
        const DAY: i64 = 1_795_219_200_000;
        let (date, other) = (Some(Assigned::Date), Some(Assigned::Other));
        for (text, assigned, expected) in [
            ("2026-11-21", None, Some(local(DAY, false))),
            ("2026-11-21T10:30", None, Some(local(DAY + 37_800_000, true))),
            ("2026-11-21T10:30:05", None, Some(local(DAY + 37_805_000, true))),
            ("2026-11-21 10:30", None, None),
            ("2026-11-31", None, None),
            ("2026-11-21T25:00", None, None),
            ("2026-1-2", None, None),
            ("2026-11-21", other, None),
            ("2026-11-21", date, Some(local(DAY, false))),
            ("2026-11-21 10:30", date, Some(local(DAY + 37_800_000, true))),
            ("2026-11-21T10:30:00+01:00", date, Some(Typed::Instant(DAY + 34_200_000))),
            ("soon", date, None),
        ] {
            let expected = expected.unwrap_or_else(|| Typed::Text(text.into()));
            assert_eq!(Typed::of(&json!(text), assigned), expected, "{text} {assigned:?}");
        }
        assert_eq!(Assigned::named("datetime"), Assigned::Date);
        assert_eq!(Assigned::named("text"), Assigned::Other);
    }

    #[test]
    fn one_wikilink_is_a_link_also_in_lists() {
        let link = |target: &str, display: Option<&str>| {
            Typed::Link(Box::new((target.into(), display.map(Text::from))))
        };
        let of = |value: Json| Typed::of(&value, None);
        assert_eq!(of(json!("[[Ada]]")), link("Ada", None));
        assert_eq!(of(json!("[[People/Ada#Work|her]]")), link("People/Ada#Work", Some("her")));
        for text in ["[[Ada]] and [[Bo]]", "see [[Ada]]", "![[Ada]]", "[[]", "[Ada](Ada.md)"] {
            assert_eq!(of(json!(text)), Typed::Text(text.into()), "{text}");
        }
        let list = of(json!(["[[Ada]]", "2026-11-21", 1]));
        let expected =
            [link("Ada", None), Typed::Text("2026-11-21".into()), Typed::Number(1f64.to_bits())];
        assert_eq!(list, Typed::List(expected.into()));
    }

    #[test]
    fn a_local_time_counts_in_the_zone_that_is_given() {
        let hour = |millis: i64| millis - 3_600_000;
        let value = Typed::of(&json!("1970-01-02"), None).value(FileId(7), &hour);
        assert!(matches!(value, Value::Date(Date { millis: 82_800_000, has_time: false })));
        let value = Typed::of(&json!(["[[Ada]]"]), None).value(FileId(7), &hour);
        let Value::List(items) = value else { panic!("a list") };
        let Value::Link(link) = &items[0] else { panic!("a link") };
        assert_eq!((&*link.target, link.from), ("Ada", Some(FileId(7))));
    }
}
