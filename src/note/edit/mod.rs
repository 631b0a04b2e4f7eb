//! Small edits of a note: replaces text, or inserts, deletes and replaces lines.
//!
//! Everything else stays the same byte for byte: the byte-order mark, line endings (mixed ones too)
//! and whether the last line has a newline. New lines get the ending of their neighbours.

mod lines;
mod nearest;
mod replace;

pub use nearest::Nearest;

use crate::note::code::ErrorCode;
use crate::note::text::{NotText, Text};

/// The largest file that an edit may produce, in bytes. Far above what tools read; it bounds
/// `replace_all`.
pub const MAX_EDITED_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replaces `old_text` with `new_text`. Literal; `\n` and `\r\n` are equal, everything else
    /// must match.
    Replace {
        /// Must occur in the file, exactly once unless `replace_all` is set.
        old_text: String,
        /// The replacement; it gets the line endings of the place.
        new_text: String,
        /// Replaces every occurrence, left to right.
        replace_all: bool,
    },
    InsertAfter {
        /// 1-based; 0 is the start of the file, -1 its end.
        line: i64,
        /// The lines. A final newline ends the last line and adds no empty one.
        content: String,
    },
    InsertBefore {
        /// 1-based.
        line: i64,
        /// As in [`Edit::InsertAfter`].
        content: String,
    },
    DeleteLines {
        /// The first line, 1-based.
        start: i64,
        /// The last line, inclusive; -1 is the last line of the file.
        end: i64,
    },
    /// Puts new content in place of a range of lines.
    ReplaceLines {
        /// The first line, 1-based.
        start: i64,
        /// The last line, inclusive; -1 is the last line of the file.
        end: i64,
        /// As in [`Edit::InsertAfter`]; empty deletes the lines.
        content: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole new file.
    pub bytes: Vec<u8>,
    /// The number of replaced occurrences; 0 for edits by line.
    pub replacements: usize,
    /// The first changed line, 1-based, in the new file.
    pub first_line: usize,
    /// Lines of the new file that are new or changed.
    pub lines_added: usize,
    /// Lines of the old file that are deleted or changed.
    pub lines_removed: usize,
}

/// Why an edit cannot be made. Callers add the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    NotText(#[from] NotText),
    /// The file is UTF-16, which is read but never written.
    #[error("the file is UTF-16 text, which can be read but not edited")]
    Wide,
    #[error("the text to replace is empty")]
    EmptyOldText,
    #[error("there is nothing to insert")]
    EmptyContent,
    /// The new text would make the file binary.
    #[error("the new text holds a NUL, which would make the file binary")]
    Nul,
    /// Replacing all occurrences would make the file too large for memory.
    #[error("replacing {count} times would make the file {bytes} bytes long")]
    TooLarge { count: usize, bytes: usize },
    /// Old and new text are equal.
    #[error("the new text is the same as the old, so nothing would change")]
    Unchanged,
    /// `old_text` does not occur in the file.
    #[error("the text to replace is not in the file{}", nearest::note(.nearest))]
    NotFound {
        /// The most similar place.
        nearest: Option<Nearest>,
    },
    /// `old_text` occurs several times.
    #[error("the text to replace is in the file {count} times, at {}", line_list(.lines, *.count))]
    Several {
        /// The lines of the first 20 occurrences, 1-based.
        lines: Vec<usize>,
        count: usize,
    },
    #[error("there is no line {line}: the file has {lines} lines")]
    NoSuchLine { line: i64, lines: usize },
    #[error("line {end} comes before line {start}: the range is empty")]
    EmptyRange {
        /// The first requested line.
        start: usize,
        /// The last requested line.
        end: usize,
    },
}

impl EditError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotText(_) | Self::Wide => ErrorCode::BinaryFile,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::NotFound { .. } => ErrorCode::NoMatch,
            Self::Several { .. } => ErrorCode::MultipleMatches,
            Self::EmptyOldText
            | Self::EmptyContent
            | Self::Nul
            | Self::Unchanged
            | Self::NoSuchLine { .. }
            | Self::EmptyRange { .. } => ErrorCode::InvalidInput,
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotText(_) | Self::Nul | Self::Unchanged => return None,
            Self::Wide => "save it as UTF-8 first",
            Self::EmptyOldText => "to put text in, say after or before which line",
            Self::EmptyContent => "a newline alone puts in an empty line",
            Self::TooLarge { .. } => "replace a longer text, or fewer occurrences",
            Self::NotFound { .. } => {
                "read the file and give the text exactly as it stands there, without line numbers"
            }
            Self::Several { .. } => {
                "give more of the text around the one that is meant, or set `replace_all`"
            }
            Self::NoSuchLine { .. } => {
                "lines count from 1; read the file for its numbers, or use -1 for its end"
            }
            Self::EmptyRange { .. } => "give the smaller number first; both lines are included",
        })
    }
}

fn line_list(lines: &[usize], count: usize) -> String {
    let numbers = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if count > lines.len() { ", …" } else { "" };
    format!("line {numbers}{more}")
}

pub fn apply_edit(bytes: &[u8], edit: &Edit) -> Result<Edited, EditError> {
    let text = Text::decode(bytes, "")?;
    if !text.encoding().is_editable() {
        return Err(EditError::Wide);
    }
    let new = match edit {
        Edit::Replace { new_text, .. } => new_text,
        Edit::InsertAfter { content, .. }
        | Edit::InsertBefore { content, .. }
        | Edit::ReplaceLines { content, .. } => content,
        Edit::DeleteLines { .. } => "",
    };
    if new.contains('\0') {
        return Err(EditError::Nul);
    }
    match edit {
        Edit::Replace { old_text, new_text, replace_all } => {
            replace::replace(&text, old_text, new_text, *replace_all)
        }
        Edit::InsertAfter { line, content } => lines::insert_after(&text, *line, content),
        Edit::InsertBefore { line, content } => lines::insert_before(&text, *line, content),
        Edit::DeleteLines { start, end } => lines::delete(&text, *start, *end),
        Edit::ReplaceLines { start, end, content } => lines::replace(&text, *start, *end, content),
    }
}

#[cfg(test)]
mod tests;
