//! Why the store could not do what it was asked.

use std::io;
use std::path::PathBuf;

use super::blobs::BlobError;

/// Rows, each by itself: a damaged one is its own error and hides no other.
pub type Each<T> = Vec<Result<T, StoreError>>;

/// Whether the system says that the disk or the quota is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn has_no_room(error: &rusqlite::Error) -> bool {
    // Not for what the connections share, either.
    let shared =
        |code: &rusqlite::ffi::Error| code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || error.sqlite_error().is_some_and(shared)
}

fn said(error: &rusqlite::Error) -> String {
    match has_no_room(error) {
        true => "database or disk is full".to_owned(),
        false => error.to_string(),
    }
}

/// A failure of the store. Nothing that was asked for has been recorded then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database was written by a later version of the steward.
    #[error("`{}` was written by a newer version of the steward (format {found}, this one knows {known})", place.display())]
    Newer {
        place: PathBuf,
        /// The format it has.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// It is no database of ours, or a damaged one.
    #[error("`{}` is damaged: {reason}", place.display())]
    Damaged {
        place: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was removed or replaced while it was open: what is written would be lost.
    #[error("`{}` was removed or replaced while it was in use", place.display())]
    Gone { place: PathBuf },
    /// It is not there, though copies of it or texts that it named are.
    #[error("`{}` is missing", place.display())]
    Missing { place: PathBuf },
    /// It is the memory of another vault.
    #[error("`{}` is the memory of the vault at `{vault}`, not of `{here}`", place.display())]
    Foreign {
        place: PathBuf,
        /// Where that vault was last.
        vault: String,
        here: String,
    },
    /// A row holds what cannot be.
    #[error("row {row} of `{table}` cannot be read: {reason}")]
    Row {
        table: &'static str,
        /// The row's number.
        row: i64,
        /// What is wrong.
        reason: String,
    },
    /// There is no such thing.
    #[error("there is no {what} {number}")]
    Unknown {
        /// What was asked for.
        what: &'static str,
        number: i64,
    },
    /// A turn is at work in the conversation.
    #[error("a turn is at work in conversation {conversation}")]
    Conflict { conversation: i64 },
    /// The database refused.
    #[error("the journal's database failed: {}", said(.0))]
    Sqlite(#[source] rusqlite::Error),
    /// Bytes could not be kept or fetched.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The system refused.
    #[error("could not {action} `{}`: {source}", place.display())]
    Io {
        /// What was being done.
        action: &'static str,
        place: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl StoreError {
    /// Whether the disk or the quota is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => has_no_room(error),
            Self::Blob(BlobError::Io { source, .. }) | Self::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Whether the state folder cannot be written.
    pub fn is_denied(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
            }
            Self::Blob(BlobError::Io { source, .. }) | Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ),
            _ => false,
        }
    }

    /// Whether the database is damaged, as far as was seen.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            Self::Damaged { .. } => true,
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
            }
            _ => false,
        }
    }

    /// What to do about it, as a sentence without its full stop.
    pub fn hint(&self) -> String {
        match self {
            Self::Newer { .. } => "update the steward; nothing was touched".to_owned(),
            Self::Damaged { .. } => {
                "start the daemon: it moves the file aside and takes the last good copy; the vault \
                 itself is not touched"
                    .to_owned()
            }
            Self::Missing { .. } => {
                "start the daemon: it takes the last good copy; nothing was changed".to_owned()
            }
            Self::Foreign { .. } => {
                "nothing was touched. If that vault was moved or restored to here, `steward journal \
                 adopt` says so; else move the file and `backups` beside it away, and a history begins"
                    .to_owned()
            }
            Self::Gone { .. } => "restart the steward; nothing was changed".to_owned(),
            Self::Row { .. } => {
                "`steward journal verify` tells what else is damaged; the vault itself is not \
                 touched"
                    .to_owned()
            }
            Self::Unknown { .. } => "`steward conversations list` shows what there is".to_owned(),
            Self::Conflict { .. } => "wait for its end, or cancel it".to_owned(),
            _ if self.is_full() => "free some space; nothing was changed".to_owned(),
            _ if self.is_denied() => {
                "check the permissions of the state folder; nothing was changed".to_owned()
            }
            Self::Blob(BlobError::Missing { .. } | BlobError::Damaged { .. }) => {
                "`steward journal verify` lists what is missing or damaged".to_owned()
            }
            _ => "nothing was changed; try again".to_owned(),
        }
    }
}
