//! Rows as values.

use rusqlite::Row;

use crate::store::blobs::BlobHash;
use crate::store::error::StoreError;
use crate::store::query::{column, row};

/// A change set to begin.
#[derive(Debug, Clone)]
pub struct NewSet<'a> {
    /// `change`, `undo` or `restore`.
    pub kind: &'a str,
    /// For people.
    pub title: &'a str,
    pub caller: &'a str,
    pub conversation: Option<&'a str>,
    /// The turn it belongs to: a second set of the same turn continues the first.
    pub turn: Option<&'a str>,
    pub undoes_set: Option<i64>,
    /// The change of that set, if only one is undone.
    pub undoes_number: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
}

#[derive(Debug, Clone, Default)]
pub struct NewStep {
    /// Index of its change in the operation, from 0.
    pub change: usize,
    pub row: StepRow,
    /// Files below the step's path, with their paths below it and their texts.
    pub files: Vec<(String, Option<BlobHash>)>,
}

/// A recorded operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub set: i64,
    pub operation: i64,
    /// The number of its first change in the set.
    pub first: u32,
    pub steps: Vec<i64>,
}

#[derive(Debug, Clone)]
pub struct StepResult {
    pub step: i64,
    /// The new detail, as JSON.
    pub detail: String,
    /// Whether to delete the step: there was nothing to do.
    pub drop: bool,
}

/// Marks a step as undone, or as not undone.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub step: i64,
    pub undone_by: Option<i64>,
}

row! {
    #[derive(Debug, Clone)]
    pub struct SetRow in "change_set" {
        pub id: i64,
        /// `change`, `undo` or `restore`.
        pub kind: String,
        /// For people.
        pub title: String,
        pub caller: String,
        pub conversation: Option<String>,
        pub turn: Option<String>,
        pub undoes_set: Option<i64>,
        /// The change of that set, if only one was undone.
        pub undoes_number: Option<i64>,
        /// Milliseconds since the Unix epoch.
        pub began: i64,
    }
}

#[derive(Debug, Clone, Default)]
pub struct StepRow {
    /// Increases with each step; 0 before it is stored.
    pub id: i64,
    pub operation: i64,
    pub set: i64,
    /// Number of its change in the set.
    pub number: u32,
    pub kind: String,
    pub path: String,
    /// The destination of a move.
    pub other: Option<String>,
    pub before: Option<BlobHash>,
    pub after: Option<BlobHash>,
    /// Number of notes that it moves or deletes.
    pub notes: usize,
    pub detail: String,
    pub undoes: Option<i64>,
    pub undone_by: Option<i64>,
    pub texts_kept: bool,
    /// When its operation ended, in milliseconds since the Unix epoch.
    pub ended: Option<i64>,
}

pub(super) const SET: &str = SetRow::COLUMNS;
/// The columns that [`StepRow::read`] reads, with `operation` joined.
pub(super) const STEP: &str = "step.id, step.operation, step.change_set, step.number, step.kind, step.path, \
                    step.other, step.before_text, step.after_text, step.notes, step.detail, \
                    step.undoes, step.undone_by, step.texts_kept, operation.ended, step.checksum";

/// The columns that identify a step's subject, not verified.
pub(super) struct StepGlance<'a> {
    pub kind: &'a str,
    pub path: &'a str,
    /// Whether it replaces a text.
    pub has_before: bool,
}

impl<'a> StepGlance<'a> {
    /// `None` if the row is not of this form.
    pub fn of(row: &'a Row) -> Option<Self> {
        let text = |index| row.get_ref(index).ok()?.as_str().ok();
        let has_before = row.get_ref(7).ok()? != rusqlite::types::ValueRef::Null;
        Some(Self { kind: text(4)?, path: text(5)?, has_before })
    }
}

impl StepRow {
    /// The checksum of a step with this number in its set.
    pub(super) fn checksum(&self, number: u32) -> String {
        let hash = |text: Option<BlobHash>| text.map(|text| text.to_string());
        let content = format!(
            "{:?}",
            (
                (number, self.kind.as_str(), self.path.as_str(), self.other.as_deref()),
                (hash(self.before), hash(self.after), self.undoes, self.detail.as_str())
            )
        );
        BlobHash::of(content.as_bytes()).to_string()[..16].to_owned()
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let step = Self::read_unchecked(row)?;
        if step.checksum(step.number) == column::<String>(row, "step", 15)? {
            Ok(step)
        } else {
            Err(step.fault("it is not as it was written"))
        }
    }

    fn read_unchecked(row: &Row) -> Result<Self, StoreError> {
        const T: &str = "step";
        let id = column(row, T, 0)?;
        let hash = |index| -> Result<Option<BlobHash>, StoreError> {
            let text: Option<String> = column(row, T, index)?;
            let parsed = text.map(|text| text.parse()).transpose();
            parsed.map_err(|reason| StoreError::Row { table: T, row: id, reason })
        };
        Ok(Self {
            id,
            operation: column(row, T, 1)?,
            set: column(row, T, 2)?,
            number: column(row, T, 3)?,
            kind: column(row, T, 4)?,
            path: column(row, T, 5)?,
            other: column(row, T, 6)?,
            before: hash(7)?,
            after: hash(8)?,
            notes: usize::try_from(column::<i64>(row, T, 9)?).unwrap_or(0),
            detail: column(row, T, 10)?,
            undoes: column(row, T, 11)?,
            undone_by: column(row, T, 12)?,
            texts_kept: column(row, T, 13)?,
            ended: column(row, T, 14)?,
        })
    }

    /// The error for a row with an invalid value.
    pub fn fault(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Row { table: "step", row: self.id, reason: reason.into() }
    }
}
