//! Asking for rows and reading them. What cannot be read is an error that names its row.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, Rows};

use super::error::{Each, StoreError};

/// The first row of an answer.
pub(super) fn first<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    connection.prepare_cached(query)?.query(values)?.next()?.map(read).transpose()
}

/// All rows of an answer.
pub(super) fn all<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    each(connection.prepare_cached(query)?.query(values)?, read)?.into_iter().collect()
}

/// All rows of an answer, each by itself: one that is damaged hides no other.
pub(super) fn each<T>(
    mut answer: Rows,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Each<T>, StoreError> {
    let mut found = Vec::new();
    while let Some(row) = answer.next()? {
        found.push(read(row));
    }
    Ok(found)
}

/// Reads one column, or says which row it is in: its first column has the number.
pub(super) fn column<T: FromSql>(
    row: &Row,
    table: &'static str,
    index: usize,
) -> Result<T, StoreError> {
    row.get(index).map_err(|error| fault(row, table, error.to_string()))
}

/// The error for a row that can be read but says what cannot be.
pub(super) fn fault(row: &Row, table: &'static str, reason: String) -> StoreError {
    StoreError::Row { table, row: row.get(0).unwrap_or(-1), reason }
}
