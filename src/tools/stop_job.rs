//! A running job stopped by somebody else than its caller.

use std::time::Duration;

use super::jobs::Job;
use super::{Context, ToolError};

/// A job that was asked to stop.
#[derive(Debug, Clone)]
pub struct StoppedJob {
    /// The word for where it stands now; `running` while it is still at the piece that it was at.
    pub state: &'static str,
    /// How many of its items are done.
    pub done: usize,
    /// All its items.
    pub total: usize,
    /// The change set of what is done.
    pub change_set: Option<u64>,
}

/// Stops a running job before its next piece, whoever began it. What is done stays. Waits for its end for as long as
/// `limit`.
///
/// # Errors
/// `not_found`; `wrong_state`: it does not run.
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
