//! Two changes of one text that were made apart from each other.

use std::ops::Range;

use similar::DiffOp;

use super::diff;

/// Takes a change back out of a text that was changed further: `done` is what the change made of
/// `before`, `now` is what somebody has made of `done`. `None` where both changed the same place,
/// or it is no text.
///
/// Compared are words and single marks, so that a link in a paragraph that somebody has written on
/// in is no obstacle. What is neither in `before` nor in `now` is never made.
pub fn without(done: &[u8], before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let base = pieces(text(done)?);
    let ours = edits(&base, &pieces(text(before)?));
    let theirs = edits(&base, &pieces(text(now)?));
    let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
    let (mut merged, mut at) = (String::with_capacity(now.len()), 0);
    loop {
        let next = match (ours.peek(), theirs.peek()) {
            (None, None) => break,
            (Some(one), Some(other)) if one == other => {
                theirs.next();
                ours.next()
            }
            // What touches is taken for the same place.
            (Some(one), Some(other)) if one.touches(other) => return None,
            (Some(one), Some(other)) if one.old.start < other.old.start => ours.next(),
            (_, Some(_)) => theirs.next(),
            (Some(_), None) => ours.next(),
        };
        let Some(Edit { old, new }) = next else { break };
        merged.extend(base[at..old.start].iter().copied());
        merged.push_str(&new);
        at = old.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged.into_bytes())
}

/// Some pieces of the first text that are others in the second.
#[derive(Debug, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: String,
}

impl Edit {
    fn touches(&self, other: &Self) -> bool {
        self.old.start <= other.old.end && other.old.start <= self.old.end
    }
}

fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for operation in diff::operations(old, new) {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        let (range, text) = (operation.old_range(), new[operation.new_range()].concat());
        match edits.last_mut() {
            Some(last) if last.old.end == range.start => {
                last.old.end = range.end;
                last.new.push_str(&text);
            }
            _ => edits.push(Edit { old: range, new: text }),
        }
    }
    edits
}

/// A text as words, runs of blanks and single marks.
fn pieces(text: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(done: &str, before: &str, now: &str) -> Option<String> {
        let merged = without(done.as_bytes(), before.as_bytes(), now.as_bytes());
        merged.map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn a_link_goes_back_and_what_was_written_beside_it_stays() {
        let (before, done) = ("see [[Old]] and\nmore\n", "see [[b/New one]] and\nmore\n");
        for (now, wanted) in [
            ("see [[b/New one]] and\nmore by me\n", Some("see [[Old]] and\nmore by me\n")),
            ("I see [[b/New one]] and\nmore\n", Some("I see [[Old]] and\nmore\n")),
            ("see [[b/New one]], my note, and\nmore\n", Some("see [[Old]], my note, and\nmore\n")),
            ("top\n\nsee [[b/New one]] and\n", Some("top\n\nsee [[Old]] and\n")),
            // It had not been written yet when somebody wrote.
            ("see [[Old]] and\nmore by me\n", Some("see [[Old]] and\nmore by me\n")),
            // The link itself is theirs now.
            ("see [[b/New one too]] and\nmore\n", None),
            ("see [[Third]] and\nmore\n", None),
            ("all new\n", None),
        ] {
            assert_eq!(merged(done, before, now).as_deref(), wanted, "{now:?}");
        }
        assert_eq!(without(b"\xff", b"a", b"b"), None);
    }

    proptest! {
        #[test]
        fn a_change_alone_goes_back_or_stays(
            one in "[ab \\[\\]\n]{0,30}", other in "[ab \\[\\]\n]{0,30}"
        ) {
            prop_assert_eq!(merged(&one, &other, &one), Some(other.clone()));
            prop_assert_eq!(merged(&one, &other, &other), Some(other.clone()));
            prop_assert_eq!(merged(&one, &one, &other), Some(other));
        }

        #[test]
        fn lines_far_from_each_other_are_no_obstacle(
            lines in prop::collection::vec("[a-z ]{0,12}", 8..20), at in 0..3_usize, to in 0..3_usize
        ) {
            let text = |lines: &[String]| lines.join("\n");
            let number = |lines: &mut [String], at: usize, word: &str| lines[at] = word.to_owned();
            let mut done = lines.clone();
            number(&mut done, at, "OURS");
            let mut now = done.clone();
            let last = lines.len() - 1 - to;
            number(&mut now, last, "THEIRS");
            let mut wanted = lines.clone();
            number(&mut wanted, last, "THEIRS");
            prop_assert_eq!(merged(&text(&done), &text(&lines), &text(&now)), Some(text(&wanted)));
        }
    }
}
