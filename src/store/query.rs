//! Queries and typed columns. A row that cannot be read is an error that names it.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use super::error::{Each, StoreError};

/// Returns the first row of a query.
pub(super) fn first<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    connection.prepare_cached(query)?.query(values)?.next()?.map(read).transpose()
}

/// Returns all rows of a query.
pub(super) fn all<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    each(connection, query, values, read)?.into_iter().collect()
}

/// Returns all rows of a query, each with its own error: a damaged row hides no other.
pub(super) fn each<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Each<T>, StoreError> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row));
    }
    Ok(found)
}

/// Reads one column. Its error names the row by the first column.
pub(super) fn column<T: FromSql>(
    row: &Row,
    table: &'static str,
    index: usize,
) -> Result<T, StoreError> {
    row.get(index).map_err(|error| fault(row, table, error.to_string()))
}

pub(super) fn fault(row: &Row, table: &'static str, reason: String) -> StoreError {
    StoreError::Row { table, row: row.get(0).unwrap_or(-1), reason }
}

/// Defines a constant with the names of a table's columns, and a function that reads them into the fields of the same
/// names.
macro_rules! columns {
    ($vis:vis $columns:ident, $read:ident, $table:literal, $row:ident { $first:ident $(, $field:ident)* $(,)? }) => {
        $vis const $columns: &str = concat!(stringify!($first) $(, ", ", stringify!($field))*);

        $vis fn $read(row: &rusqlite::Row) -> Result<$row, StoreError> {
            let mut rest = 1..;
            Ok($row {
                $first: $crate::store::query::column(row, $table, 0)?,
                $($field: $crate::store::query::column(row, $table, rest.next().unwrap_or_default())?,)*
            })
        }
    };
}
pub(in crate::store) use columns;
