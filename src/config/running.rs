//! `daemon.json`: which daemon serves a vault, for the command line and for plugins to find it.

#![expect(clippy::disallowed_methods, reason = "our own state folder")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::folders::{Folders, same_folder};
use crate::config::instance;

/// What a running daemon says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    pub pid: u32,
    /// The port it listens on, on 127.0.0.1.
    pub port: u16,
    /// The protocol version it speaks.
    pub protocol: u32,
    /// The program's version.
    pub version: String,
    /// The vault's canonical path.
    pub vault: String,
    /// When it started, RFC 3339.
    pub started_at: String,
}

const NAME: &str = "daemon.json";

/// What it is called when the daemon has ended, to keep its room on the disk.
const ENDED: &str = "daemon.json.ended";

impl Running {
    /// Writes the record into the vault's state folder, whole or not at all, for this user alone: over
    /// an earlier one, whose room it has where the disk is full.
    ///
    /// # Errors
    /// What the system said.
    pub fn publish(&self, state: &Path) -> io::Result<Published> {
        let path = state.join(NAME);
        let beside = state.join(ENDED);
        // Of one that was killed.
        let _ = std::fs::rename(&path, &beside);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        let record = serde_json::to_vec_pretty(self)?;
        file.write_all(&record)?;
        file.set_len(record.len() as u64)?;
        // Not made durable, which can take as long as all else at a start: after a crash of the system
        // it would name a process that is gone.
        drop(file);
        std::fs::rename(&beside, &path)?;
        Ok(Published { path })
    }

    /// The record in a state folder, if one is there, makes sense, and its process lives: what a
    /// killed daemon left behind is no daemon.
    pub fn read(state: &Path) -> Option<Self> {
        let bytes = std::fs::read(state.join(NAME)).ok()?;
        let running: Self = serde_json::from_slice(&bytes).ok()?;
        instance::is_alive(running.pid, state).then_some(running)
    }

    /// The daemon of the vault at `root`, and its state folder, even when it was started through a
    /// path that no symlink explains (a bind mount, another spelling): then another state folder
    /// holds its record.
    pub fn find(folders: &Folders, root: &Path) -> Option<(Self, PathBuf)> {
        let own = folders.of_vault(root);
        if let Some(running) = Self::read(&own) {
            return Some((running, own));
        }
        let is_same = |running: &Self| same_folder(Path::new(&running.vault), root);
        Self::all(folders).into_iter().find(|(running, _)| is_same(running))
    }

    /// Every daemon of this user that runs, with its state folder, in the order of their vaults' paths.
    pub fn all(folders: &Folders) -> Vec<(Self, PathBuf)> {
        let states = std::fs::read_dir(&folders.state).into_iter().flatten().flatten();
        let running = states.filter_map(|entry| Some((Self::read(&entry.path())?, entry.path())));
        let mut all: Vec<_> = running.collect();
        all.sort_by(|a, b| a.0.vault.cmp(&b.0.vault));
        all
    }
}

/// A published record; dropping it takes it from its name.
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
