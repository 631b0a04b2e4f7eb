//! Tables that are saved between runs, and the first reading of all files in the background.
//!
//! A saved record is used only if its file has the size, mtime, inode and ctime (on Windows size and mtime alone) that it
//! had when it was read ([`SameAs`]). A saved file can be deleted at any time.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::changes::{Feed, Stamp, identity};
use super::checksummed_file;
use super::synced::{Cancelled, RecordTable, Synced};
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Kind, Vault};

/// The name of the file in a table's folder.
const FILE: &str = "table";

/// How often a caller that waits for the first reading checks whether it was cancelled.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(50);

/// The minimum interval between saves of a table with slow reading.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// How often a paused reading checks whether it may continue.
const LOOK_EVERY: Duration = Duration::from_secs(30);

pub(super) trait SavedTable: RecordTable + 'static {
    /// Name of its folder in the steward's folder, and of the thread of the first reading.
    const NAME: &'static str;
    /// The file's first bytes. They change with the format, and with the content of a record.
    const HEADER: &'static [u8];
    /// Whether reading is slow, so that a single thread reads all files and leaves the other
    /// processors free.
    const IS_SLOW: bool = false;

    /// Stores the saved records of unchanged files; `None` if the data is invalid.
    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()>;
    /// All certain records as bytes.
    fn save(&self) -> Vec<u8>;
}

/// Tells which files are unchanged since they were read.
pub(super) struct SameAs<'a>(&'a Vault);

impl SameAs<'_> {
    /// Whether the file at `path` has this stamp, and this `identity` if its text was read.
    pub fn is_same(&self, path: &VaultPath, known: Stamp, read: Option<u64>) -> bool {
        // Locked for each file, since others wait for the lock.
        let catalogue = self.0.catalogue();
        let now = catalogue.get(path.as_str()).filter(|entry| entry.kind == Kind::File);
        now.is_some_and(|now| {
            known == (now.size, now.modified)
                && read.is_none_or(|read| read == identity(now.id, now.change_mark))
        })
    }
}

/// Work on the reading thread.
type AtReading = Box<dyn Fn(&Cancel) + Send + Sync>;

/// Tells whether background reading must pause.
type Waits = Box<dyn Fn() -> bool + Send + Sync>;

/// A synchronised table that is saved between runs.
pub(super) struct Persistent<K: RecordTable> {
    pub synced: Synced<K>,
    /// The folder in which the table is saved.
    folder: OnceLock<PathBuf>,
    loaded: Once,
    /// Whether the first reading of all files is still running or due.
    is_first: Mutex<bool>,
    /// Notified when the first reading is over.
    was_first: Condvar,
    stop: Mutex<Cancel>,
    reader: Mutex<Option<JoinHandle<()>>>,
    /// Runs on the reading thread before it begins.
    before: OnceLock<AtReading>,
    /// Runs on the reading thread before the files count as read.
    after: OnceLock<AtReading>,
    /// Called before and during a slow background reading.
    waits: OnceLock<Waits>,
    /// When a table with slow reading was last saved in the background.
    saved: Mutex<Option<Instant>>,
}

impl<K: SavedTable> Persistent<K> {
    /// Records of `vault`. Nothing is read yet.
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        Self {
            synced: Synced::new(vault, feed),
            folder: OnceLock::new(),
            loaded: Once::new(),
            is_first: Mutex::default(),
            was_first: Condvar::new(),
            stop: Mutex::default(),
            reader: Mutex::default(),
            before: OnceLock::new(),
            after: OnceLock::new(),
            waits: OnceLock::new(),
            saved: Mutex::default(),
        }
    }

    /// Sets the work before the reading of all files, on its thread.
    pub fn set_before(&self, before: impl Fn(&Cancel) + Send + Sync + 'static) {
        let _ = self.before.set(Box::new(before));
    }

    /// Sets the work after the reading of all files, on its thread.
    pub fn set_after(&self, after: impl Fn(&Cancel) + Send + Sync + 'static) {
        let _ = self.after.set(Box::new(after));
    }

    /// Sets when slow background reading must pause.
    pub fn set_waits(&self, waits: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.waits.set(Box::new(waits));
    }

    /// Whether background reading must pause now.
    pub fn has_to_wait(&self) -> bool {
        self.waits.get().is_some_and(|waits| waits())
    }

    /// Sets the steward's folder of the vault, and starts a thread that waits until a caller needs the records. Then it
    /// loads those of an earlier run, and reads all other files. Without saved records it begins `after` that time at
    /// the latest.
    pub fn start(self: &Arc<Self>, state: &Path, after: Option<Duration>) {
        let is_saved = self.set_folder(state);
        self.read_in_background(after.filter(|_| !is_saved));
    }

    /// Sets the steward's folder of the vault, where an earlier run may have saved the table. Returns whether it did.
    pub fn set_folder(&self, state: &Path) -> bool {
        self.folder.get_or_init(|| state.join(K::NAME)).join(FILE).exists()
    }

    /// Reads all files on a thread and saves the records: once a caller needs them, or `after` that
    /// time. Does nothing if a thread is already reading.
    pub fn read_in_background(self: &Arc<Self>, after: Option<Duration>) {
        if std::mem::replace(&mut *lock(&self.is_first), true) {
            return;
        }
        let mut current = lock(&self.reader);
        // It has read all files, and may still be saving the records.
        let previous = current.take();
        let (shared, stop) = (Arc::clone(self), lock(&self.stop).clone());
        let read = move || {
            match after {
                Some(time) => std::thread::park_timeout(time),
                None => std::thread::park(),
            }
            let _ = previous.map(JoinHandle::join);
            if let Some(before) = shared.before.get() {
                before(&stop);
            }
            if stop.is_cancelled() {
                return;
            }
            shared.load();
            match shared.refresh_in_background(&stop) {
                Ok(()) => {
                    if let Some(after) = shared.after.get() {
                        after(&stop);
                    }
                    shared.set_first(false);
                    shared.save_at_times();
                }
                // It starts again when a caller needs it.
                Err(Cancelled) if !stop.is_cancelled() => shared.set_first(false),
                Err(Cancelled) => {}
            }
        };
        match std::thread::Builder::new().name(K::NAME.to_owned()).spawn(read) {
            Ok(reader) => *current = Some(reader),
            // The first caller reads them.
            Err(_) => {
                drop(current);
                self.set_first(false);
            }
        }
    }

    fn refresh_in_background(&self, stop: &Cancel) -> Result<(), Cancelled> {
        let alone =
            || rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(lower_priority).build();
        let Some(Ok(alone)) = K::IS_SLOW.then(alone) else { return self.synced.refresh(stop) };
        if !K::IS_SLOWEST {
            return alone.install(|| self.synced.refresh(stop));
        }
        loop {
            while self.has_to_wait() && !stop.is_cancelled() {
                std::thread::park_timeout(LOOK_EVERY);
            }
            let has_paused = AtomicBool::new(false);
            let goes_on = || {
                self.save_at_times();
                has_paused.store(self.has_to_wait(), Ordering::Relaxed);
                !has_paused.load(Ordering::Relaxed)
            };
            let outcome = alone.install(|| self.synced.refresh_while(stop, &goes_on));
            if outcome.is_ok() || stop.is_cancelled() || !has_paused.into_inner() {
                return outcome;
            }
            // The battery may run out.
            self.save();
        }
    }

    /// Cancels the reading on a thread.
    fn end(&self) {
        lock(&self.stop).cancel();
        let reader = lock(&self.reader).take();
        if let Some(reader) = reader {
            reader.thread().unpark();
            let _ = reader.join();
        }
    }

    /// Removes all records and the file in which they are saved.
    pub fn forget(&self) {
        self.end();
        *lock(&self.stop) = Cancel::default();
        self.synced.reset(K::default());
        self.synced.take_unsaved();
        if let Some(folder) = self.folder.get() {
            // It may never have been saved.
            let _ = std::fs::remove_dir_all(folder);
        }
        self.set_first(false);
    }

    /// Cancels the first reading, and saves changed records.
    pub fn stop(&self) {
        self.end();
        // A first reading that was cancelled starts again in the next run.
        if K::IS_SLOWEST || !*lock(&self.is_first) {
            self.save();
        }
    }

    /// Brings the records up to date, after the first reading.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        while self.is_first(CHECK_EVERY) {
            if cancel.is_cancelled() {
                return Err(Cancelled);
            }
        }
        self.load();
        self.synced.refresh(cancel)
    }

    /// Starts the first reading, waits for it for at most `patience`, and returns whether it is still running.
    pub fn is_first(&self, patience: Duration) -> bool {
        let first = lock(&self.is_first);
        if !*first {
            return false;
        }
        lock(&self.reader).iter().for_each(|reader| reader.thread().unpark());
        let waited = self.was_first.wait_timeout_while(first, patience, |first| *first);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether no first reading is pending.
    pub fn is_over(&self) -> bool {
        !*lock(&self.is_first)
    }

    /// Whether an earlier run saved the table, or this one did.
    pub fn is_saved(&self) -> bool {
        self.folder.get().is_some_and(|folder| folder.join(FILE).exists())
    }

    /// Whether all files were read, in this run or an earlier one, so that only changed ones are
    /// left.
    pub fn is_read(&self) -> bool {
        self.is_saved() && !self.is_first(Duration::ZERO)
    }

    /// Sets whether the first reading is still running or due.
    pub fn set_first(&self, is_first: bool) {
        *lock(&self.is_first) = is_first;
        self.was_first.notify_all();
    }

    /// At the first call, loads the records of an earlier run.
    pub fn load(&self) {
        self.loaded.call_once(|| {
            let Some(file) = self.folder.get().and_then(|folder| read(folder).ok()) else { return };
            let Some(saved) = checksummed_file::content(&file, K::HEADER) else { return };
            // Without the lock, so that others can query meanwhile. A record that they add is read again.
            let mut table = K::default();
            if table.load(saved, &SameAs(&self.synced.vault)).is_some() {
                *self.synced.table_mut() = table;
            }
        });
    }

    /// Saves in the background: rarely while changes are frequent, since each save writes all
    /// records.
    fn save_at_times(&self) {
        if K::IS_SLOWEST {
            let mut saved = lock(&self.saved);
            if saved.is_some_and(|last| last.elapsed() < SAVE_EVERY) {
                return;
            }
            *saved = Some(Instant::now());
        }
        self.save();
    }

    fn save(&self) {
        let Some(folder) = self.folder.get().filter(|_| self.synced.take_unsaved()) else { return };
        let saved = self.synced.table().save();
        if let Err(error) = checksummed_file::write(folder, FILE, &[K::HEADER, &saved]) {
            // They are read again in the next run.
            tracing::warn!(%error, table = K::NAME, "the index could not be saved");
        }
    }
}

fn lower_priority(_: usize) {
    // Only Linux has a priority per thread; elsewhere it would affect the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
}

fn read(folder: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(folder.join(FILE))
}

#[cfg(test)]
pub(super) mod check {
    use super::*;
    use crate::vault::Settings;

    /// Checks that the records of these files are saved and loaded, and that a damaged file is not used.
    pub fn survives<K: SavedTable, S: PartialEq + std::fmt::Debug>(
        files: &[(&str, &str)],
        seen: impl Fn(&K) -> S,
    ) {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        for (name, text) in files {
            let path = place.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, text).expect("written");
            let file = std::fs::File::options().append(true).open(path).expect("opened");
            file.set_modified(std::time::UNIX_EPOCH).expect("set");
        }
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let new = || Persistent::<K>::new(vault.clone(), &Feed::new(vault.clone()));
        let nothing = seen(&K::default());
        let first = new();
        assert!(!first.set_folder(state));
        first.refresh(&Cancel::default()).expect("nobody withdraws");
        let all = seen(&first.synced.table());
        assert_ne!(all, nothing);
        first.stop();
        let again = new();
        assert!(again.set_folder(state));
        again.load();
        assert_eq!(seen(&again.synced.table()), all);
        let place = state.join(K::NAME).join(FILE);
        let file = std::fs::read(&place).expect("read");
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 16;
            std::fs::write(&place, damaged).expect("written");
            let loaded = new();
            loaded.set_folder(state);
            loaded.load();
            assert_eq!(seen(&loaded.synced.table()), nothing, "byte {at}");
        }
        for end in 0..file.len() {
            assert_eq!(checksummed_file::content(&file[..end], K::HEADER), None, "{end} bytes");
        }
    }

    /// Whether the content of a saved file, which is sound as a file, is used.
    pub fn is_loaded<K: SavedTable>(saved: &[u8]) -> bool {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        K::default().load(saved, &SameAs(&vault)).is_some()
    }
}
