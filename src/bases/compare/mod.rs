//! Equality and order of values.

mod operators;
pub mod show;
pub mod summaries;

use std::cmp::Ordering;

use super::date::Times;
use super::duration::Unit;
use super::natural;
use super::number_text;
use super::source::Source;
use super::value::{Duration, FileId, Link, Value, linkpath};

/// Two values of types that have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("values of these types have no order")]
pub struct Unordered;

/// The context of comparisons: resolves links and dates in texts.
#[derive(Clone, Copy)]
pub struct Compare<'a> {
    pub source: &'a dyn Source,
    pub times: &'a Times<'a>,
}

debug_only!(Compare<'_>);

impl Compare<'_> {
    /// `==`: values of one type by content; links by target; a link equals its file and the text it is written as; a date
    /// equals its text; a duration equals its milliseconds.
    pub fn equal(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Date(a), Value::Date(b)) => a.millis == b.millis,
            (Value::Duration(a), Value::Duration(b)) => millis(a) == millis(b),
            (Value::Duration(a), Value::Number(b)) | (Value::Number(b), Value::Duration(a)) => {
                millis(a) == *b
            }
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.equal(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.0.len() == b.0.len()
                    && a.0.iter().all(|(key, a)| {
                        b.0.iter()
                            .find(|(other, _)| other == key)
                            .is_some_and(|(_, b)| self.equal(a, b))
                    })
            }
            (Value::Link(a), Value::Link(b)) => self.links_equal(a, b),
            (Value::File(a), Value::File(b)) => a == b,
            (Value::Link(link), Value::File(file)) | (Value::File(file), Value::Link(link)) => {
                self.leads_to(link) == Some(*file)
            }
            (Value::Link(link), Value::Text(text)) | (Value::Text(text), Value::Link(link)) => {
                is_written(link, text)
            }
            (Value::Date(date), Value::Text(text)) | (Value::Text(text), Value::Date(date)) => {
                self.times.parse(text).is_some_and(|other| other.millis == date.millis)
            }
            (Value::Pattern(a), Value::Pattern(b)) => a.source == b.source && a.flags == b.flags,
            _ => false,
        }
    }

    pub fn leads_to(&self, link: &Link) -> Option<FileId> {
        if link.is_external { None } else { self.source.resolve(link.path(), link.from) }
    }

    fn links_equal(&self, a: &Link, b: &Link) -> bool {
        match (self.leads_to(a), self.leads_to(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) if a.is_external || b.is_external => a.target == b.target,
            (None, None) => a.path() == b.path(),
            _ => false,
        }
    }

    /// The order for `<`, `<=`, `>` and `>=`. `None` for values without an order that are not an error: null, NaN, and a
    /// text that is not a number or date.
    pub fn order(&self, a: &Value, b: &Value) -> Result<Option<Ordering>, Unordered> {
        if let (Some(a), Some(b)) = (as_text(a), as_text(b)) {
            return Ok(Some(a.cmp(b)));
        }
        Ok(match (a, b) {
            (Value::Null, _) | (_, Value::Null) => None,
            (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
            (Value::Date(a), Value::Date(b)) => Some(a.millis.cmp(&b.millis)),
            (Value::Duration(a), Value::Duration(b)) => millis(a).partial_cmp(&millis(b)),
            (Value::Duration(a), Value::Number(b)) => millis(a).partial_cmp(b),
            (Value::Number(a), Value::Duration(b)) => a.partial_cmp(&millis(b)),
            (Value::Number(_) | Value::Date(_) | Value::Duration(_), text) => {
                self.order_with_text(a, as_text(text).ok_or(Unordered)?)
            }
            (text, Value::Number(_) | Value::Date(_) | Value::Duration(_)) => {
                self.order_with_text(b, as_text(text).ok_or(Unordered)?).map(Ordering::reverse)
            }
            _ => return Err(Unordered),
        })
    }

    fn order_with_text(&self, a: &Value, text: &str) -> Option<Ordering> {
        match a {
            Value::Number(number) => number.partial_cmp(&number_text::read(text)?),
            Value::Date(date) => Some(date.millis.cmp(&self.times.parse(text)?.millis)),
            Value::Duration(duration) => {
                millis(duration).partial_cmp(&millis(&Duration::parse(text)?))
            }
            _ => None,
        }
    }

    /// The order of `sort()` and of rows: numbers by size, dates by time, texts in natural order; types one after the
    /// other, empty values last.
    pub fn sorted(&self, a: &Value, b: &Value) -> Ordering {
        let by_type = rank(a).cmp(&rank(b));
        by_type.then_with(|| match (a, b) {
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Date(a), Value::Date(b)) => a.millis.cmp(&b.millis),
            (Value::Duration(a), Value::Duration(b)) => millis(a).total_cmp(&millis(b)),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => natural::order(a, b),
            (Value::Link(_) | Value::Text(_), Value::Link(_) | Value::Text(_)) => {
                natural::order(text_of(a), text_of(b))
            }
            (Value::File(a), Value::File(b)) => {
                natural::order(&self.source.path(*a), &self.source.path(*b))
            }
            (Value::List(a), Value::List(b)) => {
                let first = a.iter().zip(b.iter()).map(|(a, b)| self.sorted(a, b));
                let mut differing = first.filter(|ordering| ordering.is_ne());
                differing.next().unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            _ => Ordering::Equal,
        })
    }
}

fn millis(duration: &Duration) -> f64 {
    duration.total(Unit::Milliseconds)
}

/// The text of a text or link.
pub fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Link(link) => Some(&link.target),
        _ => None,
    }
}

fn text_of(value: &Value) -> &str {
    match value {
        Value::Link(link) => link.display.as_deref().unwrap_or(&link.target),
        value => as_text(value).unwrap_or_default(),
    }
}

/// Whether a text is the link: its linkpath, or the whole link in brackets.
fn is_written(link: &Link, text: &str) -> bool {
    if *text == *link.target || text == link.path() {
        return true;
    }
    let inner = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    inner.is_some_and(|inner| {
        let target = inner.split_once('|').map_or(inner, |(target, _)| target).trim();
        *target == *link.target || linkpath(target) == link.path()
    })
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::Date(_) => 1,
        Value::Duration(_) => 2,
        Value::Bool(_) => 3,
        Value::Text(_) | Value::Link(_) => 4,
        Value::File(_) => 5,
        Value::List(_) => 6,
        Value::Object(_) => 7,
        Value::Pattern(_) => 8,
        Value::Error(_) => 9,
        Value::Null => 10,
    }
}
