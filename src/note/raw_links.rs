//! Finds everything that a text could link to without parsing it as Markdown, for files too large
//! to parse or not text. It finds every link, and more, such as text in code.

use std::borrow::Cow;
use std::ops::ControlFlow;

use memchr::{memchr_iter, memmem};

use super::link::{decode_destination, is_external};

/// Bytes of the longest linkpath considered. Callers that read a file in pieces must read this much
/// beyond each piece.
pub const MAX_BYTES: usize = 4 << 10;

/// Calls `visit` with the linkpath of everything that begins like a link before byte `end`, until it
/// returns `Break`.
pub fn each(
    text: &[u8],
    end: usize,
    mut visit: impl FnMut(Cow<'_, str>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for at in memmem::find_iter(text, b"[[").take_while(|at| *at < end) {
        let rest = piece(text, at + 2);
        let stop = rest.iter().position(|byte| b"[]|#\n".contains(byte)).unwrap_or(rest.len());
        // In `\|`, written in tables, the backslash is not part of the name.
        let path = String::from_utf8_lossy(&rest[..stop]);
        let path = path.trim().trim_end_matches('\\').trim_end();
        if !path.is_empty() {
            visit(Cow::Borrowed(path))?;
        }
    }
    for at in memmem::find_iter(text, b"](").take_while(|at| *at < end) {
        let path = String::from_utf8_lossy(destination(piece(text, at + 2)));
        if !path.is_empty() && !is_external(&path) {
            visit(decode_destination(&path).map_or(path, Cow::Owned))?;
        }
    }
    ControlFlow::Continue(())
}

/// Calls `visit` with every string of a JSON text that begins before byte `end`, and with the text
/// between two strings, until it returns `Break`.
pub fn each_string(
    text: &[u8],
    end: usize,
    mut visit: impl FnMut(Cow<'_, str>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for at in memchr_iter(b'"', text).take_while(|at| *at < end) {
        if at > 0 && text[at - 1] == b'\\' {
            continue;
        }
        let rest = piece(text, at + 1);
        let mut is_escaped = false;
        let stop = rest.iter().position(|byte| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        });
        let Some(stop) = stop else { continue };
        let raw = String::from_utf8_lossy(&rest[..stop]);
        if raw.contains('\\') {
            match serde_json::from_str(&format!("\"{raw}\"")) {
                Ok(text) => visit(Cow::Owned(text))?,
                Err(_) => continue,
            }
        } else {
            visit(raw)?
        }
    }
    ControlFlow::Continue(())
}

fn piece(text: &[u8], start: usize) -> &[u8] {
    &text[start..text.len().min(start + MAX_BYTES)]
}

/// The destination at the beginning of `rest`, after `](`, without angle brackets and subpath.
fn destination(rest: &[u8]) -> &[u8] {
    let (rest, angle) = match rest.strip_prefix(b"<") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let mut depth = 0_usize;
    let stop = rest.iter().enumerate().position(|(at, byte)| match byte {
        b'\n' | b'#' => true,
        // The next link starts here; stopping keeps the cost linear.
        b']' => rest.get(at + 1) == Some(&b'('),
        b'>' => angle,
        b' ' | b'\t' => !angle,
        b'(' if !angle => {
            depth += 1;
            false
        }
        b')' if !angle => {
            depth = depth.wrapping_sub(1);
            depth == usize::MAX
        }
        _ => false,
    });
    &rest[..stop.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let _ = each(text.as_bytes(), text.len(), |path| {
            found.push(path.into_owned());
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn every_way_of_writing_a_link_is_found() {
        for (text, expected) in [
            ("[[a]] ![[b/c#d|e]] [[ f \\|g]]", vec!["a", "b/c", "f"]),
            (
                "[x](a%20b.md#c) ![x](<d e.md> 't') [x](f(g).md)",
                vec!["a b.md", "d e.md", "f(g).md"],
            ),
            ("[x](https://a/b) [[#here]] [x](#here)", vec![]),
            ("[[unfinished", vec!["unfinished"]),
            ("`[[code]]`", vec!["code"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_are_returned_unescaped() {
        let text = r#"{"file":"a \"b\".md","x":"caf\u00e9"}"#;
        let mut found = Vec::new();
        let _ = each_string(text.as_bytes(), text.len(), |path| {
            found.push(path.into_owned());
            ControlFlow::Continue(())
        });
        for wanted in ["file", "a \"b\".md", "café"] {
            assert!(found.iter().any(|one| one == wanted), "{wanted}: {found:?}");
        }
    }

    #[test]
    fn what_begins_later_is_left_to_the_next_piece() {
        let text = b"[[a]] [[b]]";
        let mut found = 0;
        let _ = each(text, 6, |_| {
            found += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(found, 1);
    }
}
