//! The vault's folder: the only room that touches the user's files.
//!
//! May import `note`. Everything outside asks through a [`Vault`], a cheap clone over private
//! state, which is open to every room above. The write side is another type: [`Vault::open`] hands
//! out one [`Writer`], which `journal` owns.
//!
//! Invariants:
//! - A file is opened by directory handles below the vault's root with links forbidden (`dir`), by
//!   the real path that protection was decided on (`protect`, `real`). No comparison of absolute
//!   paths stands between a caller and a file.
//! - The catalogue is a memory of the disk, never an authority: whoever acts looks again.
//! - Nothing here removes a user's bytes but for a displaced version already proved to be what the
//!   caller had read, and what else is found in the way goes to the recovery folder.
//!
//! In parts, each of which is made of the one before and imports nothing of those after it: `root` (the
//! folder: handles, protection, links), `tracker` (what is known to be in it, and who hears of
//! changes), `watch` (when it looks), `read` (finding and reading, as far as a caller may see), `save`
//! and `trash` (the [`Writer`]). Beside them: [`dir`] (handles), `durable` (when what
//! was changed is safe from a power cut), [`glance`], [`protect`],
//! [`catalogue`], `recovery` (what may be somebody's only copy), [`obsidian`], [`plugin`].

#![expect(clippy::disallowed_methods, reason = "this room is the home of file-system calls")]

pub mod catalogue;
mod content;
pub mod dir;
mod durable;
pub mod error;
pub mod glance;
mod locks;
pub mod obsidian;
pub mod plugin;
pub mod protect;
mod read;
mod recovery;
mod revision;
mod root;
mod save;
mod settings;
mod temp;
mod threads;
mod tracker;
mod trash;
mod view;
mod watch;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::note::path::VaultPath;
pub use catalogue::{Catalogue, Counts, Entry, Listing, Order, Seen, Wanted};
pub use content::{Before, FileContent};
pub use dir::{FileId, Kind, Meta};
pub use durable::Together;
pub use error::VaultError;
pub use obsidian::{
    ActiveNote, DailyNotes, LinkFormat, ObsidianSettings, PropertyTypes, TrashOption,
};
pub use read::pick::Want;
pub use read::resolve::{Found, Place};
pub use read::turned::TurnedLink;
pub use read::{Looks, Reader};
pub use revision::{NoRevision, Revision};
pub use root::Abilities;
pub use save::{OldText, Saved, Staged, Writer};
pub use settings::Settings;
pub use temp::{hidden_name, is_temp_path, temp_name};
pub use tracker::{ChangeKind, VaultChange};
pub use trash::{InTrash, Keeping, TRASH_FOLDER, Trashed, make_system_trash, system_trash};
pub use view::View;
pub use watch::{VaultStatus, Watching};

use recovery::Recovery;
use root::Root;
use tracker::Tracker;
use watch::Watcher;

/// Asks a running call to stop early. A clone asks the same call.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>, Option<Instant>);

impl Cancel {
    /// Asks. A change that has begun is still finished.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The same call, which is also to stop when this moment has come, if no earlier one is set.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        Self(Arc::clone(&self.0), Some(self.1.map_or(deadline, |own| own.min(deadline))))
    }

    /// Whether its time is over.
    pub fn is_late(&self) -> bool {
        self.1.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether it was asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) || self.is_late()
    }
}

/// A vault that is attached to, as far as a caller may see it. Clones share it.
#[derive(Clone)]
pub struct Vault(Reader);

impl Deref for Vault {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.0
    }
}

impl Vault {
    /// Attaches to the folder at `place` and scans it. The writer is the only one of this vault.
    ///
    /// `state` is the steward's own folder for this vault; what is rescued goes to `recovery/` in
    /// it and what is deleted for good under `trashOption: none` to `kept/`. `progress` hears the
    /// number of entries seen so far, from any thread.
    ///
    /// # Errors
    /// [`VaultError::Io`] if the folder cannot be opened or listed.
    pub fn open(
        place: &Path,
        state: &Path,
        settings: Settings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(Self, Writer), VaultError> {
        let vault = Self::attach(place, state, settings)?;
        vault.scan_all(progress)?;
        Ok((vault.clone(), Writer::new(vault.0)))
    }

    /// As [`Self::open`], and the system tells of what changes from then on: each folder is watched
    /// before it is listed, so that the one scan misses nothing. What is told is taken in by whoever
    /// asks ([`Watcher::settle`]), and by itself once [`Watcher::watch`] is called.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_watched(
        place: &Path,
        state: &Path,
        settings: Settings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(Self, Writer), VaultError> {
        let vault = Self::attach(place, state, settings)?;
        vault.listen();
        vault.scan_all(progress)?;
        Ok((vault.clone(), Writer::new(vault.0)))
    }

    fn attach(place: &Path, state: &Path, settings: Settings) -> Result<Self, VaultError> {
        let tracker = Tracker::new(Root::open(place, state)?);
        Ok(Self(Reader::new(Watcher::new(tracker, Recovery::new(state), settings))))
    }

    /// Keeps the steward's settings from every tool where they lie in the vault, or lead there, with
    /// whatever is in a folder among these. Once, before anybody is served; says what it is.
    pub fn protect(&self, settings: &[PathBuf]) -> Vec<VaultPath> {
        self.0.protect(settings)
    }

    /// The same vault with what `view` leaves out unseen: not found, not listed, not read. What is
    /// written is not its business.
    #[must_use]
    pub fn seen_through(&self, view: View) -> Self {
        Self(self.0.seen_through(view))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("place", &self.root()).finish_non_exhaustive()
    }
}
