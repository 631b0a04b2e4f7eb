//! Resolving and reading files within a caller's view.

mod batch_stat;
pub(super) mod pick;
pub(super) mod resolve;
pub(super) mod symlinks;

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use batch_stat::BatchStat;

use super::content::FileContent;
use super::dir::{Meta, read_cached};
use super::error::VaultError;
use super::nonblocking;
use super::obsidian::{
    self, ActiveNote, DailyNotes, ObsidianSettings, PropertyTypes, SettingsFile,
};
use super::revision::Revision;
use super::view::View;
use super::watch::Watcher;
use crate::locks::lock;
use crate::note::path::VaultPath;
use pick::Want;
use resolve::{ResolvedEntry, Resolver};
use symlinks::RedirectedLink;

/// The read side of a vault. Clones share it.
#[derive(Clone)]
pub struct Reader {
    resolver: Resolver,
    obsidian: Arc<Mutex<SettingsFile>>,
}

impl Deref for Reader {
    type Target = Resolver;

    fn deref(&self) -> &Resolver {
        &self.resolver
    }
}

impl Reader {
    /// With a view of the whole vault.
    pub(super) fn new(watcher: Watcher) -> Self {
        Self { resolver: Resolver::new(Arc::new(watcher)), obsidian: Arc::default() }
    }

    /// The same restricted to `view`.
    pub(super) fn in_view(&self, view: View) -> Self {
        let resolver = self.resolver.in_view(view);
        Self { resolver, obsidian: Arc::clone(&self.obsidian) }
    }

    pub fn obsidian(&self) -> ObsidianSettings {
        lock(&self.obsidian).settings(self.root())
    }

    /// The types that the user assigned to properties, from Obsidian's current settings.
    pub fn property_types(&self) -> Arc<PropertyTypes> {
        lock(&self.obsidian).types(self.root())
    }

    /// The note open in Obsidian, from its workspace file.
    pub fn active_note(&self) -> Option<ActiveNote> {
        let config = self.obsidian().config_folder;
        let note = obsidian::active_note(self.root(), config.as_deref()?)?;
        let seen = VaultPath::from_disk(&note.path).is_none_or(|path| self.view().shows(&path));
        seen.then_some(note)
    }

    /// The settings of daily notes, from Obsidian's current settings.
    ///
    /// # Errors
    /// [`VaultError::Io`] if they cannot be read: the defaults would name another note.
    pub fn daily_notes(&self) -> Result<DailyNotes, VaultError> {
        obsidian::daily_notes(self.root(), self.obsidian().config_folder.as_deref())
    }

    /// Every conflict copy with its original, by path.
    pub fn conflicts(&self) -> Vec<(VaultPath, VaultPath)> {
        let catalogue = self.catalogue();
        catalogue.conflicts().map(|(path, original)| (path.to_path(), original)).collect()
    }

    /// The symbolic links that would point elsewhere, or nowhere, after a move from `from` to `to`,
    /// by path. Links that are already broken are left out.
    pub fn redirected_links(&self, from: &VaultPath, to: &VaultPath) -> Vec<RedirectedLink> {
        symlinks::redirected_links(self, from, to)
    }

    /// Stats many files with their folders held open.
    pub fn batch_stat(&self) -> BatchStat<'_> {
        BatchStat::new(self)
    }

    /// [`Resolver::resolve`] and [`Self::read`] in one, without a stat if the catalogue knows the
    /// file.
    pub fn read_asked(&self, requested: &str) -> Result<(VaultPath, FileContent), VaultError> {
        let path = self.parse(requested)?;
        self.find_root()?;
        self.settle();
        if nonblocking::is_aborted() {
            return Err(VaultError::NotFound { path, near: Vec::new() });
        }
        // Opening confirms that it is a file. On any error the steps below report the cause.
        if let Some(known) = self.known_file(&path)
            && let Ok(content) = self.read(&known)
        {
            return Ok((known, content));
        }
        if nonblocking::is_aborted() {
            return Err(VaultError::NotFound { path, near: Vec::new() });
        }
        let ResolvedEntry { path, .. } = self.resolve(requested, Want::File)?;
        let content = self.read(&path)?;
        Ok((path, content))
    }

    /// Opens the regular file at a resolved path for reading; follows no link.
    ///
    /// # Errors
    /// From the system; [`VaultError::NotAFile`] for folders, pipes and devices;
    /// [`VaultError::Protected`] for a hard link to a protected file.
    pub fn open_file(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        self.allowed(path)?;
        if !self.view().shows(path) {
            return Err(VaultError::NotFound { path: path.clone(), near: Vec::new() });
        }
        if nonblocking::is_active() {
            return self.open_cached(path);
        }
        self.open_allowed(path)
    }

    /// The same without blocking: only from the kernel's caches, and only a file with one name.
    fn open_cached(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        match self.folder().open_file_cached(path) {
            Ok((file, meta)) if meta.names == 1 => Ok((file, meta)),
            _ => Err(would_block(path)),
        }
    }

    /// Reads the whole file at a resolved path.
    ///
    /// A file that was just emptied, or whose size changes during the read, is read again for up to
    /// a second: another program is saving it in place.
    ///
    /// # Errors
    /// As [`Self::open_file`]; [`VaultError::TooLarge`] above [`Watcher::max_file_bytes`].
    pub fn read(&self, path: &VaultPath) -> Result<FileContent, VaultError> {
        self.read_within(path, self.max_file_bytes())
    }

    /// The same with a limit in bytes.
    pub fn read_within(&self, path: &VaultPath, limit: u64) -> Result<FileContent, VaultError> {
        let patience = Instant::now() + Duration::from_secs(1);
        loop {
            let (file, meta) = self.open_file(path)?;
            let content = self.read_open(path, file, meta, limit)?;
            let whole = content.bytes.len() as u64 == content.meta.size;
            if (whole && !just_emptied(&content.meta)) || Instant::now() >= patience {
                self.observed(path, &content.meta);
                return Ok(content);
            }
            if nonblocking::would_block() {
                return Err(would_block(path));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn read_open(
        &self,
        path: &VaultPath,
        file: File,
        meta: Meta,
        limit: u64,
    ) -> Result<FileContent, VaultError> {
        let too_large = |size| VaultError::TooLarge { path: path.clone(), size, limit };
        if meta.size > limit {
            return Err(too_large(meta.size));
        }
        if meta.size > MAX_NONBLOCKING_BYTES && nonblocking::would_block() {
            return Err(would_block(path));
        }
        let failed = |error| VaultError::io("read", path, error);
        // One byte more than the size: a read that does not fill the buffer reached the end.
        let mut bytes = vec![0; usize::try_from(meta.size).unwrap_or(0) + 1];
        let read = if nonblocking::is_active() {
            read_cached(&file, &mut bytes).unwrap_or(0)
        } else {
            read_some(&file, &mut bytes).map_err(failed)?
        };
        bytes.truncate(read);
        if read as u64 != meta.size {
            if nonblocking::would_block() {
                return Err(would_block(path));
            }
            // The size may be wrong (a growing file, one of procfs): read on, up to the limit.
            let rest = (limit + 1).saturating_sub(read as u64);
            file.take(rest).read_to_end(&mut bytes).map_err(failed)?;
        }
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(FileContent { revision: Revision::of(&bytes), bytes, meta })
    }
}

/// The largest file that is read without blocking, in bytes.
const MAX_NONBLOCKING_BYTES: u64 = 256 << 10;

/// Aborts a non-blocking attempt; its result, this error included, is discarded.
fn would_block(path: &VaultPath) -> VaultError {
    nonblocking::would_block();
    VaultError::io("look at", path, io::Error::from(io::ErrorKind::WouldBlock))
}

/// One `read` call, retried after interrupts.
fn read_some(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Whether an empty file may be in the middle of a save in place: truncated within the last two
/// seconds, after its creation.
pub(super) fn just_emptied(meta: &Meta) -> bool {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let fresh = now.saturating_sub(meta.modified) < 2_000_000_000;
    let made = meta.created.is_some_and(|made| meta.modified <= made);
    meta.size == 0 && fresh && !made
}
