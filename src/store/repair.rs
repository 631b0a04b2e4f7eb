//! A database that can be trusted, at the start: checked, moved aside if it is damaged, taken from
//! the last good copy, and copied once a day.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use chrono::Utc;

use super::blobs::{Blobs, private, sync_folder};
use super::error::StoreError;
use super::file::{DATABASE, DatabaseFile, Look, beside, look};

/// The setting that says that the database took the place of one that cannot be used: until a person
/// has set the mode, nothing may be changed.
pub const REPLACED: &str = "replaced";

/// Daily copies that are kept.
const COPIES: usize = 7;

/// What was found at the start.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// What a person should hear, one sentence each.
    pub warnings: Vec<String>,
}

/// Leaves a sound database in this folder, or none; the one that was found sound is open already.
///
/// # Errors
/// [`StoreError::Newer`] with nothing touched; as the system says.
pub(super) fn make_sound(folder: &Path) -> Result<(Prepared, Option<DatabaseFile>), StoreError> {
    let mut prepared = Prepared::default();
    let place = folder.join(DATABASE);
    let reason = match look(&place)? {
        Look::Absent => {
            // A log without its database can only harm the next one.
            for suffix in ["-wal", "-shm"] {
                let left = beside(&place, suffix);
                if left.is_file() {
                    rename(&left, &beside(&aside(&place), suffix))?;
                }
            }
            match is_missed(folder)? {
                false => return Ok((prepared, None)),
                true => "it is missing".to_owned(),
            }
        }
        Look::Damaged(reason) => reason,
        Look::Fine => match looked_through(folder)? {
            Ok(database) => return Ok((prepared, Some(database))),
            Err(reason) => reason,
        },
    };
    let kept = put_aside(&place)?;
    let restored = restore(folder, &place)?;
    let mut warning = format!("the journal's database cannot be used: {reason}");
    if let Some(kept) = kept {
        warning.push_str(&format!("; it is kept as `{}`", kept.display()));
    }
    warning.push_str(&match restored {
        Some(copy) => format!(
            "; the copy `{}` took its place, and changes made since cannot be undone",
            copy.display()
        ),
        None => "; there is no good copy, so a new one begins and earlier changes cannot be undone"
            .to_owned(),
    });
    warning.push_str(
        "; the vault itself was not touched. It is read only until you say otherwise (`steward mode \
         auto`), and what you agreed to for good is to be agreed to again",
    );
    tracing::error!("{warning}");
    prepared.warnings.push(warning);
    let mut database = DatabaseFile::open(folder)?;
    distrust(&mut database)?;
    Ok((prepared, Some(database)))
}

/// Takes back what a database allows that took the place of another: whoever set the mode, or took
/// an agreement back, may have done so since.
fn distrust(database: &mut DatabaseFile) -> Result<(), StoreError> {
    database.change("take back what was allowed", |change| {
        change.execute("DELETE FROM approval", [])?;
        change
            .execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?1, '')", [REPLACED])?;
        Ok(())
    })
}

/// The database in this folder, looked through, or what is wrong with it.
pub(super) fn looked_through(folder: &Path) -> Result<Result<DatabaseFile, String>, StoreError> {
    let database = match DatabaseFile::open(folder) {
        Ok(database) => database,
        Err(StoreError::Damaged { reason, .. }) => return Ok(Err(reason)),
        Err(other) => return Err(other),
    };
    Ok(match database.fault()? {
        None => Ok(database),
        Some(reason) => Err(reason),
    })
}

/// Whether there was a database once: copies of it or texts that it named are there.
pub(super) fn is_missed(folder: &Path) -> Result<bool, StoreError> {
    let texts = Blobs::at(&folder.join("blobs"));
    Ok(!copies(folder)?.is_empty() || !texts.list()?.is_empty())
}

/// What the name of a database goes on with that was moved aside.
const ASIDE: &str = ".corrupt-";

/// Whether one lies in this folder.
pub(super) fn has_moved_aside(folder: &Path) -> Result<bool, StoreError> {
    let start = format!("{DATABASE}{ASIDE}");
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(failed("list", folder))?,
    };
    for entry in entries {
        let name = entry.map_err(failed("list", folder))?.file_name();
        if name.to_string_lossy().starts_with(&start) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn aside(place: &Path) -> PathBuf {
    beside(place, &format!("{ASIDE}{}", Utc::now().format("%Y%m%dT%H%M%S%.6fZ")))
}

/// Moves a database and what belongs to it out of the way.
fn put_aside(place: &Path) -> Result<Option<PathBuf>, StoreError> {
    let to = aside(place);
    let mut kept = None;
    for suffix in ["-wal", "-shm", ""] {
        let from = beside(place, suffix);
        if from.is_file() {
            rename(&from, &beside(&to, suffix))?;
            kept = Some(to.clone());
        }
    }
    Ok(kept)
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::rename(from, to).map_err(failed("move aside", from))
}

fn failed<'a>(action: &'static str, place: &'a Path) -> impl Fn(io::Error) -> StoreError + use<'a> {
    move |source| StoreError::Io { action, place: place.to_owned(), source }
}

fn copies_folder(folder: &Path) -> PathBuf {
    folder.join("backups")
}

/// A daily copy. They are ordered by their numbers, since a clock that was wrong once would have
/// the newest one removed and an old one taken; those of earlier versions have none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    number: u64,
    date: String,
    place: PathBuf,
}

impl Copy {
    fn read(place: PathBuf) -> Option<Self> {
        let name = place.file_name()?.to_str()?;
        let told = name.strip_prefix("state-")?.strip_suffix(".db")?;
        // `000012-2026-11-21`, or the date alone.
        let (number, date) = match told.split_once('-') {
            Some((number, date)) if number.len() > 4 => (number.parse().ok()?, date),
            _ => (0, told),
        };
        Some(Self { number, date: date.to_owned(), place })
    }
}

/// The daily copies, oldest first.
///
/// # Errors
/// [`StoreError::Io`]: copies that cannot be listed are not taken for none.
fn copies(folder: &Path) -> Result<Vec<Copy>, StoreError> {
    let above = copies_folder(folder);
    let entries = match std::fs::read_dir(&above) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed("list", &above))?,
    };
    let mut copies = Vec::new();
    for entry in entries {
        copies.extend(Copy::read(entry.map_err(failed("list", &above))?.path()));
    }
    copies.sort();
    Ok(copies)
}

/// Puts the newest copy that is sound in the database's place.
fn restore(folder: &Path, place: &Path) -> Result<Option<PathBuf>, StoreError> {
    for Copy { place: copy, .. } in copies(folder)?.into_iter().rev() {
        if !matches!(look(&copy)?, Look::Fine) {
            continue;
        }
        let temp = folder.join(format!("{DATABASE}.restored"));
        std::fs::copy(&copy, &temp)
            .and_then(|_| File::options().write(true).open(&temp)?.sync_all())
            .map_err(failed("restore", &temp))?;
        std::fs::rename(&temp, place).map_err(failed("restore", place))?;
        sync_folder(folder).map_err(failed("make durable", folder))?;
        match looked_through(folder)? {
            Ok(mut database) => {
                // What was unfinished when the copy was made is history by now: acting on it
                // would change notes that have moved on.
                database.change("forget the unfinished", |change| {
                    let forget = "UPDATE operation SET state = 'taken_back' \
                                  WHERE state = 'intended'";
                    Ok(change.execute(forget, [])?)
                })?;
                return Ok(Some(copy));
            }
            Err(_) => {
                put_aside(place)?;
            }
        }
    }
    Ok(None)
}

/// Makes today's copy, unless there is one, and lets the oldest go.
///
/// # Errors
/// [`StoreError`]; nothing of the database is changed.
pub(super) fn back_up(database: &DatabaseFile, folder: &Path) -> Result<(), StoreError> {
    let above = copies_folder(folder);
    let date = Utc::now().format("%Y-%m-%d").to_string();
    let newest = copies(folder)?.pop();
    if newest.as_ref().is_some_and(|newest| newest.date == date) {
        return Ok(());
    }
    let number = newest.map_or(0, |newest| newest.number) + 1;
    let copy = above.join(format!("state-{number:06}-{date}.db"));
    if !above.is_dir() {
        std::fs::create_dir_all(&above).map_err(failed("make", &above))?;
        private(&above).map_err(failed("make", &above))?;
    }
    let temp = above.join(".new.db");
    let _ = std::fs::remove_file(&temp);
    let text = temp.to_string_lossy();
    database.read().execute("VACUUM INTO ?1", [&text])?;
    // It has gone through all pages, and of none of them is known that somebody will read it.
    database.read().execute_batch("PRAGMA shrink_memory;")?;
    File::options()
        .write(true)
        .open(&temp)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&temp, &copy))
        .and_then(|()| sync_folder(&above))
        .map_err(failed("copy", &copy))?;
    let copies = copies(folder)?;
    for old in copies.iter().take(copies.len().saturating_sub(COPIES)) {
        let _ = std::fs::remove_file(&old.place);
    }
    Ok(())
}
