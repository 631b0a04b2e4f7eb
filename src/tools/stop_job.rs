//! Stops a running job for any client.

use std::time::Duration;

use super::stored_job::Job;
use super::{Context, ToolError};

#[derive(Debug, Clone)]
pub struct StoppedJob {
    /// The state as a word; `running` while the current piece continues.
    pub state: &'static str,
    /// The number of completed items.
    pub done: usize,
    pub total: usize,
    pub change_set: Option<u64>,
}

/// Stops a running job of any caller before its next piece. Applied pieces stay. Waits for its end, at most `limit`.
pub fn stop_job(context: &Context, id: u64, limit: Duration) -> Result<StoppedJob, ToolError> {
    let job = Job::find(context, id)?;
    if !context.running_jobs.stop(job.row.id, limit) {
        return Err(job.wrong_state("only a job that runs can be stopped"));
    }
    let job = Job::find(context, id)?;
    Ok(StoppedJob {
        state: job.state().word(),
        done: job.counts().0,
        total: job.items.len(),
        change_set: job.change_set().map(|set| set.0),
    })
}
