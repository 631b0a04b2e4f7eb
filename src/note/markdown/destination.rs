//! Parses the parentheses of a Markdown link.

use std::ops::Range;

use super::ahead;

/// The deepest nesting of parentheses in a bare destination (as in cmark).
const MAX_DEPTH: usize = 32;

/// The parts of `(destination "title")`.
pub(super) struct Destination {
    /// The destination, without `<` and `>`.
    pub range: Range<usize>,
    /// Whether it is between `<` and `>`.
    pub angle: bool,
    /// The title, without its quotes.
    pub title: Option<Range<usize>>,
    /// The offset after the closing parenthesis.
    pub end: usize,
}

/// Parses the parentheses that open at `open`, up to `end`.
pub(super) fn read(text: &str, open: usize, end: usize) -> Option<Destination> {
    let bytes = &text.as_bytes()[..end];
    let mut at = blanks(bytes, open + 1);
    let angle = bytes.get(at) == Some(&b'<');
    let range = if angle { between_angles(bytes, at)? } else { bare(bytes, at)? };
    at = range.end + usize::from(angle);
    let after = blanks(bytes, at);
    let title = match bytes.get(after) {
        Some(quote @ (b'"' | b'\'' | b'(')) if after > at => {
            let title = title(bytes, after, if *quote == b'(' { b')' } else { *quote })?;
            at = blanks(bytes, title.end + 1);
            Some(title)
        }
        _ => {
            at = after;
            None
        }
    };
    (bytes.get(at) == Some(&b')')).then_some(Destination { range, angle, title, end: at + 1 })
}

/// The offset after the whitespace from `at` on, with at most one newline in it.
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    let mut newlines = 0;
    while let Some(byte) = bytes.get(at) {
        ahead::count(1);
        match byte {
            b' ' | b'\t' | b'\r' => {}
            b'\n' if newlines == 0 => newlines += 1,
            _ => break,
        }
        at += 1;
    }
    at
}

fn between_angles(bytes: &[u8], open: usize) -> Option<Range<usize>> {
    let mut at = open + 1;
    loop {
        ahead::count(1);
        match bytes.get(at)? {
            b'>' => return Some(open + 1..at),
            b'<' | b'\n' => return None,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
            _ => at += 1,
        }
    }
}

fn bare(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let (mut at, mut depth) = (start, 0);
    while let Some(byte) = bytes.get(at) {
        ahead::count(1);
        match byte {
            b'(' if depth == MAX_DEPTH => return None,
            b'(' => depth += 1,
            b')' if depth == 0 => break,
            b')' => depth -= 1,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            byte if byte.is_ascii_whitespace() || byte.is_ascii_control() => break,
            _ => {}
        }
        at += 1;
    }
    (depth == 0).then_some(start..at)
}

/// The text of a title. It contains no opener of its kind (CommonMark says so for parentheses, and
/// a quote closes), so each byte is read once for each kind, however many begin and none ends.
fn title(bytes: &[u8], open: usize, close: u8) -> Option<Range<usize>> {
    let mut at = open + 1;
    loop {
        ahead::count(1);
        match bytes.get(at)? {
            byte if *byte == close => return Some(open + 1..at),
            b'(' if close == b')' => return None,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
            _ => at += 1,
        }
    }
}
