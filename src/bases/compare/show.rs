//! Values as text and as JSON.

use serde_json::{Map, Number, json};

use super::super::number_text;
use super::super::value::{Link, Value};
use super::Compare;

/// The longest text that an expression may create, in bytes.
pub const LONGEST_TEXT: usize = 1 << 20;

/// A text that would be longer than [`LONGEST_TEXT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text would be longer than 1 MB")]
pub struct TooLong;

impl Compare<'_> {
    /// The text of a value, as `toString()` gives it.
    pub fn text(&self, value: &Value) -> Result<String, TooLong> {
        let mut text = String::new();
        self.write(value, &mut text)?;
        Ok(text)
    }

    /// Appends a value's text to another.
    pub fn write(&self, value: &Value, text: &mut String) -> Result<(), TooLong> {
        match value {
            Value::Null => {}
            Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => text.push_str(&number_text::written(*number)),
            Value::Text(own) => text.push_str(own),
            Value::Date(date) => text.push_str(&self.times.written(*date)),
            Value::Duration(duration) => text.push_str(&duration.in_words()),
            Value::List(list) => {
                for (at, element) in list.iter().enumerate() {
                    text.push_str(if at > 0 { ", " } else { "" });
                    self.write(element, text)?;
                }
            }
            Value::Object(_) => text.push_str(&self.json(value).to_string()),
            Value::Link(link) => write_link(link, text),
            Value::File(file) => text.push_str(&self.source.path(*file)),
            Value::Pattern(pattern) => {
                text.extend(["/", &pattern.source, "/", &pattern.flags]);
            }
            Value::Error(error) => text.push_str(&error.message),
        }
        if text.len() > LONGEST_TEXT { Err(TooLong) } else { Ok(()) }
    }

    /// A value as JSON: dates in ISO 8601, durations in words, links as `[[…]]`, files as paths, an error as
    /// `{"error": …}`. A text over [`LONGEST_TEXT`] is an error too.
    pub fn json(&self, value: &Value) -> serde_json::Value {
        let mut left = LONGEST_TEXT;
        let json = self.json_within(value, &mut left);
        json.unwrap_or_else(|TooLong| json!({"error": TooLong.to_string()}))
    }

    fn json_within(&self, value: &Value, left: &mut usize) -> Result<serde_json::Value, TooLong> {
        let mut take = |bytes: usize| {
            *left = left.checked_sub(bytes).ok_or(TooLong)?;
            Ok(())
        };
        take(8)?;
        Ok(match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => json!(value),
            Value::Number(number) => json_number(*number),
            Value::Error(error) => json!({"error": error.message}),
            Value::List(list) => {
                let elements = list.iter().map(|element| self.json_within(element, left));
                serde_json::Value::Array(elements.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => {
                let mut map = Map::new();
                for (key, value) in &object.0 {
                    *left = left.checked_sub(key.len()).ok_or(TooLong)?;
                    map.insert(key.to_string(), self.json_within(value, left)?);
                }
                serde_json::Value::Object(map)
            }
            value => {
                let text = self.text(value)?;
                take(text.len())?;
                json!(text)
            }
        })
    }
}

/// Whole numbers without a fraction; NaN and infinities as null, as in JavaScript.
fn json_number(number: f64) -> serde_json::Value {
    if number == number.trunc() && number.abs() <= 9_007_199_254_740_992.0 {
        json!(number as i64)
    } else {
        Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
    }
}

fn write_link(link: &Link, text: &mut String) {
    if link.is_external {
        match &link.display {
            Some(display) => text.extend(["[", display, "](", &link.target, ")"]),
            None => text.push_str(&link.target),
        }
        return;
    }
    text.extend(["[[", &link.target]);
    if let Some(display) = &link.display {
        text.extend(["|", display]);
    }
    text.push_str("]]");
}
