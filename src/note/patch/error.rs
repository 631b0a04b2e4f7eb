//! Why a patch cannot be read or does not fit.

use crate::note::code::ErrorCode;
use crate::note::text::NotText;

/// Why a patch cannot be read, or not be applied to a file. Hunks count from 1 in their file, lines
/// from 1 in the patch (where it is malformed) or the file (where it does not fit).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Over [`super::MAX_PATCH_BYTES`].
    #[error("the patch has {bytes} bytes; the limit is {max}", max = super::MAX_PATCH_BYTES)]
    TooLarge { bytes: usize },
    /// More lines than the limit in memory.
    #[error("the patch has more than {max} lines")]
    TooManyLines { max: usize },
    #[error("the patch names no file: it has no `--- ` line with a `+++ ` line after it")]
    NoFile,
    #[error("`{found}` opens a patch of another format; a unified diff is needed")]
    OtherFormat {
        /// The line that opens it.
        found: String,
    },
    /// A line that is invalid at its place.
    #[error("line {line} of the patch is malformed: {reason}: `{text}`")]
    Malformed {
        line: usize,
        reason: &'static str,
        /// The line, cut to 100 characters.
        text: String,
    },
    /// A hunk that changes nothing, or a header without lines.
    #[error("hunk {hunk} for `{path}` changes nothing (line {line} of the patch)")]
    EmptyHunk {
        /// The file, as the header names it.
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
        line: usize,
    },
    /// The patch renames or copies a file.
    #[error("the patch renames or copies `{from}` to `{to}`")]
    Renames { from: String, to: String },
    #[error("the patch changes the binary file `{path}`")]
    Binary { path: String },
    /// Two headers for one file: the result would depend on their order.
    #[error("the patch names `{path}` twice")]
    Twice { path: String },
    /// A new file with old lines, or a deleted one with new lines.
    #[error("hunk {hunk} for `{path}` has {lines} lines, but the file {action}")]
    WrongSide {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
        lines: &'static str,
        action: &'static str,
    },
    /// A file to create that is there.
    #[error("the patch creates `{path}`, which exists")]
    Exists { path: String },
    /// A file to change or delete that is not there.
    #[error("the patch changes `{path}`, which does not exist")]
    Missing { path: String },
    /// A deletion that does not name all lines of the file.
    #[error("the patch deletes `{path}` but leaves {lines} of its lines")]
    LeavesLines { path: String, lines: usize },
    #[error("`{path}` is {fault}")]
    NotText { path: String, fault: NotText },
    /// The file is UTF-16, which is read and not written.
    #[error("`{path}` is UTF-16 text, which can be read but not edited")]
    Wide { path: String },
    /// The old lines are not in the file near the given position. `line` is the closest match.
    #[error(
        "hunk {hunk} for `{path}` does not fit: line {line} should be `{expected}` and is \
         `{found}`{}", too_far(.elsewhere)
    )]
    DoesNotFit {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
        line: usize,
        expected: String,
        found: String,
        /// The one place, beyond the drift allowed, where the lines are.
        elsewhere: Option<usize>,
    },
    /// The old lines continue beyond the end of the file.
    #[error(
        "hunk {hunk} for `{path}` reaches beyond the end of the file, which has {lines} lines: \
         `{expected}` is not there"
    )]
    BeyondEnd {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
        lines: usize,
        expected: String,
    },
    /// The old lines are in the file at several places, but not at the line that the header names.
    #[error("hunk {hunk} for `{path}` fits equally well at {}", lines(.places))]
    Ambiguous {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// The matching lines of the file; one more than are named if there are more.
        places: Vec<usize>,
    },
    /// The hunk has neither old lines nor a line number to place it.
    #[error("hunk {hunk} for `{path}` says neither by number nor by context where it belongs")]
    Nowhere {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
    },
    /// The hunk overlaps the one before, or precedes it.
    #[error("hunk {hunk} for `{path}` overlaps the hunk before it or comes before it")]
    Overlaps {
        path: String,
        /// Which hunk of the file, from 1.
        hunk: usize,
    },
}

/// The named lines, and whether there are more.
fn lines(places: &[usize]) -> String {
    let mut named: Vec<_> =
        places.iter().take(super::MAX_NAMED).map(|line| format!("line {line}")).collect();
    if places.len() > named.len() {
        named.push("others".to_owned());
    }
    let last = named.pop().unwrap_or_default();
    format!("{} and {last}", named.join(", "))
}

fn too_far(line: &Option<usize>) -> String {
    line.map(|line| format!(" (its lines are at line {line}, too far away)")).unwrap_or_default()
}

impl PatchError {
    /// The stable word for this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooLarge { .. } | Self::TooManyLines { .. } => ErrorCode::TooLarge,
            Self::NotText { .. } | Self::Wide { .. } | Self::Binary { .. } => ErrorCode::BinaryFile,
            Self::Exists { .. } => ErrorCode::AlreadyExists,
            Self::Missing { .. } => ErrorCode::NotFound,
            _ => ErrorCode::PatchFailed,
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::TooLarge { .. } | Self::TooManyLines { .. } => "split the patch by file",
            Self::NoFile | Self::OtherFormat { .. } => {
                "begin with `--- a/path`, `+++ b/path` and `@@ -1,3 +1,4 @@`"
            }
            Self::Malformed { .. } => {
                "every line of a hunk begins with a space, `-` or `+`; a space alone is an empty \
                 line that stays"
            }
            Self::EmptyHunk { .. } => "leave the hunk out, or give it lines with `-` or `+`",
            Self::Renames { .. } => "use the tool `move`, then patch the file under its new name",
            Self::Twice { .. } => "put all hunks of a file under one header",
            Self::WrongSide { .. } => "a new file has `+` lines only, a deleted one `-` lines only",
            Self::Exists { .. } => "name the file in both headers to change it",
            Self::Missing { .. } => "to create a file, let the first header be `--- /dev/null`",
            Self::LeavesLines { .. } => "use the tool `delete`",
            Self::Wide { .. } => "save it as UTF-8 first",
            Self::DoesNotFit { .. } | Self::BeyondEnd { .. } => {
                "read the file and give its lines exactly as they stand there"
            }
            Self::Ambiguous { .. } | Self::Nowhere { .. } => {
                "give the exact line number in `@@ -N,M +N,M @@`, or more lines of context"
            }
            Self::Overlaps { .. } => {
                "order the hunks from the top of the file down, and join those that touch"
            }
            Self::NotText { .. } | Self::Binary { .. } => return None,
        })
    }
}
