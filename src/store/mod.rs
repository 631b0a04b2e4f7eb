//! The steward's own memory: a database beside the vault, and the texts it names.
//!
//! May import `chaos` and the values of `conversation`, nothing else of ours: it knows rows and
//! bytes, no vault and no path. All of it lies in the state folder, never in the vault, since a
//! synced folder is where databases die.
//!
//! - `database`: `state.db`, one connection, every commit durable when it returns; what to do with
//!   one that is damaged, foreign, newer or gone (`repair`), and what a clean end leaves (`sound`).
//! - [`blobs`]: bytes by their hash, checked on every read.
//! - [`journal`]: the rows of the journal.
//! - [`audit`]: what was decided on calls, and what a person agreed to or set.
//! - [`conversations`]: what was said, in which turn of which conversation, and search over it.
//! - [`inbox`]: messages as they came, kept before they are acknowledged.
//! - [`usage`]: what models were used for.
//!
//! Invariant: a row never names bytes that are not durable yet, so bytes are put first and rows
//! follow; taken away in the other order.

#![expect(clippy::disallowed_methods, reason = "the state folder is the steward's own")]

pub mod audit;
pub mod blobs;
pub mod conversations;
mod database;
mod error;
mod head;
pub mod inbox;
pub mod journal;
mod repair;
mod sound;
pub mod usage;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use blobs::{BlobError, BlobHash, Blobs};
pub use error::StoreError;
pub use repair::Prepared;

use database::Database;

/// The name of the database in the state folder.
pub const DATABASE: &str = "state.db";

/// How a warning begins where no daily copy could be made.
const NOT_COPIED: &str = "the daily copy of the journal failed";

/// The store of one vault. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    blobs: Blobs,
    /// Opened at the first use: who only reads notes waits for no database.
    database: Mutex<Option<Database>>,
    /// Whether its connection is for who adds rows and reads hardly any.
    only_adds: bool,
    soundness: Arc<Soundness>,
}

/// What is known of the database, by all that [`Store::another`] gave.
#[derive(Debug, Default)]
struct Soundness {
    /// Whether it was looked through in this run, and nothing was found since.
    is_sound: AtomicBool,
    /// Ends when the look through the database has, which a start after a clean end leaves for later.
    look: Mutex<Option<Receiver<()>>>,
    /// What that look found, one sentence each.
    found: Mutex<Vec<String>>,
    /// Whether it found what could not be repaired: nothing is written from then on.
    is_beyond_repair: AtomicBool,
    /// All connections there are. Before the database is moved aside each has to be closed: one that is
    /// closed later takes away the log by its name, which is another's then.
    all: Mutex<Vec<Weak<Inner>>>,
}

impl Store {
    /// The store in this state folder. Touches nothing yet.
    pub fn at(folder: &Path) -> Self {
        let blobs = Blobs::at(&folder.join("blobs"));
        Self::with_connection(folder.to_owned(), blobs, false, Arc::default())
    }

    /// The same store with a connection of its own, for who should not wait for what others write.
    pub fn another(&self) -> Self {
        self.with_another(false)
    }

    /// As [`Self::another`], for who adds rows and reads hardly any: what was written stays out of this
    /// process's memory.
    pub fn another_to_add(&self) -> Self {
        self.with_another(true)
    }

    fn with_another(&self, only_adds: bool) -> Self {
        let Inner { folder, blobs, soundness, .. } = &*self.0;
        Self::with_connection(folder.clone(), blobs.clone(), only_adds, Arc::clone(soundness))
    }

    fn with_connection(
        folder: PathBuf,
        blobs: Blobs,
        only_adds: bool,
        soundness: Arc<Soundness>,
    ) -> Self {
        let database = Mutex::default();
        let inner = Arc::new(Inner { folder, blobs, database, only_adds, soundness });
        let mut all = inner.soundness.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&inner));
        drop(all);
        Self(inner)
    }

    /// Has `work` done while no connection is open and none can be opened here: those that there are
    /// wait, and no other is made meanwhile.
    fn closed<T>(&self, work: impl FnOnce() -> T) -> T {
        let listed = self.0.soundness.all.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<Arc<Inner>> = listed.iter().filter_map(Weak::upgrade).collect();
        let mut open: Vec<_> = all.iter().map(|one| database(one)).collect();
        open.iter_mut().for_each(|one| **one = None);
        work()
    }

    /// The state folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// The bytes by hash.
    pub fn blobs(&self) -> &Blobs {
        &self.0.blobs
    }

    /// Makes the store sound, for whoever holds the vault alone: a damaged database is moved aside
    /// and the last good copy takes its place, and once a day a copy is made.
    ///
    /// After a clean end, from which on nobody has written to it, the database is looked through in the
    /// background: who reads is served at once, who writes waits until it is known to be sound, so that
    /// nothing is ever written to a damaged one. What that finds is told by [`Self::found_later`].
    ///
    /// # Errors
    /// [`StoreError::Newer`] with nothing touched; [`StoreError`] where it cannot be used.
    pub fn prepare(&self) -> Result<Prepared, StoreError> {
        self.wait_for_look();
        self.0.soundness.is_sound.store(false, Ordering::Relaxed);
        self.0.soundness.is_beyond_repair.store(false, Ordering::Relaxed);
        // One that cannot be opened is for the thorough look, as any other.
        let ended = sound::take(&self.0.folder).then(|| Database::open_if_there(&self.0.folder));
        let ended = ended.and_then(Result::ok).flatten();
        let look_later = ended.is_some();
        let (mut prepared, database) = match ended {
            Some(database) => (Prepared::default(), Some(database)),
            None => self.closed(|| repair::make_sound(&self.0.folder))?,
        };
        let database = match database {
            Some(database) => database,
            None => Database::open(&self.0.folder)?,
        };
        // Never of one that may be damaged: it would take the place of a good one.
        if !look_later && let Err(error) = repair::back_up(&database, &self.0.folder) {
            prepared.warnings.push(format!("{NOT_COPIED}: {error}"));
        }
        *self.database() = Some(database);
        match look_later {
            true => self.look_later(),
            false => self.0.soundness.is_sound.store(true, Ordering::Relaxed),
        }
        Ok(prepared)
    }

    /// Closes this connection at the end of a run, after everything else. With the last one of them a
    /// sound database is marked as such for the next start; what uses the store after this opens it
    /// again, and the mark is void.
    pub fn end(&self) {
        let Some(database) = self.database().take() else { return };
        match database.close() {
            Ok(()) if self.0.soundness.is_sound.load(Ordering::Relaxed) => {
                if let Err(error) = sound::leave(&self.0.folder) {
                    tracing::info!(%error, "the next start looks through the journal first");
                }
            }
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "the journal's database was not closed"),
        }
    }

    /// What a person should hear of the look through the database after the start, one sentence each.
    pub fn found_later(&self) -> Vec<String> {
        self.found().clone()
    }

    fn found(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.soundness.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for what is going to be written, so that each commit takes less time: worth its few
    /// milliseconds for whoever is going to write often. Nothing depends on it.
    pub fn make_room(&self) {
        let lengthened = self.with_own(Database::lengthen_log);
        let synced = lengthened.map(|log| log.sync_all());
        if !matches!(synced, Ok(Ok(()))) {
            tracing::debug!(?synced, "the log of the journal's database is as short as it was");
        }
    }

    fn look_later(&self) {
        let (ends, look) = mpsc::channel();
        *self.0.soundness.look.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
        let store = self.clone();
        let thread = std::thread::Builder::new().name("store".to_owned());
        let begun = thread.spawn(move || {
            store.look();
            drop(ends);
            if let Err(error) = store.back_up() {
                tracing::warn!(%error, "{NOT_COPIED}");
                store.found().push(format!("{NOT_COPIED}: {error}"));
            }
        });
        if begun.is_err() {
            self.look();
        }
    }

    /// Looks through the database beside those who read it, on a connection of its own.
    fn look(&self) {
        let fault = match repair::looked_through(&self.0.folder) {
            Ok(Ok(_)) => return self.0.soundness.is_sound.store(true, Ordering::Relaxed),
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        tracing::error!("the journal's database is made sound after the start: {fault}");
        match self.closed(|| repair::make_sound(&self.0.folder)) {
            Ok((prepared, _)) => {
                self.found().extend(prepared.warnings);
                self.0.soundness.is_sound.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                self.0.soundness.is_beyond_repair.store(true, Ordering::Relaxed);
                self.found().push(format!("the journal's database cannot be used: {error}"));
            }
        }
    }

    /// Waits until it is known whether the database is sound.
    fn wait_for_look(&self) {
        let mut look = self.0.soundness.look.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = look.take() {
            // It ends by being dropped.
            let _ = look.recv();
        }
    }

    /// Makes today's copy of the database if there is none yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn back_up(&self) -> Result<(), StoreError> {
        self.with_own(|database| repair::back_up(database, &self.0.folder))
    }

    /// Whether the database is there and usable, opening it if need be. Ask before a change: what
    /// cannot be recorded must not be done.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.with_own(|_| Ok(()))
    }

    /// Whether a database that could not be used lies beside: what it names may still be wanted.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn has_moved_aside(&self) -> Result<bool, StoreError> {
        repair::has_moved_aside(&self.0.folder)
    }

    /// Bytes of the database's pages that SQLite keeps in memory, at most; 0 while it is closed, or
    /// while it is being written, which is not waited for.
    pub fn cache_bytes(&self) -> u64 {
        let Ok(open) = self.0.database.try_lock() else { return 0 };
        open.as_ref().and_then(|database| database.cache_bytes().ok()).unwrap_or(0)
    }

    fn database(&self) -> MutexGuard<'_, Option<Database>> {
        database(&self.0)
    }

    /// Reads, after a look whether the file is still the one at its name. Where there is none,
    /// nothing is recorded, and none is made: an empty one would keep the next start from taking
    /// the last good copy.
    fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self.database();
        if open.is_none() {
            *open = self.sized(Database::open_if_there(&self.0.folder)?)?;
        }
        match open.as_ref() {
            Some(database) => {
                database.check_there()?;
                self.noted(work(database))
            }
            None => work(&Database::empty()?),
        }
    }

    /// Writes; a database that is not there is made, unless it should be: then [`Self::prepare`]
    /// has to take the last good copy first. Reading calls write their audit without it.
    fn with_own<T>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait_for_look();
        let mut open = self.database();
        if self.0.soundness.is_beyond_repair.load(Ordering::Relaxed) {
            let place = self.0.folder.join(DATABASE);
            let reason = "it could not be made sound after the start".to_owned();
            return Err(StoreError::Damaged { place, reason });
        }
        if open.is_none() {
            let opened = match Database::open_if_there(&self.0.folder)? {
                None if repair::is_missed(&self.0.folder)? => {
                    return Err(StoreError::Missing { place: self.0.folder.join(DATABASE) });
                }
                None => Some(Database::open(&self.0.folder)?),
                there => there,
            };
            *open = self.sized(opened)?;
        }
        let database = open.as_mut().expect("it was opened above");
        database.check_there()?;
        self.noted(work(database))
    }

    /// One that was just opened, keeping as much in memory as it is for.
    fn sized(&self, database: Option<Database>) -> Result<Option<Database>, StoreError> {
        if let (Some(database), true) = (&database, self.0.only_adds) {
            database.keep_little()?;
        }
        Ok(database)
    }

    /// Remembers that something was damaged, so that the next start looks for it first.
    fn noted<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done.as_ref().is_err_and(StoreError::is_damage) {
            self.0.soundness.is_sound.store(false, Ordering::Relaxed);
        }
        done
    }
}

fn database(of: &Inner) -> MutexGuard<'_, Option<Database>> {
    of.database.lock().unwrap_or_else(PoisonError::into_inner)
}
