//! The vault's folder: the only room that touches the user's files.
//!
//! Floor 2. Every room above reads through a [`Vault`], a cheap clone over
//! shared private state. Writing takes another type: [`Vault::open`] returns the only [`Writer`],
//! which `journal` owns.
//!
//! Invariants:
//! - A file is opened through directory handles below the vault's root with symbolic links
//!   forbidden (`dir`), by the real path that protection was checked on (`protect`,
//!   `root::realpath`). Safety never rests on comparing absolute paths.
//! - The catalogue is a cache of the disk, never an authority: code that acts on a file stats it
//!   again.
//! - No code here deletes a user's bytes, except a displaced version whose hash is the one that the
//!   caller had read. Anything else found in the way goes to the recovery folder.
//!
//! Layers, each importing only those before it: `root` (the folder: handles, protection, links),
//! `tracker` (the catalogue and its subscribers), `watch` (when to update the catalogue), `read`
//! (resolving and reading within a caller's view), `save` and `trash` (the [`Writer`]). In
//! addition: `settings`, `error`, `revision`, `content`, `temp`, `threads`, [`dir`] (handles), `durable` (fsync, alone or batched), [`nonblocking`], [`protect`],
//! [`catalogue`], `recovery` (rescued texts), [`obsidian`], [`plugin`].

#![expect(clippy::disallowed_methods, reason = "this room is the home of file-system calls")]

pub mod catalogue;
mod content;
pub mod dir;
mod durable;
pub mod error;
pub mod nonblocking;
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
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use catalogue::{Catalogue, Counts, Entry, EntryQuery, Listing, Order, VisibleCatalogue};
pub use content::{FileContent, Precondition};
pub use dir::{FileId, Kind, Meta};
pub use durable::SyncBatch;
pub use error::VaultError;
pub use obsidian::{
    ActiveNote, DailyNotes, LinkFormat, ObsidianSettings, PropertyTypes, TrashOption,
};
pub use read::pick::Want;
pub use read::resolve::{ResolvedEntry, WriteTarget};
pub use read::symlinks::RedirectedLink;
pub use read::{BatchStat, Reader};
pub use revision::{NoRevision, Revision};
pub use root::Abilities;
pub use save::{OldText, Saved, Staged, Writer};
pub use settings::Settings;
pub use temp::{hidden_name, is_temp_path, temp_name};
pub use tracker::{ChangeKind, VaultChange};
pub use trash::{Keeping, TRASH_FOLDER, TrashEntry, Trashed, make_system_trash, system_trash};
pub use view::View;
pub use watch::{VaultStatus, Watching};

use recovery::Recovery;
use root::Root;
use tracker::Tracker;
use watch::Watcher;

/// Cancels a running call, by request or at a deadline. Clones share the request.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>, Option<Instant>);

impl Cancel {
    /// Requests cancellation. A change that has begun is still finished.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The same request with this deadline, or the earlier of the two.
    pub fn until(&self, deadline: Instant) -> Self {
        Self(Arc::clone(&self.0), Some(self.1.map_or(deadline, |own| own.min(deadline))))
    }

    /// Whether the deadline has passed.
    pub fn is_late(&self) -> bool {
        self.1.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether cancellation was requested or the deadline has passed.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) || self.is_late()
    }
}

/// Handle to an open vault, restricted to a caller's [`View`]. Clones share the vault.
#[derive(Clone)]
pub struct Vault(Reader);

impl Deref for Vault {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.0
    }
}

impl Vault {
    /// Opens the folder at `place` and scans it. The [`Writer`] is the only one of this vault.
    ///
    /// `state` is the steward's own folder for this vault: rescued texts go to its `recovery/`,
    /// files deleted under `trashOption: none` to its `kept/`. `progress` is called with the number
    /// of entries seen so far, from any thread.
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

    /// As [`Self::open`], and watches each folder before listing it, so that the one scan misses no
    /// change. Events are applied by every query ([`Watcher::settle`]), and in the background once
    /// [`Watcher::watch`] is called.
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

    /// The same vault restricted to `view`: other paths are not found, listed or read. Writes are
    /// not restricted.
    pub fn in_view(&self, view: View) -> Self {
        Self(self.0.in_view(view))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("place", &self.root()).finish_non_exhaustive()
    }
}
