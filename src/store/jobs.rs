//! Jobs: what was applied of a plan. What is done of one, the journal knows; here is what was to be done.

use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::error::StoreError;
use super::query::{all, column, first};

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// 0 before it is kept.
    pub id: i64,
    /// The plan it applies, which may be forgotten or another by now.
    pub plan: i64,
    /// The identity of that plan when the job began.
    pub identity: String,
    /// The word for its state.
    pub state: String,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
    /// When it last ended, in milliseconds since the Unix epoch.
    pub ended: Option<i64>,
    /// The program that applied it.
    pub caller: String,
    /// Whether whoever applied it sees the whole vault.
    pub whole: bool,
    /// Its items as JSON.
    pub items: String,
    /// The numbers of the items of each piece, as JSON.
    pub pieces: String,
    /// Why it failed, for people.
    pub failure: Option<String>,
    /// The enabled rules by which it was begun, as a JSON list of numbers; `[]` for one that somebody asked for.
    pub rules: String,
}

impl Default for JobRow {
    fn default() -> Self {
        Self {
            id: 0,
            plan: 0,
            identity: String::new(),
            state: String::new(),
            began: 0,
            ended: None,
            caller: String::new(),
            whole: false,
            items: String::new(),
            pieces: String::new(),
            failure: None,
            rules: "[]".to_owned(),
        }
    }
}

const COLUMNS: &str =
    "id, plan, identity, state, began, ended, caller, whole, items, pieces, failure, rules";

/// The jobs.
#[derive(Debug, Clone)]
pub struct Jobs(pub(super) Database);

impl Jobs {
    /// Stores a new job, and forgets those of its kind, by rules or not, beyond the newest `most`, which is 2 at least:
    /// when a job that came to nothing is forgotten, the one before it keeps its number from being given again. Returns
    /// the new job's number.
    pub fn begin(&self, job: &JobRow, most: usize) -> Result<i64, StoreError> {
        self.0.change("begin a job", |change| {
            change.execute(
                "INSERT INTO job (plan, identity, state, began, ended, caller, whole, items, pieces, failure, rules)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    job.plan,
                    job.identity,
                    job.state,
                    job.began,
                    job.ended,
                    job.caller,
                    job.whole,
                    job.items,
                    job.pieces,
                    job.failure,
                    job.rules,
                ],
            )?;
            let id = change.last_insert_rowid();
            let most = i64::try_from(most.max(2)).unwrap_or(i64::MAX);
            // What rules do by themselves takes no room from what a person did.
            change.execute(
                "DELETE FROM job WHERE (rules = '[]') = (?2 = '[]') AND id <= (SELECT id FROM job
                 WHERE (rules = '[]') = (?2 = '[]') ORDER BY id DESC LIMIT 1 OFFSET ?1)",
                params![most, job.rules],
            )?;
            Ok(id)
        })
    }

    /// Keeps what a job has come to: its state, end, items, pieces and failure.
    pub fn update(&self, job: &JobRow) -> Result<(), StoreError> {
        self.0.change("keep the state of a job", |change| {
            change.execute(
                "UPDATE job SET state = ?2, ended = ?3, items = ?4, pieces = ?5, failure = ?6 WHERE id = ?1",
                params![job.id, job.state, job.ended, job.items, job.pieces, job.failure],
            )?;
            Ok(())
        })
    }

    /// Forgets a job that came to nothing.
    pub fn forget(&self, id: i64) -> Result<(), StoreError> {
        self.0.change("forget a job", |change| {
            change.execute("DELETE FROM job WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    /// One job.
    pub fn get(&self, id: i64) -> Result<Option<JobRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {COLUMNS} FROM job WHERE id = ?1");
            first(connection, &query, [id], read)
        })
    }

    /// All jobs, newest first.
    pub fn list(&self) -> Result<Vec<JobRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {COLUMNS} FROM job ORDER BY id DESC");
            all(connection, &query, [], read)
        })
    }

    /// The newest job of this plan in this state.
    pub fn of_plan(&self, plan: i64, state: &str) -> Result<Option<i64>, StoreError> {
        self.0.read(|connection| {
            let query =
                "SELECT max(id) FROM job WHERE plan = ?1 AND state = ?2 HAVING max(id) IS NOT NULL";
            Ok(connection.query_row(query, params![plan, state], |row| row.get(0)).optional()?)
        })
    }
}

fn read(row: &Row) -> Result<JobRow, StoreError> {
    const T: &str = "job";
    Ok(JobRow {
        id: column(row, T, 0)?,
        plan: column(row, T, 1)?,
        identity: column(row, T, 2)?,
        state: column(row, T, 3)?,
        began: column(row, T, 4)?,
        ended: column(row, T, 5)?,
        caller: column(row, T, 6)?,
        whole: column(row, T, 7)?,
        items: column(row, T, 8)?,
        pieces: column(row, T, 9)?,
        failure: column(row, T, 10)?,
        rules: column(row, T, 11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    #[test]
    fn jobs_are_kept_in_order_and_the_oldest_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = Store::at(folder.path()).jobs;
        let row = |plan| JobRow { plan, state: "running".into(), ..JobRow::default() };
        let ids: Vec<i64> = (1..=4).map(|plan| jobs.begin(&row(plan), 3).unwrap()).collect();
        let listed: Vec<i64> = jobs.list().unwrap().iter().map(|job| job.id).collect();
        assert_eq!(listed, [ids[3], ids[2], ids[1]]);
        let mut last = jobs.get(ids[3]).unwrap().unwrap();
        (last.state, last.ended) = ("interrupted".to_owned(), Some(7));
        jobs.update(&last).unwrap();
        assert_eq!(jobs.get(ids[3]).unwrap().unwrap(), last);
        assert_eq!(jobs.of_plan(4, "interrupted").unwrap(), Some(ids[3]));
        assert_eq!(jobs.of_plan(4, "running").unwrap(), None);
        jobs.forget(ids[3]).unwrap();
        assert_eq!(jobs.begin(&row(5), 3).unwrap(), ids[3], "a job that came to nothing was none");
        jobs.forget(jobs.begin(&row(6), 1).unwrap()).unwrap();
        assert!(jobs.begin(&row(7), 1).unwrap() > ids[3], "the journal knows job {}", ids[3]);
    }
}
