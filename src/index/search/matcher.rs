//! The pattern: compiled as `rg` compiles it, within bounds.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Characters of the longest pattern. A longer one is a list in disguise and compiles for seconds.
pub const MAX_PATTERN: usize = 1_000;

/// Bytes of the largest compiled pattern: `\w{1000}` is refused in a tenth of a second instead of
/// growing.
const MAX_COMPILED: usize = 1 << 20;

/// Why a pattern cannot be searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is empty, and would match every line.
    #[error("the pattern is empty")]
    Empty,
    /// It has too many characters.
    #[error("the pattern has {length} characters; the limit is {MAX_PATTERN}")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// It would compile to too much.
    #[error("the pattern is too large once its repetitions are written out")]
    TooLarge,
    /// It is no regular expression.
    #[error("the pattern is not a valid regular expression: {reason} (column {column})")]
    Syntax {
        /// What is wrong.
        reason: String,
        /// Where, in characters from 1.
        column: usize,
        /// The pattern with a mark below the fault.
        shown: String,
    },
}

impl PatternError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => "give the text to look for; list_files lists files".to_owned(),
            Self::TooLong { .. } => "search for the parts one after the other".to_owned(),
            Self::TooLarge => "use smaller repetitions".to_owned(),
            Self::Syntax { shown, .. } => {
                format!("to search for these characters as text, put \\ before them:\n{shown}")
            }
        }
    }
}

pub(super) fn compile(
    pattern: &str,
    ignore_case: Option<bool>,
) -> Result<RegexMatcher, PatternError> {
    let length = pattern.chars().count();
    if length == 0 {
        return Err(PatternError::Empty);
    }
    if length > MAX_PATTERN {
        return Err(PatternError::TooLong { length });
    }
    RegexMatcherBuilder::new()
        .case_smart(ignore_case.is_none())
        .case_insensitive(ignore_case == Some(true))
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(8 << 20)
        .nest_limit(64)
        .build(pattern)
        .map_err(|error| explain(pattern, &error.to_string()))
}

/// From the engine's page-long message, which is about a pattern it has wrapped, to a reason and a
/// place in the pattern as given.
fn explain(pattern: &str, message: &str) -> PatternError {
    if message.contains("size limit") {
        return PatternError::TooLarge;
    }
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(64).build().parse(pattern);
    let (reason, column) = match parsed {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.kind().to_string(), error.span().start.column)
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start.column)
        }
        // What the engine refuses beyond the grammar: a line end in a search by lines.
        _ => ("a match cannot reach over a line end".to_owned(), 1),
    };
    let shown = format!("{pattern}\n{}^", " ".repeat(column.saturating_sub(1)));
    PatternError::Syntax { reason, column, shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_with_their_place() {
        let error = |pattern: &str| compile(pattern, None).expect_err("refused");
        let PatternError::Syntax { reason, column, .. } = error("note (draft") else {
            panic!("a syntax error");
        };
        assert_eq!((reason.as_str(), column), ("unclosed group", 6));
        assert!(error(r"a(?=b)").to_string().contains("look-around"), "{}", error(r"a(?=b)"));
        assert!(error(r"(a)\1").to_string().contains("backreference"), "{}", error(r"(a)\1"));
        assert_eq!(error(r"\w{1000}"), PatternError::TooLarge);
        assert_eq!(error("a{1000}{1000}"), PatternError::TooLarge);
        assert!(matches!(error(&"a|".repeat(600)), PatternError::TooLong { length: 1200 }));
        assert!(matches!(error(&"(".repeat(900)), PatternError::Syntax { .. }));
        assert_eq!(error(""), PatternError::Empty);
    }
}
