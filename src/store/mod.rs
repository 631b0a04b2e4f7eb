//! The steward's own memory: a database beside the vault, and the texts it names.
//!
//! May import `chaos` and the values of `conversation`, nothing else of ours: it knows rows and
//! bytes, no vault and no path. All of it lies in the state folder, never in the vault, since a
//! synced folder is where databases die.
//!
//! - `database`: `state.db`, one connection, every commit durable when it returns; what to do with
//!   one that is damaged, foreign, newer or gone.
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
pub mod inbox;
pub mod journal;
mod repair;
pub mod usage;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use blobs::{BlobError, BlobHash, Blobs};
pub use error::StoreError;
pub use repair::Prepared;

use database::Database;

/// The name of the database in the state folder.
pub const DATABASE: &str = "state.db";

/// The store of one vault. Clones share its one connection.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    blobs: Blobs,
    /// Opened at the first use: who only reads notes waits for no database.
    database: Mutex<Option<Database>>,
}

impl Store {
    /// The store in this state folder. Touches nothing yet.
    pub fn at(folder: &Path) -> Self {
        Self(Arc::new(Inner {
            folder: folder.to_owned(),
            blobs: Blobs::at(&folder.join("blobs")),
            database: Mutex::default(),
        }))
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
    /// # Errors
    /// [`StoreError::Newer`] with nothing touched; [`StoreError`] where it cannot be used.
    pub fn prepare(&self) -> Result<Prepared, StoreError> {
        let mut open = self.database();
        *open = None;
        let mut prepared = repair::make_sound(&self.0.folder)?;
        let database = Database::open(&self.0.folder)?;
        if let Err(error) = repair::back_up(&database, &self.0.folder) {
            prepared.warnings.push(format!("the daily copy of the journal failed: {error}"));
        }
        *open = Some(database);
        Ok(prepared)
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
        self.0.database.lock().unwrap_or_else(PoisonError::into_inner)
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
            *open = Database::open_if_there(&self.0.folder)?;
        }
        match open.as_ref() {
            Some(database) => {
                database.check_there()?;
                work(database)
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
        let mut open = self.database();
        if open.is_none() {
            *open = match Database::open_if_there(&self.0.folder)? {
                None if repair::is_missed(&self.0.folder)? => {
                    return Err(StoreError::Missing { place: self.0.folder.join(DATABASE) });
                }
                None => Some(Database::open(&self.0.folder)?),
                there => there,
            };
        }
        let database = open.as_mut().expect("it was opened above");
        database.check_there()?;
        work(database)
    }
}
