//! Text search without reading every note: signatures tell which notes can match, the newest texts are in
//! memory, and the remaining notes are verified by the engine that a search without the index uses, so
//! that the results are the same.
//!
//! The index never decides that a note matches, only that it cannot. For that it must not be older than
//! the note: before a search the table applies the pending changes of the change feed; a note that has
//! changed since it was read is unread again, and read by the search itself. A match in a cached text
//! counts only if its file is still the one that was read.
//!
//! A thread that [`Text::start`] starts keeps the index up to date; without it, as in a single call from
//! the command line, every search reads the files.
//!
//! In reading order: this file, [`signature`], [`plan`], [`strings`], `columns`, `notes`, `table`, `answer`
//! (one search), `reading`, `worker`, `slots`, `saved`.

mod answer;
mod columns;
mod notes;
pub mod plan;
mod reading;
mod saved;
pub mod signature;
mod slots;
pub mod strings;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::changes::{Feed, Listener};
use super::search::{PatternError, Patterns, Query, Results, Settings};
use crate::locks::{lock, read, write};
use crate::vault::{Cancel, Vault};
use table::Table;

/// Maximum number of pending changes; beyond it, every note is read again.
const MAX_CHANGES: usize = 200_000;

/// The folder of the index, in the steward's folder of the vault.
const FOLDER: &str = "text";

fn folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// The text index of a vault. Clones share it.
#[derive(Clone)]
pub struct Text(Arc<Handle>);

/// Memory use in bytes, by part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextMemory {
    pub signatures: usize,
    /// Everything of each note except its text.
    pub notes: usize,
    /// Texts of the newest notes.
    pub resident: usize,
    /// Number of cached compiled patterns; the regex engine does not tell their size.
    pub patterns: usize,
}

/// Stops the thread when the last clone is dropped.
struct Handle {
    inner: Arc<SharedText>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct SharedText {
    vault: Vault,
    table: RwLock<Table>,
    changes: Listener,
    /// Held while pending changes are applied: no search runs before they are.
    turn: Mutex<()>,
    patterns: Patterns,
    searches: AtomicUsize,
    cores: usize,
    /// Maximum bytes of cached texts.
    budget: AtomicUsize,
    folder: OnceLock<PathBuf>,
    /// Whether searches can use the table.
    gate: Mutex<Gate>,
    /// Notified when the gate changes.
    opened: Condvar,
    /// Whether there are unsaved changes.
    changed: AtomicBool,
    /// Whether cached texts may be missing.
    refill: AtomicBool,
    /// When texts may be cached at the earliest.
    refill_at: Mutex<Option<Instant>>,
    stop: AtomicBool,
    /// Notes that were changed too recently to be read, and when they can be.
    waiting: Mutex<Vec<(Instant, u32)>>,
    bell: Arc<Bell>,
}

impl Text {
    /// The index of `vault`. Reads nothing before [`Self::start`].
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        let bell = Arc::<Bell>::default();
        let wake = Arc::clone(&bell);
        let changes = feed.listen(|path| path.is_note(), MAX_CHANGES, move || wake.ring());
        let inner = SharedText {
            vault,
            table: RwLock::default(),
            changes,
            turn: Mutex::default(),
            patterns: Patterns::default(),
            searches: AtomicUsize::new(0),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            budget: AtomicUsize::new(megabytes(Settings::default().resident_megabytes)),
            folder: OnceLock::new(),
            gate: Mutex::default(),
            opened: Condvar::new(),
            changed: AtomicBool::new(false),
            refill: AtomicBool::new(false),
            refill_at: Mutex::default(),
            stop: AtomicBool::new(false),
            waiting: Mutex::default(),
            bell,
        };
        Self(Arc::new(Handle { inner: Arc::new(inner), thread: Mutex::default() }))
    }

    /// Starts the thread of the index, which loads the index saved by an earlier run in `state`, the steward's folder
    /// of the vault. A second call does nothing.
    pub fn start(&self, state: &Path) {
        let mut thread = lock(&self.0.thread);
        let inner = &self.0.inner;
        if thread.is_some() || inner.stop.load(Ordering::Relaxed) {
            return;
        }
        let _ = inner.folder.set(folder(state));
        // Searches wait for the table from now on.
        *lock(&inner.gate) = Gate::Opening;
        let shared = Arc::clone(inner);
        let started = std::thread::Builder::new()
            .name("text-index".to_owned())
            .spawn(move || worker::run(&shared));
        match started {
            Ok(started) => *thread = Some(started),
            // Searches read the files.
            Err(error) => {
                inner.open_gate(Gate::Closed);
                tracing::warn!(%error, "the text index could not be begun");
            }
        }
    }

    /// Searches the vault in the caller's view. The result is that of [`super::search::search`].
    ///
    /// # Errors
    /// [`PatternError`]: an invalid pattern. A cancelled search ends early with partial results.
    pub fn search(
        &self,
        vault: &Vault,
        query: &Query,
        settings: &Settings,
        cancel: &Cancel,
    ) -> Result<Results, PatternError> {
        answer::search(&self.0.inner, vault, query, settings, cancel)
    }

    /// Saves the index and stops its thread. Searches still work.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Does the thread's work on this one, except saving: afterwards every note is indexed that has not
    /// changed within the last moments.
    pub fn refresh(&self) {
        let inner = &self.0.inner;
        if !inner.is_ready() {
            worker::begin(inner);
        }
        inner.vault.settle();
        worker::work(inner);
    }

    /// Saves into `state`, as when the thread stops.
    #[cfg(test)]
    fn save(&self, state: &Path) {
        let _ = self.0.inner.folder.set(folder(state));
        self.0.inner.changed.store(true, Ordering::Relaxed);
        worker::save(&self.0.inner);
    }

    /// Loads the index saved in `state`, as the thread does at its start.
    #[cfg(test)]
    fn begin(&self, state: &Path) {
        let _ = self.0.inner.folder.set(folder(state));
        worker::begin(&self.0.inner);
    }

    /// Whether searches use the index.
    pub fn is_ready(&self) -> bool {
        self.0.inner.is_ready()
    }

    /// Number of notes with a signature, and of notes that every search reads, since they are new, have
    /// changed or cannot have one.
    pub fn known(&self) -> (usize, usize) {
        let table = read(&self.0.inner.table);
        let signed =
            table.notes().filter(|(_, note)| note.state == notes::NoteState::Signed).count();
        (signed, table.notes().count() - signed)
    }

    /// Sets the maximum size of cached texts.
    pub fn set_resident(&self, resident_megabytes: u64) {
        let inner = &self.0.inner;
        inner.budget.store(megabytes(resident_megabytes), Ordering::Relaxed);
        inner.refill.store(true, Ordering::Relaxed);
        inner.bell.ring();
    }

    /// Drops a compiled pattern that is too large to be cached. Call it after the answer is complete.
    pub fn drop_large_pattern(&self) {
        self.0.inner.patterns.drop_large();
    }

    pub fn memory(&self) -> TextMemory {
        let table = read(&self.0.inner.table);
        TextMemory {
            signatures: table.columns().bytes(),
            notes: table.bytes(),
            resident: table.text_bytes(),
            patterns: self.0.inner.patterns.len(),
        }
    }
}

impl Handle {
    fn stop(&self) {
        self.inner.stop.store(true, Ordering::Relaxed);
        self.inner.bell.ring();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether searches can use the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Gate {
    /// No thread builds it: searches read the files.
    #[default]
    Closed,
    /// It is being built, which is faster than reading all files: searches wait.
    Opening,
    Ready,
}

/// How often a waiting search checks whether its time is over.
const CHECK_EVERY: Duration = Duration::from_millis(20);

impl SharedText {
    fn is_ready(&self) -> bool {
        *lock(&self.gate) == Gate::Ready
    }

    /// Whether a search need not wait for another thread: the table is ready and up to date, and no other search runs.
    fn is_idle(&self) -> bool {
        self.searches.load(Ordering::Relaxed) == 0
            && self.gate.try_lock().is_ok_and(|gate| *gate == Gate::Ready)
            && self.turn.try_lock().is_ok()
            && self.table.try_read().is_ok()
            && self.changes.is_idle()
    }

    fn open_gate(&self, to: Gate) {
        *lock(&self.gate) = to;
        self.opened.notify_all();
    }

    /// Waits while the table is being built, until `over`. Returns whether it is ready.
    fn wait_until_ready(&self, over: impl Fn() -> bool) -> bool {
        let mut gate = lock(&self.gate);
        while *gate == Gate::Opening && !over() {
            let waited = self.opened.wait_timeout(gate, CHECK_EVERY);
            gate = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *gate == Gate::Ready
    }

    /// Applies the pending changes. Afterwards every note that changed before is unread.
    fn catch_up(&self) {
        let _turn = lock(&self.turn);
        let pending = self.changes.take();
        if pending.is_empty() {
            return;
        }
        let changes =
            self.changes.files(pending, read(&self.table).notes().map(|(_, note)| note.path));
        let mut table = write(&self.table);
        // A search that begins now holds the table's lock.
        let searching = self.searches.load(Ordering::Relaxed) > 0;
        table.apply(changes, searching);
        self.changed.store(true, Ordering::Relaxed);
    }
}

/// Wakes the index thread.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    condvar: Condvar,
}

impl Bell {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.condvar.notify_one();
    }

    /// Waits for [`Self::ring`], or until a moment.
    fn wait(&self, until: Option<Instant>) {
        let mut rung = lock(&self.rung);
        while !*rung {
            rung = match until {
                None => self.condvar.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = self.condvar.wait_timeout(rung, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *rung = false;
    }
}

debug_only!(Text);

fn megabytes(count: u64) -> usize {
    usize::try_from(count.saturating_mul(1 << 20)).unwrap_or(usize::MAX)
}
