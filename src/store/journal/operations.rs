//! Recording operations: before they are executed, and after.

use rusqlite::{OptionalExtension, Transaction, params};

use super::rows::{Intent, Mark, NewSet, NewStep, STEP, StepResult, StepRow};
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::query::{all, each, first};

/// An operation that has not ended, and its steps if all of them can be read.
pub type Unfinished = (i64, Result<Vec<StepRow>, StoreError>);

#[derive(Debug, Clone)]
pub struct Operations(pub(in crate::store) Database);

impl Operations {
    /// Records an operation before it is executed; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: the operation must not be executed.
    pub fn intend(&self, set: &NewSet, steps: &[NewStep]) -> Result<Intent, StoreError> {
        self.0.change("record the intent", |change| {
            let set_id = match known_turn(change, set.turn)? {
                Some(id) => id,
                None => insert_set(change, set)?,
            };
            let first: u32 = change.query_row(
                "SELECT coalesce(max(number), 0) + 1 FROM step WHERE change_set = ?1",
                [set_id],
                |row| row.get(0),
            )?;
            change.execute(
                "INSERT INTO operation (change_set, state, began) VALUES (?1, 'intended', ?2)",
                params![set_id, set.began],
            )?;
            let operation = change.last_insert_rowid();
            let ids = steps
                .iter()
                .map(|step| insert_step(change, set_id, operation, first, step))
                .collect::<Result<_, _>>()?;
            Ok(Intent { set: set_id, operation, first, steps: ids })
        })
    }

    /// Records that an operation was applied; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: the operation counts as unfinished.
    pub fn finish(
        &self,
        operation: i64,
        results: &[StepResult],
        marks: &[Mark],
        ended: i64,
    ) -> Result<(), StoreError> {
        self.0.change("record the end", |change| {
            set_results(change, results)?;
            let mut marked = change.prepare("UPDATE step SET undone_by = ?2 WHERE id = ?1")?;
            for mark in marks {
                marked.execute(params![mark.step, mark.undone_by])?;
            }
            end(change, operation, "applied", ended)
        })
    }

    /// Records the results of steps of an operation that has already ended.
    pub fn record_late(&self, results: &[StepResult]) -> Result<(), StoreError> {
        self.0.change("record late results", |change| set_results(change, results))
    }

    /// Records that an operation was rolled back.
    ///
    /// # Errors
    /// [`StoreError`]: the operation counts as unfinished, and the next start finds nothing to roll back.
    pub fn roll_back(&self, operation: i64, ended: i64) -> Result<(), StoreError> {
        self.0.change("record a rollback", |change| end(change, operation, "taken_back", ended))
    }

    /// The operations that have not ended, oldest first, with their steps.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, StoreError> {
        self.0.read(|connection| {
            let ids = "SELECT id FROM operation WHERE state = 'intended' ORDER BY id";
            let ids: Vec<i64> = all(connection, ids, [], |row| Ok(row.get(0)?))?;
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation = ?1 ORDER BY step.id"
            );
            ids.into_iter()
                .map(|id| {
                    let steps = each(connection, &query, [id], StepRow::read)?;
                    Ok((id, steps.into_iter().collect()))
                })
                .collect()
        })
    }

    /// Whether an operation has not ended.
    pub fn has_unfinished(&self) -> Result<bool, StoreError> {
        let query = "SELECT 1 FROM operation WHERE state = 'intended' LIMIT 1";
        Ok(self.0.first(query, [], |_| Ok(()))?.is_some())
    }

    pub fn unfinished_steps(&self, operation: i64) -> Result<Vec<StepRow>, StoreError> {
        let found = self.unfinished()?.into_iter().find(|one| one.0 == operation);
        found.map_or_else(|| Ok(Vec::new()), |one| one.1)
    }
}

fn known_turn(change: &Transaction, turn: Option<&str>) -> Result<Option<i64>, StoreError> {
    let Some(turn) = turn else { return Ok(None) };
    let query = "SELECT id FROM change_set WHERE turn = ?1";
    Ok(change.query_row(query, [turn], |row| row.get(0)).optional()?)
}

fn insert_set(change: &Transaction, set: &NewSet) -> Result<i64, StoreError> {
    change.execute(
        "INSERT INTO change_set
             (kind, title, caller, conversation, turn, undoes_set, undoes_number, began)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            set.kind,
            set.title,
            set.caller,
            set.conversation,
            set.turn,
            set.undoes_set,
            set.undoes_number,
            set.began
        ],
    )?;
    Ok(change.last_insert_rowid())
}

fn insert_step(
    change: &Transaction,
    set: i64,
    operation: i64,
    first: u32,
    step: &NewStep,
) -> Result<i64, StoreError> {
    let number = first.saturating_add(u32::try_from(step.change).unwrap_or(u32::MAX));
    let row = &step.row;
    change
        .prepare_cached(
            "INSERT INTO step (operation, change_set, number, kind, path, other, before_text,
                               after_text, notes, detail, undoes, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            operation,
            set,
            number,
            row.kind,
            row.path,
            row.other,
            row.before.map(|hash| hash.to_string()),
            row.after.map(|hash| hash.to_string()),
            i64::try_from(row.notes).unwrap_or(i64::MAX),
            row.detail,
            row.undoes,
            row.checksum(number)
        ])?;
    let id = change.last_insert_rowid();
    let mut files = change
        .prepare_cached("INSERT OR IGNORE INTO step_file (step, path, text) VALUES (?1, ?2, ?3)")?;
    for (path, text) in &step.files {
        files.execute(params![id, path, text.map(|hash| hash.to_string())])?;
    }
    Ok(id)
}

fn set_results(change: &Transaction, results: &[StepResult]) -> Result<(), StoreError> {
    for result in results {
        if result.drop {
            change.execute("DELETE FROM step_file WHERE step = ?1", [result.step])?;
            change.execute("DELETE FROM step WHERE id = ?1", [result.step])?;
        } else {
            update_detail(change, result)?;
        }
    }
    Ok(())
}

/// Updates a step's detail if it has changed.
pub(super) fn update_detail(change: &Transaction, result: &StepResult) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
         WHERE step.id = ?1"
    );
    let Some(mut step) = first(change, &query, [result.step], StepRow::read)? else {
        return Ok(());
    };
    if step.detail == result.detail {
        return Ok(());
    }
    step.detail.clone_from(&result.detail);
    change
        .prepare_cached("UPDATE step SET detail = ?2, checksum = ?3 WHERE id = ?1")?
        .execute(params![step.id, step.detail, step.checksum(step.number)])?;
    Ok(())
}

fn end(change: &Transaction, operation: i64, state: &str, ended: i64) -> Result<(), StoreError> {
    change.execute(
        "UPDATE operation SET state = ?2, ended = ?3 WHERE id = ?1",
        params![operation, state, ended],
    )?;
    Ok(())
}
