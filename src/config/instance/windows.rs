//! Locks a file in the state folder; its holder is alive.

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

/// The system releases the lock when the process ends, so an available lock means that it is dead.
pub(super) fn is_alive(_pid: u32, state: &Path) -> bool {
    matches!(
        OpenOptions::new().write(true).open(state.join("lock")).map(|file| file.try_lock()),
        Ok(Err(TryLockError::WouldBlock))
    )
}
