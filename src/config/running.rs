//! `daemon.json`: tells the command line and plugins which daemon serves a vault.

#![expect(clippy::disallowed_methods, reason = "our own state folder")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::folders::{Folders, same_folder};
use crate::config::instance;

/// Published data of a running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    pub pid: u32,
    pub port: u16,
    pub protocol: u32,
    pub version: String,
    /// The vault's canonical path.
    pub vault: String,
    /// The start time, RFC 3339.
    pub started_at: String,
}

const NAME: &str = "daemon.json";

/// The file's name after the daemon has ended. It keeps its disk space for the next start.
const ENDED: &str = "daemon.json.ended";

impl Running {
    /// Writes the record into the vault's state folder atomically, private to this user. Reuses the
    /// file of an earlier daemon, which works even on a full disk.
    pub fn publish(&self, state: &Path) -> io::Result<Published> {
        let path = state.join(NAME);
        let new_file = state.join(ENDED);
        // Left behind by a killed daemon.
        let _ = std::fs::rename(&path, &new_file);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new_file)?;
        let record = serde_json::to_vec_pretty(self)?;
        file.write_all(&record)?;
        file.set_len(record.len() as u64)?;
        // Not synced to disk, which could dominate the start time: after a system crash the record
        // would name a dead process anyway.
        drop(file);
        std::fs::rename(&new_file, &path)?;
        Ok(Published { path })
    }

    /// Reads the record in a state folder. `None` if there is none, it is invalid, or its process
    /// is dead.
    pub fn read(state: &Path) -> Option<Self> {
        let bytes = std::fs::read(state.join(NAME)).ok()?;
        let running: Self = serde_json::from_slice(&bytes).ok()?;
        instance::is_alive(running.pid, state).then_some(running)
    }

    /// The daemon of the vault at `root`, with its state folder. Also finds one that was started
    /// through another path to the same folder, such as a bind mount, whose record is in another
    /// state folder.
    pub fn find(folders: &Folders, root: &Path) -> Option<(Self, PathBuf)> {
        let own = folders.of_vault(root);
        if let Some(running) = Self::read(&own) {
            return Some((running, own));
        }
        let is_same = |running: &Self| same_folder(Path::new(&running.vault), root);
        Self::all(folders).into_iter().find(|(running, _)| is_same(running))
    }

    /// All running daemons of this user with their state folders, sorted by vault path.
    pub fn all(folders: &Folders) -> Vec<(Self, PathBuf)> {
        let states = std::fs::read_dir(&folders.state).into_iter().flatten().flatten();
        let running = states.filter_map(|entry| Some((Self::read(&entry.path())?, entry.path())));
        let mut all: Vec<_> = running.collect();
        all.sort_by(|a, b| a.0.vault.cmp(&b.0.vault));
        all
    }
}

/// A published record; dropping it unpublishes the record.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
}

impl Drop for Published {
    fn drop(&mut self) {
        if let Err(error) = std::fs::rename(&self.path, self.path.with_file_name(ENDED)) {
            tracing::warn!(%error, "could not remove the daemon's record");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn running(pid: u32, vault: &Path) -> Running {
        Running {
            pid,
            port: 1,
            protocol: 1,
            version: "0".into(),
            vault: vault.to_string_lossy().into_owned(),
            started_at: String::new(),
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_record_lives_as_long_as_its_process() {
        let state = tempfile::tempdir().unwrap();
        let ours = running(std::process::id(), state.path());
        let published = ours.publish(state.path()).unwrap();
        assert_eq!(Running::read(state.path()), Some(ours));
        crate::server::private::check_file(&state.path().join(NAME)).unwrap();
        drop(published);
        assert_eq!(Running::read(state.path()), None);
        // No process can have this id.
        let dead = running(i32::MAX as u32, state.path());
        let _left_behind = dead.publish(state.path()).unwrap();
        assert_eq!(Running::read(state.path()), None);
    }

    #[test]
    fn nonsense_is_no_record() {
        let state = tempfile::tempdir().unwrap();
        for text in ["", "{", "{\"pid\":\"x\"}", "[]"] {
            std::fs::write(state.path().join(NAME), text).unwrap();
            assert_eq!(Running::read(state.path()), None);
        }
    }
}
