//! Obsidian's search language: queries as values, and whether a file matches one.
//!
//! No text is an error. Malformed parts are searched for literally, and [`Query::ignored`] says so.
//! The meaning is that of Obsidian's manual ("Search"). Where the manual is silent:
//! - A word matches anywhere in the text or path of a file, within longer words too.
//! - A word matches within a property's value, a quoted phrase matches the whole value. Numbers and
//!   checkboxes are compared as a whole. A property's name is always matched as a whole.
//! - Patterns are those of the crate `regex`, as in `search_files`: `^` and `$` match at the ends of
//!   lines; there is no look-around and there are no back references.
//!
//! In reading order: this file, `parse`, `holds`, `explain`.

mod explain;
mod holds;
mod parse;

use regex::Regex;

pub use holds::SearchedFile;
pub use parse::{MAX_PATTERNS, MAX_TERMS, parse};

/// A parsed query.
#[derive(Debug, Clone)]
pub struct Query {
    /// The words, and the words of phrases, that are searched for in text and path and are not negated.
    /// As typed, in order; they may repeat.
    pub words: Vec<String>,
    /// The condition for a file, including all words. That of an empty query is empty.
    pub filter: Filter,
    /// The whole query in plain English.
    pub understood: String,
    /// Parts that were probably not interpreted as intended, with the reason, as sentences.
    pub ignored: Vec<String>,
}

/// A condition for a file or a part of it.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All of these; true if there are none.
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// A word or phrase.
    Text(Text),
    Pattern(Pattern),
    /// A property's value below or above a bound.
    Compared(Comparison),
    /// A property without a value.
    Null,
    /// A condition for a place in the file.
    Within(SearchScope, Box<Filter>),
    Property {
        /// The condition for the property's name.
        name: Box<Filter>,
        /// The condition for its value or an item of its list; `None` for any value.
        value: Option<Box<Filter>>,
    },
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    /// `file:`, the name with its extension.
    FileName,
    /// `path:`
    Path,
    /// `content:`, the text.
    Content,
    /// `tag:`
    Tag,
    /// `line:`, one line.
    Line,
    /// `block:`, one block.
    Block,
    /// `section:`, the text from one heading to the next.
    Section,
    /// `task:`, one task, without those below it.
    Task,
    /// `task-todo:`
    OpenTask,
    /// `task-done:`
    DoneTask,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As typed, without quotes.
    text: String,
    /// The normalised form for comparison.
    key: String,
    match_case: bool,
    is_quoted: bool,
}

/// A regular expression to find.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    match_case: bool,
}

/// A bound of a property's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    is_less: bool,
    or_equal: bool,
    /// A number, or a date or the beginning of one.
    bound: String,
}

impl Default for Filter {
    /// A condition that every file meets.
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Whether the filter requires bare words at its top level.
    pub fn has_bare_words(&self) -> bool {
        match self {
            Self::All(parts) => parts.iter().any(Self::has_bare_words),
            other => other.is_only_words(),
        }
    }

    /// The filter without required bare words and groups of bare words, for searches that only rank by
    /// them. Phrases stay.
    pub fn without_words(&self) -> Filter {
        match self {
            Self::All(parts) => {
                let left = parts.iter().filter(|part| !part.is_only_words());
                let mut left: Vec<Self> = left.map(Self::without_words).collect();
                if left.len() == 1 { left.remove(0) } else { Self::All(left) }
            }
            only_words if only_words.is_only_words() => Self::All(Vec::new()),
            other => other.clone(),
        }
    }

    /// Whether every file meets the filter.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(parts) if parts.iter().all(Self::is_empty))
    }

    fn is_only_words(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_quoted && !text.match_case,
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::is_only_words),
            _ => false,
        }
    }

    fn words(&self, found: &mut Vec<String>) {
        match self {
            Self::Text(text) => found.extend(text.text.split_whitespace().map(str::to_owned)),
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.words(found));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
