//! The measurements, one file per subject. Each uses the ground and adds its figures to the page.

pub mod change;
pub mod cores;
pub mod crowd;
pub mod doors;
pub mod jobs;
pub mod kept;
pub mod knowledge;
pub mod listing;
pub mod many;
pub mod memory;
pub mod naming;
pub mod outside;
pub mod plugin;
pub mod query;
pub mod reading;
pub mod search;
pub mod servers;
pub mod start;
pub mod wire;

use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, Home};
use crate::peers::Peers;

/// One vault, and the measurements on it.
pub struct Ground<'a> {
    /// The program.
    pub steward: &'a Path,
    /// The vault.
    pub vault: PathBuf,
    /// The number of its notes.
    pub notes: usize,
    /// The rounds of each measurement.
    pub rounds: usize,
    /// The daemon's own folders, which keep their state between starts.
    pub home: Home,
    /// The programs for comparison.
    pub peers: &'a Peers,
    /// A folder for temporary files.
    pub scratch: &'a Path,
}

impl Ground<'_> {
    /// A daemon of this vault, just started.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn start(&self) -> anyhow::Result<Daemon> {
        Daemon::start(self.steward, &self.vault, &self.home)
    }

    /// An idle daemon of this vault.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn serve(&self) -> anyhow::Result<Daemon> {
        let daemon = self.start()?;
        daemon.rest();
        Ok(daemon)
    }

    /// The target for a vault of this size, from those for a thousand, ten thousand and a hundred
    /// thousand notes; a size between two has the lower one's.
    pub fn target(&self, of: [f64; 3]) -> f64 {
        match self.notes {
            100_000.. => of[2],
            10_000.. => of[1],
            _ => of[0],
        }
    }
}
