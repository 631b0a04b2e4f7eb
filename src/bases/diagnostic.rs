//! Errors and warnings about expressions and bases, with their places: for people, and for models to correct them by.

use std::fmt::Write as _;
use std::ops::Deref;

use unicode_width::UnicodeWidthChar as _;

use super::ast::Span;

/// The most characters of a line that are shown around a mark.
const SHOWN: usize = 96;

/// The kind of a diagnostic, as a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    InvalidExpression,
    InvalidPattern,
    /// A filter is neither a text nor exactly one of `and`, `or` and `not`.
    InvalidFilter,
    /// The `.base` file is not YAML, or a key has an invalid value.
    InvalidBase,
    /// A workflow file is not YAML, or a key has an invalid value.
    InvalidWorkflow,
    /// The rule file is not YAML, or a rule is invalid.
    InvalidRule,
    /// A name that is invalid for files and folders.
    InvalidPath,
    OutsideVault,
    /// A folder that no tool may access, such as `.obsidian`.
    ProtectedPath,
    Circular,
    /// Nested deeper than 200.
    TooDeep,
    /// Longer than 64 KB, or over 10,000 nodes.
    TooLarge,
    /// An extension of ours in a place that Obsidian reads.
    Extension,
    /// An unknown function, field, formula or summary.
    UnknownName,
    /// No note has this property.
    UnknownProperty,
    /// A function is given too few or too many arguments, or arguments of the wrong type.
    WrongArguments,
    /// The expression probably does not mean what its author intended.
    Misleading,
    /// The syntax of an early version of Bases.
    Outdated,
}

// The stable word for programs.
words!(pub Kind::as_str {
    InvalidExpression => "invalid_expression", InvalidPattern => "invalid_pattern",
    InvalidFilter => "invalid_filter", InvalidBase => "invalid_base",
    InvalidWorkflow => "invalid_workflow", InvalidRule => "invalid_rule",
    InvalidPath => "invalid_path", OutsideVault => "outside_vault",
    ProtectedPath => "protected_path", Circular => "circular", TooDeep => "too_deep",
    TooLarge => "too_large", Extension => "extension", UnknownName => "unknown_name",
    UnknownProperty => "unknown_property", WrongArguments => "wrong_arguments",
    Misleading => "misleading", Outdated => "outdated",
});

/// Whether the expression can still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It runs but probably does not do what was intended.
    Warning,
    Error,
}

/// An error or warning with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
// Boxed, since a recursive parser returns it at every level.
pub struct Diagnostic(Box<Details>);

impl Deref for Diagnostic {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub kind: Kind,
    pub severity: Severity,
    pub message: String,
    /// The correction, or advice.
    pub hint: Option<String>,
    /// Bytes of the text.
    pub at: Span,
    /// From 1.
    pub line: u32,
    /// Characters of the line, from 1.
    pub column: u32,
    /// The line (shortened around the place if it is long) with the mark below it.
    excerpt: Box<str>,
}

impl Diagnostic {
    /// An error at a range of `text`, or at its end if the range exceeds it.
    pub fn error(kind: Kind, text: &str, at: Span, message: impl Into<String>) -> Self {
        Self::new(kind, Severity::Error, text, at, message.into())
    }

    pub fn warning(kind: Kind, text: &str, at: Span, message: impl Into<String>) -> Self {
        Self::new(kind, Severity::Warning, text, at, message.into())
    }

    /// Adds a hint; an empty one is none.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// Moves the diagnostic to an enclosing text that holds this text at byte `at`.
    pub fn moved_to(self, text: &str, at: Span) -> Self {
        let Details { kind, severity, message, hint, .. } = *self.0;
        let mut moved = Self::new(kind, severity, text, at, message);
        moved.0.hint = hint;
        moved
    }

    fn new(kind: Kind, severity: Severity, text: &str, at: Span, message: String) -> Self {
        let start = boundary(text, at.start as usize);
        let end = boundary(text, at.end as usize).max(start);
        let line = text[..start].matches('\n').count();
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let stop = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let column = text[begin..start].chars().count();
        Self(Box::new(Details {
            kind,
            severity,
            message,
            hint: None,
            at: start as u32..end as u32,
            line: line as u32 + 1,
            column: column as u32 + 1,
            excerpt: excerpt(&text[begin..start], &text[start..stop], end - start, line + 1),
        }))
    }

    /// The message with its place, then the line with the mark. Without the hint, which an error shows apart.
    pub fn described(&self, source: &str) -> String {
        let Details { line, column, message, excerpt, .. } = &*self.0;
        format!("{message} ({source}, line {line}, column {column})\n{excerpt}")
    }

    /// The diagnostic as printed on a terminal: place, message, line, mark and hint. `source` names the text: a file,
    /// an option.
    pub fn render(&self, source: &str) -> String {
        let mut shown = self.without_hint(source);
        if let Some(hint) = &self.hint {
            let _ = write!(shown, "\n  hint: {hint}");
        }
        shown
    }

    fn without_hint(&self, source: &str) -> String {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let Details { line, column, message, excerpt, .. } = &*self.0;
        format!("{source}:{line}:{column}: {severity}: {message}\n{excerpt}")
    }
}

fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
}

/// A line with a mark below it: `before` and `after` are the line's parts around its first byte.
fn excerpt(before: &str, after: &str, bytes: usize, line: usize) -> Box<str> {
    let tail: Vec<char> = before.chars().rev().take(SHOWN / 2 + 1).collect();
    let is_cut = tail.len() > SHOWN / 2;
    let left: String = tail[..tail.len().min(SHOWN / 2)].iter().rev().copied().map(plain).collect();
    let mut rest = after.trim_end_matches('\r').chars();
    let right: String = rest.by_ref().take(SHOWN / 2).map(plain).collect();
    let marked = after.get(..bytes).unwrap_or(after).chars().take(SHOWN / 2).map(plain);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let (first, last) = (dots(is_cut), dots(rest.next().is_some()));
    let margin = " ".repeat(line.to_string().len());
    let blank = " ".repeat(usize::from(is_cut) + width(left.chars()));
    let mark = "^".repeat(width(marked).max(1));
    format!("  {line} | {first}{left}{right}{last}\n  {margin} | {blank}{mark}").into()
}

/// Replaces a control character with a blank.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn width(text: impl Iterator<Item = char>) -> usize {
    text.map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, at: Span, expected: &str) {
        let error = Diagnostic::error(Kind::InvalidExpression, text, at, "no").hint("yes");
        assert_eq!(error.render("where"), expected);
    }

    #[test]
    fn the_mark_is_under_its_column() {
        check("a = 1", 2..3, "where:1:3: error: no\n  1 | a = 1\n    |   ^\n  hint: yes");
        check(
            "a\n\t日本 == \r\nb",
            10..12,
            "where:2:5: error: no\n  2 |  日本 == \n    |       ^^\n  hint: yes",
        );
        check("ab", 7..9, "where:1:3: error: no\n  1 | ab\n    |   ^\n  hint: yes");
    }

    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let text = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let shown = Diagnostic::error(Kind::TooLarge, &text, 500..501, "no").render("x");
        assert!(shown.starts_with("x:1:501: error: no\n"), "{shown}");
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1].find('!'), lines[2].find('^').map(|at| at + "…".len() - 1));
        assert!(lines[1].len() < 120, "{shown}");
    }
}
