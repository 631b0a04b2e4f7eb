//! The scanner of the classic dialect: words, signs and values, as the parser requests them.

use super::super::ast::Span;
use super::super::diagnostic::{Diagnostic, Kind};
use super::super::token::span;

/// Units of sizes with their power of 1024.
const SIZES: [(&str, i32); 9] =
    [("b", 0), ("k", 1), ("kb", 1), ("m", 2), ("mb", 2), ("g", 3), ("gb", 3), ("t", 4), ("tb", 4)];

/// Reads a text from its start.
pub(super) struct Scanner<'s> {
    pub(super) source: &'s str,
    /// The byte after the last token and the blanks that follow it.
    pub(super) at: usize,
}

impl<'s> Scanner<'s> {
    /// The text that is not read yet.
    pub(super) fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub(super) fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// The next character, or the end.
    pub(super) fn here(&self) -> Span {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        span(self.at, self.at + length)
    }

    pub(super) fn fault(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Kind::InvalidExpression, self.source, at, message)
    }

    /// A fault at the next sign.
    pub(super) fn fault_here(&self, message: impl Into<String>) -> Diagnostic {
        self.fault(self.here(), message)
    }

    /// Takes `sign` if it comes next, and gives its place.
    pub(super) fn sign(&mut self, sign: &str) -> Option<Span> {
        let at = self.rest().starts_with(sign).then(|| span(self.at, self.at + sign.len()))?;
        self.at += sign.len();
        self.blanks();
        Some(at)
    }

    pub(super) fn word(&self) -> &'s str {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return "";
        }
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        &rest[..length.unwrap_or(rest.len())]
    }

    /// Takes the next word if it is this one, in any case.
    pub(super) fn keyword(&mut self, keyword: &str) -> Option<Span> {
        let word = self.word();
        word.eq_ignore_ascii_case(keyword).then(|| self.take_word(word))
    }

    pub(super) fn take_word(&mut self, word: &str) -> Span {
        let at = span(self.at, self.at + word.len());
        self.at += word.len();
        self.blanks();
        at
    }

    pub(super) fn number(&mut self) -> Result<(f64, Span), Diagnostic> {
        let start = self.at;
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(rest);
        if let Some(fraction) = rest[length..].strip_prefix('.') {
            length += if digits(fraction) > 0 { 1 + digits(fraction) } else { 0 };
        }
        let mut number: f64 = rest[..length].parse().unwrap_or(f64::INFINITY);
        self.at += length;
        let unit = self.word();
        if !unit.is_empty() {
            let Some((_, power)) = SIZES.iter().find(|(size, _)| size.eq_ignore_ascii_case(unit))
            else {
                let at = span(self.at, self.at + unit.len());
                let error = self.fault(at, format!("`{unit}` is not a unit of sizes"));
                return Err(error.hint("there are `B`, `KB`, `MB`, `GB` and `TB`"));
            };
            number *= 1024_f64.powi(*power);
            self.at += unit.len();
        }
        let at = span(start, self.at);
        self.blanks();
        Ok((number, at))
    }

    /// Takes a quoted text. Unknown escapes keep their backslash.
    pub(super) fn text(&mut self) -> Result<(String, Span), Diagnostic> {
        let start = self.at;
        let mut chars = self.rest().char_indices();
        let Some((_, quote @ ('"' | '\''))) = chars.next() else {
            return Err(self
                .fault(self.here(), "a text is missing here")
                .hint("write it in quotes"));
        };
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, c @ ('\\' | '"' | '\''))) => text.push(c),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => break,
                },
                c if c == quote => {
                    self.at = start + offset + 1;
                    let at = span(start, self.at);
                    self.blanks();
                    return Ok((text, at));
                }
                c => text.push(c),
            }
        }
        let error = self.fault(span(start, start + 1), "this text is not closed");
        Err(error.hint(format!("write `{quote}` at its end")))
    }
}
