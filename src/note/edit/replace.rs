//! Replaces text.
//!
//! Both sides are compared with `\r\n` as `\n`. A match is then narrowed to the part that differs
//! between old and new text, so that the shared part keeps its bytes, mixed line endings included.

use std::borrow::Cow;
use std::ops::Range;

use super::{EditError, Edited, MAX_EDITED_BYTES, nearest};
use crate::note::text::{Eol, Text};

/// Places named in an error.
const LISTED: usize = 20;

pub(super) fn replace(
    text: &Text<'_>,
    old_text: &str,
    new_text: &str,
    all: bool,
) -> Result<Edited, EditError> {
    // The byte-order mark is not part of the text, so one copied into the arguments is removed.
    let old = unify(old_text.strip_prefix('\u{feff}').unwrap_or(old_text));
    let new = unify(new_text.strip_prefix('\u{feff}').unwrap_or(new_text));
    if old.is_empty() {
        return Err(EditError::EmptyOldText);
    }
    if old == new {
        return Err(EditError::Unchanged);
    }
    let body = text.body();
    let plain = Plain::of(body);
    let line_of = |at: usize| 1 + newlines(&plain.text[..at]);
    let Some(first) = plain.text.find(&*old) else {
        return Err(EditError::NotFound { nearest: nearest::nearest(&plain.text, &old) });
    };
    let places = overlapping(&plain.text, &old, first);
    if !all && places.len() > 1 {
        let count = places.len().max(plain.text.matches(&*old).count());
        let lines = places.into_iter().take(LISTED).map(line_of).collect();
        return Err(EditError::Several { lines, count });
    }

    let (head, tail) = shared_ends(&old, &new);
    let middle = &new[head..new.len() - tail];
    let count = if all { plain.text.matches(&*old).count() } else { 1 };
    // Each newline can take a second byte.
    let added = (middle.len() + newlines(middle)).saturating_mul(count);
    let bytes = body.len().saturating_add(added);
    if bytes > MAX_EDITED_BYTES {
        return Err(EditError::TooLarge { count, bytes });
    }
    let mut changed = String::with_capacity(bytes);
    let mut eols = Eols::of(body);
    let (mut replacements, mut copied) = (0, 0);
    // Lines are counted on the way, each changed line once.
    let (mut line, mut counted, mut last_touched, mut touched) = (0, 0, None, 0);
    for (at, _) in plain.text.match_indices(&*old) {
        replacements += 1;
        let from = at + head..at + old.len() - tail;
        line += newlines(&plain.text[counted..from.start]);
        counted = from.start;
        let taken = &plain.text[from.clone()];
        // Whole lines inserted between two others change neither.
        let between = taken.is_empty()
            && middle.ends_with('\n')
            && (from.start == 0 || plain.text[..from.start].ends_with('\n'));
        if !between {
            let start = last_touched.filter(|&last| last == line).map_or(line, |last| last + 1);
            let end = line + newlines(taken.strip_suffix('\n').unwrap_or(taken));
            touched += (end + 1).saturating_sub(start);
            last_touched = Some(end);
        }

        let range = plain.original(from);
        changed.push_str(&body[copied..range.start]);
        push_with_eol(&mut changed, middle, eols.at(range.start));
        copied = range.end;
    }
    changed.push_str(&body[copied..]);
    let before = newlines(body);
    let after = newlines(&changed);
    Ok(Edited {
        bytes: [text.lead(), changed.as_bytes()].concat(),
        replacements,
        first_line: line_of(first + head),
        lines_added: (touched + after).saturating_sub(before),
        lines_removed: touched,
    })
}

/// Replaces `\r\n` with `\n`.
fn unify(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// A text with `\n` for `\r\n`, and the mapping back.
struct Plain<'a> {
    text: Cow<'a, str>,
    /// Ascending offsets in `text` before which a `\r` was removed.
    dropped: Vec<usize>,
}

impl<'a> Plain<'a> {
    fn of(body: &'a str) -> Self {
        let dropped =
            body.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before).collect();
        Self { text: unify(body), dropped }
    }

    /// The range of the original text. A range that starts at a newline includes its `\r`; one that
    /// ends there ends before the `\r`.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let back = |at: usize| at + self.dropped.partition_point(|&dropped| dropped < at);
        back(range.start)..back(range.end)
    }
}

/// The occurrences of `old`, overlapping ones too ("aa" occurs in "aaa" twice), as many as an error
/// lists.
fn overlapping(text: &str, old: &str, first: usize) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = vec![first];
    while let Some(&last) = places.last()
        && places.len() <= LISTED
    {
        match text[last + step..].find(old) {
            Some(at) => places.push(last + step + at),
            None => break,
        }
    }
    places
}

/// The bytes of the common beginning and end, in whole characters.
fn shared_ends(old: &str, new: &str) -> (usize, usize) {
    let head: usize =
        old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let tail = old[head..]
        .chars()
        .rev()
        .zip(new[head..].chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    (head, tail)
}

/// Finds line endings from the top down, reading each byte once.
struct Eols<'a> {
    body: &'a str,
    /// The byte up to which `eol` is valid.
    until: usize,
    eol: Option<Eol>,
}

impl<'a> Eols<'a> {
    fn of(body: &'a str) -> Self {
        Self { body, until: 0, eol: None }
    }

    /// The ending of the line with byte `at`, otherwise of the line before. `at` must never
    /// decrease.
    fn at(&mut self, at: usize) -> Option<Eol> {
        if at >= self.until {
            match self.body[at..].find('\n') {
                Some(newline) => {
                    self.until = at + newline + 1;
                    self.eol = Eol::first_in(&self.body[at..]);
                }
                None => {
                    self.until = usize::MAX;
                    self.eol = Eol::last_in(&self.body[..at]);
                }
            }
        }
        self.eol
    }
}

/// Appends text whose newlines are all `\n`.
fn push_with_eol(to: &mut String, text: &str, eol: Option<Eol>) {
    match eol {
        Some(Eol::CrLf) => {
            for (at, part) in text.split('\n').enumerate() {
                if at > 0 {
                    to.push_str("\r\n");
                }
                to.push_str(part);
            }
        }
        _ => to.push_str(text),
    }
}
