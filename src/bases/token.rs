//! The tokenizer.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;

use super::ast::Span;
use super::diagnostic::{Diagnostic, Kind};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'s> {
    Number(f64),
    /// `10MB`: bytes. An extension.
    Size(f64),
    Text(Cow<'s, str>),
    /// `/source/flags`.
    Pattern {
        source: &'s str,
        flags: &'s str,
    },
    Name(&'s str),
    /// An operator, a bracket, a comma or a dot.
    Sign(&'static str),
    End,
}

/// All signs; a sign precedes its own prefixes.
const SIGNS: [&str; 20] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]",
    ",", ".",
];

/// Operators of other languages, with ours.
const FOREIGN: [(&str, &str); 13] = [
    ("===", "write `==`"),
    ("!==", "write `!=`"),
    ("<>", "write `!=`"),
    ("=~", "write `/pattern/.matches(text)`"),
    ("=>", "write the expression alone: `list.map(value * 2)`"),
    ("=", "write `==`"),
    ("&", "write `&&`"),
    ("|", "write `||`"),
    ("??", "write `if(a, a, b)`"),
    ("?", "write `if(condition, then, else)`"),
    ("{", "write a list, `[1, 2]`, or read a property of a note"),
    ("`", "write a text between `\"` or `'`"),
    ("#", "write a tag as a text: `file.hasTag(\"tag\")`"),
];

/// Units of sizes with their power of 1024.
const SIZES: [(&str, i32); 5] = [("B", 0), ("KB", 1), ("MB", 2), ("GB", 3), ("TB", 4)];

/// Reads tokens; the previous token decides between a pattern and a division.
pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    /// Whether the last token ends a value, so that a `/` divides it.
    ends_value: bool,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, at: 0, ends_value: false }
    }

    /// The rest of the text, from the next token on.
    pub(super) fn rest(&self) -> &'s str {
        self.source[self.at..].trim_start_matches(is_blank)
    }

    /// The next token; [`Token::End`] again and again at the end.
    pub(super) fn next(&mut self) -> Result<(Token<'s>, Span), Diagnostic> {
        let rest = &self.source[self.at..];
        self.at += rest.len() - rest.trim_start_matches(is_blank).len();
        let start = self.at;
        let rest = &self.source[start..];
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, span(start, start)));
        };
        let token = match first {
            '"' | '\'' => self.text(first)?,
            '/' if !self.ends_value => self.pattern()?,
            '0'..='9' => self.number()?,
            c if begins_name(c) => Token::Name(self.take(goes_on)),
            _ => self.sign(rest, first)?,
        };
        self.ends_value = !matches!(&token, Token::Sign(sign) if !matches!(*sign, ")" | "]"));
        Ok((token, span(start, self.at)))
    }

    fn fault(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Kind::InvalidExpression, self.source, at, message)
    }

    fn take(&mut self, goes_on: impl Fn(char) -> bool) -> &'s str {
        let rest = &self.source[self.at..];
        let length = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn sign(&mut self, rest: &str, first: char) -> Result<Token<'s>, Diagnostic> {
        let here = |length: usize| span(self.at, self.at + length);
        let known = SIGNS.iter().find(|sign| rest.starts_with(**sign)).copied().unwrap_or_default();
        let foreign = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign));
        if let Some((sign, hint)) = foreign.filter(|(sign, _)| sign.len() > known.len()) {
            let message = match *sign {
                "{" => "Bases has no objects in braces".to_owned(),
                sign => format!("`{sign}` is not an operator"),
            };
            return Err(self.fault(here(sign.len()), message).hint(*hint));
        }
        if known.is_empty() {
            let fault =
                self.fault(here(first.len_utf8()), format!("`{first}` has no meaning here"));
            return Err(match first {
                '“' | '”' | '„' | '‘' | '’' => {
                    fault.hint("write a text between straight quotes: `\"`")
                }
                _ => fault.hint(
                    "write a text in quotes, and a property with such a name as `note[\"name\"]`",
                ),
            });
        }
        self.at += known.len();
        Ok(Token::Sign(known))
    }

    fn text(&mut self, quote: char) -> Result<Token<'s>, Diagnostic> {
        let inside = self.at + 1;
        let mut found: Cow<'s, str> = Cow::Borrowed("");
        let mut from = inside;
        let mut chars = self.source[inside..].char_indices();
        while let Some((offset, c)) = chars.next() {
            let at = inside + offset;
            if c == quote {
                let rest = &self.source[from..at];
                self.at = at + 1;
                return Ok(Token::Text(if found.is_empty() { rest.into() } else { found + rest }));
            }
            if c == '\\'
                && let Some((offset, escaped)) = chars.next()
            {
                let text = found.to_mut();
                text.push_str(&self.source[from..at]);
                text.push(match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    other => other,
                });
                from = inside + offset + escaped.len_utf8();
            }
        }
        Err(self
            .fault(span(self.at, inside), "this text is not closed")
            .hint(format!("write `{quote}` at its end")))
    }

    fn pattern(&mut self) -> Result<Token<'s>, Diagnostic> {
        let inside = self.at + 1;
        let mut is_class = false;
        let mut chars = self.source[inside..].char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '[' => is_class = true,
                ']' => is_class = false,
                '\n' => break,
                '/' if !is_class => {
                    self.at = inside + offset + 1;
                    let source = &self.source[inside..inside + offset];
                    return Ok(Token::Pattern {
                        source,
                        flags: self.take(|c| c.is_alphanumeric()),
                    });
                }
                _ => {}
            }
        }
        Err(self
            .fault(span(self.at, inside), "this pattern is not closed")
            .hint("write `/` at its end; to divide, write a value before the `/`"))
    }

    fn number(&mut self) -> Result<Token<'s>, Diagnostic> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        self.take(|c| c.is_ascii_digit());
        if bytes.get(self.at) == Some(&b'.') && is_digit(self.at + 1) {
            self.at += 1;
            self.take(|c| c.is_ascii_digit());
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            if is_digit(self.at + 1 + sign) {
                self.at += 1 + sign;
                self.take(|c| c.is_ascii_digit());
            }
        }
        let written = &self.source[start..self.at];
        let number: f64 = written.parse().unwrap_or(f64::INFINITY);
        let behind = &self.source[self.at..];
        if let Some(name) = behind.strip_prefix('.').filter(|name| name.starts_with(begins_name)) {
            let length = name.find(|c| !goes_on(c)).unwrap_or(name.len());
            let member = &name[..length];
            let at = span(self.at, self.at + 1 + length);
            let call = if name[length..].starts_with('(') { "()" } else { "" };
            return Err(self
                .fault(at, "Obsidian allows no method or field directly after a number")
                .hint(format!("write `({written}).{member}{call}`")));
        }
        if behind.starts_with(begins_name) {
            let behind = self.at;
            let unit = self.take(goes_on);
            if let Some((_, power)) = SIZES.iter().find(|(size, _)| size.eq_ignore_ascii_case(unit))
            {
                return Ok(Token::Size(number * 1024_f64.powi(*power)));
            }
            let fault =
                self.fault(span(behind, self.at), format!("`{unit}` directly follows a number"));
            return Err(match unit {
                "y" | "M" | "w" | "d" | "h" | "m" | "s" | "ms" => {
                    fault.hint(format!("write a duration as a text: `\"{written}{unit}\"`"))
                }
                _ => fault.hint("write an operator between them, or the whole in quotes"),
            });
        }
        Ok(Token::Number(number))
    }
}

/// Whether `text` can be written as a name, without quotes.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(goes_on)
}

fn begins_name(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn goes_on(c: char) -> bool {
    begins_name(c) || c.is_alphanumeric() || is_combining_mark(c)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

pub(super) fn span(start: usize, end: usize) -> Span {
    start as u32..end as u32
}
