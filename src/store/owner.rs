//! Which vault a database is the memory of.
//!
//! The database says so itself, since a file that lies beside it would not go with it into a backup, or to
//! where somebody puts it by mistake.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use super::error::StoreError;
use super::file::DATABASE;

/// The names of what it says in the table of settings.
const PATH: &str = "vault";
const FOLDER: &str = "vault_folder";

/// A vault, as it is known again: by where it lies, as after a restore, or by its folder, as after a
/// move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Where it lay last.
    pub path: String,
    /// What the file system knows its folder by, wherever that is moved on its disk.
    pub folder: Option<String>,
}

impl Owner {
    /// Whether both are one vault.
    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.folder.is_some() && self.folder == other.folder)
    }

    fn of(connection: &Connection) -> Result<Option<Self>, rusqlite::Error> {
        let value = |name: &str| {
            let query = "SELECT value FROM setting WHERE name = ?1";
            connection.query_row(query, [name], |row| row.get(0)).optional()
        };
        let folder = value(FOLDER)?;
        Ok(value(PATH)?.map(|path| Self { path, folder }))
    }

    /// Whether the database, which lies there, is of this vault and says so already. One that says
    /// nothing is anybody's.
    ///
    /// # Errors
    /// [`StoreError::Foreign`].
    pub(super) fn check(&self, connection: &Connection, place: &Path) -> Result<bool, StoreError> {
        match Self::of(connection)? {
            Some(found) if !found.is(self) => Err(StoreError::Foreign {
                place: place.to_owned(),
                vault: found.path,
                here: self.path.clone(),
            }),
            found => Ok(found.as_ref() == Some(self)),
        }
    }

    /// Has the database say that it is of this vault.
    pub(super) fn note(&self, change: &Transaction) -> Result<(), StoreError> {
        change.execute("DELETE FROM setting WHERE name IN (?1, ?2)", [PATH, FOLDER])?;
        for (name, value) in [(PATH, Some(&self.path)), (FOLDER, self.folder.as_ref())] {
            if let Some(value) = value {
                let insert = "INSERT INTO setting (name, value) VALUES (?1, ?2)";
                change.execute(insert, [name, value])?;
            }
        }
        Ok(())
    }
}

/// The vault that the database in this folder is of, where there is one that says so.
pub fn owner_of(folder: &Path) -> Option<Owner> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(folder.join(DATABASE), flags).ok()?;
    Owner::of(&connection).ok()?
}
