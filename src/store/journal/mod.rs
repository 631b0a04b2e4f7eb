//! The rows of the journal.
//!
//! The meaning of a step's `kind`, `path` and `detail` is `crate::journal`'s; a row that cannot be read, or
//! whose checksum is wrong, is an error that names it.
//!
//! In reading order: `rows`, `operations` (writing), `changes` (reading), `retention` (how long texts are
//! kept).

mod changes;
mod operations;
mod retention;
mod rows;

pub use changes::{Changes, DELETIONS, SetFilter};
pub use operations::{Operations, Unfinished};
pub use retention::{Limits, Retention};
pub use rows::{Intent, Mark, NewSet, NewStep, SetRow, StepResult, StepRow};

use super::database::Database;

#[derive(Debug, Clone)]
pub struct JournalRows {
    pub operations: Operations,
    pub changes: Changes,
    pub retention: Retention,
}

impl JournalRows {
    pub(super) fn on(database: &Database) -> Self {
        Self {
            operations: Operations(database.clone()),
            changes: Changes(database.clone()),
            retention: Retention(database.clone()),
        }
    }
}
