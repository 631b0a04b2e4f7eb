//! The rows of the journal: what was asked, what was intended, what came of it.
//!
//! Texts and numbers only. What a step's `kind`, `path` and `detail` mean is `crate::journal`'s
//! business; a row that cannot be read, or is not as it was written, is an error that names it.
//!
//! In reading order: `rows`, `operations` (what is written), `changes` (what is read), `retention`
//! (for how long texts are kept).

mod changes;
mod operations;
mod retention;
mod rows;

pub use changes::{Changes, DELETIONS, Wanted};
pub use operations::{Operations, Unfinished};
pub use retention::{Limits, Retention};
pub use rows::{Intent, Mark, NewSet, NewStep, SetRow, StepResult, StepRow};

use super::database::Database;

/// The rows of the journal, by what is done with them.
#[derive(Debug, Clone)]
pub struct JournalRows {
    /// What is recorded of each operation.
    pub operations: Operations,
    /// What was done, to be read.
    pub changes: Changes,
    /// How long texts are kept.
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
