//! A link as it stands in a note: which bytes are what, and what they mean.
//!
//! Grammar: `[[path#sub|text]]`, `![[…]]`, `[text](path#sub "title")`, `![text](…)`. The link text
//! splits at the first `#`; what stands after `|` never decides where a link leads. Inside a table
//! the pipe is written `\|` and has to stay so.

use std::borrow::Cow;
use std::ops::Range;

/// Which of the four ways a link is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// `[[…]]`
    Wikilink,
    /// `![[…]]`
    Embed,
    /// `[…](…)`
    Markdown,
    /// `![…](…)`
    Image,
}

impl LinkKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wikilink => "wikilink",
            Self::Embed => "embed",
            Self::Markdown => "Markdown link",
            Self::Image => "Markdown image",
        }
    }

    /// Whether it is one of the bracketed kinds of Obsidian's own.
    pub fn is_wiki(self) -> bool {
        matches!(self, Self::Wikilink | Self::Embed)
    }
}

/// How a destination's characters are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are: wikilinks and embeds.
    Plain,
    /// Percent-encoded: a bare Markdown destination.
    Percent,
    /// Between `<` and `>`, where blanks may stand; percent-encoding counts there too.
    Angle,
}

/// The quotes of a property that holds a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// `'…'`, in which `''` means `'`.
    Single,
    /// `"…"`, in which `\` escapes.
    Double,
}

/// A link with all its parts, as byte ranges of the text it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Which way it is written.
    pub kind: LinkKind,
    /// All of it, from `!` or the first bracket to the last.
    pub range: Range<usize>,
    /// The linkpath as written, without subpath, brackets and blanks around it. Empty: this note.
    pub path: Range<usize>,
    /// What follows from the first `#` on, itself included.
    pub subpath: Option<Range<usize>>,
    /// What stands after the pipe, or between a Markdown link's square brackets.
    pub display: Option<Range<usize>>,
    /// A Markdown link's title, without its quotes.
    pub title: Option<Range<usize>>,
    /// How path and subpath are written.
    pub encoding: Encoding,
    /// The quotes around it, where it is a property's value.
    pub frontmatter: Option<Quotes>,
    /// Whether it stands in a table.
    pub in_table: bool,
    /// Whether its pipe is written `\|`.
    pub escaped_pipe: bool,
    /// Whether it stands between `%%`. Whether Obsidian counts such links is not established; they
    /// are links here, and [`Link::counts`] is the one place that decides.
    pub in_comment: bool,
    /// The line it begins in, from 1.
    pub line: usize,
}

impl Link {
    /// Whether the link takes part in the link graph. Links in comments do.
    pub fn counts(&self) -> bool {
        true
    }

    /// The linkpath it means, decoded, from the text it was found in.
    pub fn linkpath<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.decode(text.get(self.path.clone()).unwrap_or_default())
    }

    /// The subpath it means, `#` included, decoded; empty if there is none.
    pub fn subpath<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let raw = self.subpath.clone().and_then(|range| text.get(range));
        self.decode(raw.unwrap_or_default())
    }

    /// What `raw`, a part of it, says once the quotes of its property are undone.
    pub fn unquoted<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        match self.frontmatter {
            Some(Quotes::Single) if raw.contains("''") => Cow::Owned(raw.replace("''", "'")),
            Some(Quotes::Double) if raw.contains('\\') => Cow::Owned(unquote(raw)),
            _ => Cow::Borrowed(raw),
        }
    }

    fn decode<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        let raw = self.unquoted(raw);
        match self.encoding {
            Encoding::Plain => raw,
            Encoding::Percent | Encoding::Angle => match decode_destination(&raw) {
                Some(decoded) => Cow::Owned(decoded),
                None => raw,
            },
        }
    }
}

/// Whether a Markdown destination leads out of the vault: it begins with a scheme or `//`.
pub fn is_external(destination: &str) -> bool {
    if destination.starts_with("//") {
        return true;
    }
    let Some((scheme, _)) = destination.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Undoes backslash escapes and percent-encoding; `None` where there is nothing to undo. A text
/// whose percent signs are no encoding of UTF-8 is taken as it is, as JavaScript's callers of
/// `decodeURI` do.
pub(super) fn decode_destination(raw: &str) -> Option<String> {
    if !raw.contains(['\\', '%']) {
        return None;
    }
    let mut plain = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(next)) if next.is_ascii_punctuation() => {
                plain.push(*next);
                bytes.next();
            }
            _ => plain.push(byte),
        }
    }
    let decoded = percent_decode(&plain).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.or_else(|| String::from_utf8(plain).ok())
}

fn percent_decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let value = digit(at + 1)? * 16 + digit(at + 2)?;
            decoded.push(u8::try_from(value).ok()?);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    Some(decoded)
}

/// Undoes the escapes of a double-quoted YAML scalar that can stand in a path.
fn unquote(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escaped = &rest[at + 1..];
        let digits = match escaped.as_bytes().first() {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let code = escaped.get(1..1 + digits).filter(|digits| !digits.is_empty());
        let code = code.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(c) = code.and_then(char::from_u32) {
            text.push(c);
            rest = &escaped[1 + digits..];
        } else {
            let mut after = escaped.chars();
            text.extend(after.next());
            rest = after.as_str();
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_decode_whole_or_not_at_all() {
        for (raw, meant) in [
            ("a%20b.md", "a b.md"),
            ("100%25%20tea.md", "100% tea.md"),
            ("100% tea", "100% tea"),
            ("%ff.md", "%ff.md"),
            ("a%2", "a%2"),
            ("%E5%A4%A7", "大"),
            (r"a\(b\).md", "a(b).md"),
            (r"a\b.md", r"a\b.md"),
            ("plain", "plain"),
        ] {
            assert_eq!(decode_destination(raw).as_deref().unwrap_or(raw), meant, "{raw}");
        }
    }

    #[test]
    fn schemes_lead_out() {
        for (destination, external) in [
            ("https://a.b/c", true),
            ("mailto:a@b", true),
            ("obsidian://open?vault=v", true),
            ("//host/x", true),
            ("a/b.md", false),
            ("2024: a.md", false),
            ("", false),
        ] {
            assert_eq!(is_external(destination), external, "{destination}");
        }
    }

    #[test]
    fn escapes_of_double_quotes() {
        assert_eq!(unquote(r#"a\"b\\c\u00e9\x41\u12"#), r#"a"b\céAu12"#);
    }
}
