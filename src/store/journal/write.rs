//! What is recorded: before a change, after it, and when a text's time is over.

use rusqlite::{OptionalExtension, Transaction, params};

use super::rows::{Intent, Mark, NewSet, NewStep, STEP, Said, StepResult, StepRow, rows};
use crate::store::{Store, StoreError};

impl Store {
    /// Records what is going to be done, before it is; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: then nothing may be done.
    pub fn intend(&self, set: &NewSet, steps: &[NewStep]) -> Result<Intent, StoreError> {
        self.with_own(|database| {
            database.change("record the intent", |change| {
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
        })
    }

    /// Records that an operation is done; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: then it counts as unfinished.
    pub fn finish(
        &self,
        operation: i64,
        results: &[StepResult],
        marks: &[Mark],
        ended: i64,
    ) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("record the end", |change| {
                for result in results {
                    if result.drop {
                        change.execute("DELETE FROM step_file WHERE step = ?1", [result.step])?;
                        change.execute("DELETE FROM step WHERE id = ?1", [result.step])?;
                    } else {
                        tell(change, result)?;
                    }
                }
                let mut marked = change.prepare("UPDATE step SET undone_by = ?2 WHERE id = ?1")?;
                for mark in marks {
                    marked.execute(params![mark.step, mark.undone_by])?;
                }
                end(change, operation, "applied", ended)
            })
        })
    }

    /// Records that an operation was taken back.
    ///
    /// # Errors
    /// [`StoreError`]: then it counts as unfinished, and the next start finds nothing to do.
    pub fn take_back(&self, operation: i64, ended: i64) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("record the taking back", |change| {
                end(change, operation, "taken_back", ended)
            })
        })
    }

    /// Notes that the texts of these steps are no longer kept. The texts go afterwards.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn let_go(&self, steps: &[i64]) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("let texts go", |change| {
                let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
                steps.iter().try_for_each(|step| mark.execute([step]).map(|_| ()))?;
                Ok(())
            })
        })
    }

    /// As [`Self::let_go`], and tells of each step what is known of it by now: that it was for good.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn let_go_for_good(&self, steps: &[StepResult]) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("let texts go for good", |change| {
                let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
                for step in steps {
                    tell(change, step)?;
                    mark.execute([step.step])?;
                }
                Ok(())
            })
        })
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
    let said = Said {
        number,
        kind: step.kind,
        path: &step.path,
        other: step.other.as_deref(),
        before: step.before,
        after: step.after,
        undoes: step.undoes,
        detail: &step.detail,
    };
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
            step.kind,
            step.path,
            step.other,
            step.before.map(|hash| hash.to_string()),
            step.after.map(|hash| hash.to_string()),
            i64::try_from(step.notes).unwrap_or(i64::MAX),
            step.detail,
            step.undoes,
            said.checksum()
        ])?;
    let id = change.last_insert_rowid();
    let mut files = change
        .prepare_cached("INSERT OR IGNORE INTO step_file (step, path, text) VALUES (?1, ?2, ?3)")?;
    for (path, text) in &step.files {
        files.execute(params![id, path, text.map(|hash| hash.to_string())])?;
    }
    Ok(id)
}

/// Writes what is known of a step by now, where it is more than was intended.
fn tell(change: &Transaction, result: &StepResult) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
         WHERE step.id = ?1"
    );
    let mut statement = change.prepare_cached(&query)?;
    let Some(mut step) = rows(statement.query([result.step])?, StepRow::read)?.pop() else {
        return Ok(());
    };
    if step.detail == result.detail {
        return Ok(());
    }
    step.detail.clone_from(&result.detail);
    change
        .prepare_cached("UPDATE step SET detail = ?2, checksum = ?3 WHERE id = ?1")?
        .execute(params![step.id, step.detail, step.checksum()])?;
    Ok(())
}

fn end(change: &Transaction, operation: i64, state: &str, ended: i64) -> Result<(), StoreError> {
    change.execute(
        "UPDATE operation SET state = ?2, ended = ?3 WHERE id = ?1",
        params![operation, state, ended],
    )?;
    Ok(())
}
