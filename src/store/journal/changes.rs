//! Reading the change sets and steps that were applied.

use std::collections::BTreeSet;

use rusqlite::params;

use super::rows::{SET, STEP, SetRow, StepGlance, StepRow};
use crate::store::blobs::BlobHash;
use crate::store::database::Database;
use crate::store::error::{Each, StoreError};
use crate::store::query::each;

/// The newest deletions that are listed as restorable, since each is searched for in the trash. Older ones
/// are undone by the number of their change.
pub const DELETIONS: i64 = 10_000;

/// The departures from one path that are followed, of each kind.
const DEPARTURES: usize = 20;

#[derive(Debug, Clone, Default)]
pub struct SetFilter {
    /// Touches one of these paths or something below it, in a step up to this number. Empty: all.
    pub paths: Vec<(String, i64)>,
    /// These count as well, whatever they touch, unless there are no paths.
    pub steps: Vec<i64>,
    /// Begun at or after this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// With a lower number than this.
    pub before: Option<i64>,
    /// Maximum number: the newest.
    pub limit: usize,
}

/// A condition on a path, with [`lineage`] as the first value. Unlike a comparison of texts it uses the index.
const IN_LINEAGE: &str = "IN (SELECT value FROM json_each(?1))";

/// A path and the folders above it, as JSON.
fn lineage(path: &str) -> String {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    serde_json::Value::from_iter(folders.chain([path])).to_string()
}

/// Applied change sets and steps.
#[derive(Debug, Clone)]
pub struct Changes(pub(in crate::store) Database);

impl Changes {
    /// The steps of the last applied operation.
    pub fn last_applied(&self) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where(
            "step.operation = (SELECT max(id) FROM operation WHERE state = 'applied')",
            &[],
        )
    }

    /// How many notes a turn has deleted and moved so far.
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

    /// The change sets that match the filter and have an applied step, newest first.
    pub fn sets(&self, filter: &SetFilter) -> Result<Each<SetRow>, StoreError> {
        self.0.read(|connection| {
            let touched = match filter.paths.len() {
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
                    let steps: Vec<String> = filter.steps.iter().map(i64::to_string).collect();
                    format!("({} OR step.id IN ({}))", any.join(" OR "), steps.join(", "))
                }
            };
            let query = format!(
                "SELECT {SET} FROM change_set WHERE began >= ?1 AND id < ?2 AND EXISTS (
                     SELECT 1 FROM step JOIN operation ON operation.id = step.operation
                     WHERE step.change_set = change_set.id AND operation.state = 'applied'
                       AND {touched})
                 ORDER BY id DESC LIMIT ?3"
            );
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let mut values: Vec<rusqlite::types::Value> = vec![
                filter.since.unwrap_or(i64::MIN).into(),
                filter.before.unwrap_or(i64::MAX).into(),
                limit.into(),
            ];
            for (path, newest) in &filter.paths {
                values.push(path.clone().into());
                // `0` follows `/` in ASCII: the end of the range of paths in the folder.
                values.push(format!("{path}0").into());
                values.push((*newest).into());
            }
            each(connection, &query, rusqlite::params_from_iter(values), SetRow::read)
        })
    }

    /// All change sets with an applied operation, with the times at which they began.
    pub fn begin_times(&self) -> Result<Vec<(i64, i64)>, StoreError> {
        let query = "SELECT id, began FROM change_set WHERE EXISTS (
                         SELECT 1 FROM operation
                         WHERE operation.change_set = change_set.id AND state = 'applied')";
        self.0.all(query, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The number of a turn's change set.
    pub fn set_of_turn(&self, turn: &str) -> Result<Option<i64>, StoreError> {
        let query = "SELECT id FROM change_set WHERE turn = ?1";
        self.0.first(query, [turn], |row| Ok(row.get(0)?))
    }

    /// The number of a turn's change set, if an operation of it is applied.
    pub fn applied_in_turn(&self, turn: &str) -> Result<Option<i64>, StoreError> {
        let query = "SELECT change_set.id FROM change_set JOIN operation ON operation.change_set = change_set.id
                         WHERE change_set.turn = ?1 AND operation.state = 'applied' LIMIT 1";
        self.0.first(query, [turn], |row| Ok(row.get(0)?))
    }

    pub fn set(&self, id: i64) -> Result<Option<SetRow>, StoreError> {
        let query = format!("SELECT {SET} FROM change_set WHERE id = ?1");
        self.0.first(&query, [id], SetRow::read)
    }

    /// The applied steps of a change set, in order.
    pub fn steps(&self, set: i64) -> Result<Vec<StepRow>, StoreError> {
        self.each_step(set)?.into_iter().collect()
    }

    /// As [`Self::steps`], each with its own error.
    pub fn each_step(&self, set: i64) -> Result<Each<StepRow>, StoreError> {
        self.each_where("step.change_set = ?1", &[&set])
    }

    /// The applied steps of the operations of a change set that follow `operation`, each with its own error.
    pub fn each_step_since(&self, set: i64, operation: i64) -> Result<Each<StepRow>, StoreError> {
        self.each_where("step.change_set = ?1 AND step.operation > ?2", &[&set, &operation])
    }

    /// The applied steps of this kind after the step `after`, in order, on this path or a folder above it.
    pub fn later_steps(
        &self,
        kind: &str,
        path: &str,
        after: i64,
    ) -> Result<Vec<StepRow>, StoreError> {
        let condition = format!("step.kind = ?2 AND step.id > ?3 AND step.path {IN_LINEAGE}");
        self.steps_where(&condition, &[&lineage(path), &kind, &after])
    }

    /// The last operation that was applied by this time (in milliseconds since the Unix epoch), and
    /// its last step; 0 without one.
    pub fn applied_by(&self, time: i64) -> Result<(i64, i64), StoreError> {
        let query = "SELECT operation, id FROM step WHERE operation <= (
                         SELECT id FROM operation WHERE state = 'applied' AND ended <= ?1
                         ORDER BY id DESC LIMIT 1)
                     ORDER BY operation DESC, id DESC LIMIT 1";
        let found = self.0.first(query, [time], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.unwrap_or_default())
    }

    /// The change set of the last applied step up to `last`.
    pub fn set_by(&self, last: i64) -> Result<Option<i64>, StoreError> {
        let query =
            "SELECT step.change_set FROM step JOIN operation ON operation.id = step.operation
                         WHERE operation.state = 'applied' AND step.id <= ?1
                         ORDER BY step.id DESC LIMIT 1";
        self.0.first(query, [last], |row| Ok(row.get(0)?))
    }

    /// The first applied step after `from` that names one of these paths as its path or destination;
    /// with `is_back` the last one up to `from`.
    pub fn nearest_on(
        &self,
        paths: &[&str],
        from: i64,
        is_back: bool,
    ) -> Result<Option<StepRow>, StoreError> {
        let marks = vec!["?"; paths.len()].join(", ");
        let (side, order) = if is_back { ("<=", "DESC") } else { (">", "ASC") };
        let query = format!(
            "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
             WHERE operation.state = 'applied' AND step.id {side} ?
               AND (step.path IN ({marks}) OR step.other IN ({marks}))
             ORDER BY step.id {order} LIMIT 1"
        );
        let mut values: Vec<rusqlite::types::Value> = vec![from.into()];
        let paths = paths.iter().chain(paths).map(|path| (*path).to_owned().into());
        values.extend(paths);
        self.0.first(&query, rusqlite::params_from_iter(values), StepRow::read)
    }

    /// The applied steps after `first` up to `last` that can add or remove files, each with its own
    /// error: in order, or with `is_back` from the last one, for reverting. Most steps write an
    /// existing file; they are skipped without being read and verified, which would take most of
    /// the time.
    pub fn tree_steps(
        &self,
        first: i64,
        last: i64,
        is_back: bool,
    ) -> Result<Each<StepRow>, StoreError> {
        let order = if is_back { "DESC" } else { "ASC" };
        let query = format!(
            "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
             WHERE operation.state = 'applied' AND step.id > ?1 AND step.id <= ?2
             ORDER BY step.id {order}"
        );
        self.0.read(|connection| {
            let mut statement = connection.prepare_cached(&query)?;
            let mut rows = statement.query([first, last])?;
            let mut found = Vec::new();
            let mut there = BTreeSet::new();
            while let Some(row) = rows.next()? {
                match StepGlance::of(row).filter(|step| step.kind == "write") {
                    None => there.clear(),
                    Some(step) if !is_back || step.has_before => {
                        if there.contains(step.path) {
                            continue;
                        }
                        let path = step.path.to_owned();
                        let read = StepRow::read(row);
                        // A damaged row does not tell its file, and the next one of the same file
                        // is needed.
                        if read.is_ok() {
                            there.insert(path);
                        }
                        found.push(read);
                        continue;
                    }
                    // A file that begins here was not there before, and nothing was below it.
                    Some(StepGlance { path, .. }) => {
                        there.remove(path);
                        let below = format!("{path}/")..format!("{path}0");
                        let below: Vec<String> = there.range(below).cloned().collect();
                        for path in below {
                            there.remove(&path);
                        }
                    }
                }
                found.push(StepRow::read(row));
            }
            Ok(found)
        })
    }

    /// The applied moves after the step `after`, in order.
    pub fn moves_after(&self, after: i64) -> Result<Vec<StepRow>, StoreError> {
        self.steps_where("step.kind = 'move' AND step.id > ?1", &[&after])
    }

    /// The last applied move to this path or a folder above it, before the step `before`.
    pub fn last_move_to(&self, path: &str, before: i64) -> Result<Option<StepRow>, StoreError> {
        let query = format!(
            "SELECT {STEP} FROM json_each(?1) AS above JOIN step ON step.id = (
                 SELECT one.id FROM step AS one JOIN operation AS its ON its.id = one.operation
                 WHERE one.other = above.value AND one.kind = 'move' AND one.id < ?2
                   AND its.state = 'applied'
                 ORDER BY one.id DESC LIMIT 1)
             JOIN operation ON operation.id = step.operation
             ORDER BY step.id DESC LIMIT 1"
        );
        self.0.first(&query, params![lineage(path), before], StepRow::read)
    }

    /// Whether a new file was written to this path after the step `after` and before `before`, other than by an undo.
    pub fn is_created_between(
        &self,
        path: &str,
        after: i64,
        before: i64,
    ) -> Result<bool, StoreError> {
        let query = "SELECT 1 FROM step JOIN operation ON operation.id = step.operation
                     WHERE operation.state = 'applied' AND step.kind = 'write' AND step.path = ?1
                       AND step.id > ?2 AND step.id < ?3 AND step.before_text IS NULL
                       AND step.undoes IS NULL LIMIT 1";
        Ok(self.0.first(query, params![path, after, before], |_| Ok(()))?.is_some())
    }

    /// The applied deletions and restorations, up to the step `newest`, of folders above this path that had a file there.
    pub fn taken_along(&self, path: &str, newest: i64) -> Result<Vec<i64>, StoreError> {
        let query = format!(
            "SELECT step.id FROM step JOIN operation ON operation.id = step.operation
             WHERE operation.state = 'applied' AND step.kind IN ('delete', 'restore')
               AND step.path {IN_LINEAGE} AND step.path <> ?2 AND step.id <= ?3
               AND EXISTS (SELECT 1 FROM step_file
                           WHERE step_file.step IN (step.id, step.undoes)
                             AND step_file.path = substr(?2, length(step.path) + 2))"
        );
        self.0.all(&query, params![lineage(path), path, newest], |row| Ok(row.get(0)?))
    }

    /// The last applied moves and standing deletions of something with this path, or of a folder above it, newest
    /// first; with `is_name` of something in any folder whose path ends so, whatever the case of ASCII letters.
    pub fn departures(&self, path: &str, is_name: bool) -> Result<Vec<StepRow>, StoreError> {
        let (is_there, value) = if is_name {
            (
                "lower(substr(step.path, -length(?1) - 1)) = '/' || lower(?1) \
                 OR lower(step.path) = lower(?1)"
                    .to_owned(),
                path.to_owned(),
            )
        } else {
            (format!("step.path {IN_LINEAGE}"), lineage(path))
        };
        let mut found: Vec<StepRow> = Vec::new();
        // As the two indexes have it.
        for kind in ["step.kind = 'move'", "step.kind = 'delete' AND step.undone_by IS NULL"] {
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation.state = 'applied' AND {kind} AND ({is_there})
                 ORDER BY step.id DESC LIMIT {DEPARTURES}"
            );
            found.extend(self.0.all(&query, [&value], StepRow::read)?);
        }
        found.sort_by_key(|row| std::cmp::Reverse(row.id));
        Ok(found)
    }

    /// The steps that redid this one, oldest first: it was undone, and that undo was undone.
    pub fn redone_by(&self, step: i64) -> Result<Vec<StepRow>, StoreError> {
        let condition = "step.undone_by IS NULL AND \
                         step.undoes IN (SELECT id FROM step WHERE undoes = ?1)";
        self.steps_where(condition, &[&step])
    }

    /// The last [`DELETIONS`] deletions that were not undone, newest first.
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
        condition: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<StepRow>, StoreError> {
        self.each_where(condition, values)?.into_iter().collect()
    }

    fn each_where(
        &self,
        condition: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Each<StepRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {STEP} FROM step JOIN operation ON operation.id = step.operation
                                  WHERE operation.state = 'applied' AND {condition} ORDER BY step.id"
            );
                        each(connection, &query, values, StepRow::read)
        })
    }

    /// One step, if it was applied.
    pub fn step(&self, id: i64) -> Result<Option<StepRow>, StoreError> {
        Ok(self.steps_where("step.id = ?1", &[&id])?.pop())
    }

    /// The files below a step's path, with their paths below it and their texts.
    pub fn files(&self, step: i64) -> Result<Vec<(String, Option<BlobHash>)>, StoreError> {
        let query = "SELECT path, text FROM step_file WHERE step = ?1 ORDER BY path";
        self.0.all(query, [step], |row| {
            let fault = |reason: String| StoreError::Row { table: "step_file", row: step, reason };
            let path = row.get(0).map_err(|error| fault(error.to_string()))?;
            let text: Option<String> = row.get(1).map_err(|error| fault(error.to_string()))?;
            Ok((path, text.map(|text| text.parse()).transpose().map_err(fault)?))
        })
    }
}
