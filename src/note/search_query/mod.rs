//! Obsidian's search language: what a person types into the search field, as a value, and whether a
//! file is what it asks for.
//!
//! No text is an error. What cannot be read is searched for as it stands, and [`Query::ignored`]
//! says so. The meaning is that of Obsidian's manual ("Search"). Where that is silent:
//! - A word is met anywhere in the text or the path of a file, within longer words too.
//! - A word of a property's value is met within the value; a phrase in quotes is the whole value. A
//!   number or a checkbox is compared as a whole. The name of a property is always a whole name.
//! - A pattern is one of the crate `regex`, as in `search_files`: `^` and `$` are at the ends of
//!   lines, nothing looks around or refers back.
//!
//! In reading order: this file, `parse`, `holds`, `explain`.

mod explain;
mod holds;
mod parse;

use regex::Regex;

pub use holds::SearchedFile;
pub use parse::{MAX_PATTERNS, MAX_TERMS, parse};

/// A query as it was read.
#[derive(Debug, Clone)]
pub struct Query {
    /// The words and the words of the phrases that are searched for in text and path alike, outside
    /// of negations. They are as they were typed, in their order, and may repeat.
    pub words: Vec<String>,
    /// What a file must be like, all the words included. The empty query asks for nothing.
    pub filter: Filter,
    /// The whole query in plain English.
    pub understood: String,
    /// What was not read as it may have been meant, with the reason, in sentences.
    pub ignored: Vec<String>,
}

/// What a file, or a part of it, must be like.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All of these; none asks for nothing.
    All(Vec<Filter>),
    /// One of these at least.
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// A word or phrase.
    Text(Text),
    /// A match of a regular expression.
    Pattern(Pattern),
    /// A property's value below or above a bound.
    Compared(Comparison),
    /// A property without a value.
    Null,
    /// This in a certain place.
    Within(Place, Box<Filter>),
    Property {
        /// What its name must be.
        name: Box<Filter>,
        /// What its value must be, or one item of a list; `None` if it does not matter.
        value: Option<Box<Filter>>,
    },
}

/// Where something is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
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

/// A word or phrase to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As typed, without quotes.
    text: String,
    /// The form in which it is compared.
    key: String,
    match_case: bool,
    is_quoted: bool,
}

/// A regular expression to be found.
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
    /// Asks for nothing.
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Whether all of it asks for bare words, besides what else it asks for.
    pub fn has_bare_words(&self) -> bool {
        match self {
            Self::All(parts) => parts.iter().any(Self::has_bare_words),
            other => other.is_only_words(),
        }
    }

    /// What is left where bare words only rank: the same without the words, and the groups of
    /// nothing but words, that all of it asks for. Phrases stay.
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

    /// Whether it asks for nothing.
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
