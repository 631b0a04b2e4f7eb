//! The errors of this room.

use crate::note::counted::counted;
use serde_json::{Value, json};

use crate::journal::{JournalError, UndoError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::Refusal;

/// Maximum number of files named in a message, and in the JSON details.
const MAX_NAMED: (usize, usize) = (10, 100);

/// Why changes were not made. Nothing has changed, except as the journal's errors say.
#[derive(Debug, thiserror::Error)]
pub enum EditsError {
    #[error("the call was cancelled; nothing was changed")]
    Cancelled,
    #[error("{}", .0.reason)]
    Refused(Refusal),
    /// Links in these files have to follow, but the files are read-only.
    #[error("{}", not_writable(.refused, *.total))]
    NotWritable {
        /// The files that the caller may see, each with the reason.
        refused: Vec<(VaultPath, String)>,
        total: usize,
    },
    /// The journal did not apply the changes.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal did not undo the changes.
    #[error(transparent)]
    Undo(#[from] UndoError),
}

impl EditsError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Refused(refusal) => refusal.code,
            Self::NotWritable { .. } => ErrorCode::PermissionDenied,
            Self::Journal(error) => error.code(),
            Self::Undo(error) => error.code(),
        }
    }

    /// Advice, as a sentence without its full stop.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cancelled => None,
            Self::Refused(refusal) => refusal.hint.clone(),
            Self::NotWritable { refused, total } => {
                let them = if (refused.len(), *total) == (1, 1) { "it" } else { "them" };
                Some(format!(
                    "nothing was changed; make {them} writable first, or `move` with \
                     `leave_read_only`: their links then stay as they are and lead elsewhere"
                ))
            }
            Self::Journal(error) => error.hint(),
            Self::Undo(error) => error.hint(),
        }
    }

    pub fn data(&self) -> Option<Value> {
        match self {
            Self::Cancelled => None,
            Self::Refused(refusal) => refusal.data(),
            Self::NotWritable { refused, total } => {
                let paths = refused.iter().take(MAX_NAMED.1).map(|(path, _)| path.as_str());
                let paths: Vec<&str> = paths.collect();
                Some(json!({ "not_writable": paths, "total_not_writable": total }))
            }
            Self::Journal(error) => error.data(),
            Self::Undo(error) => error.data(),
        }
    }
}

fn not_writable(refused: &[(VaultPath, String)], total: usize) -> String {
    if let ([(path, reason)], 1) = (refused, total) {
        return format!("the links in `{path}` would have to be updated, but {reason}");
    }
    let named =
        refused.iter().take(MAX_NAMED.0).map(|(path, reason)| format!("`{path}`: {reason}"));
    let mut parts: Vec<String> = named.collect();
    if total > parts.len() {
        parts.push(format!("{} more", total - parts.len()));
    }
    let (files, parts) = (counted(total, "file"), parts.join("; "));
    format!("the links in {files} would have to be updated, but cannot be written: {parts}")
}
