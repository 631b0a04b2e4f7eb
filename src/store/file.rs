//! `state.db`: opened with every safety on, its format made or brought up to date by hand.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::head;
use crate::chaos;

/// The name of the database in the state folder.
pub const DATABASE: &str = "state.db";

/// `VSJ1`: says that a database is the steward's journal.
const APPLICATION: i32 = 0x5653_4a31;

/// Before this one a database in WAL mode could be damaged by a checkpoint at the wrong moment.
const OLDEST_SQLITE: i32 = 3_051_003;

/// Pages of the log after which what it holds is put into the database, and it is begun anew; and the
/// bytes of so many, each with its head.
const LOG_PAGES: u32 = 1_000;
const LOG_BYTES: u64 = 32 + LOG_PAGES as u64 * (24 + 4_096);

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kilobytes of pages that a connection keeps which only adds rows.
const FEW_KILOBYTES: i64 = 256;

/// The steps of the ladder: the format `n` is what the first `n` of them make.
const LADDER: &[&str] = &[
    include_str!("format_1.sql"),
    include_str!("format_2.sql"),
    include_str!("format_3.sql"),
    include_str!("format_4.sql"),
    include_str!("format_5.sql"),
    include_str!("format_6.sql"),
    include_str!("format_7.sql"),
    include_str!("format_8.sql"),
    include_str!("format_9.sql"),
    include_str!("format_10.sql"),
];

/// The newest format this program knows.
pub(super) const KNOWN: i64 = LADDER.len() as i64;

/// The one connection that writes.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    connection: Connection,
    place: PathBuf,
    /// Which files were opened: the database and its log.
    ids: [Option<FileId>; 2],
}

impl DatabaseFile {
    /// Bytes of pages that are kept in memory, at most.
    pub fn cache_bytes(&self) -> Result<u64, rusqlite::Error> {
        let number =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let page = number("page_size")?;
        // Below zero it counts kilobytes, else pages.
        let most = match number("cache_size")? {
            kilobytes @ ..0 => kilobytes.saturating_neg().saturating_mul(1024),
            pages => pages.saturating_mul(page),
        };
        let all = number("page_count")?.saturating_mul(page);
        Ok(u64::try_from(all.min(most)).unwrap_or(0))
    }

    /// Keeps [`FEW_KILOBYTES`] of it in memory from now on, instead of two megabytes.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`].
    pub fn keep_little(&self) -> Result<(), StoreError> {
        Ok(self.connection.pragma_update(None, "cache_size", -FEW_KILOBYTES)?)
    }

    /// Opens the database in this folder, made if there is none: for whoever writes.
    ///
    /// # Errors
    /// [`StoreError::Newer`] with nothing touched, [`StoreError::Damaged`], as SQLite says.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let place = folder.join(DATABASE);
        if let Look::Absent = look(&place)? {
            make(folder, &place)?;
        }
        match Self::open_if_there(folder)? {
            Some(database) => Ok(database),
            None => Err(StoreError::Gone { place }),
        }
    }

    /// Opens the database in this folder, if there is one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_if_there(folder: &Path) -> Result<Option<Self>, StoreError> {
        assert!(
            rusqlite::version_number() >= OLDEST_SQLITE,
            "the bundled SQLite is {}, older than it may be",
            rusqlite::version()
        );
        let place = folder.join(DATABASE);
        match look(&place)? {
            Look::Absent => return Ok(None),
            Look::Fine => {}
            Look::Damaged(reason) => return Err(StoreError::Damaged { place, reason }),
        }
        let mut connection = connect(&place).map_err(|error| damage(&place, error))?;
        bring_up_to_date(&mut connection, &place).map_err(|error| damaged(&place, error))?;
        // A first read, so that the log is there to be remembered.
        let read = connection.query_row("SELECT count(*) FROM change_set", [], |_| Ok(()));
        read.map_err(|error| damage(&place, error))?;
        let ids = [FileId::at(&place), FileId::at(&log_of(&place))];
        Ok(Some(Self { connection, place, ids }))
    }

    /// An empty one in memory, which stands for one that is not there. Its changes go nowhere.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`].
    pub fn empty() -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        let place = PathBuf::new();
        bring_up_to_date(&mut connection, &place)?;
        Ok(Self { connection, place, ids: [None, None] })
    }

    /// Whether the files at their names are still those that were opened.
    ///
    /// # Errors
    /// [`StoreError::Gone`].
    pub fn check_there(&self) -> Result<(), StoreError> {
        let now = [FileId::at(&self.place), FileId::at(&log_of(&self.place))];
        match now == self.ids {
            true => Ok(()),
            false => Err(StoreError::Gone { place: self.place.clone() }),
        }
    }

    /// The connection, to read.
    pub fn read(&self) -> &Connection {
        &self.connection
    }

    /// One change of the database: durable when this returns, or not made.
    pub fn change<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        // The two moments between which it becomes durable, for who watches a store at work.
        tracing::trace!(name, "to be committed");
        chaos::step(name, || transaction.commit())?;
        tracing::trace!(name, "committed");
        Ok(done)
    }

    /// Closes it, with all that its log holds put into its file.
    ///
    /// # Errors
    /// As SQLite says; it is closed nevertheless.
    pub fn close(self) -> Result<(), StoreError> {
        self.connection.close().map_err(|(_, error)| error.into())
    }

    /// Makes the log as long as it gets before it is begun anew, and gives it to whoever makes that
    /// durable, without holding up anybody who writes.
    ///
    /// A commit that makes a file longer waits for the file system's own log as well; one that writes
    /// over what is there does not. What is added are zeros, behind all that the log says: SQLite reads
    /// a log up to the first page that does not bear the sum of those before it, and none of zeros does.
    ///
    /// # Errors
    /// As the system says; the log is as sound as it was.
    pub fn lengthen_log(&mut self) -> Result<File, StoreError> {
        let place = log_of(&self.place);
        // Nobody adds to the log meanwhile, in this process or in another.
        let alone = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let failed = |source| StoreError::Io { action: "lengthen", place: place.clone(), source };
        let mut log = File::options().write(true).open(&place).map_err(failed)?;
        let has = log.seek(SeekFrom::End(0)).map_err(failed)?;
        let zeros = vec![0; usize::try_from(LOG_BYTES.saturating_sub(has)).unwrap_or(0)];
        log.write_all(&zeros).map_err(failed)?;
        alone.rollback()?;
        Ok(log)
    }

    /// What is wrong with the whole of it, if anything is.
    pub fn fault(&self) -> Result<Option<String>, StoreError> {
        let size = std::fs::metadata(&self.place).map_or(0, |meta| meta.len());
        // The thorough look takes about a second for this much.
        let check = if size <= 64 << 20 { "integrity_check(3)" } else { "quick_check(3)" };
        let mut statement = self.connection.prepare(&format!("PRAGMA {check}"))?;
        let said = statement.query_map([], |row| row.get::<_, String>(0));
        let said = said.and_then(|said| said.collect::<Result<Vec<_>, _>>());
        match said {
            Ok(said) if said == ["ok"] => Ok(None),
            Ok(said) => match said.iter().find(|row| is_of_the_system(row)) {
                Some(row) => {
                    let place = self.place.clone();
                    let source = std::io::Error::other(row.clone());
                    Err(StoreError::Io { action: "look through", place, source })
                }
                None => Ok(Some(said.join("; "))),
            },
            Err(error) => match damage(&self.place, error) {
                StoreError::Damaged { reason, .. } => Ok(Some(reason)),
                other => Err(other),
            },
        }
    }
}

/// Whether a row of SQLite's check says that a page could not be had, which is no damage: the check goes
/// on after an error of the system, and tells it like a fault of the page. The codes are SQLite's
/// (<https://www.sqlite.org/rescode.html>): out of memory, of the disk, cannot open.
fn is_of_the_system(row: &str) -> bool {
    const OF_THE_SYSTEM: [u32; 3] = [7, 10, 14];
    let code = row.rsplit_once("error code=").and_then(|(_, code)| {
        let end = code.find(|c: char| !c.is_ascii_digit()).unwrap_or(code.len());
        code[..end].parse::<u32>().ok()
    });
    code.is_some_and(|code| OF_THE_SYSTEM.contains(&(code & 0xff)))
}

/// What lies at the database's name, seen without opening it as one.
pub(super) enum Look {
    /// Nothing.
    Absent,
    /// A database of ours, as far as its first page says.
    Fine,
    /// Something else.
    Damaged(String),
}

/// Looks at the first page of a database.
///
/// # Errors
/// [`StoreError::Newer`]; as the system says.
pub(super) fn look(place: &Path) -> Result<Look, StoreError> {
    let failed = |source| StoreError::Io { action: "open", place: place.to_owned(), source };
    let head = match head::of(place) {
        Ok(head) => head,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::Absent),
        Err(error) => return Err(failed(error)),
    };
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        let what = if head.is_empty() { "it is empty" } else { "it is no database" };
        return Ok(Look::Damaged(what.to_owned()));
    }
    let number = |at: usize| {
        i32::from_be_bytes(head[at..at + 4].try_into().expect("four of a hundred bytes"))
    };
    if number(68) != APPLICATION {
        return Ok(Look::Damaged("it is another program's database".to_owned()));
    }
    let found = i64::from(number(60));
    if found > KNOWN {
        return Err(StoreError::Newer { place: place.to_owned(), found, known: KNOWN });
    }
    Ok(Look::Fine)
}

/// Makes a new database under another name, so that no half-made one ever has the real one.
fn make(folder: &Path, place: &Path) -> Result<(), StoreError> {
    let failed = |action| move |source| StoreError::Io { action, place: place.to_owned(), source };
    let temp = folder.join(format!("{DATABASE}.new-{}", std::process::id()));
    let _ = std::fs::remove_file(&temp);
    let made = (|| {
        let mut connection = Connection::open(&temp)?;
        connection.execute_batch("PRAGMA synchronous = FULL;")?;
        bring_up_to_date(&mut connection, &temp)?;
        connection.close().map_err(|(_, error)| error)?;
        // Windows flushes what is opened for writing alone.
        let written = File::options().write(true).open(&temp);
        written.and_then(|file| file.sync_all()).map_err(failed("make durable"))?;
        // Never over one that another process has made meanwhile.
        let named = chaos::step("name the database", || std::fs::hard_link(&temp, place));
        match named {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Some file systems know no second names.
            Err(_) => std::fs::rename(&temp, place).map_err(failed("make")),
        }
    })();
    let _ = std::fs::remove_file(&temp);
    made?;
    super::blobs::sync_folder(folder).map_err(failed("make durable"))
}

fn connect(place: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(place, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch(
        // What SQLite would put aside on disk goes to the system's folder for such things, which the
        // confined daemon cannot write to.
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;",
    )?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Less than this loses acknowledged changes in a power cut (29 of 50 were measured).
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    Ok(connection)
}

/// Climbs the ladder from the format the database has to the newest.
fn bring_up_to_date(connection: &mut Connection, place: &Path) -> Result<(), StoreError> {
    let has = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    if has(connection)? == KNOWN {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = has(&transaction)?;
    if found > KNOWN {
        return Err(StoreError::Newer { place: place.to_owned(), found, known: KNOWN });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for step in &LADDER[done.min(LADDER.len())..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    Ok(transaction.commit()?)
}

/// SQLite's ways of saying that a file is damaged, told from its other failures.
fn damage(place: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            StoreError::Damaged { place: place.to_owned(), reason: error.to_string() }
        }
        // A table or column that must be there is not.
        Some(rusqlite::ErrorCode::Unknown) => {
            StoreError::Damaged { place: place.to_owned(), reason: error.to_string() }
        }
        _ => StoreError::Sqlite(error),
    }
}

fn damaged(place: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Sqlite(error) => damage(place, error),
        other => other,
    }
}

/// The name of the log beside a database.
pub(super) fn log_of(place: &Path) -> PathBuf {
    beside(place, "-wal")
}

/// The name of a file that belongs to another.
pub(super) fn beside(place: &Path, suffix: &str) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Identity of a file, to see that another has taken its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    fn at(place: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(place).ok().map(|meta| Self(meta.dev(), meta.ino()))
    }

    /// Windows keeps an open file at its name.
    #[cfg(not(unix))]
    fn at(place: &Path) -> Option<Self> {
        place.exists().then_some(Self(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_could_not_be_had_is_no_damage() {
        for (row, is) in [
            ("Tree 5 page 12: unable to get the page. error code=266", true),
            ("Tree 5 page 12: unable to get the page. error code=7", true),
            ("Tree 5 page 12: unable to get the page. error code=11", false),
            ("Tree 5 page 12 cell 3: 2nd reference to page 9", false),
            ("row 10 missing from index error code=", false),
        ] {
            assert_eq!(is_of_the_system(row), is, "{row}");
        }
    }

    /// What a crash at this moment leaves: the files as they are, without any end.
    fn after_a_crash(folder: &Path) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for suffix in ["", "-wal"] {
            let from = beside(&folder.join(DATABASE), suffix);
            std::fs::copy(&from, beside(&copy.path().join(DATABASE), suffix)).unwrap();
        }
        copy
    }

    /// The locks that this process has on a file, as the kernel tells them of each handle. The list of
    /// all locks there are is none to count in: it is told in pieces, between which it changes.
    #[cfg(target_os = "linux")]
    fn locks(place: &Path) -> usize {
        let place = place.canonicalize().unwrap();
        let mut count = 0;
        for handle in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
            if std::fs::read_link(handle.path()).is_ok_and(|to| to == place) {
                let told = Path::new("/proc/self/fdinfo").join(handle.file_name());
                let told = std::fs::read_to_string(told).unwrap();
                count += told.lines().filter(|line| line.starts_with("lock:")).count();
            }
        }
        count
    }

    /// A handle of the file that is closed lets go of the locks of every connection of this process:
    /// then another process that ends takes away the log that this one goes on writing to.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_second_connection_leaves_the_first_one_its_locks() {
        let folder = tempfile::tempdir().unwrap();
        let first = DatabaseFile::open(folder.path()).unwrap();
        let place = folder.path().join(DATABASE);
        let before = locks(&place);
        assert!(before > 0, "it has none to lose");
        let second = DatabaseFile::open(folder.path()).unwrap();
        assert!(locks(&place) >= before, "{} of {before} are left", locks(&place));
        drop(second);
        assert!(matches!(look(&place), Ok(Look::Fine)));
        assert!(locks(&place) >= before, "{} of {before} are left", locks(&place));
        drop(first);
        assert_eq!(locks(&place), 0);
    }

    fn numbers(database: &DatabaseFile) -> i64 {
        let count = "SELECT count(*) FROM setting";
        database.read().query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_log_with_room_loses_nothing_at_any_moment() {
        let folder = tempfile::tempdir().unwrap();
        let mut database = DatabaseFile::open(folder.path()).unwrap();
        let log = log_of(&folder.path().join(DATABASE));
        let mut written = 0;
        // Before anything is in it, among it, and beyond where it is begun anew.
        for more in [0, 1, 3, 1_200, 2] {
            for _ in 0..more {
                let done = database.change("a test", |change| {
                    let insert = "INSERT INTO setting VALUES (?1, ?2)";
                    Ok(change.execute(insert, (written, "v".repeat(900)))?)
                });
                assert_eq!(done.unwrap(), 1);
                written += 1;
            }
            database.lengthen_log().unwrap().sync_all().unwrap();
            assert!(std::fs::metadata(&log).unwrap().len() >= LOG_BYTES);
            let copy = after_a_crash(folder.path());
            let found = DatabaseFile::open(copy.path()).unwrap();
            assert_eq!((numbers(&found), found.fault().unwrap()), (written, None));
            assert_eq!(numbers(&database), written);
        }
        database.close().unwrap();
        assert!(!log.exists(), "it goes with a clean end");
        let again = DatabaseFile::open(folder.path()).unwrap();
        assert_eq!((numbers(&again), again.fault().unwrap()), (written, None));
    }
}
