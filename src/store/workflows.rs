//! Workflows that change something: what was started, and each of its steps, when it begins and when it ends.

use rusqlite::{Row, params};

use super::database::Database;
use super::error::StoreError;
use super::query::{all, column, first};

/// The runs that are remembered besides those that have not ended.
const KEPT: u32 = 200;

/// The state of a run that is at work, or was when the process ended.
pub const RUNNING: &str = "running";

/// The state of a run that waits for a person.
pub const WAITING: &str = "waiting";

/// A workflow that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRun {
    pub id: i64,
    /// The workflow's own name.
    pub workflow: String,
    /// The text that it was read from.
    pub definition: String,
    /// What that text is called: a file.
    pub source: String,
    /// JSON, by name.
    pub inputs: String,
    /// [`RUNNING`], [`WAITING`], or how it ended.
    pub state: String,
    /// Milliseconds since 1970.
    pub began: i64,
    /// Milliseconds since 1970.
    pub ended: Option<i64>,
}

/// A step that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStep {
    pub step: String,
    /// The place of its element in `for_each`, from 0; -1 for a step without.
    pub item: i64,
    /// `begun`, or how it ended.
    pub state: String,
    /// JSON.
    pub input: String,
    /// JSON; `None` as long as it has not ended.
    pub outcome: Option<String>,
}

/// The rows of workflows.
#[derive(Debug, Clone)]
pub struct WorkflowRows(pub(super) Database);

const RUN: &str = "id, workflow, definition, source, inputs, state, began, ended";

fn run(row: &Row) -> Result<WorkflowRun, StoreError> {
    const T: &str = "workflow_run";
    Ok(WorkflowRun {
        id: column(row, T, 0)?,
        workflow: column(row, T, 1)?,
        definition: column(row, T, 2)?,
        source: column(row, T, 3)?,
        inputs: column(row, T, 4)?,
        state: column(row, T, 5)?,
        began: column(row, T, 6)?,
        ended: column(row, T, 7)?,
    })
}

fn step(row: &Row) -> Result<WorkflowStep, StoreError> {
    const T: &str = "workflow_step";
    Ok(WorkflowStep {
        step: column(row, T, 0)?,
        item: column(row, T, 1)?,
        state: column(row, T, 2)?,
        input: column(row, T, 3)?,
        outcome: column(row, T, 4)?,
    })
}

impl WorkflowRows {
    /// Records that a workflow was started, and forgets old ones that have ended; its number. `new.id`, `state` and
    /// `ended` do not count.
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
                [KEPT],
            )?;
            Ok(id)
        })
    }

    /// Records how a run stands, and when it ended if it has.
    pub fn set_state(&self, id: i64, state: &str, ended: Option<i64>) -> Result<(), StoreError> {
        self.0.change("record the state of a workflow", |change| {
            let update = "UPDATE workflow_run SET state = ?2, ended = ?3 WHERE id = ?1";
            change.execute(update, params![id, state, ended])?;
            Ok(())
        })
    }

    /// Records that a step begins; durable when this returns. One that had begun before begins anew.
    pub fn begin(&self, id: i64, step: &str, item: i64, input: &str) -> Result<(), StoreError> {
        self.0.change("record the beginning of a step", |change| {
            change.execute(
                "INSERT OR REPLACE INTO workflow_step (run, step, item, state, input)
                 VALUES (?1, ?2, ?3, 'begun', ?4)",
                params![id, step, item, input],
            )?;
            Ok(())
        })
    }

    /// Records how a step ended; durable when this returns.
    pub fn end(
        &self,
        id: i64,
        step: &str,
        item: i64,
        state: &str,
        outcome: &str,
    ) -> Result<(), StoreError> {
        self.0.change("record the end of a step", |change| {
            change.execute(
                "UPDATE workflow_step SET state = ?4, outcome = ?5 WHERE run = ?1 AND step = ?2 AND item = ?3",
                params![id, step, item, state, outcome],
            )?;
            Ok(())
        })
    }

    /// One run.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is none of this number.
    pub fn get(&self, id: i64) -> Result<WorkflowRun, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {RUN} FROM workflow_run WHERE id = ?1");
            let found = first(connection, &query, [id], run)?;
            found.ok_or(StoreError::Unknown { what: "workflow run", number: id })
        })
    }

    /// The steps of a run that began, in no order.
    pub fn steps(&self, id: i64) -> Result<Vec<WorkflowStep>, StoreError> {
        self.0.read(|connection| {
            let query =
                "SELECT step, item, state, input, outcome FROM workflow_step WHERE run = ?1";
            all(connection, query, [id], step)
        })
    }

    /// The last runs, the newest first.
    pub fn last(&self, limit: u32) -> Result<Vec<WorkflowRun>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {RUN} FROM workflow_run ORDER BY id DESC LIMIT ?1");
            all(connection, &query, [limit], run)
        })
    }
}
