//! A locked file in the state folder; whoever holds it is alive.

#![expect(clippy::disallowed_methods, reason = "our own state folder")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

pub(super) fn try_lock(_root: &Path, state: &Path) -> io::Result<Option<File>> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(state.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The system drops a lock with its process, so a lock that can be had means nobody is there.
pub(super) fn is_alive(_pid: u32, state: &Path) -> bool {
    matches!(
        OpenOptions::new().write(true).open(state.join("lock")).map(|file| file.try_lock()),
        Ok(Err(TryLockError::WouldBlock))
    )
}
