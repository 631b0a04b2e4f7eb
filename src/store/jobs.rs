//! Jobs: plans that are applied. The journal records completed changes; these rows record the planned ones.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

row! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobRow in "job" numbered {
        /// 0 before it is stored.
        pub id: i64,
        /// The plan, which may have been deleted or replaced since.
        pub plan: i64,
        /// The plan's identity when the job began.
        pub identity: String,
        pub state: String,
        /// Milliseconds since the Unix epoch.
        pub began: i64,
        /// When the job last ended, in milliseconds since the Unix epoch.
        pub ended: Option<i64>,
        /// The program that applied the plan.
        pub caller: String,
        /// Whether the caller sees the whole vault.
        pub whole: bool,
        /// The items, as JSON.
        pub items: String,
        /// The item numbers of each piece, as JSON.
        pub pieces: String,
        /// Why the job failed, for people.
        pub failure: Option<String>,
        /// Numbers of the enabled rules that began the job, as a JSON list; `[]` if a caller did.
        pub rules: String,
    }
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

const COLUMNS: &str = JobRow::COLUMNS;

#[derive(Debug, Clone)]
pub struct Jobs(pub(super) Database);

impl Jobs {
    /// Stores a new job, and deletes the oldest of its kind (begun by rules, or not) beyond the newest `most`, which is
    /// at least 2: SQLite reuses the highest number when that row is deleted, so one older job must stay. Returns the
    /// new job's number.
    pub fn begin(&self, job: &JobRow, most: usize) -> Result<i64, StoreError> {
        self.0.change("begin a job", |change| {
            let id = job.insert(change)?;
            let most = i64::try_from(most.max(2)).unwrap_or(i64::MAX);
            // Jobs of rules do not displace those of a person.
            change.execute(
                "DELETE FROM job WHERE (rules = '[]') = (?2 = '[]') AND id <= (SELECT id FROM job
                 WHERE (rules = '[]') = (?2 = '[]') ORDER BY id DESC LIMIT 1 OFFSET ?1)",
                params![most, job.rules],
            )?;
            Ok(id)
        })
    }

    /// Updates a job's state, end, items, pieces and failure.
    pub fn update(&self, job: &JobRow) -> Result<(), StoreError> {
        let update = "UPDATE job SET state = ?2, ended = ?3, items = ?4, pieces = ?5, failure = ?6 WHERE id = ?1";
        let values = params![job.id, job.state, job.ended, job.items, job.pieces, job.failure];
        self.0.execute("keep the state of a job", update, values).map(|_| ())
    }

    /// Deletes a job that changed nothing.
    pub fn delete(&self, id: i64) -> Result<(), StoreError> {
        self.0.execute("forget a job", "DELETE FROM job WHERE id = ?1", [id]).map(|_| ())
    }

    pub fn get(&self, id: i64) -> Result<Option<JobRow>, StoreError> {
        self.0.first(&format!("SELECT {COLUMNS} FROM job WHERE id = ?1"), [id], JobRow::read)
    }

    /// All jobs, newest first.
    pub fn list(&self) -> Result<Vec<JobRow>, StoreError> {
        self.0.all(&format!("SELECT {COLUMNS} FROM job ORDER BY id DESC"), [], JobRow::read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    #[test]
    fn jobs_are_listed_in_order_and_the_oldest_deleted() {
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
        jobs.delete(ids[3]).unwrap();
        assert_eq!(jobs.begin(&row(5), 3).unwrap(), ids[3], "its number is free again");
        jobs.delete(jobs.begin(&row(6), 1).unwrap()).unwrap();
        assert!(jobs.begin(&row(7), 1).unwrap() > ids[3], "the journal knows job {}", ids[3]);
    }
}
