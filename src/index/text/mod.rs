//! Text search without reading every note: signatures say which notes can have a match, the newest
//! texts are in memory, and what is left is verified by the engine that a search without the index
//! uses, so that the answer is the same.
//!
//! The index never decides that something matches, only that a note cannot. For that it must not be
//! older than the note: before an answer the table takes in what the change feed has collected; a
//! note that has changed since it was read is unread again, and read by the search itself. A match
//! in a text from memory counts only if its file is still the one that was read.
//!
//! Kept by a thread that [`Text::start`] begins; without it, as in a single call from the command
//! line, every search reads the files.
//!
//! In reading order: this page, [`signature`], [`plan`], [`strings`], `columns`, `notes`,
//! `table`, `answer` (one search), `reading`, `worker`, `slots`, `saved`.

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
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
    RwLockWriteGuard,
};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::changes::{Feed, Listener};
use super::search::{PatternError, Patterns, Query, Results, Settings};
use crate::vault::{Cancel, Vault};
use table::Table;

/// Changes collected one by one; beyond, every note is read again.
const MAX_CHANGES: usize = 200_000;

/// The folder of the index, in the steward's folder for the vault.
const FOLDER: &str = "text";

fn folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// The text index of a vault. A cheap clone over shared state.
#[derive(Clone)]
pub struct Text(Arc<Handle>);

/// Bytes of memory by part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextMemory {
    /// Signatures of all notes.
    pub signatures: usize,
    /// What is known of each note beside them.
    pub notes: usize,
    /// Texts of the newest notes.
    pub resident: usize,
    /// Patterns kept compiled. Their number; the engine does not tell its bytes.
    pub patterns: usize,
}

/// Ends the thread when nobody is left who could ask.
struct Handle {
    inner: Arc<Inner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    vault: Vault,
    table: RwLock<Table>,
    changes: Listener,
    /// One at a time takes in what is pending, and nobody answers before it is taken in.
    turn: Mutex<()>,
    patterns: Patterns,
    /// Searches under way.
    searches: AtomicUsize,
    cores: usize,
    /// Bytes of text to keep in memory.
    budget: AtomicUsize,
    folder: OnceLock<PathBuf>,
    /// Whether the table is that of the vault.
    gate: Mutex<Gate>,
    /// Rung when it is, or will not be.
    opened: Condvar,
    /// Whether something is not saved.
    changed: AtomicBool,
    /// Whether texts may be missing in memory.
    refill: AtomicBool,
    /// Not before.
    refill_at: Mutex<Option<Instant>>,
    stop: AtomicBool,
    /// Notes that were too fresh to be read, and when they are not any more.
    waiting: Mutex<Vec<(Instant, u32)>>,
    bell: Arc<Bell>,
}

impl Text {
    /// The index of `vault`; nothing is read before [`Self::start`].
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        let bell = Arc::<Bell>::default();
        let rung = Arc::clone(&bell);
        let changes = feed.listen(|path| path.is_note(), MAX_CHANGES, move || rung.ring());
        let inner = Inner {
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

    /// Begins to keep the index on a thread of its own, with what an earlier run saved in `state`,
    /// the steward's folder for the vault. A second call does nothing.
    pub fn start(&self, state: &Path) {
        let mut thread = lock(&self.0.thread);
        let inner = &self.0.inner;
        if thread.is_some() || inner.stop.load(Ordering::Relaxed) {
            return;
        }
        let _ = inner.folder.set(folder(state));
        // From here on it is waited for.
        *lock(&inner.gate) = Gate::Opening;
        let works = Arc::clone(inner);
        let begun = std::thread::Builder::new()
            .name("text-index".to_owned())
            .spawn(move || worker::run(&works));
        match begun {
            Ok(begun) => *thread = Some(begun),
            // Searches read the files.
            Err(error) => {
                inner.open_gate(Gate::Closed);
                tracing::warn!(%error, "the text index could not be begun");
            }
        }
    }

    /// Searches the vault as the caller sees it. The answer is that of [`super::search::search`].
    ///
    /// # Errors
    /// [`PatternError`] for a pattern that cannot be searched for. A withdrawn search ends early
    /// with what it has; its caller knows.
    pub fn search(
        &self,
        vault: &Vault,
        query: &Query,
        settings: &Settings,
        cancel: &Cancel,
    ) -> Result<Results, PatternError> {
        answer::search(&self.0.inner, vault, query, settings, cancel)
    }

    /// Saves the index and ends its thread. Searches still answer.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Does on this thread what [`Self::start`] leaves to another, but for saving: afterwards every
    /// note is known that has not changed within the last moments.
    pub fn refresh(&self) {
        let inner = &self.0.inner;
        if !inner.is_ready() {
            worker::begin(inner);
        }
        inner.vault.settle();
        worker::work(inner);
    }

    /// Saves into `state`, as at the end.
    #[cfg(test)]
    fn save(&self, state: &Path) {
        let _ = self.0.inner.folder.set(folder(state));
        self.0.inner.changed.store(true, Ordering::Relaxed);
        worker::save(&self.0.inner);
    }

    /// Begins with what was saved in `state`, as at a start.
    #[cfg(test)]
    fn begin(&self, state: &Path) {
        let _ = self.0.inner.folder.set(folder(state));
        worker::begin(&self.0.inner);
    }

    /// Whether searches use the index already.
    pub fn is_ready(&self) -> bool {
        self.0.inner.is_ready()
    }

    /// How many notes are known by their signature, and how many are read by each search because
    /// they are new, have changed or cannot be known otherwise.
    pub fn known(&self) -> (usize, usize) {
        let table = read(&self.0.inner.table);
        let signed = table.notes().filter(|(_, note)| note.state == notes::State::Signed).count();
        (signed, table.notes().count() - signed)
    }

    /// Keeps so many megabytes of text in memory from now on.
    pub fn set_resident(&self, resident_megabytes: u64) {
        let inner = &self.0.inner;
        inner.budget.store(megabytes(resident_megabytes), Ordering::Relaxed);
        inner.refill.store(true, Ordering::Relaxed);
        inner.bell.ring();
    }

    /// Lets go of a compiled pattern that is too large to be kept once all is answered that it is for.
    pub fn let_go_of_large_pattern(&self) {
        self.0.inner.patterns.let_go_of_large();
    }

    /// What it holds.
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
    /// Nobody makes it: they read the files.
    #[default]
    Closed,
    /// It is being made, which is sooner done than reading every file.
    Opening,
    Ready,
}

/// How often one who waits looks whether its time is over.
const LOOK: Duration = Duration::from_millis(20);

impl Inner {
    fn is_ready(&self) -> bool {
        *lock(&self.gate) == Gate::Ready
    }

    fn open_gate(&self, to: Gate) {
        *lock(&self.gate) = to;
        self.opened.notify_all();
    }

    /// Waits for the table while it is being made, until `over`; whether it is there.
    fn comes_ready(&self, over: impl Fn() -> bool) -> bool {
        let mut gate = lock(&self.gate);
        while *gate == Gate::Opening && !over() {
            let waited = self.opened.wait_timeout(gate, LOOK);
            gate = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *gate == Gate::Ready
    }

    /// Takes in what the vault told of. Afterwards no note that changed before counts as known.
    fn catch_up(&self) {
        let _turn = lock(&self.turn);
        let pending = self.changes.take();
        if pending.is_empty() {
            return;
        }
        let changes =
            self.changes.files(pending, read(&self.table).notes().map(|(_, note)| note.path));
        let mut table = write(&self.table);
        // A search that is beginning holds the table.
        let searching = self.searches.load(Ordering::Relaxed) > 0;
        table.apply(changes, searching);
        self.changed.store(true, Ordering::Relaxed);
    }
}

/// Wakes one thread.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    told: Condvar,
}

impl Bell {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.told.notify_one();
    }

    /// Waits for the bell, or until a moment has come.
    fn wait(&self, until: Option<Instant>) {
        let mut rung = lock(&self.rung);
        while !*rung {
            rung = match until {
                None => self.told.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = self.told.wait_timeout(rung, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *rung = false;
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").finish_non_exhaustive()
    }
}

fn megabytes(count: u64) -> usize {
    usize::try_from(count.saturating_mul(1 << 20)).unwrap_or(usize::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(guarded: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    guarded.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(guarded: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    guarded.write().unwrap_or_else(PoisonError::into_inner)
}
