//! The rows of the journal: what was asked, what was intended, what came of it.
//!
//! Texts and numbers only. What a step's `kind`, `path` and `detail` mean is `crate::journal`'s
//! business; a row that cannot be read, or is not as it was written, is an error that names it.
//!
//! In reading order: `rows`, `write`, `read`, `keeping` (for how long).

mod keeping;
mod read;
mod rows;
mod write;

pub use keeping::Limits;
pub use read::{DELETIONS, Each, Unfinished, Wanted};
pub use rows::{Intent, Mark, NewSet, NewStep, SetRow, StepResult, StepRow};
