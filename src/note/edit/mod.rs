//! Small changes to a note: some text for other text, or lines put in, taken out, replaced.
//!
//! What is not edited stays to the byte: byte-order mark, line endings (mixed ones too) and whether
//! the last line has a newline. New lines end as their neighbours do.

mod lines;
mod nearest;
mod replace;

pub use nearest::Nearest;

use crate::note::code::ErrorCode;
use crate::note::text::{NotText, Text};

/// The largest file that an edit may make, in bytes. Far over what tools read; it bounds what a few
/// bytes of `replace_all` can ask for.
pub const MAX_EDITED_BYTES: usize = 64 * 1024 * 1024;

/// One change to one note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Puts `new_text` for `old_text`. Literal; `\n` and `\r\n` are the same, all else counts.
    Replace {
        /// What must be in the file, exactly once unless `replace_all`.
        old_text: String,
        /// What comes in its place; its line endings become those of the place.
        new_text: String,
        /// Every occurrence, left to right.
        replace_all: bool,
    },
    /// Puts lines after a line.
    InsertAfter {
        /// 1-based; 0 is the start of the file, -1 its end.
        line: i64,
        /// The lines. A final newline in it ends the last of them; it adds no empty one.
        content: String,
    },
    /// Puts lines before a line.
    InsertBefore {
        /// 1-based.
        line: i64,
        /// As in [`Edit::InsertAfter`].
        content: String,
    },
    /// Takes out lines.
    DeleteLines {
        /// The first, 1-based.
        start: i64,
        /// The last, inclusive; -1 is the last of the file.
        end: i64,
    },
    /// Puts lines for lines.
    ReplaceLines {
        /// The first, 1-based.
        start: i64,
        /// The last, inclusive; -1 is the last of the file.
        end: i64,
        /// As in [`Edit::InsertAfter`]; empty means no line at all.
        content: String,
    },
}

/// What came of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole new file.
    pub bytes: Vec<u8>,
    /// How many occurrences were replaced; 0 for the edits by line.
    pub replacements: usize,
    /// The first line touched, 1-based, as the new file counts.
    pub first_line: usize,
    /// How many lines of the new file are not those of the old.
    pub lines_added: usize,
    /// How many lines of the old file are gone or changed.
    pub lines_removed: usize,
}

/// Why an edit cannot be made. The file's name is the caller's to add.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file is no text.
    #[error(transparent)]
    NotText(#[from] NotText),
    /// The file is UTF-16, which is read and not written.
    #[error("the file is UTF-16 text, which can be read but not edited")]
    Wide,
    /// `old_text` is empty: it would be found everywhere.
    #[error("the text to replace is empty")]
    EmptyOldText,
    /// There is no line to put in.
    #[error("there is nothing to insert")]
    EmptyContent,
    /// The new text would make the file binary.
    #[error("the new text holds a NUL, which would make the file binary")]
    Nul,
    /// Replacing everywhere would make more of the file than anyone wants in memory.
    #[error("replacing {count} times would make the file {bytes} bytes long")]
    TooLarge {
        /// How many occurrences there are.
        count: usize,
        /// The size that the file would have.
        bytes: usize,
    },
    /// What is there and what should be are the same.
    #[error("the new text is the same as the old, so nothing would change")]
    Unchanged,
    /// `old_text` is not in the file.
    #[error("the text to replace is not in the file{}", nearest::note(.nearest))]
    NotFound {
        /// Where something like it is.
        nearest: Option<Nearest>,
    },
    /// `old_text` is in the file several times.
    #[error("the text to replace is in the file {count} times, at {}", line_list(.lines, *.count))]
    Several {
        /// The lines where the first 20 begin, 1-based.
        lines: Vec<usize>,
        count: usize,
    },
    /// A line number that the file does not have.
    #[error("there is no line {line}: the file has {lines} lines")]
    NoSuchLine {
        /// The number asked for.
        line: i64,
        lines: usize,
    },
    /// The range ends before it starts.
    #[error("line {end} comes before line {start}: the range is empty")]
    EmptyRange {
        /// The first line asked for.
        start: usize,
        /// The last line asked for.
        end: usize,
    },
}

impl EditError {
    /// The stable word for this failure.
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

    /// What to do about it.
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

/// Makes one edit.
///
/// # Errors
/// [`EditError`]; the file is then as it was, since nothing here touches one.
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
