//! Workflow runs, and the start and end of each step.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

const ENDED_RUNS: u32 = 200;

/// The state of a run that is running, or was when the process ended.
pub const RUNNING: &str = "running";

/// The state of a run that waits for a person.
pub const WAITING: &str = "waiting";

row! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WorkflowRun in "workflow_run" {
        pub id: i64,
        pub workflow: String,
        pub definition: String,
        /// The file that the text was read from.
        pub source: String,
        /// JSON object by name.
        pub inputs: String,
        /// [`RUNNING`], [`WAITING`], or the result.
        pub state: String,
        /// Milliseconds since 1970.
        pub began: i64,
        /// Milliseconds since 1970.
        pub ended: Option<i64>,
    }
}

row! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WorkflowStep in "workflow_step" {
        pub step: String,
        /// The element's index in `for_each`, from 0; -1 for a step without.
        pub item: i64,
        /// `begun`, or the result.
        pub state: String,
        /// JSON.
        pub input: String,
        /// JSON; `None` until the step ends.
        pub outcome: Option<String>,
    }
}

#[derive(Debug, Clone)]
pub struct WorkflowRows(pub(super) Database);

const RUN: &str = WorkflowRun::COLUMNS;
const STEP: &str = WorkflowStep::COLUMNS;

impl WorkflowRows {
    /// Stores the start of a run, and deletes old ended runs. Ignores `id`, `state` and `ended`. Returns the run's
    /// number.
    pub fn start(&self, new: &WorkflowRun) -> Result<i64, StoreError> {
        self.0.change("record the start of a workflow", |change| {
            change.execute(
                "INSERT INTO workflow_run (workflow, definition, source, inputs, state, began)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![new.workflow, new.definition, new.source, new.inputs, RUNNING, new.began],
            )?;
            let id = change.last_insert_rowid();
            change.execute(
                "DELETE FROM workflow_run WHERE ended IS NOT NULL AND id NOT IN
                     (SELECT id FROM workflow_run WHERE ended IS NOT NULL ORDER BY id DESC LIMIT ?1)",
                                [ENDED_RUNS],
            )?;
            Ok(id)
        })
    }

    /// Stores the state of a run, and when it ended if it has.
    pub fn set_state(&self, id: i64, state: &str, ended: Option<i64>) -> Result<(), StoreError> {
        let update = "UPDATE workflow_run SET state = ?2, ended = ?3 WHERE id = ?1";
        self.0
            .execute("record the state of a workflow", update, params![id, state, ended])
            .map(|_| ())
    }

    /// Stores the start of a step; durable when this returns. Replaces an earlier start.
    pub fn begin(&self, id: i64, step: &str, item: i64, input: &str) -> Result<(), StoreError> {
        let insert = "INSERT OR REPLACE INTO workflow_step (run, step, item, state, input)
                      VALUES (?1, ?2, ?3, 'begun', ?4)";
        let values = params![id, step, item, input];
        self.0.execute("record the beginning of a step", insert, values).map(|_| ())
    }

    /// Stores the end of a step; durable when this returns.
    pub fn end(
        &self,
        id: i64,
        step: &str,
        item: i64,
        state: &str,
        outcome: &str,
    ) -> Result<(), StoreError> {
        let update = "UPDATE workflow_step SET state = ?4, outcome = ?5 WHERE run = ?1 AND step = ?2 AND item = ?3";
        let values = params![id, step, item, state, outcome];
        self.0.execute("record the end of a step", update, values).map(|_| ())
    }

    pub fn get(&self, id: i64) -> Result<WorkflowRun, StoreError> {
        let query = format!("SELECT {RUN} FROM workflow_run WHERE id = ?1");
        let found = self.0.first(&query, [id], WorkflowRun::read)?;
        found.ok_or(StoreError::Unknown { what: "workflow run", number: id })
    }

    /// The steps of a run that began, in no order.
    pub fn steps(&self, id: i64) -> Result<Vec<WorkflowStep>, StoreError> {
        let query = format!("SELECT {STEP} FROM workflow_step WHERE run = ?1");
        self.0.all(&query, [id], WorkflowStep::read)
    }

    /// The newest runs, newest first.
    pub fn last(&self, limit: u32) -> Result<Vec<WorkflowRun>, StoreError> {
        let query = format!("SELECT {RUN} FROM workflow_run ORDER BY id DESC LIMIT ?1");
        self.0.all(&query, [limit], WorkflowRun::read)
    }
}
