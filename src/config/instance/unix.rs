//! Locks the vault folder itself, and checks processes.

#![expect(
    clippy::disallowed_methods,
    reason = "the lock is taken on the vault folder before there is a vault"
)]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use rustix::process::{Pid, test_kill_process};

pub(super) fn try_lock(root: &Path, state: &Path) -> io::Result<Option<File>> {
    let folder = File::open(root)?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Ok(None),
        // Some network file systems have no locks. A lock file of ours still separates daemons that
        // use the same path, though not aliases through other mounts.
        Err(TryLockError::Error(_)) => {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(state.join("lock"))?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        }
    }
}

pub(super) fn is_alive(pid: u32, _state: &Path) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // EPERM means another user's process, which is alive.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}
