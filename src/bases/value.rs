//! The values of expressions.

use std::sync::Arc;

use crate::note::fold::fold_key;

pub use super::duration::Duration;

/// A text that is shared and never changed.
pub type Text = Arc<str>;

/// Bytes of an expression's text.
pub type Span = std::ops::Range<u32>;

/// A value or an error. The caller knows the place in the text.
pub(super) type Outcome = Result<Value, String>;

/// The type of a value, as signatures of functions name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Any,
    Null,
    Bool,
    Number,
    Text,
    Date,
    Duration,
    List,
    Object,
    Link,
    File,
    Pattern,
    /// An expression that is evaluated for each element of a list, with `value` and `index` bound.
    PerElement,
}

/// A file of the source, by a number that is valid as long as that source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A value. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Text(Text),
    Date(Date),
    Duration(Duration),
    List(Arc<[Value]>),
    Object(Arc<Object>),
    Link(Arc<Link>),
    File(FileId),
    Pattern(Arc<Pattern>),
    /// An error. Operators and methods pass it on like a value.
    Error(Arc<EvalError>),
}

impl Value {
    /// A text, from any kind of string.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// Whether the value counts as true. Null, `false`, 0, NaN, `""`, an empty list, an object without keys and errors
    /// do not.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Null | Self::Error(_) => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Object(object) => !object.0.is_empty(),
            _ => true,
        }
    }

    /// Whether the value is empty: null, `""`, an empty list, an object without keys.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Object(object) => object.0.is_empty(),
            Self::Number(number) => number.is_nan(),
            _ => false,
        }
    }

    /// The type as signatures name it; of an error, that of null.
    pub fn kind(&self) -> Type {
        match self {
            Self::Null | Self::Error(_) => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Number(_) => Type::Number,
            Self::Text(_) => Type::Text,
            Self::Date(_) => Type::Date,
            Self::Duration(_) => Type::Duration,
            Self::List(_) => Type::List,
            Self::Object(_) => Type::Object,
            Self::Link(_) => Type::Link,
            Self::File(_) => Type::File,
            Self::Pattern(_) => Type::Pattern,
        }
    }

    /// The type as Obsidian's messages name it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Bool(_) => "Boolean",
            Self::Number(_) => "Number",
            Self::Text(_) => "String",
            Self::Date(_) => "Date",
            Self::Duration(_) => "Duration",
            Self::List(_) => "List",
            Self::Object(_) => "Object",
            Self::Link(_) => "Link",
            Self::File(_) => "File",
            Self::Pattern(_) => "RegExp",
            Self::Error(_) => "Error",
        }
    }
}

/// A moment, or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Milliseconds since 1970 in UTC. A day without a time is its midnight in the evaluation's time zone.
    pub millis: i64,
    /// Whether the date was written with a time, and is printed with one.
    pub has_time: bool,
}

/// Keys and their values, in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub struct Object(pub Vec<(Text, Value)>);

impl Object {
    /// The value of a key: exact, else ignoring case.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let exact = self.0.iter().find(|(name, _)| &**name == key);
        let found = exact.or_else(|| {
            let folded = fold_key(key);
            self.0.iter().find(|(name, _)| fold_key(name) == folded)
        });
        found.map(|(_, value)| value)
    }
}

/// A link as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target as written, with its `#heading` or `#^block`.
    pub target: Text,
    /// The display text, if the link has one.
    pub display: Option<Text>,
    /// The file that contains the link, from which it is resolved.
    pub from: Option<FileId>,
    /// Whether the target is a web address.
    pub is_external: bool,
}

impl Link {
    /// Parses a link from a linkpath, `[[linkpath|display]]` or a web address.
    pub fn of_text(text: &str, from: Option<FileId>) -> Self {
        let text = text.trim();
        let bare = text.strip_prefix('!').unwrap_or(text);
        let inner = bare.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let (target, display) = match inner.map(|inner| (inner, inner.split_once('|'))) {
            None => (text, None),
            Some((inner, None)) => (inner, None),
            Some((_, Some((target, display)))) => (target, Some(display.trim().into())),
        };
        let target = target.trim();
        Self { target: target.into(), display, from, is_external: has_scheme(target) }
    }

    /// The target without heading or block.
    pub fn path(&self) -> &str {
        linkpath(&self.target)
    }
}

/// A link's target without heading or block.
pub fn linkpath(target: &str) -> &str {
    target.split_once('#').map_or(target, |(path, _)| path).trim_end()
}

/// Whether a target is a web address: `https://…`, `mailto:…`.
fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else { return false };
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
}

/// A regular expression with JavaScript's flags, on an engine that runs in linear time.
#[derive(Debug)]
pub struct Pattern {
    /// As written between the slashes.
    pub source: Text,
    pub flags: Text,
    pub regex: regex::Regex,
}

impl Pattern {
    /// Whether `replace` and `split` take all matches and not the first one (flag `g`).
    pub fn is_global(&self) -> bool {
        self.flags.contains('g')
    }
}

/// Why an expression has no value for a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    pub message: String,
    pub at: Span,
}
