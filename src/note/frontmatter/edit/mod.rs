//! Edits properties in the text: only the lines of the changed property change, every other byte
//! stays.
//!
//! Comments, order, quotes, indentation and line endings are preserved. The result is parsed again
//! and must hold exactly the expected properties, so anything unforeseen (anchors, odd layouts)
//! ends in an error and never in damage. Unreadable frontmatter is never repaired.
//!
//! In reading order: this file, `value` (allowed values), `block` (the lines of a property),
//! `list`.

mod block;
mod error;
mod list;
mod value;

pub use error::PropertyError;

use serde_json::Value;

use super::{Frontmatter, Property, find};
use crate::note::fold::fold_key;
use crate::note::text::Eol;
use block::Block;

/// The longest name of a new property, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct PropertyChange {
    /// The name. An existing property is matched ignoring case and keeps its spelling.
    pub name: String,
    /// The value; `None` removes the property.
    pub value: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// The changed properties, as they are spelt.
    pub set: Vec<String>,
    pub removed: Vec<String>,
    /// The properties that already had the value, or did not exist to be removed.
    pub unchanged: Vec<String>,
}

/// Changes properties of a note's text, in the given order.
///
/// # Errors
/// [`PropertyError`]; either all changes are made or none.
pub fn apply(text: &str, changes: &[PropertyChange]) -> Result<Edited, PropertyError> {
    let mut edited = Edited { text: text.to_owned(), ..Edited::default() };
    for change in changes {
        let name = value::checked_name(&change.name)?;
        let new_value =
            change.value.as_ref().map(|new_value| value::normal(name, new_value)).transpose()?;
        one(&mut edited, name, new_value)?;
    }
    Ok(edited)
}

/// Makes one change with the exact value: checks no tags, turns nothing into a list.
pub(in crate::note) fn apply_exactly(
    text: &str,
    change: &PropertyChange,
) -> Result<Edited, PropertyError> {
    let mut edited = Edited { text: text.to_owned(), ..Edited::default() };
    one(&mut edited, &change.name, change.value.clone())?;
    Ok(edited)
}

/// Makes one change; leaves `edited` unchanged on an error.
fn one(edited: &mut Edited, name: &str, new_value: Option<Value>) -> Result<(), PropertyError> {
    let text = &edited.text;
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let found = find(text, start);
    let properties = properties(found.as_ref())?;
    let place = position(properties, name)?;
    let was = place.map(|at| &properties[at]);
    let spelt = was.map_or(name, |was| &was.name).to_owned();
    if was.map(|was| &was.value) == new_value.as_ref() {
        edited.unchanged.push(spelt);
        return Ok(());
    }
    let new = match (&found, place, &new_value) {
        (None, _, Some(new_value)) => render_property(text, start, name, new_value)?,
        (Some(found), None, Some(new_value)) => Block::new(text, found)?.add(name, new_value)?,
        (Some(found), Some(at), Some(new_value)) => Block::new(text, found)?.set(at, new_value)?,
        (Some(found), Some(at), None) => Block::new(text, found)?.remove(at)?,
        (_, None, None) => unreachable!("what is not there is as it should be"),
        (None, Some(_), _) => unreachable!("a property stands in a block"),
    };
    let mut expected: Vec<(String, Value)> =
        properties.iter().map(|p| (p.name.clone(), p.value.clone())).collect();
    match (place, new_value) {
        (Some(at), Some(new_value)) => {
            expected[at].1 = new_value;
            edited.set.push(spelt.clone());
        }
        (Some(at), None) => {
            expected.remove(at);
            edited.removed.push(spelt.clone());
        }
        (None, new_value) => {
            expected.extend(new_value.map(|new_value| (spelt.clone(), new_value)));
            edited.set.push(spelt.clone());
        }
    }
    let body = found.as_ref().map_or(&text[start..], |found| &text[found.range.end..]);
    check(&new, start, &expected, body)
        .map_err(|reason| PropertyError::Unsafe { name: spelt, reason })?;
    edited.text = new;
    Ok(())
}

fn properties(found: Option<&Frontmatter>) -> Result<&[Property], PropertyError> {
    match found.map(|found| &found.properties) {
        None => Ok(&[]),
        Some(Ok(properties)) => Ok(properties),
        Some(Err(error)) => Err(PropertyError::Unreadable(error.clone())),
    }
}

/// The property with this exact name, otherwise the one that differs only in case.
fn position(properties: &[Property], name: &str) -> Result<Option<usize>, PropertyError> {
    if let Some(exact) = properties.iter().position(|property| property.name == name) {
        return Ok(Some(exact));
    }
    let key = fold_key(name);
    let mut alike = (0..properties.len()).filter(|at| fold_key(&properties[*at].name) == key);
    match (alike.next(), alike.next()) {
        (Some(first), Some(second)) => Err(PropertyError::Several {
            name: name.to_owned(),
            first: properties[first].name.clone(),
            second: properties[second].name.clone(),
        }),
        (first, _) => Ok(first),
    }
}

/// The text with a new block of one property before it.
fn render_property(
    text: &str,
    start: usize,
    name: &str,
    new_value: &Value,
) -> Result<String, PropertyError> {
    let mut lines = text[start..].lines();
    let opens = lines.next().is_some_and(|line| line.trim_end() == "---");
    let next = lines.find(|line| !line.trim().is_empty());
    if opens && next.is_some_and(|line| line.contains(": ") || line.trim_end().ends_with(':')) {
        return Err(PropertyError::Unclosed);
    }
    let eol = Eol::first_in(&text[start..]).unwrap_or(Eol::Lf).as_str();
    let lines = block::property_lines("", name, new_value, "  ", eol);
    Ok(format!("{}---{eol}{lines}---{eol}{}", &text[..start], &text[start..]))
}

/// Parses the result; the error says what is wrong with it.
pub(in crate::note) fn check(
    new: &str,
    start: usize,
    expected: &[(String, Value)],
    body: &str,
) -> Result<(), String> {
    let found = find(new, start);
    let properties = match found.as_ref().map(|found| &found.properties) {
        None => &[][..],
        Some(Ok(properties)) => properties,
        Some(Err(error)) => return Err(error.to_string()),
    };
    let same = properties.len() == expected.len()
        && properties
            .iter()
            .zip(expected)
            .all(|(p, (name, value))| p.name == *name && p.value == *value);
    if !same {
        return Err("the other properties would not stay what they are".to_owned());
    }
    let rest = found.as_ref().map_or(&new[start..], |found| &new[found.range.end..]);
    if rest == body { Ok(()) } else { Err("the text below would not stay what it is".to_owned()) }
}

#[cfg(test)]
mod tests;
