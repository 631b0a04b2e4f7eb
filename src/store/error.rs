//! Errors of the store.

use std::io;
use std::path::PathBuf;

use super::blobs::BlobError;

/// Rows, each with its own error: a damaged row hides no other.
pub type Each<T> = Vec<Result<T, StoreError>>;

/// Whether the error means that the disk or the quota is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn is_disk_full(error: &rusqlite::Error) -> bool {
    // The shared-memory file cannot grow.
    let shared =
        |code: &rusqlite::ffi::Error| code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || error.sqlite_error().is_some_and(shared)
}

fn message(error: &rusqlite::Error) -> String {
    if is_disk_full(error) { "database or disk is full".to_owned() } else { error.to_string() }
}

/// A failure of the store. The request was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later version of the steward wrote the database.
    #[error("`{}` was written by a newer version of the steward (format {found}, this one knows {known})", path.display())]
    Newer {
        path: PathBuf,
        /// The format of the database.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// The file is not a database of ours, or a damaged one.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The file was removed or replaced while it was open: writes would be lost.
    #[error("`{}` was removed or replaced while it was in use", path.display())]
    Gone { path: PathBuf },
    /// The database is missing, though there are backups of it or blobs that it named.
    #[error("`{}` is missing", path.display())]
    Missing { path: PathBuf },
    /// The database belongs to another vault.
    #[error("`{}` is the database of the vault at `{vault}`, not of `{here}`", path.display())]
    Foreign {
        path: PathBuf,
        /// The other vault's last known path.
        vault: String,
        here: String,
    },
    #[error("row {row} of `{table}` cannot be read: {reason}")]
    Row { table: &'static str, row: i64, reason: String },
    /// There is no row with this number.
    #[error("there is no {what} {number}")]
    Unknown {
        /// The type of the row: a message, a branch.
        what: &'static str,
        number: i64,
    },
    #[error("a turn is running in conversation {conversation}")]
    Conflict { conversation: i64 },
    #[error("the journal's database failed: {}", message(.0))]
    Sqlite(#[source] rusqlite::Error),
    /// A blob could not be stored or read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("could not {action} `{}`: {source}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        path: PathBuf,
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
            Self::Sqlite(error) => is_disk_full(error),
            Self::Blob(BlobError::Io { source, .. }) | Self::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Whether the state folder cannot be written to.
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

    /// Whether the error means that the database is damaged.
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

    /// Advice about the error, as a sentence without its full stop.
    pub fn hint(&self) -> String {
        match self {
            Self::Newer { .. } => "update the steward; nothing was touched".to_owned(),
            Self::Damaged { .. } => {
                "start the daemon: it moves the file aside and restores the last good copy; the vault \
                 itself is not touched"
                    .to_owned()
            }
            Self::Missing { .. } => {
                "start the daemon: it restores the last good copy; nothing was changed".to_owned()
            }
            Self::Foreign { .. } => {
                "nothing was touched. If that vault was moved or restored to here, `steward journal \
                 adopt` says so; else move the file and `backups` next to it away, and a history begins"
                    .to_owned()
            }
            Self::Gone { .. } => "restart the steward; nothing was changed".to_owned(),
            Self::Row { .. } => {
                "`steward journal verify` lists what else is damaged; the vault itself is not \
                 touched"
                    .to_owned()
            }
            Self::Unknown { what: "workflow run", .. } => "`steward workflow list` lists the runs".to_owned(),
            Self::Unknown { .. } => "`steward conversations list` lists the conversations".to_owned(),
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
