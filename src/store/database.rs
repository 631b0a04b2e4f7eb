//! The connection that all parts of the store share: opened at the first use, looked after from the
//! start of a run to its end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rusqlite::{Connection, Transaction};

use super::error::StoreError;
use super::file::{DATABASE, DatabaseFile};
use super::owner::Owner;
use super::repair::{self, Prepared};
use super::sound;

/// How a warning begins where no daily copy could be made.
const NOT_COPIED: &str = "the daily copy of the journal failed";

/// The database of one vault. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Database(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// The vault that it has to be of.
    owner: Option<Owner>,
    /// Opened at the first use: who only reads notes waits for no database.
    database: Mutex<Option<DatabaseFile>>,
    /// Whether its connection is for who adds rows and reads hardly any.
    only_adds: bool,
    soundness: Arc<Soundness>,
}

/// What is known of the database, by all that [`Database::another`] gave.
#[derive(Debug, Default)]
struct Soundness {
    /// Whether it was looked through in this run, and nothing was found since.
    is_sound: AtomicBool,
    /// The look through the database, which a start after a clean end leaves for later.
    look: Mutex<Look>,
    /// What that look found, one sentence each.
    found: Mutex<Vec<String>>,
    /// Whether it found what could not be repaired: nothing is written from then on.
    is_beyond_repair: AtomicBool,
    /// Whether it could not be made sound at the start: it is before anything is written.
    is_unprepared: AtomicBool,
    /// All connections there are. Before the database is moved aside each has to be closed: one that is
    /// closed later takes away the log by its name, which is another's then.
    all: Mutex<Vec<Weak<Inner>>>,
}

/// How far the look through the database has come that a start left for later.
#[derive(Debug, Default)]
enum Look {
    /// None is left, as far as anybody has to wait for it.
    #[default]
    Over,
    /// Nobody has begun it.
    Due,
    /// It ends when the other end of this is dropped.
    Begun(Receiver<()>),
}

impl Database {
    /// The database in this state folder. Touches nothing yet.
    pub(super) fn at(folder: &Path, owner: Option<Owner>) -> Self {
        Self::with_connection(folder.to_owned(), owner, false, Arc::default())
    }

    /// The same database with a connection of its own; `only_adds` is for who adds rows and reads
    /// hardly any.
    pub(super) fn another(&self, only_adds: bool) -> Self {
        let soundness = Arc::clone(&self.0.soundness);
        Self::with_connection(self.0.folder.clone(), self.0.owner.clone(), only_adds, soundness)
    }

    fn with_connection(
        folder: PathBuf,
        owner: Option<Owner>,
        only_adds: bool,
        soundness: Arc<Soundness>,
    ) -> Self {
        let inner = Inner { folder, owner, database: Mutex::default(), only_adds, soundness };
        let inner = Arc::new(inner);
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

    /// Makes it sound, for whoever holds the vault alone: a damaged database is moved aside
    /// and the last good copy takes its place, and once a day a copy is made.
    ///
    /// After a clean end, from which on nobody has written to it, the look through the database is left for
    /// later ([`Self::look_through`]): who reads is served at once, who writes begins it and waits until the
    /// database is known to be sound, so that nothing is ever written to a damaged one. What that finds is
    /// told by [`Self::found_later`].
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Foreign`] with nothing touched; [`StoreError`] where it
    /// cannot be used.
    pub fn prepare(&self) -> Result<Prepared, StoreError> {
        self.0.soundness.is_unprepared.store(false, Ordering::Relaxed);
        let prepared = self.prepare_now();
        self.0.soundness.is_unprepared.store(prepared.is_err(), Ordering::Relaxed);
        prepared
    }

    fn prepare_now(&self) -> Result<Prepared, StoreError> {
        self.wait_for_look();
        self.0.soundness.is_sound.store(false, Ordering::Relaxed);
        self.0.soundness.is_beyond_repair.store(false, Ordering::Relaxed);
        // One that cannot be opened is for the thorough look, as any other.
        let ended =
            sound::take(&self.0.folder).then(|| DatabaseFile::open_if_there(&self.0.folder));
        let ended = ended.and_then(Result::ok).flatten();
        let look_later = ended.is_some();
        let (mut prepared, database) = match ended {
            Some(database) => (Prepared::default(), Some(database)),
            None => self.closed(|| repair::make_sound(&self.0.folder))?,
        };
        let database = match database {
            Some(database) => database,
            None => DatabaseFile::open(&self.0.folder)?,
        };
        let says_so = self.check_owner(&database)?;
        // Never of one that may be damaged: it would take the place of a good one.
        if !look_later && let Err(error) = repair::back_up(&database, &self.0.folder) {
            prepared.warnings.push(format!("{NOT_COPIED}: {error}"));
        }
        *self.database() = Some(database);
        match look_later {
            true => *self.look_state() = Look::Due,
            false => self.0.soundness.is_sound.store(true, Ordering::Relaxed),
        }
        if let (false, Some(owner)) = (says_so, &self.0.owner) {
            // After the look, as anything that is written.
            self.set_owner(owner)?;
        }
        Ok(prepared)
    }

    /// Whether the database is of our vault and says so.
    fn check_owner(&self, database: &DatabaseFile) -> Result<bool, StoreError> {
        let place = self.0.folder.join(DATABASE);
        self.0.owner.as_ref().map_or(Ok(true), |owner| owner.check(database.read(), &place))
    }

    /// Has the database say whose memory it is, whatever it said.
    pub fn set_owner(&self, owner: &Owner) -> Result<(), StoreError> {
        self.change("say whose memory it is", |change| owner.note(change))
    }

    /// Closes this connection at the end of a run, after everything else. With the last one of them a
    /// sound database is marked as such for the next start; what uses it after this opens it
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
        let lengthened = self.with_own(DatabaseFile::lengthen_log);
        let synced = lengthened.map(|log| log.sync_all());
        if !matches!(synced, Ok(Ok(()))) {
            tracing::debug!(?synced, "the log of the journal's database is as short as it was");
        }
    }

    /// Begins the look through the database that [`Self::prepare`] left for later, in the background, unless
    /// somebody who writes has.
    pub fn look_through(&self) {
        // Who holds it has begun it, and may wait for its end.
        let Ok(mut state) = self.0.soundness.look.try_lock() else { return };
        if matches!(*state, Look::Due) {
            *state = self.begin_look();
        }
    }

    fn begin_look(&self) -> Look {
        let (ends, look) = mpsc::channel();
        let database = self.clone();
        let thread = std::thread::Builder::new().name("store".to_owned());
        let begun = thread.spawn(move || {
            database.look();
            drop(ends);
            if let Err(error) = database.back_up() {
                tracing::warn!(%error, "{NOT_COPIED}");
                database.found().push(format!("{NOT_COPIED}: {error}"));
            }
        });
        if begun.is_ok() {
            return Look::Begun(look);
        }
        self.look();
        Look::Over
    }

    fn look_state(&self) -> MutexGuard<'_, Look> {
        self.0.soundness.look.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Waits until it is known whether the database is sound: for whoever decides by it what may be changed.
    /// Writing does so by itself.
    pub fn wait_for_look(&self) {
        let mut state = self.look_state();
        if matches!(*state, Look::Due) {
            *state = self.begin_look();
        }
        if let Look::Begun(look) = std::mem::take(&mut *state) {
            // It ends by being dropped.
            let _ = look.recv();
        }
    }

    /// Makes today's copy of the database if there is none yet.
    pub fn back_up(&self) -> Result<(), StoreError> {
        self.with_own(|database| repair::back_up(database, &self.0.folder))
    }

    /// Whether the database is there and usable, opening it if need be. Ask before a change: what
    /// cannot be recorded must not be done.
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

    fn database(&self) -> MutexGuard<'_, Option<DatabaseFile>> {
        database(&self.0)
    }

    /// Reads, after a look whether the file is still the one at its name. Where there is none,
    /// nothing is recorded, and none is made: an empty one would keep the next start from taking
    /// the last good copy.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self.database();
        if open.is_none() {
            *open = self.opened(DatabaseFile::open_if_there(&self.0.folder)?)?;
        }
        match open.as_ref() {
            Some(database) => {
                database.check_there()?;
                self.noted(work(database.read()))
            }
            None => work(DatabaseFile::empty()?.read()),
        }
    }

    /// One change, in one transaction: durable when this returns, or not made.
    pub(super) fn change<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_own(|database| database.change(name, work))
    }

    /// Writes; a database that is not there is made, unless it should be: then [`Self::prepare`]
    /// has to take the last good copy first. Reading calls write their audit without it.
    fn with_own<T>(
        &self,
        work: impl FnOnce(&mut DatabaseFile) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait_for_look();
        if self.0.soundness.is_unprepared.load(Ordering::Relaxed) {
            let prepared = self.prepare()?;
            self.found().extend(prepared.warnings);
        }
        let mut open = self.database();
        if self.0.soundness.is_beyond_repair.load(Ordering::Relaxed) {
            let place = self.0.folder.join(DATABASE);
            let reason = "it could not be made sound after the start".to_owned();
            return Err(StoreError::Damaged { place, reason });
        }
        if open.is_none() {
            let opened = match DatabaseFile::open_if_there(&self.0.folder)? {
                None if repair::is_missed(&self.0.folder)? => {
                    return Err(StoreError::Missing { place: self.0.folder.join(DATABASE) });
                }
                None => Some(DatabaseFile::open(&self.0.folder)?),
                there => there,
            };
            *open = self.opened(opened)?;
        }
        let database = open.as_mut().expect("it was opened above");
        database.check_there()?;
        self.noted(work(database))
    }

    /// One that was just opened: of our vault, keeping as much in memory as it is for.
    fn opened(&self, database: Option<DatabaseFile>) -> Result<Option<DatabaseFile>, StoreError> {
        if let Some(database) = &database {
            self.check_owner(database)?;
        }
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

fn database(of: &Inner) -> MutexGuard<'_, Option<DatabaseFile>> {
    of.database.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::Store;
    use super::super::file::log_of;
    use super::sound::{leave, place};
    use super::*;

    /// A store with one setting and today's copy, cleanly ended.
    fn ended() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.database.prepare().unwrap();
        store.settings.set("kept", Some("early")).unwrap();
        // The daily copy has it.
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

    /// Waits for the thread that looks through the database and copies it: at work in a folder while
    /// that is taken away it leaves some of it behind.
    fn wait_for_thread(store: &Store) {
        while handles(store) > handles(&Store::at(store.database.folder())) {
            std::thread::yield_now();
        }
    }

    /// Damages a page that opening does not read, as a disk does: no time of the file says so.
    fn damage(folder: &Path, database: &Path) {
        let connection = rusqlite::Connection::open(database).unwrap();
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'audit_asked'";
        let page: u32 = connection.query_row(query, [], |row| row.get(0)).unwrap();
        connection.close().unwrap();
        let mut bytes = std::fs::read(database).unwrap();
        let end = page as usize * 4_096;
        bytes[end - 4_096..end].fill(0xff);
        std::fs::write(database, bytes).unwrap();
        leave(folder).unwrap();
    }

    #[test]
    fn after_a_clean_end_the_look_is_later_and_all_is_there() {
        let (folder, database) = ended();
        assert!(!log_of(&database).exists() && place(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        assert!(!place(folder.path()).exists(), "the mark holds for one start");
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("late"));
        store.settings.set("more", Some("x")).unwrap();
        assert_eq!(store.database.found_later(), [""; 0]);
        wait_for_thread(&store);
        // Without an end there is no mark.
        drop(store);
        assert!(!place(folder.path()).exists());
    }

    #[test]
    fn damage_after_a_clean_end_is_repaired_before_anything_is_written() {
        let (folder, database) = ended();
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        // Others that read meanwhile; what they are told is of the damaged one, if anything.
        let others = [store.another(), store.another()];
        let _ = others.each_ref().map(|other| other.settings.get("kept"));
        store.settings.set("written", Some("after")).unwrap();
        for other in &others {
            assert_eq!(other.settings.get("written").unwrap().as_deref(), Some("after"));
            other.settings.set("by another", Some("too")).unwrap();
        }
        let told = store.database.found_later();
        assert!(told.len() == 1 && told[0].contains("took its place"), "{told:?}");
        assert!(store.database.has_moved_aside().unwrap(), "what was there is kept");
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "from the copy");
        wait_for_thread(&store);
        store.database.end();
        assert!(!place(folder.path()).exists(), "others are not at their end");
        others.iter().for_each(|other| other.database.end());
        assert!(place(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        assert_eq!(store.settings.get("written").unwrap().as_deref(), Some("after"));
        wait_for_thread(&store);
    }

    #[test]
    fn who_decides_what_may_be_changed_hears_of_damage_first() {
        let (folder, database) = ended();
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0]);
        let other = store.another();
        assert_eq!(other.settings.get(repair::REPLACED).unwrap(), None, "nobody has looked yet");
        other.database.wait_for_look();
        assert!(other.settings.get(repair::REPLACED).unwrap().is_some());
        wait_for_thread(&store);
    }

    #[test]
    fn the_look_is_begun_once_by_whoever_comes_first() {
        let (folder, _) = ended();
        let store = Store::at(folder.path());
        store.database.prepare().unwrap();
        let handles_before = handles(&store);
        store.database.look_through();
        store.database.look_through();
        assert!(handles(&store) <= handles_before + 1, "one thread");
        wait_for_thread(&store);
        assert!(store.database.0.soundness.is_sound.load(Ordering::Relaxed));
        store.settings.set("kept", Some("later")).unwrap();
        store.database.end();
        assert!(place(folder.path()).is_file(), "the next start may leave it for later again");
    }

    /// One that is made while the database changes places would open the old one, and find it gone.
    #[test]
    fn while_it_is_closed_nobody_comes_to_it() {
        let (folder, _) = ended();
        let store = Store::at(folder.path());
        let others = [store.another(), store.another()];
        others.iter().for_each(|other| drop(other.settings.get("kept").unwrap()));
        store.database.closed(|| {
            assert!(store.database.0.soundness.all.try_lock().is_err(), "another could be made");
            for there in [&store, &others[0], &others[1]] {
                assert!(there.database.0.database.try_lock().is_err(), "one could be opened");
            }
        });
        assert_eq!(store.another().settings.get("kept").unwrap().as_deref(), Some("late"));
    }

    #[test]
    fn a_store_that_was_not_looked_through_leaves_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.settings.set("kept", Some("early")).unwrap();
        store.database.end();
        assert!(!place(folder.path()).exists());
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "it opens again");
    }

    #[test]
    fn nothing_is_written_where_damage_cannot_be_repaired() {
        let (folder, database) = ended();
        damage(folder.path(), &database);
        // The good copy cannot be put in its place: where it would be copied to, a folder lies.
        std::fs::create_dir_all(folder.path().join(format!("{DATABASE}.restored/full"))).unwrap();
        let store = Store::at(folder.path());
        assert_eq!(store.database.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        let refused = store.settings.set("written", Some("after")).unwrap_err();
        assert!(refused.is_damage(), "{refused}");
        assert!(
            store.database.found_later()[0].contains("cannot be used"),
            "{:?}",
            store.database.found_later()
        );
        // Another start repairs it once that is possible.
        std::fs::remove_dir_all(folder.path().join(format!("{DATABASE}.restored"))).unwrap();
        assert_eq!(store.database.prepare().unwrap().warnings.len(), 1);
        assert_eq!(store.settings.get("kept").unwrap().as_deref(), Some("early"), "from the copy");
        assert!(store.database.has_moved_aside().unwrap(), "what was there is kept");
        wait_for_thread(&store);
    }
}
