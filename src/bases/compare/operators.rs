//! Binary operators.

use std::cmp::Ordering;

use super::super::ast::{Classic, Op};
use super::super::value::{Date, Duration, Outcome, Value};
use super::Compare;
use crate::note::fold::fold_key;

impl Compare<'_> {
    /// Applies an operator to two values that are not errors.
    pub(in crate::bases) fn operate(&self, op: Op, a: &Value, b: &Value) -> Outcome {
        Ok(Value::Bool(match op {
            Op::Equal => self.equal(a, b),
            Op::NotEqual => !self.equal(a, b),
            Op::Less => self.is_ordered(a, b, Ordering::is_lt)?,
            Op::LessOrEqual => self.is_ordered(a, b, Ordering::is_le)?,
            Op::Greater => self.is_ordered(a, b, Ordering::is_gt)?,
            Op::GreaterOrEqual => self.is_ordered(a, b, Ordering::is_ge)?,
            Op::Add => return self.add(a, b),
            Op::Subtract => return self.subtract(a, b),
            Op::Multiply => return scale(a, b, |a, b| a * b, |duration, by| duration.times(by)),
            Op::Divide => {
                return scale(a, b, |a, b| a / b, |duration, by| duration.times(1.0 / by));
            }
            Op::Remainder => {
                return match (a, b) {
                    (Value::Number(a), Value::Number(b)) => Ok(Value::Number(a % b)),
                    (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
                    _ => type_error(a, b),
                };
            }
        }))
    }

    fn is_ordered(&self, a: &Value, b: &Value, is: fn(Ordering) -> bool) -> Result<bool, String> {
        match self.order(a, b) {
            Ok(ordering) => Ok(ordering.is_some_and(is)),
            Err(_) => Err(message(a, b)),
        }
    }

    fn add(&self, a: &Value, b: &Value) -> Outcome {
        let written = written_duration(a, b);
        match (a, written.as_ref().unwrap_or(b)) {
            (Value::Number(a), Value::Number(b)) => Ok(Value::Number(a + b)),
            (Value::Date(date), Value::Duration(duration))
            | (Value::Duration(duration), Value::Date(date)) => self.moved(*date, duration, 1.0),
            (Value::Duration(a), Value::Duration(b)) => Ok(Value::Duration(a.plus(b))),
            (Value::List(a), Value::List(b)) => {
                let both: Vec<Value> = a.iter().chain(b.iter()).cloned().collect();
                Ok(Value::List(both.into()))
            }
            (Value::Text(_) | Value::Link(_), _) | (_, Value::Text(_) | Value::Link(_)) => {
                let mut text = self.text(a).map_err(|error| error.to_string())?;
                self.write(b, &mut text).map_err(|error| error.to_string())?;
                Ok(Value::text(text))
            }
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            _ => type_error(a, b),
        }
    }

    fn subtract(&self, a: &Value, b: &Value) -> Outcome {
        let written = written_duration(a, b);
        match (a, written.as_ref().unwrap_or(b)) {
            (Value::Number(a), Value::Number(b)) => Ok(Value::Number(a - b)),
            (Value::Date(a), Value::Date(b)) => {
                let millis = a.millis as f64 - b.millis as f64;
                Ok(Value::Duration(Duration { millis, ..Duration::default() }))
            }
            (Value::Date(date), Value::Duration(duration)) => self.moved(*date, duration, -1.0),
            (Value::Duration(a), Value::Duration(b)) => Ok(Value::Duration(a.plus(&b.times(-1.0)))),
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            _ => type_error(a, b),
        }
    }

    fn moved(&self, date: Date, duration: &Duration, sign: f64) -> Outcome {
        let date = self.times.plus(date, duration, sign);
        date.map(Value::Date).ok_or_else(|| "no calendar reaches that date".to_owned())
    }

    /// An operation of the classic dialect; see [`Classic`].
    pub(in crate::bases) fn classic(&self, op: Classic, a: &Value, b: &Value) -> Outcome {
        // A missing extension is null.
        let a = if matches!(a, Value::Text(text) if text.is_empty()) { &Value::Null } else { a };
        Ok(Value::Bool(match op {
            Classic::Equal => self.same(a, b),
            Classic::NotEqual => !self.same(a, b),
            Classic::Less => self.classic_order(a, b, Ordering::is_lt)?,
            Classic::LessOrEqual => self.classic_order(a, b, Ordering::is_le)?,
            Classic::Greater => self.classic_order(a, b, Ordering::is_gt)?,
            Classic::GreaterOrEqual => self.classic_order(a, b, Ordering::is_ge)?,
            Classic::In => match b {
                Value::List(list) => list.iter().any(|element| self.same(a, element)),
                _ => return Err("IN needs a list on its right".to_owned()),
            },
            Classic::Matches => match (a, b) {
                (Value::Text(text), Value::Pattern(pattern)) => pattern.regex.is_match(text),
                (Value::Null, _) => false,
                _ => return Err(message(a, b)),
            },
            Classic::Contains => holds_folded(a, b, |a, b| a.contains(b))?,
            Classic::StartsWith => holds_folded(a, b, |a, b| a.starts_with(b))?,
            Classic::EndsWith => holds_folded(a, b, |a, b| a.ends_with(b))?,
        }))
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Text(a), Value::Text(b)) => a == b || fold_key(a) == fold_key(b),
            (Value::Date(date), other) | (other, Value::Date(date)) => {
                classic_millis(other).is_some_and(|millis| millis == date.millis as f64)
            }
            (a, b) => self.equal(a, b),
        }
    }

    fn classic_order(
        &self,
        a: &Value,
        b: &Value,
        is: fn(Ordering) -> bool,
    ) -> Result<bool, String> {
        match (a, b) {
            (Value::Null, _) | (_, Value::Null) => Ok(false),
            (Value::Date(_), _) | (_, Value::Date(_)) => {
                match (classic_millis(a), classic_millis(b)) {
                    (Some(a), Some(b)) => Ok(a.partial_cmp(&b).is_some_and(is)),
                    _ => Err(message(a, b)),
                }
            }
            (Value::Text(_), Value::Number(_)) | (Value::Number(_), Value::Text(_)) => {
                Err(message(a, b))
            }
            _ => self.is_ordered(a, b, is),
        }
    }
}

/// The duration of a text that is added to a date or duration.
fn written_duration(a: &Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Date(_) | Value::Duration(_), Value::Text(text)) => {
            Duration::parse(text).map(Value::Duration)
        }
        _ => None,
    }
}

/// Milliseconds since 1970 of a date, a number of them, or ISO 8601 in UTC.
fn classic_millis(value: &Value) -> Option<f64> {
    match value {
        Value::Date(date) => Some(date.millis as f64),
        Value::Number(number) => Some(*number),
        Value::Text(text) => {
            super::super::date::Times::new(&chrono::Utc).parse(text).map(|date| date.millis as f64)
        }
        _ => None,
    }
}

fn holds_folded(a: &Value, b: &Value, holds: impl Fn(&str, &str) -> bool) -> Result<bool, String> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(false),
        (Value::Text(a), Value::Text(b)) => Ok(holds(&fold_key(a), &fold_key(b))),
        _ => Err(message(a, b)),
    }
}

fn scale(
    a: &Value,
    b: &Value,
    numbers: fn(f64, f64) -> f64,
    duration: fn(&Duration, f64) -> Duration,
) -> Outcome {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(Value::Number(numbers(*a, *b))),
        (Value::Duration(a), Value::Number(by)) => Ok(Value::Duration(duration(a, *by))),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        _ => type_error(a, b),
    }
}

fn type_error(a: &Value, b: &Value) -> Outcome {
    Err(message(a, b))
}

fn message(a: &Value, b: &Value) -> String {
    format!("Invalid operator between {} and {}", a.type_name(), b.type_name())
}
