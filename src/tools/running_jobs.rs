//! The registry of running jobs, by which any client can stop a job.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::locks::lock;

/// The running jobs of this process. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct RunningJobs(Arc<SharedJobs>);

#[derive(Debug, Default)]
struct SharedJobs {
    /// Jobs by number, with whether a stop was requested.
    jobs: Mutex<HashMap<i64, bool>>,
    /// Notified whenever a job ends.
    ended: Condvar,
}

/// The registration of a running job; dropped at its end.
pub(super) struct RunningJob {
    jobs: RunningJobs,
    id: i64,
}

impl RunningJobs {
    pub(super) fn begin(&self, id: i64) -> RunningJob {
        lock(&self.0.jobs).insert(id, false);
        RunningJob { jobs: self.clone(), id }
    }

    /// Requests a job to stop, and waits for its end up to `limit`. Returns whether it was running.
    pub(super) fn stop(&self, id: i64, limit: Duration) -> bool {
        let mut jobs = lock(&self.0.jobs);
        let Some(is_to_stop) = jobs.get_mut(&id) else { return false };
        *is_to_stop = true;
        let runs = |jobs: &mut HashMap<i64, bool>| jobs.contains_key(&id);
        drop(self.0.ended.wait_timeout_while(jobs, limit, runs));
        true
    }
}

impl RunningJob {
    pub(super) fn is_to_stop(&self) -> bool {
        lock(&self.jobs.0.jobs).get(&self.id).copied().unwrap_or(false)
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        lock(&self.jobs.0.jobs).remove(&self.id);
        self.jobs.0.ended.notify_all();
    }
}
