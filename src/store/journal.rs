//! The rows of the journal: what was asked, what was intended, what came of it.
//!
//! Texts and numbers only. What a step's `kind`, `path` and `detail` mean is `crate::journal`'s
//! business; a row that cannot be read is an error that names it.

use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::blobs::BlobHash;
use super::{Store, StoreError};

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
    /// The set that it undoes.
    pub undoes_set: Option<i64>,
    /// The one change of that set.
    pub undoes_number: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
}

/// A step that is to be done.
#[derive(Debug, Clone)]
pub struct NewStep {
    /// Which change it belongs to, from 0 in its operation.
    pub change: usize,
    /// What it does.
    pub kind: &'static str,
    /// To what.
    pub path: String,
    /// Its other path.
    pub other: Option<String>,
    /// The text that was there.
    pub before: Option<BlobHash>,
    /// The text that will be there.
    pub after: Option<BlobHash>,
    /// Notes that it moves or deletes.
    pub notes: usize,
    /// The rest, as JSON.
    pub detail: String,
    /// The step it takes back.
    pub undoes: Option<i64>,
    /// Files that go with it: path below its own, and text.
    pub files: Vec<(String, Option<BlobHash>)>,
}

/// An operation as it was intended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its change set.
    pub set: i64,
    /// Its number.
    pub operation: i64,
    /// The number that its first change has in the set.
    pub first: u32,
    /// Its steps, in their order.
    pub steps: Vec<i64>,
}

/// What came of one step.
#[derive(Debug, Clone)]
pub struct StepResult {
    /// Which.
    pub step: i64,
    /// The rest as JSON, anew.
    pub detail: String,
    /// Whether it is to be left out: there was nothing to do.
    pub drop: bool,
}

/// A mark that a step is undone, or is no more.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// Which step.
    pub step: i64,
    /// The change set that undid it.
    pub undone_by: Option<i64>,
}

/// A change set as it is kept.
#[derive(Debug, Clone)]
pub struct SetRow {
    /// Its number.
    pub id: i64,
    /// `change`, `undo` or `restore`.
    pub kind: String,
    /// For people.
    pub title: String,
    /// The program that asked.
    pub caller: String,
    /// The conversation.
    pub conversation: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The set that it undoes.
    pub undoes_set: Option<i64>,
    /// The one change of that set.
    pub undoes_number: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
}

/// A step as it is kept.
#[derive(Debug, Clone)]
pub struct StepRow {
    /// Its number; later ones are larger.
    pub id: i64,
    /// Its operation.
    pub operation: i64,
    /// Its change set.
    pub set: i64,
    /// Which change of the set it belongs to.
    pub number: u32,
    /// What it does.
    pub kind: String,
    /// To what.
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

const SET: &str = "id, kind, title, caller, conversation, turn, undoes_set, undoes_number, began";
const STEP: &str = "step.id, step.operation, step.change_set, step.number, step.kind, step.path, \
                    step.other, step.before_text, step.after_text, step.notes, step.detail, \
                    step.undoes, step.undone_by, step.texts_kept, operation.ended";

/// Reads one column, or says which row it is in.
fn column<T: FromSql>(row: &Row, table: &'static str, index: usize) -> Result<T, StoreError> {
    let id = row.get::<_, i64>(0).unwrap_or(-1);
    row.get(index).map_err(|error| StoreError::Row { table, row: id, reason: error.to_string() })
}

impl SetRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
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
    fn read(row: &Row) -> Result<Self, StoreError> {
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

impl Store {
    /// Records what is going to be done, before it is; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: then nothing may be done.
    pub fn intend(&self, set: &NewSet, steps: &[NewStep]) -> Result<Intent, StoreError> {
        self.with(|database| {
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
        self.with(|database| {
            database.change("record the end", |change| {
                let mut told = change.prepare("UPDATE step SET detail = ?2 WHERE id = ?1")?;
                for result in results {
                    if result.drop {
                        change.execute("DELETE FROM step_file WHERE step = ?1", [result.step])?;
                        change.execute("DELETE FROM step WHERE id = ?1", [result.step])?;
                    } else {
                        told.execute(params![result.step, result.detail])?;
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
        self.with(|database| {
            database.change("record the taking back", |change| {
                end(change, operation, "taken_back", ended)
            })
        })
    }

    /// The operations that were intended and never ended, oldest first, each with its steps.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unfinished(&self) -> Result<Vec<(i64, Vec<StepRow>)>, StoreError> {
        self.with(|database| {
            let connection = database.read();
            let mut operations = connection
                .prepare("SELECT id FROM operation WHERE state = 'intended' ORDER BY id")?;
            let ids: Vec<i64> =
                operations.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation = ?1 ORDER BY step.id"
            );
            let mut steps = connection.prepare(&query)?;
            ids.into_iter().map(|id| Ok((id, rows(steps.query([id])?, StepRow::read)?))).collect()
        })
    }

    /// The steps of the operation that was done last.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_applied(&self) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where(
            "step.operation = (SELECT max(id) FROM operation WHERE state = 'applied')",
            &[],
        )
    }

    /// The notes that a turn has deleted and moved so far.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn notes_of_turn(&self, turn: &str) -> Result<(usize, usize), StoreError> {
        self.with(|database| {
            let sum = |kind: &str| -> Result<usize, StoreError> {
                let sum: i64 = database.read().query_row(
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
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sets(&self, wanted: &Wanted) -> Result<Vec<SetRow>, StoreError> {
        self.with(|database| {
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
            let mut statement = database.read().prepare(&query)?;
            rows(statement.query(rusqlite::params_from_iter(values))?, SetRow::read)
        })
    }

    /// One change set.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set(&self, id: i64) -> Result<Option<SetRow>, StoreError> {
        self.with(|database| {
            let query = format!("SELECT {SET} FROM change_set WHERE id = ?1");
            let mut statement = database.read().prepare(&query)?;
            Ok(rows(statement.query([id])?, SetRow::read)?.pop())
        })
    }

    /// What was done in a change set, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn steps(&self, set: i64) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where("step.change_set = ?1", &[&set])
    }

    /// Steps of this kind that were done after the step `after`, in order, whose path is this one
    /// or a folder above it.
    ///
    /// # Errors
    /// [`StoreError`].
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

    /// Moves that led to this path or a folder above it, newest first, before the step `before`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn moves_to(&self, path: &str, before: i64) -> Result<Vec<StepRow>, StoreError> {
        let met = "step.kind = 'move' AND step.id < ?2 AND \
                   (step.other = ?1 OR ?1 >= step.other || '/' AND ?1 < step.other || '0')";
        let mut steps = self.steps_where(met, &[&path, &before])?;
        steps.reverse();
        Ok(steps)
    }

    /// What was deleted and not brought back, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn deletions(&self) -> Result<Vec<StepRow>, StoreError> {
        let mut steps = self.steps_where("step.kind = 'delete' AND step.undone_by IS NULL", &[])?;
        steps.reverse();
        Ok(steps)
    }

    fn steps_where(
        &self,
        met: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<StepRow>, StoreError> {
        self.with(|database| {
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation.state = 'applied' AND {met} ORDER BY step.id"
            );
            let mut statement = database.read().prepare(&query)?;
            rows(statement.query(values)?, StepRow::read)
        })
    }

    /// One step, if it was done.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn step(&self, id: i64) -> Result<Option<StepRow>, StoreError> {
        Ok(self.steps_where("step.id = ?1", &[&id])?.pop())
    }

    /// The files that went with a step: path below its own, and text.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn files(&self, step: i64) -> Result<Vec<(String, Option<BlobHash>)>, StoreError> {
        self.with(|database| {
            let mut statement = database
                .read()
                .prepare("SELECT path, text FROM step_file WHERE step = ?1 ORDER BY path")?;
            rows(statement.query([step])?, |row| {
                let fault =
                    |reason: String| StoreError::Row { table: "step_file", row: step, reason };
                let path = row.get(0).map_err(|error| fault(error.to_string()))?;
                let text: Option<String> = row.get(1).map_err(|error| fault(error.to_string()))?;
                Ok((path, text.map(|text| text.parse()).transpose().map_err(fault)?))
            })
        })
    }

    /// The newest step there is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn newest_step(&self) -> Result<i64, StoreError> {
        self.with(|database| {
            let query = "SELECT coalesce(max(id), 0) FROM step";
            Ok(database.read().query_row(query, [], |row| row.get(0))?)
        })
    }

    /// Every text that is kept, with the step that names it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn named_texts(&self) -> Result<Vec<(i64, BlobHash)>, StoreError> {
        self.with(|database| {
            let mut statement = database.read().prepare(
                "SELECT id, before_text FROM step WHERE before_text IS NOT NULL AND texts_kept
                 UNION SELECT id, after_text FROM step WHERE after_text IS NOT NULL AND texts_kept
                 UNION SELECT step.id, text FROM step_file JOIN step ON step.id = step
                     WHERE text IS NOT NULL AND texts_kept",
            )?;
            rows(statement.query([])?, |row| {
                let id = column(row, "step", 0)?;
                let text: String = column(row, "step", 1)?;
                let read = text.parse();
                let fault = |reason| StoreError::Row { table: "step", row: id, reason };
                Ok((id, read.map_err(fault)?))
            })
        })
    }

    /// Steps whose texts are beyond the limits: of operations that ended before `ended`
    /// (milliseconds since the Unix epoch), or with at least `versions` newer steps of the same
    /// path. 0 versions: only the time counts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn outlived(&self, ended: i64, versions: usize) -> Result<Vec<i64>, StoreError> {
        self.with(|database| {
            let versions = i64::try_from(versions).unwrap_or(i64::MAX);
            let mut statement = database.read().prepare(
                "WITH done AS (
                     SELECT step.id, operation.ended,
                            row_number() OVER (PARTITION BY step.path ORDER BY step.id DESC) AS age
                     FROM step JOIN operation ON operation.id = step.operation
                     WHERE operation.state <> 'intended' AND step.texts_kept)
                 SELECT id FROM done WHERE ended < ?1 OR (?2 > 0 AND age > ?2) ORDER BY id",
            )?;
            rows(statement.query(params![ended, versions])?, |row| column(row, "step", 0))
        })
    }

    /// Notes that the texts of these steps are no longer kept. The texts go afterwards.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn let_go(&self, steps: &[i64]) -> Result<(), StoreError> {
        self.with(|database| {
            database.change("let texts go", |change| {
                let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
                steps.iter().try_for_each(|step| mark.execute([step]).map(|_| ()))?;
                Ok(())
            })
        })
    }
}

fn rows<T>(
    mut rows: rusqlite::Rows,
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
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
    let number = i64::from(first) + i64::try_from(step.change).unwrap_or(0);
    change
        .prepare_cached(
            "INSERT INTO step (operation, change_set, number, kind, path, other, before_text,
                               after_text, notes, detail, undoes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
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
            step.undoes
        ])?;
    let id = change.last_insert_rowid();
    let mut files = change
        .prepare_cached("INSERT OR IGNORE INTO step_file (step, path, text) VALUES (?1, ?2, ?3)")?;
    for (path, text) in &step.files {
        files.execute(params![id, path, text.map(|hash| hash.to_string())])?;
    }
    Ok(id)
}

fn end(change: &Transaction, operation: i64, state: &str, ended: i64) -> Result<(), StoreError> {
    change.execute(
        "UPDATE operation SET state = ?2, ended = ?3 WHERE id = ?1",
        params![operation, state, ended],
    )?;
    Ok(())
}
