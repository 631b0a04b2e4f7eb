//! The database connection that all parts of the store share. It is opened at first use and
//! integrity-checked once per run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, Weak};

use rusqlite::{Connection, Params, Row, Transaction};

use super::clean_shutdown;
use super::error::StoreError;
use super::file::{DATABASE, DatabaseFile};
use super::owner::Owner;
use super::query;
use super::repair::{self, Prepared};
use crate::locks::lock;

/// Prefix of the warning for a failed daily backup.
const BACKUP_FAILED: &str = "the daily copy of the journal failed";

/// The database of one vault. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Database(Arc<SharedDatabase>);

#[derive(Debug)]
struct SharedDatabase {
    folder: PathBuf,
    /// The vault that the database must belong to.
    owner: Option<Owner>,
    /// Opened at first use: a client that only reads notes does not wait for the database.
    database: Mutex<Option<DatabaseFile>>,
    /// Whether this connection mostly inserts and can do with a small page cache.
    small_cache: bool,
    health: Arc<Health>,
}

/// State of the database, shared by all its connections.
#[derive(Debug, Default)]
struct Health {
    /// Whether the database passed its check in this run and no damage was seen since.
    is_sound: AtomicBool,
    /// The integrity check. After a clean shutdown it runs after startup.
    check: Mutex<Check>,
    /// Warnings of that check, one sentence each.
    warnings: Mutex<Vec<String>>,
    /// Whether the check found damage that could not be repaired: all writes fail from then on.
    is_beyond_repair: AtomicBool,
    /// Whether [`Database::prepare`] failed: it is repeated before the next write.
    is_unprepared: AtomicBool,
    /// The last shutdown's marker, until the check that it postponed begins or damage is seen.
    marker: Mutex<Option<String>>,
    /// All connections. Each must be closed before the database file is moved: a connection that is closed
    /// later would delete the write-ahead log of its successor by name.
    connections: Mutex<Vec<Weak<SharedDatabase>>>,
}

/// Progress of an integrity check that was postponed until after startup.
#[derive(Debug, Default)]
enum Check {
    /// Nothing to wait for.
    #[default]
    Done,
    Due,
    /// Done when the sender is dropped.
    Running(Receiver<()>),
}

impl Database {
    /// The database in this state folder. Does no I/O.
    pub(super) fn at(folder: &Path, owner: Option<Owner>) -> Self {
        Self::with_connection(folder.to_owned(), owner, false, Arc::default())
    }

    /// The same database with another connection.
    pub(super) fn new_connection(&self, small_cache: bool) -> Self {
        let health = Arc::clone(&self.0.health);
        Self::with_connection(self.0.folder.clone(), self.0.owner.clone(), small_cache, health)
    }

    fn with_connection(
        folder: PathBuf,
        owner: Option<Owner>,
        small_cache: bool,
        health: Arc<Health>,
    ) -> Self {
        let inner =
            SharedDatabase { folder, owner, database: Mutex::default(), small_cache, health };
        let inner = Arc::new(inner);
        let mut connections = lock(&inner.health.connections);
        connections.retain(|one| one.strong_count() > 0);
        connections.push(Arc::downgrade(&inner));
        drop(connections);
        Self(inner)
    }

    /// Runs `work` with all connections closed. Opening or creating a connection blocks until it returns.
    fn with_all_closed<T>(&self, work: impl FnOnce() -> T) -> T {
        let connections = lock(&self.0.health.connections);
        let all: Vec<Arc<SharedDatabase>> = connections.iter().filter_map(Weak::upgrade).collect();
        let mut open: Vec<_> = all.iter().map(|one| lock(&one.database)).collect();
        open.iter_mut().for_each(|one| **one = None);
        work()
    }

    /// The state folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Checks and repairs the database at startup. The caller must hold the vault's lock. A damaged
    /// database is moved aside and replaced by the last good backup; a backup is made once a day.
    ///
    /// After a clean shutdown the integrity check is postponed ([`Self::start_check`]): reads are served
    /// at once, and the first write starts the check and waits for it, so that nothing is ever written
    /// to a damaged database. [`Self::check_warnings`] returns what it found.
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Foreign`], with nothing changed; [`StoreError`] if the
    /// database cannot be used.
    pub fn prepare(&self) -> Result<Prepared, StoreError> {
        self.0.health.is_unprepared.store(false, Ordering::Relaxed);
        let prepared = self.prepare_now();
        self.0.health.is_unprepared.store(prepared.is_err(), Ordering::Relaxed);
        prepared
    }

    fn prepare_now(&self) -> Result<Prepared, StoreError> {
        self.wait_for_check();
        self.0.health.is_sound.store(false, Ordering::Relaxed);
        self.0.health.is_beyond_repair.store(false, Ordering::Relaxed);
        // A database that fails to open goes through the full check.
        let marker = clean_shutdown::take_marker(&self.0.folder);
        let open = |_: &String| DatabaseFile::open_if_there(&self.0.folder).ok()?;
        let clean = marker.as_ref().and_then(open);
        let check_later = clean.is_some();
        *lock(&self.0.health.marker) = marker.filter(|_| check_later);
        let (mut prepared, database) = match clean {
            Some(database) => (Prepared::default(), Some(database)),
            None => self.with_all_closed(|| repair::check_and_repair(&self.0.folder))?,
        };
        let database = match database {
            Some(database) => database,
            None => DatabaseFile::open(&self.0.folder)?,
        };
        let is_marked = self.check_owner(&database)?;
        // No backup of a database that may be damaged: it would replace a good one.
        if !check_later && let Err(error) = repair::back_up(&database, &self.0.folder) {
            prepared.warnings.push(format!("{BACKUP_FAILED}: {error}"));
        }
        *lock(&self.0.database) = Some(database);
        if check_later {
            *lock(&self.0.health.check) = Check::Due
        } else {
            self.0.health.is_sound.store(true, Ordering::Relaxed)
        }
        if let (false, Some(owner)) = (is_marked, &self.0.owner) {
            // A write, so it waits for the check.
            self.set_owner(owner)?;
        }
        Ok(prepared)
    }

    /// Whether the database already names our vault as its owner.
    fn check_owner(&self, database: &DatabaseFile) -> Result<bool, StoreError> {
        let path = self.0.folder.join(DATABASE);
        self.0.owner.as_ref().map_or(Ok(true), |owner| owner.check(database.read(), &path))
    }

    /// Records the vault that the database belongs to, in place of any other.
    pub fn set_owner(&self, owner: &Owner) -> Result<(), StoreError> {
        self.change("record the owner", |change| owner.store(change))
    }

    /// Closes this connection at shutdown. The last connection to close marks a database as cleanly shut down
    /// if it is sound, or still as the last shutdown left it; opening it again invalidates the marker.
    pub fn end(&self) {
        let Some(database) = lock(&self.0.database).take() else { return };
        if let Err(error) = database.close() {
            return tracing::warn!(%error, "the journal's database was not closed");
        }
        let written = if self.0.health.is_sound.load(Ordering::Relaxed) {
            clean_shutdown::write_marker(&self.0.folder)
        } else {
            clean_shutdown::put_back(&self.0.folder, lock(&self.0.health.marker).as_deref())
        };
        if let Err(error) = written {
            tracing::info!(%error, "the next start checks the journal's database first");
        }
    }

    /// Warnings of the integrity check that ran after startup, one sentence each.
    pub fn check_warnings(&self) -> Vec<String> {
        lock(&self.0.health.warnings).clone()
    }

    /// Preallocates the write-ahead log, which makes each commit faster. Takes a few milliseconds; nothing
    /// depends on it.
    pub fn preallocate_log(&self) {
        let lengthened = self.with_own(DatabaseFile::lengthen_log);
        let synced = lengthened.map(|log| log.sync_all());
        if !matches!(synced, Ok(Ok(()))) {
            tracing::debug!(?synced, "the write-ahead log was not preallocated");
        }
    }

    /// Starts the integrity check that [`Self::prepare`] postponed, in the background, unless a write has
    /// started it.
    pub fn start_check(&self) {
        // The holder of the lock has started it, and may be waiting for its end.
        let Ok(mut check) = self.0.health.check.try_lock() else { return };
        if matches!(*check, Check::Due) {
            *check = self.spawn_check();
        }
    }

    fn spawn_check(&self) -> Check {
        let (sender, done) = mpsc::channel();
        let database = self.clone();
        let thread = std::thread::Builder::new().name("store".to_owned());
        let spawned = thread.spawn(move || {
            database.run_check();
            drop(sender);
            if let Err(error) = database.back_up() {
                tracing::warn!(%error, "{BACKUP_FAILED}");
                lock(&database.0.health.warnings).push(format!("{BACKUP_FAILED}: {error}"));
            }
        });
        if spawned.is_ok() {
            return Check::Running(done);
        }
        self.run_check();
        Check::Done
    }
    /// Checks the database on a separate connection, and repairs it.
    fn run_check(&self) {
        *lock(&self.0.health.marker) = None;
        let fault = match repair::checked(&self.0.folder) {
            Ok(Ok(_)) => return self.0.health.is_sound.store(true, Ordering::Relaxed),
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        tracing::error!("the journal's database is repaired after the start: {fault}");
        match self.with_all_closed(|| repair::check_and_repair(&self.0.folder)) {
            Ok((prepared, _)) => {
                lock(&self.0.health.warnings).extend(prepared.warnings);
                self.0.health.is_sound.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                self.0.health.is_beyond_repair.store(true, Ordering::Relaxed);
                lock(&self.0.health.warnings)
                    .push(format!("the journal's database cannot be used: {error}"));
            }
        }
    }

    /// Waits for the integrity check, starting it if need be. Writes do this automatically; call it
    /// before a decision that depends on permissions in the database.
    pub fn wait_for_check(&self) {
        let mut check = lock(&self.0.health.check);
        if matches!(*check, Check::Due) {
            *check = self.spawn_check();
        }
        if let Check::Running(done) = std::mem::take(&mut *check) {
            // The sender is dropped without sending.
            let _ = done.recv();
        }
    }

    /// Makes today's backup of the database if there is none yet.
    pub fn back_up(&self) -> Result<(), StoreError> {
        self.with_own(|database| repair::back_up(database, &self.0.folder))
    }

    /// Fails if the database cannot be used, and opens it if need be. Call it before a change: what
    /// cannot be recorded must not be done.
    pub fn check(&self) -> Result<(), StoreError> {
        self.with_own(|_| Ok(()))
    }

    /// Whether an unusable database was moved aside: the blobs that it names may still be wanted.
    pub fn has_moved_aside(&self) -> Result<bool, StoreError> {
        repair::has_moved_aside(&self.0.folder)
    }

    /// Maximum bytes of SQLite's page cache; 0 while the database is closed or being written.
    pub fn cache_bytes(&self) -> u64 {
        let Ok(open) = self.0.database.try_lock() else { return 0 };
        open.as_ref().and_then(|database| database.cache_bytes().ok()).unwrap_or(0)
    }

    /// Reads, after checking that the file was not replaced. If there is no database, reads an empty one
    /// in memory; creating a file would keep the next start from restoring the last good backup.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = lock(&self.0.database);
        if open.is_none() {
            *open = self.configure(DatabaseFile::open_if_there(&self.0.folder)?)?;
        }
        match open.as_ref() {
            Some(database) => {
                database.check_there()?;
                self.note_damage(work(database.read()))
            }
            None => work(DatabaseFile::empty()?.read()),
        }
    }

    /// Runs one transaction: durable when this returns, or not made.
    pub(super) fn change<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_own(|database| database.change(name, work))
    }

    /// Executes one statement in its own transaction. Returns the number of changed rows.
    pub(super) fn execute(
        &self,
        name: &'static str,
        sql: &str,
        values: impl Params,
    ) -> Result<usize, StoreError> {
        self.change(name, |change| Ok(change.prepare_cached(sql)?.execute(values)?))
    }

    /// Returns the first row of a query.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.read(|connection| query::first(connection, sql, values, read))
    }

    /// Returns all rows of a query.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(|connection| query::all(connection, sql, values, read))
    }
    /// Opens the database for writing, and creates it unless it is missing: then [`Self::prepare`] must
    /// restore the last good backup first. Reading calls write their audit without `prepare`.
    fn with_own<T>(
        &self,
        work: impl FnOnce(&mut DatabaseFile) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait_for_check();
        if self.0.health.is_unprepared.load(Ordering::Relaxed) {
            let prepared = self.prepare()?;
            lock(&self.0.health.warnings).extend(prepared.warnings);
        }
        let mut open = lock(&self.0.database);
        if self.0.health.is_beyond_repair.load(Ordering::Relaxed) {
            let path = self.0.folder.join(DATABASE);
            let reason = "it could not be repaired after the start".to_owned();
            return Err(StoreError::Damaged { path, reason });
        }
        if open.is_none() {
            let opened = match DatabaseFile::open_if_there(&self.0.folder)? {
                None if repair::is_missing(&self.0.folder)? => {
                    return Err(StoreError::Missing { path: self.0.folder.join(DATABASE) });
                }
                None => Some(DatabaseFile::open(&self.0.folder)?),
                there => there,
            };
            *open = self.configure(opened)?;
        }
        let database = open.as_mut().expect("it was opened above");
        database.check_there()?;
        self.note_damage(work(database))
    }

    /// Checks the owner of a database that was just opened, and sets its cache size.
    fn configure(
        &self,
        database: Option<DatabaseFile>,
    ) -> Result<Option<DatabaseFile>, StoreError> {
        if let Some(database) = &database {
            self.check_owner(database)?;
            if self.0.small_cache {
                database.use_small_cache()?;
            }
        }
        Ok(database)
    }

    /// After damage there is no marker, so that the next start checks the database first.
    fn note_damage<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done.as_ref().is_err_and(StoreError::is_damage) {
            self.0.health.is_sound.store(false, Ordering::Relaxed);
            *lock(&self.0.health.marker) = None;
        }
        done
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::Store;
    use super::super::file::log_of;
    use super::clean_shutdown::{marker_path, write_marker};
    use super::*;

    /// A store with one setting and today's backup, cleanly shut down.
    fn cleanly_closed() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.database.prepare().unwrap();
        store.settings.set("kept", Some("early")).unwrap();
        // Make the daily backup again, so that it has the setting.
        std::fs::remove_dir_all(folder.path().join("backups")).unwrap();
        store.database.back_up().unwrap();
        store.settings.set("kept", Some("late")).unwrap();
        store.database.end();
        let database = folder.path().join(DATABASE);
        (folder, database)
    }

    fn handles(store: &Store) -> usize {
        Arc::strong_count(&store.database.0)
    }

    /// Waits for the thread that checks and backs up the database: it would recreate parts of a folder
    /// that is being deleted.
    fn wait_for_thread(store: &Store) {
        while handles(store) > handles(&Store::at(store.database.folder())) {
            std::thread::yield_now();
        }
    }

    /// Overwrites a page that opening does not read, and keeps the clean shutdown marker valid.
    fn damage(folder: &Path, database: &Path) {
        let connection = rusqlite::Connection::open(database).unwrap();
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'audit_asked'";
        let page: u32 = connection.query_row(query, [], |row| row.get(0)).unwrap();
        connection.close().unwrap();
        let mut bytes = std::fs::read(database).unwrap();
        let end = page as usize * 4_096;
        bytes[end - 4_096..end].fill(0xff);
        std::fs::write(database, bytes).unwrap();
        write_marker(folder).unwrap();
    }

    #[test]
    fn after_a_clean_shutdown_the_check_is_postponed_and_all_is_there() {
        let (folder, database) = cleanly_closed();
        assert!(!log_of(&database).exists() && marker_path(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        assert!(!marker_path(folder.path()).exists(), "the marker is valid for one start");
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("late"));
        store.settings.set("more", Some("x")).unwrap();
        assert_eq!(store.database.check_warnings(), [""; 0]);
        wait_for_thread(&store);
        // Without a clean shutdown there is no marker.
        drop(store);
        assert!(!marker_path(folder.path()).exists());
    }

    #[test]
    fn damage_after_a_clean_shutdown_is_repaired_before_a_write() {
        let (folder, database) = cleanly_closed();
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        // Other connections read the damaged database meanwhile.
        let others = [store.new_connection(), store.new_connection()];
        let _ = others.each_ref().map(|other| other.settings.get("kept"));
        store.settings.set("written", Some("after")).unwrap();
        for other in &others {
            assert_eq!(other.settings.get("written").unwrap().as_deref(), Some("after"));
            other.settings.set("by another", Some("too")).unwrap();
        }
        let warnings = store.database.check_warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("took its place"), "{warnings:?}");
        assert!(store.database.has_moved_aside().unwrap(), "the damaged file is kept");
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "from the copy");
        wait_for_thread(&store);
        store.database.end();
        assert!(!marker_path(folder.path()).exists(), "others are still open");
        others.iter().for_each(|other| other.database.end());
        assert!(marker_path(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        assert_eq!(store.settings.get("written").unwrap().as_deref(), Some("after"));
        wait_for_thread(&store);
    }

    #[test]
    fn wait_for_check_reports_damage_before_a_decision() {
        let (folder, database) = cleanly_closed();
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        let other = store.new_connection();
        assert_eq!(other.settings.get(repair::REPLACED).unwrap(), None, "not checked yet");
        other.database.wait_for_check();
        assert!(other.settings.get(repair::REPLACED).unwrap().is_some());
        wait_for_thread(&store);
    }

    #[test]
    fn the_marker_survives_a_run_without_a_check_unless_it_saw_damage() {
        let (folder, database) = cleanly_closed();
        let (marker, store) = (marker_path(folder.path()), Store::at(folder.path()));
        store.database.prepare().unwrap();
        store.database.end();
        assert!(marker.is_file(), "nothing was written");
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        store.database.prepare().unwrap();
        let query = "SELECT 1 FROM audit INDEXED BY audit_asked WHERE decision = 'asked'";
        let seen = store.database.first(query, [], |_| Ok(())).unwrap_err();
        store.database.end();
        assert!(seen.is_damage() && !marker.exists(), "the next start has to check it: {seen}");
    }

    #[test]
    fn the_check_is_started_once() {
        let (folder, _) = cleanly_closed();
        let store = Store::at(folder.path());
        store.database.prepare().unwrap();
        let handles_before = handles(&store);
        store.database.start_check();
        store.database.start_check();
        assert!(handles(&store) <= handles_before + 1, "one thread");
        wait_for_thread(&store);
        assert!(store.database.0.health.is_sound.load(Ordering::Relaxed));
        store.settings.set("kept", Some("later")).unwrap();
        store.database.end();
        assert!(marker_path(folder.path()).is_file(), "the next start may postpone it again");
    }

    #[test]
    fn no_connection_opens_while_all_are_closed() {
        let (folder, _) = cleanly_closed();
        let store = Store::at(folder.path());
        let others = [store.new_connection(), store.new_connection()];
        others.iter().for_each(|other| drop(other.settings.get("kept").unwrap()));
        store.database.with_all_closed(|| {
            assert!(
                store.database.0.health.connections.try_lock().is_err(),
                "one could be created"
            );
            for there in [&store, &others[0], &others[1]] {
                assert!(there.database.0.database.try_lock().is_err(), "one could be opened");
            }
        });
        assert_eq!(store.new_connection().settings.get("kept").unwrap().as_deref(), Some("late"));
    }

    #[test]
    fn an_unchecked_store_leaves_no_marker() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.settings.set("kept", Some("early")).unwrap();
        store.database.end();
        assert!(!marker_path(folder.path()).exists());
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "it opens again");
    }

    #[test]
    fn writes_fail_if_damage_cannot_be_repaired() {
        let (folder, database) = cleanly_closed();
        damage(folder.path(), &database);
        // A folder occupies the path of the backup's copy.
        std::fs::create_dir_all(folder.path().join(format!("{DATABASE}.restored/full"))).unwrap();
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        let refused = store.settings.set("written", Some("after")).unwrap_err();
        assert!(refused.is_damage(), "{refused}");
        assert!(
            store.database.check_warnings()[0].contains("cannot be used"),
            "{:?}",
            store.database.check_warnings()
        );
        // Another start repairs it once that is possible.
        std::fs::remove_dir_all(folder.path().join(format!("{DATABASE}.restored"))).unwrap();
        assert_eq!(store.database.prepare().unwrap().warnings.len(), 1);
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "from the copy");
        assert!(store.database.has_moved_aside().unwrap(), "the damaged file is kept");
        wait_for_thread(&store);
    }
}
