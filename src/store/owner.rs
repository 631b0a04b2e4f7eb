//! Which vault a database belongs to.
//!
//! The database itself records it: a separate file would be lost when the database is moved or
//! restored.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use super::error::StoreError;
use super::file::DATABASE;

/// Names of its rows in the table `setting`.
const PATH: &str = "vault";
const FOLDER: &str = "vault_folder";

/// A vault. Two owners are the same vault if their paths match, as after a restore, or their folder
/// identities, as after a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The vault's last known path.
    pub path: String,
    /// The file system's identity of its folder, which a move on the same disk does not change.
    pub folder: Option<String>,
}

impl Owner {
    /// Whether both are the same vault.
    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.folder.is_some() && self.folder == other.folder)
    }

    fn read(connection: &Connection) -> Result<Option<Self>, rusqlite::Error> {
        let value = |name: &str| {
            let query = "SELECT value FROM setting WHERE name = ?1";
            connection.query_row(query, [name], |row| row.get(0)).optional()
        };
        let folder = value(FOLDER)?;
        Ok(value(PATH)?.map(|path| Self { path, folder }))
    }

    /// Whether the database at `path` already names exactly this vault. A database without an owner
    /// belongs to any.
    pub(super) fn check(&self, connection: &Connection, path: &Path) -> Result<bool, StoreError> {
        match Self::read(connection)? {
            Some(found) if !found.is(self) => Err(StoreError::Foreign {
                path: path.to_owned(),
                vault: found.path,
                here: self.path.clone(),
            }),
            found => Ok(found.as_ref() == Some(self)),
        }
    }

    /// Records this vault as the owner of the database.
    pub(super) fn store(&self, change: &Transaction) -> Result<(), StoreError> {
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

/// The owner that the database in this folder records, if any.
pub fn owner_of(folder: &Path) -> Option<Owner> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(folder.join(DATABASE), flags).ok()?;
    Owner::read(&connection).ok()?
}
