//! Private files and folders: the state folder and its content.
//!
//! A folder of this user that is open to others is closed; what belongs to another user or is a symlink is
//! never used, and a file that was open is refused, since others may have read it.

#![expect(clippy::disallowed_methods, reason = "our own state folder, never a vault")]

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// An attacker could plant a link to collect our token.
    #[error("it is a symlink, or no {0}")]
    Wrong(&'static str),
    #[error("it belongs to another user")]
    Foreign,
    #[error("its mode {0:03o} lets other users in")]
    Open(u32),
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

/// Creates a folder and its parents if they are missing, for this user alone. An existing one must belong
/// to this user, and is closed to others.
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

/// Fails unless the folder is private.
pub fn check_folder(path: &Path) -> Result<(), NotPrivate> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Err(NotPrivate::Wrong("folder"));
    }
    system::check(&metadata)
}

/// Fails unless the file is private. Returns its metadata.
pub fn check_file(path: &Path) -> Result<Metadata, NotPrivate> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(NotPrivate::Wrong("regular file"));
    }
    system::check(&metadata)?;
    Ok(metadata)
}

/// Writes a new file for this user alone.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
