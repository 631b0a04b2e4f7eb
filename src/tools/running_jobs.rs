//! The registry of running jobs, by which any client can stop a job and see how far it is.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::locks::lock;

/// The running jobs of this process. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct RunningJobs(Arc<SharedJobs>);

#[derive(Debug, Default)]
struct SharedJobs {
    /// By number.
    jobs: Mutex<HashMap<i64, RunningState>>,
    /// Notified whenever a job ends.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct RunningState {
    is_to_stop: bool,
    progress: Option<JobProgress>,
}

/// Progress of the change set that a job applies. It is dropped at the end, when the journal has the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobProgress {
    /// `storing` the texts in the journal, `writing` new texts next to their files, `placing` files.
    pub phase: &'static str,
    /// Files of this phase that are done.
    pub done: usize,
    /// All files of this phase, with those in which links follow.
    pub total: usize,
}

/// The registration of a running job; dropped at its end.
#[derive(Debug)]
pub(super) struct RunningJob {
    jobs: RunningJobs,
    id: i64,
}

impl RunningJobs {
    pub(super) fn begin(&self, id: i64) -> RunningJob {
        lock(&self.0.jobs).insert(id, RunningState::default());
        RunningJob { jobs: self.clone(), id }
    }

    /// Requests a job to stop, and waits for its end up to `limit`. Returns whether it was running.
    pub(super) fn stop(&self, id: i64, limit: Duration) -> bool {
        let mut jobs = lock(&self.0.jobs);
        let Some(state) = jobs.get_mut(&id) else { return false };
        state.is_to_stop = true;
        let runs = |jobs: &mut HashMap<i64, RunningState>| jobs.contains_key(&id);
        drop(self.0.ended.wait_timeout_while(jobs, limit, runs));
        true
    }

    pub(super) fn progress(&self, id: i64) -> Option<JobProgress> {
        lock(&self.0.jobs).get(&id)?.progress
    }
}

impl RunningJob {
    pub(super) fn is_to_stop(&self) -> bool {
        lock(&self.jobs.0.jobs).get(&self.id).is_some_and(|state| state.is_to_stop)
    }

    /// Stores the progress. Returns whether it is worth an event: a phase begins, or a twentieth of it is done.
    pub(super) fn record(&self, now: JobProgress) -> bool {
        let twentieth = |one: JobProgress| (one.phase, one.done * 20 / one.total.max(1));
        let mut jobs = lock(&self.jobs.0.jobs);
        let Some(state) = jobs.get_mut(&self.id) else { return false };
        let before = state.progress.replace(now);
        before.map(twentieth) != Some(twentieth(now))
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        lock(&self.jobs.0.jobs).remove(&self.id);
        self.jobs.0.ended.notify_all();
    }
}
