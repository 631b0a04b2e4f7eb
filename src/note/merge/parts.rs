//! A text in parts that are changed as one: words, and links.

/// A text as words, runs of blanks and single marks.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' | '\t' => 2,
        _ => 0,
    };
    let mut pieces = Vec::new();
    let (mut start, mut last) = (0, 0);
    for (at, c) in text.char_indices() {
        if at > start && (kind(c) == 0 || kind(c) != last) {
            pieces.push(&text[start..at]);
            start = at;
        }
        last = kind(c);
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// How much of a text is looked through for the end of a link.
const MAX_LINK_BYTES: usize = 4 * 1024;

/// A text as [`pieces`], with each link as a single piece, and whether a piece is a link. In code
/// it is not a link, but it is never rewritten there either.
pub(super) fn parts(text: &str) -> Vec<(bool, &str)> {
    let (mut parts, mut rest, mut from) = (Vec::new(), 0, 0);
    while let Some(next) = text[from..].find(['[', ']', '"']) {
        let start = from + next;
        let Some(length) = link(&text.as_bytes()[start..]) else {
            from = start + 1;
            continue;
        };
        let end = start + length;
        parts.extend(pieces(&text[rest..start]).into_iter().map(|piece| (false, piece)));
        parts.push((true, &text[start..end]));
        (rest, from) = (end, end);
    }
    parts.extend(pieces(&text[rest..]).into_iter().map(|piece| (false, piece)));
    parts
}

/// The length of the link at the start of a text: `[[…]]`, `[…](…)` or the end of one that contains
/// another, and the file of a canvas.
fn link(text: &[u8]) -> Option<usize> {
    let line = &text[..text.len().min(MAX_LINK_BYTES)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let until = |from: usize, close: &[u8]| {
        Some(from + memchr::memmem::find(&line[from..], close)? + close.len())
    };
    if line.starts_with(b"[[") {
        return until(2, b"]]");
    }
    for open in [b"\"file\":\"".as_slice(), b"\"file\": \""] {
        if line.starts_with(open) {
            return until(open.len(), b"\"");
        }
    }
    let shown = match line.first()? {
        b'[' => 1 + memchr::memchr2(b'[', b']', &line[1..])?,
        _ => 0,
    };
    let to = &line[shown..];
    if to.starts_with(b"](<") {
        return until(shown + 3, b">)");
    }
    if !to.starts_with(b"](") {
        return None;
    }
    let mut depth = 0_usize;
    let end = to.iter().skip(1).position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(shown + 1 + end + 1)
}
