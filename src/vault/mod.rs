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
//! In reading order: [`dir`] (handles), [`glance`], [`protect`], `real` (links), [`catalogue`], `scan`,
//! `resolve`, `looks`, `suggest`, `conflicts`, [`obsidian`], `watch`, `absorb`, `remembered`, `save`, `rights`, `turned`, `trash`, [`abilities`], [`plugin`].

#![expect(clippy::disallowed_methods, reason = "this room is the home of file-system calls")]

pub mod abilities;
mod absorb;
pub mod catalogue;
mod conflicts;
pub mod dir;
pub mod error;
pub mod glance;
mod looks;
pub mod obsidian;
pub mod plugin;
pub mod protect;
mod real;
mod refresh;
mod remembered;
mod renames;
mod resolve;
mod revision;
mod rights;
mod save;
mod scan;
mod suggest;
mod trash;
mod turned;
mod twins;
mod view;
mod watch;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

pub use abilities::Abilities;
pub use catalogue::{Catalogue, Counts, Entry, Listing, Order, Wanted};
pub use dir::{FileId, Kind, Meta};
pub use error::VaultError;
pub use looks::Looks;
pub use obsidian::{ActiveNote, DailyNotes, LinkFormat, ObsidianSettings, TrashOption};
pub use refresh::{ChangeKind, VaultChange};
pub use resolve::{Found, Place, Want};
pub use revision::{NoRevision, Revision};
pub use save::{Before, OldText, Saved, Staged, Writer, temp_name};
pub use trash::{InTrash, Keeping, TRASH_FOLDER, Trashed, make_system_trash, system_trash};
pub use turned::TurnedLink;
pub use view::{Seen, View};
pub use watch::Watching;

use crate::note::path::VaultPath;
use dir::Folder;
use protect::Protection;

/// How this room behaves; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Minutes between two full looks at the vault, which catch what events missed. 0: never.
    pub rescan_minutes: u32,
    /// Seconds between two looks where the file system sends no events.
    pub poll_seconds: u32,
    /// Bytes of the largest file that is read or edited whole.
    pub max_file_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rescan_minutes: 15, poll_seconds: 30, max_file_bytes: 10 << 20 }
    }
}

/// Asks a running call to stop early. A clone asks the same call.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>, Option<Instant>);

impl Cancel {
    /// Asks. A change that has begun is still finished.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The same call, which is also to stop when this moment has come.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        Self(Arc::clone(&self.0), Some(deadline))
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
pub struct Vault(Arc<Inner>, View);

struct Inner {
    place: PathBuf,
    name: String,
    root: Folder,
    root_id: dir::FileId,
    state: PathBuf,
    settings: ArcSwap<Settings>,
    protection: Protection,
    catalogue: RwLock<Catalogue>,
    unreadable: RwLock<Vec<(VaultPath, String)>>,
    /// Protected folders that the last scan met, at any depth.
    protected_folders: RwLock<Vec<VaultPath>>,
    twins: Mutex<twins::Twins>,
    obsidian: Mutex<obsidian::Reader>,
    abilities: OnceLock<Abilities>,
    watch: Mutex<watch::Watch>,
    sinks: RwLock<Vec<refresh::Sink>>,
    /// Milliseconds of the last full scan.
    scanned: AtomicU64,
    /// Held while the catalogue changes and its changes are told, so that all hear them in order.
    changing: Mutex<()>,
    /// One full scan at a time.
    scanning: Mutex<()>,
    /// Whether a scan has ended and none failed since: what is told of since then keeps the catalogue
    /// true.
    whole: AtomicBool,
    /// Set when everything is to end: a scan under way gives up.
    stopping: AtomicBool,
    /// While a full scan runs: what else was looked at or changed meanwhile.
    touched: Mutex<Option<Vec<VaultPath>>>,
    late: save::LateWrites,
    renames: Mutex<renames::Renames>,
    /// Our own hidden files that the scan found: a crash left them.
    unfinished: Mutex<Vec<VaultPath>>,
    warnings: Mutex<Vec<String>>,
}

/// A whole file as read.
#[derive(Debug, Clone)]
pub struct FileContent {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The hash of these bytes.
    pub revision: Revision,
    /// What the file system said of the file these bytes came from.
    pub meta: Meta,
}

/// What `status` shows of a vault.
#[derive(Debug, Clone)]
pub struct VaultStatus {
    /// How many of each there are.
    pub counts: Counts,
    /// How changes are noticed.
    pub watching: Watching,
    /// Milliseconds the last full scan took.
    pub scan_milliseconds: u64,
    /// Bytes the catalogue holds.
    pub catalogue_bytes: usize,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// What went wrong in the background, oldest first, at most fifty.
    pub warnings: Vec<String>,
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
        Ok((vault.clone(), Writer::new(vault)))
    }

    /// As [`Self::open`], and the system tells of what changes from then on: each folder is watched
    /// before it is listed, so that the one scan misses nothing. What is told is taken in by whoever
    /// asks ([`Self::settle`]), and by itself once [`Self::watch`] is called.
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
        Ok((vault.clone(), Writer::new(vault)))
    }

    fn attach(place: &Path, state: &Path, settings: Settings) -> Result<Self, VaultError> {
        let failed = |source| VaultError::Io {
            action: "open the vault at",
            path: place.display().to_string(),
            source,
        };
        let place = place.canonicalize().map_err(failed)?;
        let root = Folder::open_root(&place).map_err(failed)?;
        let root_id = root.meta().map_err(failed)?.id;
        let inside = state.canonicalize().ok();
        let inside = inside.as_deref().and_then(|state| state.strip_prefix(&place).ok()?.to_str());
        let state_inside = inside.and_then(|path| VaultPath::from_disk(&path.replace('\\', "/")));
        let protection = Protection::new(
            &obsidian::config_folders(&place),
            state_inside.filter(|path| !path.is_root()),
        );
        let name = place.file_name().unwrap_or(place.as_os_str()).to_string_lossy().into_owned();
        let inner = Inner {
            name,
            root,
            root_id,
            state: state.to_owned(),
            settings: ArcSwap::from_pointee(settings),
            protection,
            catalogue: RwLock::default(),
            unreadable: RwLock::default(),
            protected_folders: RwLock::default(),
            twins: Mutex::default(),
            obsidian: Mutex::default(),
            abilities: OnceLock::new(),
            watch: Mutex::default(),
            sinks: RwLock::default(),
            scanned: AtomicU64::new(refresh::NEVER),
            changing: Mutex::default(),
            scanning: Mutex::default(),
            whole: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            touched: Mutex::default(),
            late: save::LateWrites::default(),
            renames: Mutex::default(),
            unfinished: Mutex::default(),
            warnings: Mutex::default(),
            place,
        };
        Ok(Self(Arc::new(inner), View::default()))
    }

    /// Where the vault lies on this machine, links in that path resolved.
    pub fn root(&self) -> &Path {
        &self.0.place
    }

    /// The vault's name: that of its folder, as in Obsidian.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Bytes of the largest file that is read or edited whole.
    pub fn max_file_bytes(&self) -> u64 {
        self.0.settings.load().max_file_bytes
    }

    /// Behaves by these settings from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        let poll_seconds = settings.poll_seconds;
        self.0.settings.store(Arc::new(settings));
        lock(&self.0.watch).poll_every(poll_seconds);
    }

    /// Everything known to be in the vault. Hold it shortly: changes wait for it.
    pub fn catalogue(&self) -> Seen<'_> {
        let catalogue = self.0.catalogue.read().unwrap_or_else(PoisonError::into_inner);
        Seen::new(catalogue, &self.1)
    }

    /// The same vault with what `view` leaves out unseen: not found, not listed, not read. What is
    /// written is not its business.
    #[must_use]
    pub fn seen_through(&self, view: View) -> Self {
        Self(Arc::clone(&self.0), view)
    }

    /// What can be seen of it.
    pub fn view(&self) -> &View {
        &self.1
    }

    /// What Obsidian's settings say now.
    pub fn obsidian(&self) -> ObsidianSettings {
        lock(&self.0.obsidian).settings(&self.0.place)
    }

    /// The note open in Obsidian as its workspace file has it.
    pub fn active_note(&self) -> Option<ActiveNote> {
        let config = self.obsidian().config_folder;
        let note = obsidian::active_note(&self.0.place, config.as_deref()?)?;
        let seen = VaultPath::from_disk(&note.path).is_none_or(|path| self.1.shows(&path));
        seen.then_some(note)
    }

    /// How daily notes are called here, as Obsidian's settings say now.
    ///
    /// # Errors
    /// [`VaultError::Io`] where these cannot be read: a note under another name would be another note.
    pub fn daily_notes(&self) -> Result<DailyNotes, VaultError> {
        obsidian::daily_notes(&self.0.place, self.obsidian().config_folder.as_deref())
    }

    /// What the vault's file system can do; probed at the first call, with two short-lived hidden
    /// files in the vault's root.
    pub fn abilities(&self) -> Abilities {
        *self.0.abilities.get_or_init(|| abilities::probe(&self.0.root))
    }

    /// The folders that the last scan could not list: of what is in them nothing newer is known.
    pub fn unlisted_folders(&self) -> Vec<VaultPath> {
        let unreadable = self.0.unreadable.read().unwrap_or_else(PoisonError::into_inner);
        unreadable.iter().map(|(folder, _)| folder.clone()).collect()
    }

    /// What this file system is, where events cannot be relied on.
    pub fn remote_file_system(&self) -> Option<&'static str> {
        self.0.root.remote_file_system()
    }

    /// How changes made by others are noticed.
    pub fn watching(&self) -> Watching {
        lock(&self.0.watch).state()
    }

    /// The facts for `status` and `doctor`.
    pub fn status(&self) -> VaultStatus {
        let watching = self.watching();
        let (counts, catalogue_bytes) = {
            let catalogue = self.catalogue();
            (catalogue.counts(), catalogue.memory())
        };
        VaultStatus {
            counts,
            catalogue_bytes,
            watching,
            scan_milliseconds: self.0.scanned.load(Ordering::Relaxed),
            unreadable: self.0.unreadable.read().unwrap_or_else(PoisonError::into_inner).clone(),
            warnings: lock(&self.0.warnings).clone(),
        }
    }

    /// Says whether the vault's folder is still the one that was opened.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if it was moved, removed or unmounted, or another is in its place.
    pub fn check_root(&self) -> Result<(), VaultError> {
        match Folder::root_meta(&self.0.place) {
            Ok(meta) if meta.id == self.0.root_id => Ok(()),
            _ => Err(VaultError::Gone { root: self.0.place.clone() }),
        }
    }

    /// Says whether the vault's disk still answers. One that is gone refuses every look, which must
    /// not be taken for files that are not there.
    ///
    /// # Errors
    /// [`VaultError::Gone`], or as the system says.
    pub fn check_disk(&self) -> Result<(), VaultError> {
        self.check_root()?;
        let root = VaultPath::root();
        self.0.root.sync().map_err(|error| VaultError::io("look at", &root, error))
    }

    /// The identity of the vault's own folder.
    pub fn root_id(&self) -> FileId {
        self.0.root_id
    }

    /// What is at a resolved path now.
    pub fn stat(&self, path: &VaultPath) -> Result<Meta, VaultError> {
        self.0.root.stat_at(path).map_err(|error| VaultError::io("look at", path, error))
    }

    /// Opens the regular file at a resolved path for reading. What is opened is what the path
    /// names at this moment; no link is followed.
    ///
    /// # Errors
    /// As the system says; [`VaultError::NotAFile`] for folders, pipes and devices;
    /// [`VaultError::Protected`] for another name (hard link) of a protected file.
    pub fn open_file(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        self.allowed(path)?;
        if !self.1.shows(path) {
            return Err(VaultError::NotFound { path: path.clone(), near: Vec::new() });
        }
        if glance::is_on() {
            return self.open_cached(path);
        }
        let opened = self.0.root.open_file_at(path);
        let (file, meta) = opened.map_err(|error| self.not_opened(path, error))?;
        if meta.names > 1 {
            self.not_a_protected_twin(path, &meta)?;
        }
        Ok((file, meta))
    }

    /// The same at a glance: only what the system has in memory, and is no twin of anything.
    fn open_cached(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        match self.0.root.open_file_cached(path) {
            Ok((file, meta)) if meta.names == 1 => Ok((file, meta)),
            _ => Err(broken_off(path)),
        }
    }

    fn not_opened(&self, path: &VaultPath, error: io::Error) -> VaultError {
        match self.0.root.stat_at(path).map(|meta| meta.kind) {
            Ok(kind) if kind != Kind::File => VaultError::NotAFile { path: path.clone(), kind },
            _ => VaultError::io("open", path, error),
        }
    }

    /// Reads the whole file at a resolved path.
    ///
    /// A file that was emptied a moment ago, or changes its size while it is read, is read again
    /// for up to a second: that is how another program's save in place looks from outside.
    ///
    /// # Errors
    /// As [`Self::open_file`]; [`VaultError::TooLarge`] above [`Settings::max_file_bytes`].
    pub fn read(&self, path: &VaultPath) -> Result<FileContent, VaultError> {
        let patience = Instant::now() + Duration::from_secs(1);
        loop {
            let (file, meta) = self.open_file(path)?;
            let content = self.read_open(path, file, meta)?;
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
    ) -> Result<FileContent, VaultError> {
        let limit = self.max_file_bytes();
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
            true => dir::read_cached(&file, &mut bytes).unwrap_or(0),
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

    /// Refuses what no tool may touch. `path` is free of links.
    fn allowed(&self, path: &VaultPath) -> Result<(), VaultError> {
        match self.0.protection.check(path) {
            Some(found) => Err(VaultError::Protected {
                path: path.to_string(),
                folder: found.folder,
                reason: found.reason,
            }),
            None => Ok(()),
        }
    }

    /// Notes for `status` what went wrong where nobody was asking.
    pub fn warn(&self, warning: String) {
        tracing::warn!("{warning}");
        let mut warnings = lock(&self.0.warnings);
        if warnings.len() >= 50 {
            warnings.remove(0);
        }
        warnings.push(warning);
    }

    /// The steward's folder for what was rescued.
    pub fn recovery_folder(&self) -> PathBuf {
        self.0.state.join("recovery")
    }

    /// The steward's folder for what is deleted where the vault keeps no trash.
    fn kept_folder(&self) -> PathBuf {
        self.0.state.join("kept")
    }

    /// Stops watching and finishes what runs in the background.
    pub fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
        let watcher = lock(&self.0.watch).stop();
        if let Some(thread) = watcher {
            let _ = thread.join();
            // Only who was told of every change knows what the next start would find.
            self.remember();
        }
        self.0.late.finish(self);
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("place", &self.0.place).finish_non_exhaustive()
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
fn just_emptied(meta: &Meta) -> bool {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let fresh = now.saturating_sub(meta.modified) < 2_000_000_000;
    let made = meta.created.is_some_and(|made| meta.modified <= made);
    meta.size == 0 && fresh && !made
}

/// A panic elsewhere never makes the vault unusable: every lock guards values that are whole
/// between two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
