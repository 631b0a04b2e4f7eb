//! The vault as those see it who ask: what something is called, where it is, what it holds.

mod looks;
pub(super) mod pick;
pub(super) mod resolve;
pub(super) mod turned;

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use looks::Looks;

use super::content::FileContent;
use super::dir::{Meta, read_cached};
use super::error::VaultError;
use super::glance;
use super::locks::lock;
use super::obsidian::{
    self, ActiveNote, DailyNotes, ObsidianSettings, PropertyTypes, SettingsFile,
};
use super::revision::Revision;
use super::view::View;
use super::watch::Watcher;
use crate::note::path::VaultPath;
use pick::Want;
use resolve::{Found, Resolver};
use turned::TurnedLink;

/// All that can be asked of a vault. Clones share it.
#[derive(Clone)]
pub struct Reader {
    resolver: Resolver,
    obsidian: Arc<Mutex<SettingsFile>>,
}

/// Whoever reads something finds it first.
impl Deref for Reader {
    type Target = Resolver;

    fn deref(&self) -> &Resolver {
        &self.resolver
    }
}

impl Reader {
    /// Sees the whole vault.
    pub(super) fn new(watcher: Watcher) -> Self {
        Self { resolver: Resolver::new(Arc::new(watcher)), obsidian: Arc::default() }
    }

    /// The same with what `view` leaves out unseen: not found, not listed, not read. What is written is
    /// not its business.
    pub(super) fn seen_through(&self, view: View) -> Self {
        let resolver = self.resolver.seen_through(view);
        Self { resolver, obsidian: Arc::clone(&self.obsidian) }
    }

    /// What Obsidian's settings say now.
    pub fn obsidian(&self) -> ObsidianSettings {
        lock(&self.obsidian).settings(self.root())
    }

    /// Which types the user assigned to properties, as Obsidian's settings say now.
    pub fn property_types(&self) -> Arc<PropertyTypes> {
        lock(&self.obsidian).types(self.root())
    }

    /// The note open in Obsidian as its workspace file has it.
    pub fn active_note(&self) -> Option<ActiveNote> {
        let config = self.obsidian().config_folder;
        let note = obsidian::active_note(self.root(), config.as_deref()?)?;
        let seen = VaultPath::from_disk(&note.path).is_none_or(|path| self.view().shows(&path));
        seen.then_some(note)
    }

    /// How daily notes are called here, as Obsidian's settings say now.
    ///
    /// # Errors
    /// [`VaultError::Io`] where these cannot be read: a note under another name would be another note.
    pub fn daily_notes(&self) -> Result<DailyNotes, VaultError> {
        obsidian::daily_notes(self.root(), self.obsidian().config_folder.as_deref())
    }

    /// Every conflict copy of the vault with the file it is a copy of, by path.
    pub fn conflicts(&self) -> Vec<(VaultPath, VaultPath)> {
        let catalogue = self.catalogue();
        catalogue.conflicts().map(|(path, original)| (path.to_path(), original)).collect()
    }

    /// The symbolic links that will lead elsewhere, or nowhere, once what is at `from` is at `to`; by
    /// path. Those that lead to nothing already are not among them.
    pub fn turned_links(&self, from: &VaultPath, to: &VaultPath) -> Vec<TurnedLink> {
        turned::turned_links(self, from, to)
    }

    /// Looks at many files.
    pub fn looks(&self) -> Looks<'_> {
        Looks::new(self)
    }

    /// Finds the file that `asked` names and reads it: what [`Resolver::resolve`] and [`Self::read`] do, with
    /// one look at the disk where the catalogue knows the file.
    ///
    /// # Errors
    /// Theirs.
    pub fn read_asked(&self, asked: &str) -> Result<(VaultPath, FileContent), VaultError> {
        let path = self.parse(asked)?;
        self.find_root()?;
        self.settle();
        if glance::is_broken() {
            return Err(VaultError::NotFound { path, near: Vec::new() });
        }
        // Opened, it says itself that it is a file, and which. Whatever else comes of that is found
        // out step by step.
        if let Some(known) = self.known_file(&path)
            && let Ok(content) = self.read(&known)
        {
            return Ok((known, content));
        }
        if glance::is_broken() {
            return Err(VaultError::NotFound { path, near: Vec::new() });
        }
        let Found { path, .. } = self.resolve(asked, Want::File)?;
        let content = self.read(&path)?;
        Ok((path, content))
    }

    /// Opens the regular file at a resolved path for reading. What is opened is what the path
    /// names at this moment; no link is followed.
    ///
    /// # Errors
    /// As the system says; [`VaultError::NotAFile`] for folders, pipes and devices;
    /// [`VaultError::Protected`] for another name (hard link) of a protected file.
    pub fn open_file(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        self.allowed(path)?;
        if !self.view().shows(path) {
            return Err(VaultError::NotFound { path: path.clone(), near: Vec::new() });
        }
        if glance::is_on() {
            return self.open_cached(path);
        }
        self.open_allowed(path)
    }

    /// The same at a glance: only what the system has in memory, and is no twin of anything.
    fn open_cached(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        match self.folder().open_file_cached(path) {
            Ok((file, meta)) if meta.names == 1 => Ok((file, meta)),
            _ => Err(broken_off(path)),
        }
    }

    /// Reads the whole file at a resolved path.
    ///
    /// A file that was emptied a moment ago, or changes its size while it is read, is read again
    /// for up to a second: that is how another program's save in place looks from outside.
    ///
    /// # Errors
    /// As [`Self::open_file`]; [`VaultError::TooLarge`] above [`Watcher::max_file_bytes`].
    pub fn read(&self, path: &VaultPath) -> Result<FileContent, VaultError> {
        self.read_within(path, self.max_file_bytes())
    }

    /// The same with a limit of the caller's, in bytes.
    ///
    /// # Errors
    /// As [`Self::open_file`]; [`VaultError::TooLarge`] above `limit`.
    pub fn read_within(&self, path: &VaultPath, limit: u64) -> Result<FileContent, VaultError> {
        let patience = Instant::now() + Duration::from_secs(1);
        loop {
            let (file, meta) = self.open_file(path)?;
            let content = self.read_open(path, file, meta, limit)?;
            // Of another size than a moment before: read in the middle of being written.
            let whole = content.bytes.len() as u64 == content.meta.size;
            let believed = whole && !just_emptied(&content.meta);
            if believed || Instant::now() >= patience {
                self.saw(path, &content.meta);
                return Ok(content);
            }
            if glance::would_wait() {
                return Err(broken_off(path));
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
        if meta.size > MAX_GLANCE_BYTES && glance::would_wait() {
            return Err(broken_off(path));
        }
        let failed = |error| VaultError::io("read", path, error);
        // With room for one byte more than there should be: what fills no more than its size was read
        // to its end.
        let mut bytes = vec![0; usize::try_from(meta.size).unwrap_or(0) + 1];
        let read = match glance::is_on() {
            true => read_cached(&file, &mut bytes).unwrap_or(0),
            false => read_some(&file, &mut bytes).map_err(failed)?,
        };
        bytes.truncate(read);
        if read as u64 != meta.size {
            if glance::would_wait() {
                return Err(broken_off(path));
            }
            // The size may be a lie (a file that grows, one of the kernel's own): never past the
            // limit.
            let rest = (limit + 1).saturating_sub(read as u64);
            file.take(rest).read_to_end(&mut bytes).map_err(failed)?;
        }
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(FileContent { revision: Revision::of(&bytes), bytes, meta })
    }
}

/// Bytes of the largest file that is read at a glance.
const MAX_GLANCE_BYTES: u64 = 256 << 10;

/// What a glance gives that is broken off: nobody is told of it.
fn broken_off(path: &VaultPath) -> VaultError {
    glance::would_wait();
    VaultError::io("look at", path, io::Error::from(io::ErrorKind::WouldBlock))
}

/// Reads what comes at once, up to the end of `buffer`.
fn read_some(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Whether an empty file looks like the middle of a save in place: changed within the last two
/// seconds, and not when it was made.
pub(super) fn just_emptied(meta: &Meta) -> bool {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let fresh = now.saturating_sub(meta.modified) < 2_000_000_000;
    let made = meta.created.is_some_and(|made| meta.modified <= made);
    meta.size == 0 && fresh && !made
}
