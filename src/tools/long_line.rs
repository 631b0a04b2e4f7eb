//! Lines that are too long to show: shortening them, and rejecting a shortened line as new text. A
//! paragraph of an Obsidian note is one line, and dictated ones are long.

use std::collections::HashSet;

use super::ToolError;
use crate::note::path::VaultPath;
use crate::note::text::Text;

/// The default limit of characters shown of a line.
pub(super) const MAX_CHARACTERS: usize = 2_000;

/// The mark after a shortened line.
pub(super) const CUT: &str = "… [cut]";

/// The shown part of a line, and whether it was shortened.
pub(super) fn shortened(line: &str) -> (&str, bool) {
    if line.len() <= MAX_CHARACTERS {
        return (line, false);
    }
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => (&line[..end], true),
        None => (line, false),
    }
}

/// Rejects `new` in place of `old` if a line of it is the shown part of a long line: its author has not
/// seen the rest, which would be lost.
pub(super) fn refuse_cut(path: &VaultPath, old: &Text<'_>, new: &str) -> Result<(), ToolError> {
    let Some(number) = first_cut(old, new) else { return Ok(()) };
    Err(ToolError::invalid(
        format!(
            "line {number} of `{path}` is longer than the {MAX_CHARACTERS} characters that are shown \
             of it, and would lose the rest"
        ),
        format!(
            "read the rest with read_file, start_line {number} and start_character {}, or change a \
             part of the line with edit_file, old_text and new_text",
            MAX_CHARACTERS + 1
        ),
    ))
}

/// The first line of `old` that `new` has only as far as it was shown.
fn first_cut(old: &Text<'_>, new: &str) -> Option<usize> {
    let new: HashSet<&str> = new.lines().filter(|line| line.len() >= MAX_CHARACTERS).collect();
    if new.is_empty() {
        return None;
    }
    let is_cut = |line: &str| {
        let (shown, cut) = shortened(line);
        cut && !new.contains(line)
            && (new.contains(shown) || new.contains(&*format!("{shown}{CUT}")))
    };
    old.lines().position(|line| is_cut(line.text)).map(|at| at + 1)
}

/// A part of a line of at most `most` bytes, from a character counted from 1.
pub(super) struct Piece<'a> {
    pub text: &'a str,
    pub last: usize,
    /// The number of characters of the line.
    pub total: usize,
}

impl<'a> Piece<'a> {
    /// At least one character if there is one; `None` if the line ends before `first`, which is at least
    /// one.
    pub fn of(line: &'a str, first: usize, most: usize) -> Option<Self> {
        let total = line.chars().count();
        let begins = line.char_indices().map(|(at, _)| at).chain((first == 1).then_some(0));
        let start = begins.into_iter().nth(first - 1)?;
        let rest = &line[start..];
        let after = rest.char_indices().find(|(at, char)| *at > 0 && at + char.len_utf8() > most);
        let text = &rest[..after.map_or(rest.len(), |(at, _)| at)];
        Some(Self { text, last: first - 1 + text.chars().count(), total })
    }
}
