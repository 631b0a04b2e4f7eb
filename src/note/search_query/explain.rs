//! A filter in plain English, as Obsidian's "Explain search term" has it.

use std::fmt::{self, Display, Formatter};

use super::{Comparison, Filter, Pattern, SearchScope, Text};

/// The phrase after "with": `"meeting" and not "work"`.
impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(parts) if parts.is_empty() => f.write_str("anything"),
            Self::All(parts) => join(f, parts, " and "),
            Self::Any(parts) => join(f, parts, " or "),
            Self::Not(filter) => write!(f, "not {}", Nested(filter)),
            Self::Text(text) => text.fmt(f),
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Compared(comparison) => comparison.fmt(f),
            Self::Null => f.write_str("no value"),
            Self::Within(place, filter) => {
                let inner = Nested(filter);
                match place {
                    SearchScope::FileName => write!(f, "{inner} in the file name"),
                    SearchScope::Path => write!(f, "{inner} in the path"),
                    SearchScope::Content => write!(f, "{inner} in the content"),
                    SearchScope::Tag => write!(f, "the tag {inner}"),
                    SearchScope::Line => write!(f, "a line with {inner}"),
                    SearchScope::Block => write!(f, "a block with {inner}"),
                    SearchScope::Section => write!(f, "a section with {inner}"),
                    SearchScope::Task => write!(f, "a task with {inner}"),
                    SearchScope::OpenTask => write!(f, "an open task with {inner}"),
                    SearchScope::DoneTask => write!(f, "a done task with {inner}"),
                }
            }
            Self::Property { name, value: None } => write!(f, "the property {}", Nested(name)),
            Self::Property { name, value: Some(value) } => {
                write!(f, "the property {} with {}", Nested(name), Nested(value))
            }
        }
    }
}

impl Filter {
    /// The filter in plain English: `files with "meeting" and not "work"`.
    pub fn sentence(&self) -> String {
        match self {
            Self::Not(filter) => format!("files without {}", Nested(filter)),
            filter if filter.is_empty() => "all files".to_owned(),
            filter => format!("files with {filter}"),
        }
    }
}

fn join(f: &mut Formatter<'_>, parts: &[Filter], between: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        let between = if at == 0 { "" } else { between };
        write!(f, "{between}{}", Nested(part))?;
    }
    Ok(())
}

/// A filter within another, in parentheses if it has several parts.
struct Nested<'f>(&'f Filter);

impl Display for Nested<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Filter::All(parts) | Filter::Any(parts) if parts.len() > 1 => write!(f, "({})", self.0),
            other => other.fmt(f),
        }
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let case = if self.match_case { " in this case" } else { "" };
        write!(f, "\"{}\"{case}", self.text)
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let case = if self.match_case { " in this case" } else { "" };
        write!(f, "a match of /{}/{case}", self.regex)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let how = match (self.is_less, self.or_equal) {
            (true, false) => "a value less than",
            (true, true) => "a value of at most",
            (false, false) => "a value more than",
            (false, true) => "a value of at least",
        };
        write!(f, "{how} {}", self.bound)
    }
}
