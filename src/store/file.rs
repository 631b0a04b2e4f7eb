//! `state.db`: opened with every SQLite safety option, its schema created or migrated here.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::header;
use crate::chaos;

/// The name of the database in the state folder.
pub const DATABASE: &str = "state.db";

/// `VSJ1`: the `application_id` of our databases.
const APPLICATION: i32 = 0x5653_4a31;

/// The first version without SQLite's bug that could corrupt a WAL database at a checkpoint.
const OLDEST_SQLITE: i32 = 3_051_003;

/// Pages of the write-ahead log (WAL) at which it is checkpointed, and the size in bytes of a log of so
/// many pages with their frame headers.
const LOG_PAGES: u32 = 1_000;
const LOG_BYTES: u64 = 32 + LOG_PAGES as u64 * (24 + 4_096);

/// How long a connection waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Page cache of a connection that mostly inserts, in kilobytes.
const SMALL_CACHE_KILOBYTES: i64 = 256;

/// The migrations: format `n` is what the first `n` of them make.
const MIGRATIONS: &[&str] = &[
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
    include_str!("format_11.sql"),
];

/// The newest format this program knows.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

#[derive(Debug)]
pub(super) struct DatabaseFile {
    connection: Connection,
    path: PathBuf,
    /// Identities of the database file and its log when they were opened.
    ids: [Option<FileId>; 2],
}

impl DatabaseFile {
    /// Maximum bytes of the page cache.
    pub fn cache_bytes(&self) -> Result<u64, rusqlite::Error> {
        let number =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let page = number("page_size")?;
        // A negative `cache_size` counts kilobytes, a positive one pages.
        let most = match number("cache_size")? {
            kilobytes @ ..0 => kilobytes.saturating_neg().saturating_mul(1024),
            pages => pages.saturating_mul(page),
        };
        let all = number("page_count")?.saturating_mul(page);
        Ok(u64::try_from(all.min(most)).unwrap_or(0))
    }

    /// Limits the page cache to [`SMALL_CACHE_KILOBYTES`], instead of two megabytes.
    pub fn use_small_cache(&self) -> Result<(), StoreError> {
        Ok(self.connection.pragma_update(None, "cache_size", -SMALL_CACHE_KILOBYTES)?)
    }

    /// Opens the database in this folder and creates it if there is none.
    ///
    /// # Errors
    /// [`StoreError::Newer`] with nothing changed, [`StoreError::Damaged`], [`StoreError::Sqlite`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        if let Header::Absent = read_header(&path)? {
            create(folder, &path)?;
        }
        match Self::open_if_there(folder)? {
            Some(database) => Ok(database),
            None => Err(StoreError::Gone { path }),
        }
    }

    /// Opens the database in this folder, if there is one.
    pub fn open_if_there(folder: &Path) -> Result<Option<Self>, StoreError> {
        assert!(
            rusqlite::version_number() >= OLDEST_SQLITE,
            "the bundled SQLite is {}, older than it may be",
            rusqlite::version()
        );
        let path = folder.join(DATABASE);
        match read_header(&path)? {
            Header::Absent => return Ok(None),
            Header::Ours => {}
            Header::Damaged(reason) => return Err(StoreError::Damaged { path, reason }),
        }
        let mut connection = connect(&path).map_err(|error| damage(&path, error))?;
        migrate(&mut connection, &path).map_err(|error| match error {
            StoreError::Sqlite(error) => damage(&path, error),
            other => other,
        })?;
        // A first read creates the log, whose identity is recorded.
        let read = connection.query_row("SELECT EXISTS (SELECT 1 FROM change_set)", [], |_| Ok(()));
        read.map_err(|error| damage(&path, error))?;
        let ids = [FileId::at(&path), FileId::at(&log_of(&path))];
        Ok(Some(Self { connection, path, ids }))
    }

    /// An empty database in memory, in place of one that does not exist.
    pub fn empty() -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        let path = PathBuf::new();
        migrate(&mut connection, &path)?;
        Ok(Self { connection, path, ids: [None, None] })
    }

    /// Fails if another file has replaced the database or its log.
    pub fn check_there(&self) -> Result<(), StoreError> {
        let now = [FileId::at(&self.path), FileId::at(&log_of(&self.path))];
        if now == self.ids { Ok(()) } else { Err(StoreError::Gone { path: self.path.clone() }) }
    }

    pub fn read(&self) -> &Connection {
        &self.connection
    }

    /// Runs one transaction: durable when this returns, or not made.
    pub fn change<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        // The two events around the commit, for tests and traces.
        tracing::trace!(name, "to be committed");
        chaos::step(name, || transaction.commit())?;
        tracing::trace!(name, "committed");
        Ok(done)
    }

    /// Checkpoints the log and closes the database.
    ///
    /// # Errors
    /// As SQLite says; the connection is closed all the same.
    pub fn close(self) -> Result<(), StoreError> {
        self.connection.close().map_err(|(_, error)| error.into())
    }

    /// Extends the log to its full size, and returns it for the caller to sync without blocking writers.
    ///
    /// A commit that extends a file also waits for the file system's journal; one that overwrites does
    /// not. The added zeros follow the last frame: SQLite reads a log up to the first frame without a
    /// valid checksum.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the log is intact all the same.
    pub fn lengthen_log(&mut self) -> Result<File, StoreError> {
        let path = log_of(&self.path);
        // Blocks all other writers, in this process and in others.
        let alone = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let failed = |source| StoreError::Io { action: "lengthen", path: path.clone(), source };
        let mut log = File::options().write(true).open(&path).map_err(failed)?;
        let length = log.seek(SeekFrom::End(0)).map_err(failed)?;
        let zeros = vec![0; usize::try_from(LOG_BYTES.saturating_sub(length)).unwrap_or(0)];
        log.write_all(&zeros).map_err(failed)?;
        alone.rollback()?;
        Ok(log)
    }

    /// Runs SQLite's integrity check. Returns the fault, if there is one.
    pub fn fault(&self) -> Result<Option<String>, StoreError> {
        let size = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        // The full check takes about a second for this much.
        let check = if size <= 64 << 20 { "integrity_check(3)" } else { "quick_check(3)" };
        let mut statement = self.connection.prepare(&format!("PRAGMA {check}"))?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        match rows {
            Ok(rows) if rows == ["ok"] => Ok(None),
            Ok(rows) => match rows.iter().find(|row| is_io_error(row)) {
                Some(row) => {
                    let path = self.path.clone();
                    let source = std::io::Error::other(row.clone());
                    Err(StoreError::Io { action: "look through", path, source })
                }
                None => Ok(Some(rows.join("; "))),
            },
            Err(error) => match damage(&self.path, error) {
                StoreError::Damaged { reason, .. } => Ok(Some(reason)),
                other => Err(other),
            },
        }
    }
}

/// Whether a row of SQLite's integrity check reports that a page could not be read for want of
/// memory or from an I/O error, which is not damage. The codes are SQLite's
/// (<https://www.sqlite.org/rescode.html>): `NOMEM`, `IOERR`, `CANTOPEN`.
fn is_io_error(row: &str) -> bool {
    const CODES: [u32; 3] = [7, 10, 14];
    let code = row.rsplit_once("error code=").and_then(|(_, code)| {
        let end = code.find(|c: char| !c.is_ascii_digit()).unwrap_or(code.len());
        code[..end].parse::<u32>().ok()
    });
    code.is_some_and(|code| CODES.contains(&(code & 0xff)))
}

/// The header of a database file, read without opening it as a database.
pub(super) enum Header {
    Absent,
    Ours,
    /// Something else, and why.
    Damaged(String),
}

/// Reads the header of a database file.
pub(super) fn read_header(path: &Path) -> Result<Header, StoreError> {
    let head = match header::read(path) {
        Ok(head) => head,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Header::Absent),
        Err(source) => {
            return Err(StoreError::Io { action: "open", path: path.to_owned(), source });
        }
    };
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        let what = if head.is_empty() { "it is empty" } else { "it is not a database" };
        return Ok(Header::Damaged(what.to_owned()));
    }
    let number = |at: usize| {
        i32::from_be_bytes(head[at..at + 4].try_into().expect("four of a hundred bytes"))
    };
    if number(68) != APPLICATION {
        return Ok(Header::Damaged("it is another program's database".to_owned()));
    }
    let found = i64::from(number(60));
    if found > KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    Ok(Header::Ours)
}

/// Creates a database under a temporary name and then renames it, so that `path` is never incomplete.
fn create(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |action| move |source| StoreError::Io { action, path: path.to_owned(), source };
    let temp = folder.join(format!("{DATABASE}.new-{}", std::process::id()));
    let _ = std::fs::remove_file(&temp);
    let made = (|| {
        let mut connection = Connection::open(&temp)?;
        connection.execute_batch("PRAGMA synchronous = FULL;")?;
        migrate(&mut connection, &temp)?;
        connection.close().map_err(|(_, error)| error)?;
        // Windows syncs only files that are open for writing.
        let written = File::options().write(true).open(&temp);
        written.and_then(|file| file.sync_all()).map_err(failed("make durable"))?;
        // A hard link never replaces a database that another process has created meanwhile.
        let named = chaos::step("name the database", || std::fs::hard_link(&temp, path));
        match named {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // The file system has no hard links.
            Err(_) => std::fs::rename(&temp, path).map_err(failed("make")),
        }
    })();
    let _ = std::fs::remove_file(&temp);
    made?;
    super::blobs::sync_folder(folder).map_err(failed("make durable"))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch(
        // Temporary files would go to the system's folder, which the confined daemon cannot write to.
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;",
    )?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // `NORMAL` loses acknowledged commits in a power cut (29 of 50 in a test).
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    Ok(connection)
}

/// Migrates the database to the newest format.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let format = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    if format(connection)? == KNOWN {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = format(&transaction)?;
    if found > KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for step in &MIGRATIONS[done.min(MIGRATIONS.len())..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    Ok(transaction.commit()?)
}

/// Converts SQLite's errors that mean a damaged file into [`StoreError::Damaged`].
fn damage(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    match error.sqlite_error_code() {
        // `Unknown`: a table or column is missing.
        Some(DatabaseCorrupt | NotADatabase | Unknown) => {
            StoreError::Damaged { path: path.to_owned(), reason: error.to_string() }
        }
        _ => StoreError::Sqlite(error),
    }
}

/// Path of the write-ahead log of a database.
pub(super) fn log_of(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

/// Appends `suffix` to the file name of `path`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Identity of a file, to notice that another file has replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    fn at(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).ok().map(|meta| Self(meta.dev(), meta.ino()))
    }

    /// On Windows a file that SQLite has open can be neither replaced nor removed. Looking for it fails now and then.
    #[cfg(not(unix))]
    fn at(_: &Path) -> Option<Self> {
        Some(Self(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_could_not_be_read_is_no_damage() {
        for (row, is) in [
            ("Tree 5 page 12: unable to get the page. error code=266", true),
            ("Tree 5 page 12: unable to get the page. error code=7", true),
            ("Tree 5 page 12: unable to get the page. error code=11", false),
            ("Tree 5 page 12 cell 3: 2nd reference to page 9", false),
            ("row 10 missing from index error code=", false),
        ] {
            assert_eq!(is_io_error(row), is, "{row}");
        }
    }

    /// A copy of the files as a crash at this moment would leave them.
    fn after_a_crash(folder: &Path) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for suffix in ["", "-wal"] {
            let from = with_suffix(&folder.join(DATABASE), suffix);
            std::fs::copy(&from, with_suffix(&copy.path().join(DATABASE), suffix)).unwrap();
        }
        copy
    }

    /// Counts this process's locks on a file by `/proc/self/fdinfo`. `/proc/locks` would not do: it can change
    /// while it is read.
    #[cfg(target_os = "linux")]
    fn locks(path: &Path) -> usize {
        let path = path.canonicalize().unwrap();
        let mut count = 0;
        for handle in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
            if std::fs::read_link(handle.path()).is_ok_and(|to| to == path) {
                let info = Path::new("/proc/self/fdinfo").join(handle.file_name());
                let info = std::fs::read_to_string(info).unwrap();
                count += info.lines().filter(|line| line.starts_with("lock:")).count();
            }
        }
        count
    }

    /// Closing any handle of a file releases all locks of the process: another process that exits would
    /// then delete the log that this one still writes to.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_second_connection_leaves_the_first_one_its_locks() {
        let folder = tempfile::tempdir().unwrap();
        let first = DatabaseFile::open(folder.path()).unwrap();
        let path = folder.path().join(DATABASE);
        let before = locks(&path);
        assert!(before > 0, "it has none to lose");
        let second = DatabaseFile::open(folder.path()).unwrap();
        assert!(locks(&path) >= before, "{} of {before} are left", locks(&path));
        drop(second);
        assert!(matches!(read_header(&path), Ok(Header::Ours)));
        assert!(locks(&path) >= before, "{} of {before} are left", locks(&path));
        drop(first);
        assert_eq!(locks(&path), 0);
    }

    fn count_settings(database: &DatabaseFile) -> i64 {
        let count = "SELECT count(*) FROM setting";
        database.read().query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_preallocated_log_loses_nothing_in_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let mut database = DatabaseFile::open(folder.path()).unwrap();
        let log = log_of(&folder.path().join(DATABASE));
        let mut written = 0;
        // When the log is empty, while it fills, and after a checkpoint.
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
            assert_eq!((count_settings(&found), found.fault().unwrap()), (written, None));
            assert_eq!(count_settings(&database), written);
        }
        database.close().unwrap();
        assert!(!log.exists(), "a clean shutdown removes it");
        let again = DatabaseFile::open(folder.path()).unwrap();
        assert_eq!((count_settings(&again), again.fault().unwrap()), (written, None));
    }
}
