//! Compiling patterns as `rg` does, with limits.

use std::sync::Mutex;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast;
use regex_syntax::hir::{self, Hir};

use super::Limit;
use super::long::{Interruptible, MAX_WORKING, Walker};
use crate::index::text::plan::Plan;
use crate::index::text::strings::plan_of;
use crate::locks::lock;

/// Maximum length of a pattern in characters. Longer ones are lists and take seconds to compile.
pub const MAX_PATTERN: usize = 1_000;

/// Maximum size of a compiled pattern in bytes, as in ripgrep: `\w{1000}` takes seventy megabytes and half a
/// second.
const MAX_COMPILED: usize = 100 << 20;

/// Maximum size of a pattern that is compiled in parallel with others: `\w{30}` takes four megabytes and 20 ms.
const MAX_BESIDE: usize = 10 << 20;

/// Held while a larger pattern is compiled, to limit memory.
static LARGE: Mutex<()> = Mutex::new(());

/// Maximum nesting of groups.
const NEST_LIMIT: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It would match every line.
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern has {length} characters; the limit is {MAX_PATTERN}")]
    TooLong { length: usize },
    #[error("the pattern is too large once its repetitions are written out")]
    TooLarge,
    #[error("the pattern is not a valid regular expression: {reason} (column {column})")]
    Syntax {
        reason: String,
        /// Position of the error in characters, from 1.
        column: usize,
        /// The pattern with a mark below the error.
        shown: String,
    },
}

impl PatternError {
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

pub struct Pattern {
    matcher: RegexMatcher,
    plan: Plan,
    walker: Walker,
    begins_at_characters: bool,
}

impl Pattern {
    /// Compiles a pattern. `ignore_case`: whether case is ignored; `None`: unless it has a capital.
    pub fn compile(pattern: &str, ignore_case: Option<bool>) -> Result<Self, PatternError> {
        let length = pattern.chars().count();
        if length == 0 {
            return Err(PatternError::Empty);
        }
        if length > MAX_PATTERN {
            return Err(PatternError::TooLong { length });
        }
        let build = |crlf: bool, size: usize| {
            let mut builder = RegexMatcherBuilder::new();
            builder
                .case_smart(ignore_case.is_none())
                .case_insensitive(ignore_case == Some(true))
                .multi_line(true)
                .crlf(crlf)
                .size_limit(size)
                .dfa_size_limit(MAX_WORKING)
                .nest_limit(NEST_LIMIT);
            if !crlf {
                builder.line_terminator(Some(b'\n'));
            }
            builder.build(pattern)
        };
        // A carriage return before a newline is part of the line end, unless the pattern has one.
        let compile = |size: usize| match build(true, size) {
            Ok(matcher) => Ok((matcher, true)),
            Err(error) if is_too_large(&error) => Err(error),
            Err(_) => build(false, size).map(|matcher| (matcher, false)),
        };
        let compiled = compile(MAX_BESIDE).or_else(|error| {
            if !is_too_large(&error) {
                return Err(error);
            }
            let _alone = lock(&LARGE);
            compile(MAX_COMPILED)
        });
        let (matcher, crlf) = compiled.map_err(|error| explain(pattern, &error))?;
        // If the two parsers ever differ, all notes are candidates.
        let hir = parse(pattern, ignore_case, crlf);
        let plan = hir.as_ref().map_or(Plan::All, plan_of);
        let begins_at_characters = hir.as_ref().map(Hir::properties).is_some_and(|properties| {
            properties.is_utf8() && properties.minimum_len().is_some_and(|least| least > 0)
        });
        let walker = Walker::new(hir, MAX_COMPILED);
        Ok(Self { matcher, plan, walker, begins_at_characters })
    }

    /// Whether no match begins within a character of valid UTF-8.
    pub(super) fn begins_at_characters(&self) -> bool {
        self.begins_at_characters
    }

    /// The condition for the signature of a matching text.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether a line matches; without its line end.
    #[cfg(any(test, feature = "conformance"))]
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.matcher.is_match(line).unwrap_or(false)
    }

    pub(super) fn line_terminator(&self) -> LineTerminator {
        self.matcher.line_terminator().unwrap_or_default()
    }

    pub(super) fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    /// About the number of places in the pattern with repetitions unrolled, with which its working memory grows.
    pub(super) fn places(&self) -> usize {
        self.walker.places()
    }

    /// Maximum bytes of a line in which a match can be located without checking the time.
    pub(super) fn at_once(&self) -> usize {
        self.walker.at_once()
    }

    /// A matcher that stops when the time is over.
    pub(super) fn interruptible<'a>(&'a self, limit: &'a Limit) -> Interruptible<'a> {
        Interruptible { engine: &self.matcher, walker: &self.walker, limit }
    }
}

/// The pattern's syntax tree as in the engine, except for line ends, which lines do not have.
fn parse(pattern: &str, ignore_case: Option<bool>, crlf: bool) -> Option<Hir> {
    let pattern = format!("(?:{pattern})");
    let mut parser = ast::parse::ParserBuilder::new();
    let ast = parser.nest_limit(NEST_LIMIT + 1).build().parse(&pattern).ok()?;
    let ignore_case = ignore_case.unwrap_or_else(|| is_without_capital(&ast));
    let mut translator = hir::translate::TranslatorBuilder::new();
    translator.utf8(false).multi_line(true).crlf(crlf).case_insensitive(ignore_case);
    translator.build().translate(&pattern, &ast).ok()
}

/// Whether the pattern has literal characters, and no capital among them.
fn is_without_capital(ast: &ast::Ast) -> bool {
    #[derive(Default)]
    struct Literals {
        any: bool,
        capital: bool,
    }

    impl Literals {
        fn take(&mut self, literal: &ast::Literal) {
            self.any = true;
            self.capital |= literal.c.is_uppercase();
        }
    }

    impl ast::Visitor for Literals {
        type Output = bool;
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<bool, Self::Err> {
            Ok(self.any && !self.capital)
        }

        fn visit_pre(&mut self, ast: &ast::Ast) -> Result<(), Self::Err> {
            if let ast::Ast::Literal(literal) = ast {
                self.take(literal);
            }
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
            match item {
                ast::ClassSetItem::Literal(literal) => self.take(literal),
                ast::ClassSetItem::Range(range) => {
                    self.take(&range.start);
                    self.take(&range.end);
                }
                _ => {}
            }
            Ok(())
        }
    }

    let Ok(without_capital) = ast::visit(ast, Literals::default());
    without_capital
}

fn is_too_large(error: &grep_regex::Error) -> bool {
    error.to_string().contains("size limit")
}

/// Converts the engine's long message, which is about a wrapped pattern, into a reason and a position in the
/// given pattern.
fn explain(pattern: &str, error: &grep_regex::Error) -> PatternError {
    if is_too_large(error) {
        return PatternError::TooLarge;
    }
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    let (reason, column) = match parsed {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.kind().to_string(), error.span().start.column)
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start.column)
        }
        // Refused by the engine: a line end in a line-based search.
        _ => ("a match cannot reach over a line end".to_owned(), 1),
    };
    let shown = format!("{pattern}\n{}^", " ".repeat(column.saturating_sub(1)));
    PatternError::Syntax { reason, column, shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ripgrep accepts these patterns.
    #[test]
    fn repetitions_of_letters_are_no_large_patterns() {
        let word = "größe".repeat(6);
        for pattern in
            [r"\w{30}", r"\w{25,}", r"\p{L}{30,}", r"\b\w{1,20}\b \b\w{1,20}\b", r"\w{300}"]
        {
            let compiled = Pattern::compile(pattern, None);
            let compiled = compiled.unwrap_or_else(|error| panic!("{pattern}: {error}"));
            let matches = !pattern.contains(' ') && pattern != r"\w{300}";
            assert_eq!(compiled.is_match(word.as_bytes()), matches, "{pattern}");
        }
    }

    #[test]
    fn faults_are_named_with_their_place() {
        let error = |pattern: &str| Pattern::compile(pattern, None).err().expect("refused");
        let PatternError::Syntax { reason, column, .. } = error("note (draft") else {
            panic!("a syntax error");
        };
        assert_eq!((reason.as_str(), column), ("unclosed group", 6));
        assert!(error(r"a(?=b)").to_string().contains("look-around"), "{}", error(r"a(?=b)"));
        assert!(error(r"(a)\1").to_string().contains("backreference"), "{}", error(r"(a)\1"));
        assert_eq!(error(r"(\w{1000}){50}"), PatternError::TooLarge);
        assert_eq!(error("a{1000}{1000}{1000}"), PatternError::TooLarge);
        assert!(matches!(error(&"a|".repeat(600)), PatternError::TooLong { length: 1200 }));
        assert!(matches!(error(&"(".repeat(900)), PatternError::Syntax { .. }));
        assert_eq!(error(""), PatternError::Empty);
    }
}
