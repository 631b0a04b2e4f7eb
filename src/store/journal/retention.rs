//! How long texts are kept: by versions of a file, and by counted days.
//!
//! By the clock alone, a clock that jumps ahead would delete everything. So a day is counted when
//! the steward runs on it, at most one at each maintenance; a text is beyond the limit if it is old
//! by the clock and by the days counted since. A smaller limit takes effect on the third counted
//! day on which it is requested ([`DelayedLimit`]).

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::operations::update_detail;
use super::rows::StepResult;
use crate::store::blobs::BlobHash;
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::limit::DelayedLimit;
use crate::store::query::column;

const DAY: i64 = 86_400_000;

/// Counted days from the request of a smaller limit until it takes effect.
const LIMIT_DELAY: i64 = 2;

/// Limits on kept texts; 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub versions: u32,
    pub days: u32,
}

impl Limits {
    fn named(self) -> [(&'static str, u32); 2] {
        [("versions", self.versions), ("days", self.days)]
    }
}

/// How long texts are kept.
#[derive(Debug, Clone)]
pub struct Retention(pub(in crate::store) Database);

impl Retention {
    /// Counts a day, unless the last counted one has the same date. `now` is in milliseconds since the
    /// Unix epoch; `wanted` are the limits in the settings.
    pub fn count_day(&self, now: i64, wanted: Limits) -> Result<(), StoreError> {
        self.0.change("count the day", |change| {
            let last = "SELECT time FROM day ORDER BY number DESC LIMIT 1";
            let last: Option<i64> = change.query_row(last, [], |row| row.get(0)).optional()?;
            if last.is_some_and(|last| last.div_euclid(DAY) == now.div_euclid(DAY)) {
                return Ok(());
            }
            change.execute(
                "INSERT INTO day (time, newest_operation)
                 VALUES (?1, (SELECT coalesce(max(id), 0) FROM operation))",
                [now],
            )?;
            let day = change.last_insert_rowid();
            wanted.named().into_iter().try_for_each(|(name, wanted)| {
                // The limit that was in effect before is not known: none.
                let unknown = DelayedLimit { requested: wanted, since: day, effective: 0 };
                let before = DelayedLimit::read(change, name)?.unwrap_or(unknown);
                before.request(wanted, day, LIMIT_DELAY).store(change, name)
            })
        })
    }

    /// The limits in effect while the settings request `wanted`.
    pub fn effective(&self, wanted: Limits) -> Result<Limits, StoreError> {
        self.0.read(|connection| {
            let day = "SELECT coalesce(max(number), 0) FROM day";
            let day = connection.query_row(day, [], |row| row.get(0))?;
            let [versions, days] = wanted.named().map(|(name, wanted)| {
                let limit = DelayedLimit::read(connection, name)?.unwrap_or_default();
                Ok::<_, StoreError>(limit.request(wanted, day, LIMIT_DELAY).effective)
            });
            Ok(Limits { versions: versions?, days: days? })
        })
    }

    /// The time before which a text that no row names must have been written to be beyond `days` counted
    /// days, in milliseconds since the Unix epoch: the earliest clock time since then. `None` if fewer
    /// days are counted.
    pub fn unnamed_before(&self, days: u32) -> Result<Option<i64>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT min(time), count(*) FROM
                             (SELECT time FROM day ORDER BY number DESC LIMIT ?1 + 1)";
            let (time, count): (Option<i64>, i64) =
                connection.query_row(query, [days], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(time.filter(|_| count > i64::from(days)))
        })
    }

    /// Steps whose texts are beyond the limits: old by the clock (`now`, in milliseconds since the Unix
    /// epoch) and by counted days, or with so many newer applied writes of the same file. Moves are
    /// followed; a file created where another was deleted counts as the same.
    pub fn expired(&self, now: i64, limits: Limits) -> Result<Vec<i64>, StoreError> {
        self.0.read(|connection| {
            let old_operation = old_operation(connection, limits.days)?;
            let oldest = now.saturating_sub(i64::from(limits.days).saturating_mul(DAY));
            let versions = usize::try_from(limits.versions).unwrap_or(usize::MAX);
            let (mut files, mut kept) = (Files::default(), Vec::new());
            let mut statement = connection.prepare(
                "SELECT step.id, step.operation, step.kind, step.path, step.other, step.texts_kept,
                        operation.state = 'applied', operation.ended
                 FROM step JOIN operation ON operation.id = step.operation
                 WHERE operation.state <> 'intended' ORDER BY step.id",
            )?;
            let mut answer = statement.query([])?;
            while let Some(row) = answer.next()? {
                const T: &str = "step";
                let (step, path): (i64, String) = (column(row, T, 0)?, column(row, T, 3)?);
                let (kind, other): (String, Option<String>) =
                    (column(row, T, 2)?, column(row, T, 4)?);
                let file = match (column::<bool>(row, T, 6)?, kind.as_str(), other) {
                    (true, "write", _) => files.written(&path),
                    (true, "move", Some(other)) => files.moved(&path, &other),
                    _ => files.at(&path),
                };
                if column(row, T, 5)? {
                    let ended: Option<i64> = column(row, T, 7)?;
                    let old = ended.is_some_and(|ended| ended < oldest)
                        && old_operation.is_some_and(|old| {
                            column::<i64>(row, T, 1).is_ok_and(|operation| operation <= old)
                        });
                    kept.push((step, file, old));
                }
            }
            let expired = kept.into_iter().filter(|(_, version, old)| {
                let newer = files.writes[version.file] - version.writes;
                *old || (versions > 0 && newer >= versions)
            });
            Ok(expired.map(|(step, ..)| step).collect())
        })
    }

    /// Every stored text, with the step that refers to it.
    pub fn named_texts(&self) -> Result<Vec<(i64, BlobHash)>, StoreError> {
        let query = "SELECT id, before_text FROM step WHERE before_text IS NOT NULL AND texts_kept
             UNION SELECT id, after_text FROM step WHERE after_text IS NOT NULL AND texts_kept
             UNION SELECT step.id, text FROM step_file JOIN step ON step.id = step
                 WHERE text IS NOT NULL AND texts_kept";
        self.0.all(query, [], |row| {
            let id = column(row, "step", 0)?;
            let text: String = column(row, "step", 1)?;
            let fault = |reason| StoreError::Row { table: "step", row: id, reason };
            Ok((id, text.parse().map_err(fault)?))
        })
    }

    /// Marks the texts of these steps as released. The caller deletes them afterwards.
    pub fn release(&self, steps: &[i64]) -> Result<(), StoreError> {
        self.0.change("let texts go", |change| {
            let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
            steps.iter().try_for_each(|step| mark.execute([step]).map(|_| ()))?;
            Ok(())
        })
    }

    /// As [`Self::release`], and updates each step's detail: it was deleted permanently.
    pub fn release_for_good(&self, steps: &[StepResult]) -> Result<(), StoreError> {
        self.0.change("delete texts permanently", |change| {
            let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
            for step in steps {
                update_detail(change, step)?;
                mark.execute([step.step])?;
            }
            Ok(())
        })
    }
}

/// The newest operation that existed so many counted days ago.
fn old_operation(connection: &Connection, days: u32) -> Result<Option<i64>, StoreError> {
    if days == 0 {
        return Ok(None);
    }
    let query = "SELECT newest_operation FROM day ORDER BY number DESC LIMIT 1 OFFSET ?1";
    Ok(connection.query_row(query, [days], |row| row.get(0)).optional()?)
}

/// Which file is at which path, while the history is replayed.
#[derive(Default)]
struct Files {
    paths: BTreeMap<String, usize>,
    /// Number of writes of each file so far.
    writes: Vec<usize>,
}

/// A version of a file: the number of its writes so far.
struct Version {
    file: usize,
    writes: usize,
}

impl Files {
    fn at(&mut self, path: &str) -> Version {
        let file = match self.paths.get(path) {
            Some(file) => *file,
            None => {
                self.writes.push(0);
                self.paths.insert(path.to_owned(), self.writes.len() - 1);
                self.writes.len() - 1
            }
        };
        Version { file, writes: self.writes[file] }
    }

    fn written(&mut self, path: &str) -> Version {
        let file = self.at(path).file;
        self.writes[file] += 1;
        Version { file, writes: self.writes[file] }
    }

    /// Moves a file, or a folder and everything below it.
    fn moved(&mut self, from: &str, to: &str) -> Version {
        let below = format!("{from}/");
        let names = self.paths.range(below.clone()..).map(|(path, _)| path.clone());
        let names: Vec<String> = names.take_while(|path| path.starts_with(&below)).collect();
        for name in names {
            if let Some(file) = self.paths.remove(&name) {
                self.paths.insert(format!("{to}/{}", &name[below.len()..]), file);
            }
        }
        let version = self.at(from);
        self.paths.remove(from);
        self.paths.insert(to.to_owned(), version.file);
        version
    }
}
