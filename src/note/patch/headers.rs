//! The lines of a patch that name files and places.

use crate::note::path::MAX_PATH_BYTES;

/// A side of a file header: a path, or none for `/dev/null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    Nothing,
    Path(String),
}

/// The text after `--- ` or `+++ `: a path, quoted or not, and maybe a time after a tab.
pub(super) fn side(text: &str) -> Side {
    let path = path(text);
    if path == "/dev/null" { Side::Nothing } else { Side::Path(path) }
}

/// A path as headers have it.
pub(super) fn path(text: &str) -> String {
    match text.strip_prefix('"').and_then(unquote) {
        Some(path) => path,
        None => text.split('\t').next().unwrap_or_default().trim_end().to_owned(),
    }
}

/// The paths without `a/` and `b/`. If both sides are paths, both must have a prefix, so that a
/// patch without prefixes keeps a folder named `a`.
pub(super) fn strip_prefixes(old: Side, new: Side) -> (Side, Side) {
    let strip = |path: &str, prefix| path.strip_prefix(prefix).map(str::to_owned);
    let (a, b) = match (&old, &new) {
        (Side::Path(a), Side::Path(b)) => (strip(a, "a/"), strip(b, "b/")),
        (Side::Path(a), Side::Nothing) => return (strip(a, "a/").map_or(old, Side::Path), new),
        (Side::Nothing, Side::Path(b)) => {
            let b = strip(b, "b/").map_or(new, Side::Path);
            return (old, b);
        }
        (Side::Nothing, Side::Nothing) => (None, None),
    };
    match (a, b) {
        (Some(a), Some(b)) => (Side::Path(a), Side::Path(b)),
        _ => (old, new),
    }
}

/// The two paths of `diff --git a/x b/x`. With blanks in unquoted paths the line is ambiguous;
/// since renames are not supported, the two must be equal except for the prefix.
pub(super) fn git_paths(text: &str) -> Option<(Side, Side)> {
    let text = text.trim_end();
    if text.starts_with('"') {
        let end = closing_quote(text)?;
        let new = text.get(end + 1..)?.trim_start();
        return Some((Side::Path(path(&text[..=end])), Side::Path(path(new))));
    }
    // Each blank may be the one between the paths.
    if text.len() > 2 * MAX_PATH_BYTES {
        return None;
    }
    text.match_indices(' ').find_map(|(at, _)| {
        let (old, new) = (&text[..at], path(&text[at + 1..]));
        let same = old == new
            || old.strip_prefix("a/").is_some_and(|old| new.strip_prefix("b/") == Some(old));
        same.then(|| (Side::Path(old.to_owned()), Side::Path(new)))
    })
}

/// The byte where the quote that opens `text` closes.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes.then_some(at)
    })
}

/// Reads a path in Git's quotes, after the opening one: C escapes, bytes as three octal digits.
fn unquote(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    loop {
        match rest.next()? {
            b'"' => return String::from_utf8(bytes).ok(),
            b'\\' => bytes.push(match rest.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                digit @ b'0'..=b'3' => {
                    let mut octal = || rest.next().filter(u8::is_ascii_digit).map(|d| d & 7);
                    (digit - b'0') << 6 | octal()? << 3 | octal()?
                }
                other => other,
            }),
            byte => bytes.push(byte),
        }
    }
}

/// A path as a header has it, so that [`path`] reads it back.
pub(super) fn write_path(prefix: &str, path: &str) -> String {
    if path.contains(['"', '\\']) || path.contains(char::is_control) {
        let escaped: String = path
            .chars()
            .map(|c| match c {
                '"' | '\\' => format!("\\{c}"),
                c if c.is_ascii_control() => format!("\\{:03o}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        return format!("\"{prefix}{escaped}\"");
    }
    // Like Git: without the tab, other programs read a path with blanks as one with a time.
    let tab = if path.contains(' ') { "\t" } else { "" };
    format!("{prefix}{path}{tab}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Numbers {
    pub old_start: Option<usize>,
    pub new_start: Option<usize>,
    /// How many old and new lines there should be.
    pub counts: Option<(usize, usize)>,
}

/// Reads `@@ -1,2 +3,4 @@ heading`. Models also write `@@ ... @@` or a bare `@@`, which begin a
/// hunk without a position. `None` if the line is not a hunk header.
pub(super) fn numbers(line: &str) -> Option<Numbers> {
    let rest = line.strip_prefix("@@")?;
    let read = || {
        let (ranges, _) = rest.split_once("@@")?;
        let mut ranges = ranges.split_whitespace();
        let (old_start, old) = range(ranges.next()?.strip_prefix('-')?)?;
        let (new_start, new) = range(ranges.next()?.strip_prefix('+')?)?;
        let counts = Some((old, new));
        Some(Numbers { old_start: Some(old_start), new_start: Some(new_start), counts })
    };
    Some(read().unwrap_or_default())
}

/// `start,count` or `start`, which counts one.
fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}
