//! Inserts, deletes and replaces lines.

use std::ops::Range;

use super::{EditError, Edited};
use crate::note::text::{Eol, Line, Text};

pub(super) fn insert_after(text: &Text<'_>, line: i64, content: &str) -> Result<Edited, EditError> {
    let lines = text.line_count();
    let after = match line {
        -1 => lines,
        _ => usize::try_from(line)
            .ok()
            .filter(|&line| line <= lines)
            .ok_or(EditError::NoSuchLine { line, lines })?,
    };
    insert(text, after, content)
}

pub(super) fn insert_before(
    text: &Text<'_>,
    line: i64,
    content: &str,
) -> Result<Edited, EditError> {
    let lines = text.line_count();
    // An empty file has no line 1, but content can be inserted before it.
    let before = usize::try_from(line)
        .ok()
        .filter(|&line| (1..=lines.max(1)).contains(&line))
        .ok_or(EditError::NoSuchLine { line, lines })?;
    insert(text, before - 1, content)
}

fn insert(text: &Text<'_>, after: usize, content: &str) -> Result<Edited, EditError> {
    if content.is_empty() {
        return Err(EditError::EmptyContent);
    }
    splice(text, after..after, content)
}

pub(super) fn delete(text: &Text<'_>, start: i64, end: i64) -> Result<Edited, EditError> {
    let range = range(text, start, end)?;
    splice(text, range, "")
}

pub(super) fn replace(
    text: &Text<'_>,
    start: i64,
    end: i64,
    content: &str,
) -> Result<Edited, EditError> {
    let range = range(text, start, end)?;
    let edited = splice(text, range, content)?;
    let body = edited.bytes.strip_prefix(text.lead()).unwrap_or(&edited.bytes);
    if body == text.body().as_bytes() {
        return Err(EditError::Unchanged);
    }
    Ok(edited)
}

/// The lines from `start` to `end` as a 0-based range.
fn range(text: &Text<'_>, start: i64, end: i64) -> Result<Range<usize>, EditError> {
    let lines = text.line_count();
    let number = |line: i64| {
        usize::try_from(line)
            .ok()
            .filter(|line| (1..=lines).contains(line))
            .ok_or(EditError::NoSuchLine { line, lines })
    };
    let start = number(start)?;
    let end = if end == -1 { lines } else { number(end)? };
    if end < start {
        return Err(EditError::EmptyRange { start, end });
    }
    Ok(start - 1..end)
}

/// Replaces the 0-based lines `range` with the lines of `content`.
fn splice(text: &Text<'_>, range: Range<usize>, content: &str) -> Result<Edited, EditError> {
    let body = text.body();
    let start = offset(body, range.start);
    let end = start + offset(&body[start..], range.len());
    let (before, old, after) = (&body[..start], &body[start..end], &body[end..]);
    // New lines get the endings of the lines that they replace; further ones the ending of the last
    // of these; if none is replaced, that of the line before, otherwise of the line after.
    let mut endings = old.split_inclusive('\n').filter_map(|raw| Line::new(raw).ending);
    let mut eol = Eol::first_in(old)
        .or_else(|| Eol::last_in(before))
        .or_else(|| Eol::first_in(after))
        .or_else(|| Eol::first_in(content))
        .unwrap_or(Eol::Lf);

    let mut changed = String::with_capacity(body.len() + content.len() + 2);
    changed.push_str(before);
    let mut added = 0;
    for raw in content.split_inclusive('\n') {
        if !changed.is_empty() && !changed.ends_with('\n') {
            changed.push_str(eol.as_str());
        }
        eol = endings.next().unwrap_or(eol);
        changed.push_str(Line::new(raw).text);
        changed.push_str(eol.as_str());
        added += 1;
    }
    changed.push_str(after);
    // If the edit reaches the end, the last line keeps its newline or lack of one; an empty file
    // takes that of the content.
    let final_newline =
        if body.is_empty() { content.ends_with('\n') } else { text.ends_with_newline() };
    if after.is_empty() && !final_newline && changed.ends_with('\n') {
        let last = if added > 0 { eol } else { Eol::last_in(&changed).unwrap_or(eol) };
        let end = changed.len() - last.as_str().len();
        // An empty last line is nothing but its newline.
        if !changed[..end].is_empty() && !changed[..end].ends_with('\n') {
            changed.truncate(end);
        }
    }
    Ok(Edited {
        bytes: [text.lead(), changed.as_bytes()].concat(),
        replacements: 0,
        first_line: range.start + 1,
        lines_added: added,
        lines_removed: range.len(),
    })
}

/// The number of bytes in the first `lines` lines.
fn offset(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').take(lines).map(str::len).sum()
}
