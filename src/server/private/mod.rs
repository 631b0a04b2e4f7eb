//! Files and folders of ours that nobody else may read: one rule, for the state folder and for what
//! lies in it.
//!
//! A folder of this user that stands open is closed; what belongs to another or is a link is never
//! used, and a file that was open is refused, since others may have read it already.

#![expect(clippy::disallowed_methods, reason = "our own state folder, never a vault")]

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

/// Why something is not ours alone.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// Someone who can plant a link could collect our token.
    #[error("it is a symlink, or no {0}")]
    Wrong(&'static str),
    /// Of another user, who may change it.
    #[error("it belongs to another user")]
    Foreign,
    /// Open to others.
    #[error("its mode {0:03o} lets other users in")]
    Open(u32),
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<NotPrivate> for io::Error {
    fn from(error: NotPrivate) -> Self {
        match error {
            NotPrivate::Io(error) => error,
            error => Self::new(io::ErrorKind::PermissionDenied, error),
        }
    }
}

/// Makes a folder and those above it where they are missing, for this user alone; one that is
/// there already must be this user's, and is closed to others.
pub fn folder(path: &Path) -> Result<(), NotPrivate> {
    system::create(path)?;
    match check_folder(path) {
        Err(NotPrivate::Open(_)) => {
            system::close(path)?;
            check_folder(path)
        }
        checked => checked,
    }
}

/// Whether the folder is this user's alone.
pub fn check_folder(path: &Path) -> Result<(), NotPrivate> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Err(NotPrivate::Wrong("folder"));
    }
    system::check(&metadata)
}

/// Whether the file is this user's alone; what the system says of it.
pub fn check_file(path: &Path) -> Result<Metadata, NotPrivate> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(NotPrivate::Wrong("regular file"));
    }
    system::check(&metadata)?;
    Ok(metadata)
}
