//! A link in a note: the byte range of each part and its decoded meaning.
//!
//! Grammar: `[[path#sub|text]]`, `![[…]]`, `[text](path#sub "title")`, `![text](…)`. The link text
//! splits at the first `#`; the part after `|` never decides where a link leads. In a table the
//! pipe is written `\|` and must stay so.

use std::borrow::Cow;
use std::ops::Range;

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

words!(pub LinkKind::word {
    Wikilink => "wikilink", Embed => "embed", Markdown => "Markdown link",
    Image => "Markdown image",
});

impl LinkKind {
    /// Whether it is one of Obsidian's double-bracket forms.
    pub fn is_wiki(self) -> bool {
        matches!(self, Self::Wikilink | Self::Embed)
    }
}

/// How the characters of a destination are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Unencoded: wikilinks and embeds.
    Plain,
    /// Percent-encoded: a Markdown destination without angle brackets.
    Percent,
    /// Between `<` and `>`, where spaces are allowed; percent-encoding counts there too.
    Angle,
}

/// The quotes of a property whose value is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// `'…'`; `''` means `'`.
    Single,
    /// `"…"`; `\` escapes.
    Double,
}

/// A link with all its parts, as byte ranges of the note's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    /// The whole link, from `!` or the first bracket to the last.
    pub range: Range<usize>,
    /// The linkpath as written, without subpath, brackets and surrounding spaces. Empty: this note.
    pub path: Range<usize>,
    /// The subpath, from the first `#` on, with the `#`.
    pub subpath: Option<Range<usize>>,
    /// The part after the pipe, or between a Markdown link's square brackets.
    pub display: Option<Range<usize>>,
    /// A Markdown link's title, without its quotes.
    pub title: Option<Range<usize>>,
    /// How path and subpath are encoded.
    pub encoding: Encoding,
    /// The quotes around the link, if it is the value of a property.
    pub frontmatter: Option<Quotes>,
    /// Whether the link is in a table.
    pub in_table: bool,
    /// Whether the pipe is written `\|`.
    pub escaped_pipe: bool,
    /// Whether the link is in a `%%comment%%`. It is not known whether Obsidian counts such links;
    /// the steward does, and only [`Link::counts`] decides that.
    pub in_comment: bool,
    /// The 1-based line in which the link begins.
    pub line: usize,
}

impl Link {
    /// Whether the link belongs in the link graph. Links in comments do.
    pub fn counts(&self) -> bool {
        true
    }

    /// The decoded linkpath; `text` is the note's text.
    pub fn linkpath<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.decode(text.get(self.path.clone()).unwrap_or_default())
    }

    /// The decoded subpath with its `#`; empty if there is none.
    pub fn subpath<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let raw = self.subpath.clone().and_then(|range| text.get(range));
        self.decode(raw.unwrap_or_default())
    }

    /// `raw`, a part of the link, without the escapes of the quotes around the property.
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

/// Whether a Markdown destination leads out of the vault: it starts with a scheme or `//`.
pub fn is_external(destination: &str) -> bool {
    if destination.starts_with("//") {
        return true;
    }
    let Some((scheme, _)) = destination.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Decodes backslash escapes and percent-encoding as JavaScript's `decodeURI` does, which Obsidian
/// uses: encoded characters with a meaning in a URL (`%26`) stay encoded, and text whose percent
/// signs do not encode UTF-8 is returned as it is. `None` if there is nothing to decode.
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

/// The characters that `decodeURI` leaves encoded, except `#`, `$` and `:`: `note/relink` encodes
/// these when it writes links to new names.
const RESERVED: &[u8] = b";/?@&=+,";

fn percent_decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let value = digit(at + 1)? * 16 + digit(at + 2)?;
            let value = u8::try_from(value).ok()?;
            if RESERVED.contains(&value) {
                decoded.extend_from_slice(&bytes[at..at + 3])
            } else {
                decoded.push(value)
            }
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    Some(decoded)
}

/// Decodes the escapes of a double-quoted YAML scalar that can occur in a path.
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
            ("a%20%26%20b%2Cc.md", "a %26 b%2Cc.md"),
            ("a%2fb%23c", "a%2fb#c"),
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
