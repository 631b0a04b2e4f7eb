//! Counting matching lines: ripgrep's own loop without excerpts.

use grep_matcher::{LineMatchKind, Matcher};

use super::Mode;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Number of matching lines; at most 1 in [`Mode::FilesWithMatches`].
    pub lines: u64,
    /// Whether the matcher stopped before the end.
    pub given_up: bool,
}

/// Counts the matching lines of `text`. `None` if only the searcher can: the text begins with a byte order mark,
/// or the pattern refers to the beginning or end of the text.
pub(super) fn count(matcher: &impl Matcher, text: &[u8], mode: Mode) -> Option<Counted> {
    let marks = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"];
    let marked = marks.iter().any(|mark| text.starts_with(mark));
    let by_lines = matcher.line_terminator().is_some_and(|end| end.as_byte() == b'\n');
    if marked || !by_lines {
        return None;
    }
    let mut counted = Counted::default();
    let mut rest = text;
    while !rest.is_empty() {
        match next_line(matcher, rest) {
            Ok(Some((is_match, end))) => {
                counted.lines += u64::from(is_match);
                if counted.lines > 0 && mode == Mode::FilesWithMatches {
                    break;
                }
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            Ok(None) => break,
            Err(_) => {
                counted.given_up = true;
                break;
            }
        }
    }
    Some(counted)
}

/// The next line that may match: whether it does, and its end.
fn next_line<M: Matcher>(matcher: &M, text: &[u8]) -> Result<Option<(bool, usize)>, M::Error> {
    let Some(candidate) = matcher.find_candidate_line(text)? else { return Ok(None) };
    let (LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at)) = candidate;
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
    let start = || memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
    Ok(match candidate {
        // There is no line after the last line end.
        LineMatchKind::Confirmed(_) if at == text.len() && start() == at => None,
        LineMatchKind::Confirmed(_) => Some((true, end)),
        LineMatchKind::Candidate(_) => Some((matcher.is_match(&text[start()..end])?, end)),
    })
}
