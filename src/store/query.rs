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

/// Defines the row of a table: a struct with a field for each column, the names of all columns, and a function that
/// reads a row. Of a `numbered` table, whose first column the database assigns, also one that inserts a row.
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $row:ident in $table:literal {
        $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        $vis struct $row {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $row {
            pub(in crate::store) const COLUMNS: &str =
                $crate::store::query::row!(@list $(stringify!($field)),*);

            pub(in crate::store) fn read(row: &rusqlite::Row) -> Result<Self, StoreError> {
                let mut index = 0..;
                Ok(Self {
                    $($field: $crate::store::query::column(row, $table, index.next().unwrap_or_default())?,)*
                })
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $row:ident in $table:literal numbered {
        $(#[$id_doc:meta])* pub $id:ident: $id_type:ty,
        $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $crate::store::query::row! {
            $(#[$meta])* $vis struct $row in $table {
                $(#[$id_doc])* pub $id: $id_type,
                $($(#[$doc])* pub $field: $type,)*
            }
        }

        impl $row {
            /// Inserts the row without its number, and returns the number that it gets.
            fn insert(&self, change: &rusqlite::Connection) -> Result<i64, StoreError> {
                const INSERT: &str = concat!(
                    "INSERT INTO ", $table, " (", $crate::store::query::row!(@list $(stringify!($field)),*),
                    ") VALUES (", $crate::store::query::row!(@list $($crate::store::query::row!(@mark $field)),*), ")"
                );
                change.prepare_cached(INSERT)?.execute(rusqlite::params![$(self.$field),*])?;
                Ok(change.last_insert_rowid())
            }
        }
    };
    (@list $first:expr $(, $next:expr)*) => { concat!($first $(, ", ", $next)*) };
    (@mark $field:ident) => { "?" };
}
pub(in crate::store) use row;
