//! A note's properties: the YAML between two `---` lines at its beginning.
//!
//! The block begins with the first byte (after a byte-order mark) by `---` and a newline; it ends
//! with a `---` line, which may have trailing spaces, or with the file. An unclosed block counts
//! only if it holds properties; otherwise a note that begins with a horizontal rule would be YAML
//! throughout.
//!
//! The YAML parser's positions locate keys and values, so that an edit of one property leaves every
//! other byte unchanged. In reading order: this file, `yaml` (reading), [`scalar`] (writing a
//! value), [`edit`], [`scalars`] (all values of any YAML).

pub mod edit;
pub mod scalar;
pub mod scalars;
mod yaml;

pub(super) use yaml::{marks, plain};

use std::ops::Range;

use serde_json::Value;

use super::link::Link;

/// The largest parsed block, in bytes.
pub const MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    /// Dates are strings; so are numbers that JSON cannot hold.
    pub value: Value,
    pub key: Range<usize>,
    /// The byte range of the value with its quotes; empty for an empty value. The range of a block
    /// list or mapping may end with comments.
    pub at: Range<usize>,
    /// The byte range of each item of a list.
    pub items: Vec<Range<usize>>,
}

/// Why a block's properties cannot be read. The note's body stays readable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The block is not valid YAML.
    #[error("line {line} is not valid YAML: {reason}")]
    Syntax {
        /// 1-based line of the note.
        line: usize,
        reason: String,
    },
    /// YAML, but not a mapping.
    #[error("the frontmatter has no keys with values")]
    NotAMapping,
    /// Two properties have the same key.
    #[error("line {line} has the key `{key}` a second time")]
    DuplicateKey {
        /// 1-based line of the note.
        line: usize,
        key: String,
    },
    /// Larger or deeper than allowed.
    #[error("the frontmatter is too large to be read: {what}")]
    TooLarge {
        /// The limit that is exceeded.
        what: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter {
    /// The whole block with both `---` lines and the newline after the second.
    pub range: Range<usize>,
    pub yaml: Range<usize>,
    pub properties: Result<Vec<Property>, FrontmatterError>,
    /// Links that are a whole value, in lists and mappings at any depth, quoted or in a block
    /// scalar. Keys do not count.
    pub links: Vec<Link>,
}

impl Frontmatter {
    /// The property with this name, ignoring ASCII case.
    pub fn get(&self, name: &str) -> Option<&Property> {
        let properties = self.properties.as_ref().ok()?;
        properties.iter().find(|property| property.name.eq_ignore_ascii_case(name))
    }

    /// The tags in the property `tags`.
    pub fn tags(&self) -> Vec<&str> {
        self.get("tags").map(|tags| super::tag::of_property(&tags.value)).unwrap_or_default()
    }

    /// The names in the properties `aliases` and `alias`: the items of a list, or the
    /// comma-separated parts of a text.
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

/// Finds the frontmatter that begins at `start`, after a byte-order mark.
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

impl Frontmatter {
    /// Whether a `---` line ends it.
    pub fn is_closed(&self) -> bool {
        self.yaml.end < self.range.end
    }
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
