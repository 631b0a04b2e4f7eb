//! The allowed names and values of properties.

use serde_json::Value;

use super::super::yaml;
use super::{MAX_NAME_BYTES, PropertyError};
use crate::note::fold::fold_key;
use crate::note::tag;

/// Properties that Obsidian always treats as lists.
const LISTS: [&str; 3] = ["tags", "aliases", "cssclasses"];

pub(super) fn checked_name(name: &str) -> Result<&str, PropertyError> {
    let reason = match name {
        _ if name.trim().is_empty() => "it is empty",
        _ if name.trim() != name => "it begins or ends with a blank",
        _ if name.len() > MAX_NAME_BYTES => "it is too long",
        _ if name.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) => {
            "it holds a character that cannot be seen"
        }
        _ => return Ok(name),
    };
    Err(PropertyError::Name { name: name.escape_debug().to_string(), reason })
}

/// The value as it will be read back: list properties become lists, tags are checked.
pub(super) fn normal(name: &str, value: &Value) -> Result<Value, PropertyError> {
    let fault = |reason: String| PropertyError::Value { name: name.to_owned(), reason };
    let key = fold_key(name);
    let value = match value {
        Value::String(text) if key == "tags" => tags_in(text),
        Value::Array(_) | Value::Null => value.clone(),
        one if LISTS.contains(&&*key) => Value::Array(vec![one.clone()]),
        one => one.clone(),
    };
    let sound = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => {
            Err(fault("is a list or an object inside another, which no property holds".to_owned()))
        }
        Value::Number(number) if yaml::plain(&number.to_string()) != *value => {
            Err(fault(format!("is the number {number}, which is too large to be kept exactly")))
        }
        _ => Ok(()),
    };
    let Value::Array(items) = &value else {
        sound(&value)?;
        return Ok(value);
    };
    items.iter().try_for_each(sound)?;
    if key != "tags" {
        return Ok(value);
    }
    let mut tags: Vec<&str> = Vec::new();
    for item in items {
        let tag = item.as_str().map(|text| text.trim()).unwrap_or_default();
        let tag = tag.strip_prefix('#').unwrap_or(tag);
        if !tag::is_name(tag) {
            let reason = "which is not a tag: tags are made of letters, digits, `_`, `-` and `/`, \
                          not of digits alone";
            return Err(fault(format!("holds {item}, {reason}")));
        }
        if !tags.iter().any(|known| tag::key(known) == tag::key(tag)) {
            tags.push(tag);
        }
    }
    Ok(tags.into())
}

/// The tags of a text, separated by commas or spaces as in reading.
fn tags_in(text: &str) -> Value {
    let tags = text.split([',', ' ', '\t', '\n']).filter(|tag| !tag.is_empty());
    tags.map(|tag| Value::String(tag.to_owned())).collect()
}
