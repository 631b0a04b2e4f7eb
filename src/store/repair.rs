//! Ensures an intact database at startup: checks it, moves a damaged one aside, restores the last
//! good backup, and makes a backup once a day.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use chrono::Utc;

use super::blobs::{Blobs, private, sync_folder};
use super::error::StoreError;
use super::file::{DATABASE, DatabaseFile, Header, read_header, with_suffix};

/// The setting that records that a damaged database was replaced: until a person sets the mode,
/// nothing may be changed.
pub const REPLACED: &str = "replaced";

/// Number of daily backups.
const COPIES: usize = 7;

/// Result of the check at startup.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Warnings for a person, one sentence each.
    pub warnings: Vec<String>,
}

/// Checks the database in this folder and repairs it. Returns it, or `None` if there is none yet.
///
/// # Errors
/// [`StoreError::Newer`] with nothing changed; [`StoreError`].
pub(super) fn check_and_repair(
    folder: &Path,
) -> Result<(Prepared, Option<DatabaseFile>), StoreError> {
    let mut prepared = Prepared::default();
    let path = folder.join(DATABASE);
    let reason = match read_header(&path)? {
        Header::Absent => {
            // A log without its database would damage the next one.
            for suffix in ["-wal", "-shm"] {
                let left = with_suffix(&path, suffix);
                if left.is_file() {
                    rename(&left, &with_suffix(&aside_path(&path), suffix))?;
                }
            }
            if is_missing(folder)? {
                "it is missing".to_owned()
            } else {
                return Ok((prepared, None));
            }
        }
        Header::Damaged(reason) => reason,
        Header::Ours => match checked(folder)? {
            Ok(database) => return Ok((prepared, Some(database))),
            Err(reason) => reason,
        },
    };
    let backup = move_aside(&path)?;
    let restored = restore(folder, &path)?;
    let mut warning = format!("the journal's database cannot be used: {reason}");
    if let Some(backup) = backup {
        warning.push_str(&format!("; it is kept as `{}`", backup.display()));
    }
    warning.push_str(&match restored {
        Some(copy) => format!(
            "; the copy `{}` took its place, and changes made since cannot be undone",
            copy.display()
        ),
        None => "; there is no good copy, so the history starts empty and earlier changes cannot be undone"
            .to_owned(),
    });
    warning.push_str(
        "; the vault itself was not touched. It is read only until you say otherwise (`steward mode \
         auto`), and every \"always allow\" answer has to be given again",
    );
    tracing::error!("{warning}");
    prepared.warnings.push(warning);
    let mut database = DatabaseFile::open(folder)?;
    revoke_approvals(&mut database)?;
    Ok((prepared, Some(database)))
}

/// Deletes the approvals of a restored database and marks it as replaced: a person may have revoked an
/// approval or set the mode since the backup.
fn revoke_approvals(database: &mut DatabaseFile) -> Result<(), StoreError> {
    database.change("revoke the approvals", |change| {
        change.execute("DELETE FROM approval", [])?;
        change
            .execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?1, '')", [REPLACED])?;
        Ok(())
    })
}

/// Opens the database in this folder and checks it. The inner error describes its fault.
pub(super) fn checked(folder: &Path) -> Result<Result<DatabaseFile, String>, StoreError> {
    let database = match DatabaseFile::open(folder) {
        Ok(database) => database,
        Err(StoreError::Damaged { reason, .. }) => return Ok(Err(reason)),
        Err(other) => return Err(other),
    };
    Ok(database.fault()?.map_or(Ok(database), Err))
}

/// Whether there was a database once: there are backups of it or blobs that it named.
pub(super) fn is_missing(folder: &Path) -> Result<bool, StoreError> {
    let blobs = Blobs::at(&folder.join("blobs"));
    Ok(!backups(folder)?.is_empty() || !blobs.list()?.is_empty())
}

/// The suffix of a database file that was moved aside.
const ASIDE: &str = ".corrupt-";

/// Whether this folder has a database that was moved aside.
pub(super) fn has_moved_aside(folder: &Path) -> Result<bool, StoreError> {
    let prefix = format!("{DATABASE}{ASIDE}");
    let paths = list(folder)?;
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(paths.iter().filter_map(name).any(|name| name.starts_with(&prefix)))
}

/// The paths in a folder; none if there is no such folder.
fn list(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(io_failure("list", folder)),
    }
}

fn aside_path(path: &Path) -> PathBuf {
    with_suffix(path, &format!("{ASIDE}{}", Utc::now().format("%Y%m%dT%H%M%S%.6fZ")))
}

/// Moves a database and its log aside. Returns the new path of the database, if there was anything.
fn move_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let to = aside_path(path);
    let mut backup = None;
    for suffix in ["-wal", "-shm", ""] {
        let from = with_suffix(path, suffix);
        if from.is_file() {
            rename(&from, &with_suffix(&to, suffix))?;
            backup = Some(to.clone());
        }
    }
    Ok(backup)
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::rename(from, to).map_err(io_failure("move aside", from))
}

fn io_failure<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> StoreError + use<'a> {
    move |source| StoreError::Io { action, path: path.to_owned(), source }
}

fn backups_folder(folder: &Path) -> PathBuf {
    folder.join("backups")
}

/// A daily backup. Backups are ordered by number, not by date, since the clock may have been wrong once;
/// those of earlier versions have no number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Backup {
    number: u64,
    date: String,
    path: PathBuf,
}

impl Backup {
    fn parse(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let label = name.strip_prefix("state-")?.strip_suffix(".db")?;
        // `000012-2026-11-21`, or the date alone.
        let (number, date) = match label.split_once('-') {
            Some((number, date)) if number.len() > 4 => (number.parse().ok()?, date),
            _ => (0, label),
        };
        Some(Self { number, date: date.to_owned(), path })
    }
}

/// The daily backups, oldest first.
fn backups(folder: &Path) -> Result<Vec<Backup>, StoreError> {
    let mut backups: Vec<_> =
        list(&backups_folder(folder))?.into_iter().filter_map(Backup::parse).collect();
    backups.sort();
    Ok(backups)
}

/// Replaces the database by its newest sound backup. Returns the backup's path.
fn restore(folder: &Path, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    for Backup { path: copy, .. } in backups(folder)?.into_iter().rev() {
        if !matches!(read_header(&copy)?, Header::Ours) {
            continue;
        }
        let temp = folder.join(format!("{DATABASE}.restored"));
        std::fs::copy(&copy, &temp)
            .and_then(|_| File::options().write(true).open(&temp)?.sync_all())
            .map_err(io_failure("restore", &temp))?;
        std::fs::rename(&temp, path).map_err(io_failure("restore", path))?;
        sync_folder(folder).map_err(io_failure("make durable", folder))?;
        match checked(folder)? {
            Ok(mut database) => {
                // Operations that were unfinished when the backup was made are over by now: resuming
                // them would change notes that were edited since.
                database.change("forget the unfinished", |change| {
                    let forget = "UPDATE operation SET state = 'taken_back' \
                                  WHERE state = 'intended'";
                    Ok(change.execute(forget, [])?)
                })?;
                return Ok(Some(copy));
            }
            Err(_) => {
                move_aside(path)?;
            }
        }
    }
    Ok(None)
}

/// Makes today's backup, unless there is one, and deletes the oldest.
pub(super) fn back_up(database: &DatabaseFile, folder: &Path) -> Result<(), StoreError> {
    let above = backups_folder(folder);
    let date = Utc::now().format("%Y-%m-%d").to_string();
    let newest = backups(folder)?.pop();
    if newest.as_ref().is_some_and(|newest| newest.date == date) {
        return Ok(());
    }
    let number = newest.map_or(0, |newest| newest.number) + 1;
    let copy = above.join(format!("state-{number:06}-{date}.db"));
    if !above.is_dir() {
        std::fs::create_dir_all(&above).map_err(io_failure("make", &above))?;
        private(&above).map_err(io_failure("make", &above))?;
    }
    let temp = above.join(".new.db");
    let _ = std::fs::remove_file(&temp);
    let text = temp.to_string_lossy();
    database.read().execute("VACUUM INTO ?1", [&text])?;
    // Free the page cache: the copy has read all pages.
    database.read().execute_batch("PRAGMA shrink_memory;")?;
    File::options()
        .write(true)
        .open(&temp)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&temp, &copy))
        .and_then(|()| sync_folder(&above))
        .map_err(io_failure("copy", &copy))?;
    let backups = backups(folder)?;
    for old in backups.iter().take(backups.len().saturating_sub(COPIES)) {
        let _ = std::fs::remove_file(&old.path);
    }
    Ok(())
}
