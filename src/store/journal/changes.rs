//! What was done, read back.

use rusqlite::{OptionalExtension, params};

use super::rows::{SET, STEP, SetRow, StepRow};
use crate::store::blobs::BlobHash;
use crate::store::database::Database;
use crate::store::error::{Each, StoreError};
use crate::store::query::{all, each, first};

/// Deletions that are looked at for what is in the trash: each is looked for there. What was
/// deleted before them is undone by the number of its change.
pub const DELETIONS: i64 = 10_000;

/// Which change sets are asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Those that touch one of these paths, or what lies below it: path, and the newest step that
    /// counts. Empty: all.
    pub paths: Vec<(String, i64)>,
    /// Those begun at or after this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// Those before this number.
    pub before: Option<i64>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// The change sets and steps that were done, to be read.
#[derive(Debug, Clone)]
pub struct Changes(pub(in crate::store) Database);

impl Changes {
    /// The steps of the operation that was done last.
    pub fn last_applied(&self) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where(
            "step.operation = (SELECT max(id) FROM operation WHERE state = 'applied')",
            &[],
        )
    }

    /// The notes that a turn has deleted and moved so far.
    pub fn notes_of_turn(&self, turn: &str) -> Result<(usize, usize), StoreError> {
        self.0.read(|connection| {
            let sum = |kind: &str| -> Result<usize, StoreError> {
                let sum: i64 = connection.query_row(
                    "SELECT coalesce(sum(step.notes), 0) FROM step
                     JOIN operation ON operation.id = step.operation
                     JOIN change_set ON change_set.id = step.change_set
                     WHERE change_set.turn = ?1 AND step.kind = ?2
                       AND operation.state = 'applied'",
                    params![turn, kind],
                    |row| row.get(0),
                )?;
                Ok(usize::try_from(sum).unwrap_or(0))
            };
            Ok((sum("delete")?, sum("move")?))
        })
    }

    /// Change sets in which something was done, newest first.
    pub fn sets(&self, wanted: &Wanted) -> Result<Each<SetRow>, StoreError> {
        self.0.read(|connection| {
            let touched = match wanted.paths.len() {
                0 => "1".to_owned(),
                count => {
                    let one = |at: usize| {
                        let (path, newest) = (3 * at + 4, 3 * at + 6);
                        let below = 3 * at + 5;
                        format!(
                            "step.id <= ?{newest} AND (step.path = ?{path} OR step.other = ?{path} \
                             OR (step.path >= ?{path} || '/' AND step.path < ?{below}) \
                             OR (step.other >= ?{path} || '/' AND step.other < ?{below}))"
                        )
                    };
                    let any: Vec<String> = (0..count).map(one).collect();
                    format!("({})", any.join(" OR "))
                }
            };
            let query = format!(
                "SELECT {SET} FROM change_set WHERE began >= ?1 AND id < ?2 AND EXISTS (
                     SELECT 1 FROM step JOIN operation ON operation.id = step.operation
                     WHERE step.change_set = change_set.id AND operation.state = 'applied'
                       AND {touched})
                 ORDER BY id DESC LIMIT ?3"
            );
            let limit = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
            let mut values: Vec<rusqlite::types::Value> = vec![
                wanted.since.unwrap_or(i64::MIN).into(),
                wanted.before.unwrap_or(i64::MAX).into(),
                limit.into(),
            ];
            for (path, newest) in &wanted.paths {
                values.push(path.clone().into());
                // `0` follows `/`, so this is the end of all that begins with the folder.
                values.push(format!("{path}0").into());
                values.push((*newest).into());
            }
            let mut statement = connection.prepare(&query)?;
            each(statement.query(rusqlite::params_from_iter(values))?, SetRow::read)
        })
    }

    /// The number of a turn's change set.
    pub fn set_of_turn(&self, turn: &str) -> Result<Option<i64>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT id FROM change_set WHERE turn = ?1";
            Ok(connection.query_row(query, [turn], |row| row.get(0)).optional()?)
        })
    }

    /// The number of a turn's change set, if anything of it was done and is not taken back by an error or a crash.
    pub fn done_in_turn(&self, turn: &str) -> Result<Option<i64>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT change_set.id FROM change_set JOIN operation ON operation.change_set = change_set.id
                         WHERE change_set.turn = ?1 AND operation.state = 'applied' LIMIT 1";
            Ok(connection.query_row(query, [turn], |row| row.get(0)).optional()?)
        })
    }

    /// One change set.
    pub fn set(&self, id: i64) -> Result<Option<SetRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {SET} FROM change_set WHERE id = ?1");
            first(connection, &query, [id], SetRow::read)
        })
    }

    /// What was done in a change set, in order.
    pub fn steps(&self, set: i64) -> Result<Vec<StepRow>, StoreError> {
        self.each_step(set)?.into_iter().collect()
    }

    /// As [`Self::steps`], each by itself.
    pub fn each_step(&self, set: i64) -> Result<Each<StepRow>, StoreError> {
        self.each_where("step.change_set = ?1", &[&set])
    }

    /// Steps of this kind that were done after the step `after`, in order, whose path is this one
    /// or a folder above it.
    pub fn later_steps(
        &self,
        kind: &str,
        path: &str,
        after: i64,
    ) -> Result<Vec<StepRow>, StoreError> {
        let met = "step.kind = ?1 AND step.id > ?3 AND \
                   (step.path = ?2 OR ?2 >= step.path || '/' AND ?2 < step.path || '0')";
        self.steps_where(met, &[&kind, &path, &after])
    }

    /// All moves that were done after the step `after`, in order.
    pub fn moves_after(&self, after: i64) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where("step.kind = 'move' AND step.id > ?1", &[&after])
    }

    /// The last move that led to this path or a folder above it, before the step `before`.
    pub fn last_move_to(&self, path: &str, before: i64) -> Result<Option<StepRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation.state = 'applied' AND step.kind = 'move' AND step.id < ?2 AND
                       (step.other = ?1 OR ?1 >= step.other || '/' AND ?1 < step.other || '0')
                 ORDER BY step.id DESC LIMIT 1"
            );
            first(connection, &query, params![path, before], StepRow::read)
        })
    }

    /// The steps that did anew what this one had done, oldest first: it was undone, and that undo
    /// was undone. None where it stands as it was done.
    pub fn done_again(&self, step: i64) -> Result<Vec<StepRow>, StoreError> {
        let met = "step.undone_by IS NULL AND \
                   step.undoes IN (SELECT id FROM step WHERE undoes = ?1)";
        self.steps_where(met, &[&step])
    }

    /// What was deleted and not brought back, newest first: of the last [`DELETIONS`].
    pub fn deletions(&self) -> Result<Each<StepRow>, StoreError> {
        let newest = "step.kind = 'delete' AND step.undone_by IS NULL AND step.id >= coalesce(
                          (SELECT id FROM step WHERE kind = 'delete' AND undone_by IS NULL
                           ORDER BY id DESC LIMIT 1 OFFSET ?1 - 1), 0)";
        let mut steps = self.each_where(newest, &[&DELETIONS])?;
        steps.reverse();
        Ok(steps)
    }

    fn steps_where(
        &self,
        met: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<StepRow>, StoreError> {
        self.each_where(met, values)?.into_iter().collect()
    }

    fn each_where(
        &self,
        met: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Each<StepRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation.state = 'applied' AND {met} ORDER BY step.id"
            );
            let mut statement = connection.prepare(&query)?;
            each(statement.query(values)?, StepRow::read)
        })
    }

    /// One step, if it was done.
    pub fn step(&self, id: i64) -> Result<Option<StepRow>, StoreError> {
        Ok(self.steps_where("step.id = ?1", &[&id])?.pop())
    }

    /// The files that went with a step: path below its own, and text.
    pub fn files(&self, step: i64) -> Result<Vec<(String, Option<BlobHash>)>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT path, text FROM step_file WHERE step = ?1 ORDER BY path";
            all(connection, query, [step], |row| {
                let fault =
                    |reason: String| StoreError::Row { table: "step_file", row: step, reason };
                let path = row.get(0).map_err(|error| fault(error.to_string()))?;
                let text: Option<String> = row.get(1).map_err(|error| fault(error.to_string()))?;
                Ok((path, text.map(|text| text.parse()).transpose().map_err(fault)?))
            })
        })
    }
}
