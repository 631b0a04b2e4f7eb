//! Ensures that a vault has only one daemon.
//!
//! On Unix, the lock is on the vault folder itself: every alias of the path leads to the same lock,
//! nothing is written into the vault, and a killed process releases it at once. Windows cannot lock
//! a folder, so the lock is a file in the state folder of the canonical path.

#![expect(clippy::disallowed_methods, reason = "our own state folder")]

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The lock of a vault; released when dropped.
#[derive(Debug)]
pub struct InstanceLock {
    _file: std::fs::File,
}

/// The file in the state folder that names the lock's holder before `daemon.json` exists. Valid
/// only while the lock is held.
const HOLDER: &str = "holder";

/// Locks the vault at `root`; `None` if another process holds the lock for longer than `timeout`.
pub fn lock(root: &Path, state: &Path, timeout: Duration) -> io::Result<Option<InstanceLock>> {
    let until = Instant::now() + timeout;
    loop {
        if let Some(file) = system::try_lock(root, state)? {
            if let Err(error) = std::fs::write(state.join(HOLDER), std::process::id().to_string()) {
                // Only the process number in another process's message is lost.
                tracing::debug!(%error, "could not record who holds the vault");
            }
            return Ok(Some(InstanceLock { _file: file }));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(25));
    }
}

/// The process that holds the lock, if known and alive.
pub fn holder(state: &Path) -> Option<u32> {
    let pid = std::fs::read_to_string(state.join(HOLDER)).ok()?.trim().parse().ok()?;
    is_alive(pid, state).then_some(pid)
}

/// Whether the process `pid`, which wrote into `state`, is alive.
pub fn is_alive(pid: u32, state: &Path) -> bool {
    system::is_alive(pid, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_meets_the_same_lock() {
        let vault = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let held = lock(vault.path(), state.path(), Duration::ZERO).unwrap();
        assert!(held.is_some());
        let alias = vault.path().join(".");
        assert!(lock(&alias, state.path(), Duration::from_millis(40)).unwrap().is_none());
        assert_eq!(holder(state.path()), Some(std::process::id()));
        drop(held);
        // A process being started by another test holds it until its `exec`.
        assert!(lock(&alias, state.path(), Duration::from_secs(10)).unwrap().is_some());
    }
}
