//! How long texts are kept: by versions of a file, and by days that are counted.
//!
//! A clock that jumps ahead would let everything go at once. So a day counts when the steward has
//! run on it, at most one each time it looks after the journal; what is old by the clock and was
//! there that many counted days ago is beyond the limit. Smaller limits hold from the third counted
//! day on which they are wanted ([`Held`]).

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::operations::tell;
use super::rows::StepResult;
use crate::store::blobs::BlobHash;
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::held::Held;
use crate::store::query::{all, column};

const DAY: i64 = 86_400_000;

/// Days from the one on which a smaller limit was first wanted to the one on which it holds.
const WAIT: i64 = 2;

/// How many texts are kept; 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Writes of each file.
    pub versions: u32,
    pub days: u32,
}

impl Limits {
    fn named(self) -> [(&'static str, u32); 2] {
        [("versions", self.versions), ("days", self.days)]
    }
}

/// How long texts are kept, and which no longer are.
#[derive(Debug, Clone)]
pub struct Retention(pub(in crate::store) Database);

impl Retention {
    /// Counts the day, unless the last one counted has the same date. `now` in milliseconds since
    /// the Unix epoch; `wanted` are the limits of the settings.
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
                // Nobody knows what held before.
                let before =
                    Held::of(change, name)?.unwrap_or(Held { wanted, since: day, holds: 0 });
                before.seen(wanted, day, WAIT).note(change, name)
            })
        })
    }

    /// The limits that hold while the settings say `wanted`.
    pub fn holding(&self, wanted: Limits) -> Result<Limits, StoreError> {
        self.0.read(|connection| {
            let day = "SELECT coalesce(max(number), 0) FROM day";
            let day = connection.query_row(day, [], |row| row.get(0))?;
            let [versions, days] = wanted.named().map(|(name, wanted)| {
                let held = Held::of(connection, name)?.unwrap_or_default();
                Ok::<_, StoreError>(held.seen(wanted, day, WAIT).holds)
            });
            Ok(Limits { versions: versions?, days: days? })
        })
    }

    /// The time before which a text that no row names must have been written to be beyond `days`
    /// counted days, in milliseconds since the Unix epoch: the earliest that the clock has said
    /// since. `None` if not so many are counted.
    pub fn unnamed_before(&self, days: u32) -> Result<Option<i64>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT min(time), count(*) FROM
                             (SELECT time FROM day ORDER BY number DESC LIMIT ?1 + 1)";
            let (time, count): (Option<i64>, i64) =
                connection.query_row(query, [days], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(time.filter(|_| count > i64::from(days)))
        })
    }

    /// Steps whose texts are beyond the limits: old by the clock (`now` in milliseconds since the
    /// Unix epoch) and by the days counted since, or with so many newer writes of the same file
    /// that were done. A file is followed where it moves; one that is made where one was deleted
    /// counts as the same.
    pub fn outlived(&self, now: i64, limits: Limits) -> Result<Vec<i64>, StoreError> {
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
            let gone = kept.into_iter().filter(|(_, seen, old)| {
                let newer = files.writes[seen.file] - seen.writes;
                *old || (versions > 0 && newer >= versions)
            });
            Ok(gone.map(|(step, ..)| step).collect())
        })
    }

    /// Every text that is kept, with the step that names it.
    pub fn named_texts(&self) -> Result<Vec<(i64, BlobHash)>, StoreError> {
        self.0.read(|connection| {
            let query =
                "SELECT id, before_text FROM step WHERE before_text IS NOT NULL AND texts_kept
                 UNION SELECT id, after_text FROM step WHERE after_text IS NOT NULL AND texts_kept
                 UNION SELECT step.id, text FROM step_file JOIN step ON step.id = step
                     WHERE text IS NOT NULL AND texts_kept";
            all(connection, query, [], |row| {
                let id = column(row, "step", 0)?;
                let text: String = column(row, "step", 1)?;
                let read = text.parse();
                let fault = |reason| StoreError::Row { table: "step", row: id, reason };
                Ok((id, read.map_err(fault)?))
            })
        })
    }

    /// Notes that the texts of these steps are no longer kept. The texts go afterwards.
    pub fn let_go(&self, steps: &[i64]) -> Result<(), StoreError> {
        self.0.change("let texts go", |change| {
            let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
            steps.iter().try_for_each(|step| mark.execute([step]).map(|_| ()))?;
            Ok(())
        })
    }

    /// As [`Self::let_go`], and tells of each step what is known of it by now: that it was for good.
    pub fn let_go_for_good(&self, steps: &[StepResult]) -> Result<(), StoreError> {
        self.0.change("let texts go for good", |change| {
            let mut mark = change.prepare("UPDATE step SET texts_kept = 0 WHERE id = ?1")?;
            for step in steps {
                tell(change, step)?;
                mark.execute([step.step])?;
            }
            Ok(())
        })
    }
}

/// The newest operation that was there so many counted days ago.
fn old_operation(connection: &Connection, days: u32) -> Result<Option<i64>, StoreError> {
    if days == 0 {
        return Ok(None);
    }
    let query = "SELECT newest_operation FROM day ORDER BY number DESC LIMIT 1 OFFSET ?1";
    Ok(connection.query_row(query, [days], |row| row.get(0)).optional()?)
}

/// Which file is at which path, while the history is gone through from its beginning.
#[derive(Default)]
struct Files {
    at: BTreeMap<String, usize>,
    /// Writes of each file so far.
    writes: Vec<usize>,
}

/// A file, and how many writes of it there had been, that one included.
struct Seen {
    file: usize,
    writes: usize,
}

impl Files {
    fn at(&mut self, path: &str) -> Seen {
        let file = match self.at.get(path) {
            Some(file) => *file,
            None => {
                self.writes.push(0);
                self.at.insert(path.to_owned(), self.writes.len() - 1);
                self.writes.len() - 1
            }
        };
        Seen { file, writes: self.writes[file] }
    }

    fn written(&mut self, path: &str) -> Seen {
        let file = self.at(path).file;
        self.writes[file] += 1;
        Seen { file, writes: self.writes[file] }
    }

    /// Moves a file, or a folder with all that is below it.
    fn moved(&mut self, from: &str, to: &str) -> Seen {
        let below = format!("{from}/");
        let names = self.at.range(below.clone()..).map(|(path, _)| path.clone());
        let names: Vec<String> = names.take_while(|path| path.starts_with(&below)).collect();
        for name in names {
            if let Some(file) = self.at.remove(&name) {
                self.at.insert(format!("{to}/{}", &name[below.len()..]), file);
            }
        }
        let seen = self.at(from);
        self.at.remove(from);
        self.at.insert(to.to_owned(), seen.file);
        seen
    }
}
