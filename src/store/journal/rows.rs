//! Rows as values, and reading them.

use rusqlite::Row;

use crate::store::blobs::BlobHash;
use crate::store::error::StoreError;
use crate::store::query::column;

/// A change set that is to be begun.
#[derive(Debug, Clone)]
pub struct NewSet<'a> {
    /// `change`, `undo` or `restore`.
    pub kind: &'a str,
    /// For people.
    pub title: &'a str,
    /// The program that asks.
    pub caller: &'a str,
    /// The conversation it belongs to.
    pub conversation: Option<&'a str>,
    /// The turn it belongs to: a second set of the same turn is the first one, continued.
    pub turn: Option<&'a str>,
    pub undoes_set: Option<i64>,
    /// The one change of that set.
    pub undoes_number: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
}

/// A step that is to be done.
#[derive(Debug, Clone, Default)]
pub struct NewStep {
    /// Which change it belongs to, from 0 in its operation.
    pub change: usize,
    /// What is known of it before it is stored.
    pub row: StepRow,
    /// Files that go with it: path below its own, and text.
    pub files: Vec<(String, Option<BlobHash>)>,
}

/// An operation as it was intended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its change set.
    pub set: i64,
    pub operation: i64,
    /// The number that its first change has in the set.
    pub first: u32,
    /// Its steps, in their order.
    pub steps: Vec<i64>,
}

/// What came of one step.
#[derive(Debug, Clone)]
pub struct StepResult {
    pub step: i64,
    /// The rest as JSON, anew.
    pub detail: String,
    /// Whether it is to be left out: there was nothing to do.
    pub drop: bool,
}

/// A mark that a step is undone, or is no more.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub step: i64,
    /// The change set that undid it.
    pub undone_by: Option<i64>,
}

/// A change set as it is kept.
#[derive(Debug, Clone)]
pub struct SetRow {
    pub id: i64,
    /// `change`, `undo` or `restore`.
    pub kind: String,
    /// For people.
    pub title: String,
    /// The program that asked.
    pub caller: String,
    pub conversation: Option<String>,
    pub turn: Option<String>,
    pub undoes_set: Option<i64>,
    /// The one change of that set.
    pub undoes_number: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
}

/// A step as it is kept.
#[derive(Debug, Clone, Default)]
pub struct StepRow {
    /// Its number, later ones are larger; 0 before it is stored.
    pub id: i64,
    pub operation: i64,
    /// Its change set.
    pub set: i64,
    /// Which change of the set it belongs to.
    pub number: u32,
    /// What it does.
    pub kind: String,
    pub path: String,
    /// Its other path.
    pub other: Option<String>,
    /// The text that was there.
    pub before: Option<BlobHash>,
    /// The text that is there.
    pub after: Option<BlobHash>,
    /// Notes that it moves or deletes.
    pub notes: usize,
    /// The rest, as JSON.
    pub detail: String,
    /// The step it takes back.
    pub undoes: Option<i64>,
    /// The change set that took it back.
    pub undone_by: Option<i64>,
    /// Whether its texts are still kept.
    pub texts_kept: bool,
    /// When its operation ended, in milliseconds since the Unix epoch.
    pub ended: Option<i64>,
}

/// The columns of a change set.
pub(super) const SET: &str =
    "id, kind, title, caller, conversation, turn, undoes_set, undoes_number, began";
/// The columns of a step, where its operation is joined.
pub(super) const STEP: &str = "step.id, step.operation, step.change_set, step.number, step.kind, step.path, \
                    step.other, step.before_text, step.after_text, step.notes, step.detail, \
                    step.undoes, step.undone_by, step.texts_kept, operation.ended, step.checksum";

impl SetRow {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        const T: &str = "change_set";
        Ok(Self {
            id: column(row, T, 0)?,
            kind: column(row, T, 1)?,
            title: column(row, T, 2)?,
            caller: column(row, T, 3)?,
            conversation: column(row, T, 4)?,
            turn: column(row, T, 5)?,
            undoes_set: column(row, T, 6)?,
            undoes_number: column(row, T, 7)?,
            began: column(row, T, 8)?,
        })
    }
}

impl StepRow {
    /// What a step says that has this number in its set, in a few letters.
    pub(super) fn checksum(&self, number: u32) -> String {
        let hash = |text: Option<BlobHash>| text.map(|text| text.to_string());
        let said = format!(
            "{:?}",
            (
                (number, self.kind.as_str(), self.path.as_str(), self.other.as_deref()),
                (hash(self.before), hash(self.after), self.undoes, self.detail.as_str())
            )
        );
        BlobHash::of(said.as_bytes()).to_string()[..16].to_owned()
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let step = Self::read_unchecked(row)?;
        match step.checksum(step.number) == column::<String>(row, "step", 15)? {
            true => Ok(step),
            false => Err(step.fault("it is not as it was written")),
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

    /// The error for a row that can be read but says what cannot be.
    pub fn fault(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Row { table: "step", row: self.id, reason: reason.into() }
    }
}
