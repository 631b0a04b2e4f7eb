//! A note's properties: the YAML between two lines of `---` at its very beginning.
//!
//! The block begins with the first byte (a byte-order mark before it is none of it) by `---` and a
//! newline; it ends with a line `---`, behind which blanks may stand, or with the file. What ends
//! with the file only is a block if it holds properties: else a note that begins with a rule would
//! be all YAML.
//!
//! Keys and values are found by the YAML parser's own positions, so that an edit of one property
//! leaves every other byte alone. In reading order: this page, `yaml` (reading), [`scalar`]
//! (spelling a value), [`edit`], [`scalars`] (every value of any YAML).

pub mod edit;
pub mod scalar;
pub mod scalars;
mod yaml;

pub(super) use yaml::marks;

use std::ops::Range;

use serde_json::Value;

use super::link::Link;

/// The largest block that is parsed, in bytes.
pub const MAX_BYTES: usize = 64 << 10;

/// One property.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Its key, unquoted.
    pub name: String,
    /// Its value. Dates are texts; so are numbers that JSON cannot hold.
    pub value: Value,
    /// The bytes of the key.
    pub key: Range<usize>,
    /// The bytes of the value, quotes included; empty where there is none. Those of a block list
    /// or mapping may have comments at their end.
    pub at: Range<usize>,
    /// The bytes of each item, where the value is a list.
    pub items: Vec<Range<usize>>,
}

/// Why a block's properties cannot be read. The note's body is read all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// It is no YAML.
    #[error("line {line} is no valid YAML: {reason}")]
    Syntax {
        /// The line of the note, from 1.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// YAML, but no mapping of keys to values.
    #[error("the frontmatter holds no keys with values")]
    NotAMapping,
    /// A key stands there twice.
    #[error("line {line} has the key `{key}` a second time")]
    DuplicateKey {
        /// The line of the note, from 1.
        line: usize,
        key: String,
    },
    /// Larger or deeper than anybody's properties.
    #[error("the frontmatter is too large to be read: {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
    },
}

/// A note's frontmatter.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter {
    /// All of it, both lines of `---` and the newline after the second included.
    pub range: Range<usize>,
    /// The YAML between them.
    pub yaml: Range<usize>,
    /// The properties in their order.
    pub properties: Result<Vec<Property>, FrontmatterError>,
    /// Links that are the whole of a value, in lists and mappings at any depth, be it in quotes or in
    /// lines of their own. Keys are none.
    pub links: Vec<Link>,
}

impl Frontmatter {
    /// The property of this name; case does not count.
    pub fn get(&self, name: &str) -> Option<&Property> {
        let properties = self.properties.as_ref().ok()?;
        properties.iter().find(|property| property.name.eq_ignore_ascii_case(name))
    }

    /// The tags that the property `tags` names.
    pub fn tags(&self) -> Vec<&str> {
        self.get("tags").map(|tags| super::tag::of_property(&tags.value)).unwrap_or_default()
    }

    /// The other names that the properties `aliases` and `alias` give: the texts of a list, or those between
    /// the commas of one text.
    pub fn aliases(&self) -> Vec<&str> {
        let properties = ["aliases", "alias"].into_iter().filter_map(|name| self.get(name));
        let names = properties.flat_map(|property| match &property.value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            Value::String(text) => text.split(',').collect(),
            _ => Vec::new(),
        });
        names.map(str::trim).filter(|name| !name.is_empty()).collect()
    }
}

/// Finds the frontmatter that begins at `start`, behind a byte-order mark.
pub fn find(text: &str, start: usize) -> Option<Frontmatter> {
    let first = text[start..].strip_prefix("---")?;
    let newline = if first.starts_with("\r\n") { 2 } else { usize::from(first.starts_with('\n')) };
    if newline == 0 {
        return None;
    }
    let begin = start + 3 + newline;
    let mut at = begin;
    for raw in text[begin..].split_inclusive('\n') {
        if raw.starts_with("---") && raw[3..].trim().is_empty() {
            return Some(block(text, start..at + raw.len(), begin..at));
        }
        at += raw.len();
    }
    let unclosed = block(text, start..text.len(), begin..text.len());
    matches!(&unclosed.properties, Ok(found) if !found.is_empty()).then_some(unclosed)
}

fn block(text: &str, range: Range<usize>, yaml: Range<usize>) -> Frontmatter {
    let mut links = Vec::new();
    let properties = yaml::read(text, yaml.clone(), &mut links);
    if properties.is_err() {
        links.clear();
    }
    Frontmatter { range, yaml, properties, links }
}

#[cfg(test)]
mod tests;
