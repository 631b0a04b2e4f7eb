//! Events of plans and jobs.

use std::sync::{Arc, RwLock};

use crate::locks::{read, write};

use super::running_jobs::JobProgress;

/// An event of a plan or job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrganizeEvent {
    /// A plan was created or changed.
    Plan {
        plan: u64,
        identity: String,
        items: usize,
        /// The affected folders, by name.
        folders: Vec<String>,
    },
    /// Rules were enabled, disabled or stopped.
    Rules,
    /// A job started, progressed, or changed its state.
    Job {
        job: u64,
        plan: u64,
        state: &'static str,
        done: usize,
        total: usize,
        /// The affected folders, by name.
        folders: Vec<String>,
        /// How far the change set is that it is making.
        progress: Option<JobProgress>,
    },
}

type Sink = Box<dyn Fn(&OrganizeEvent) + Send + Sync>;

/// The listeners. Clones share them.
#[derive(Clone, Default)]
pub struct Listeners(Arc<RwLock<Vec<Sink>>>);

impl Listeners {
    /// Calls `sink` for every event from now on.
    pub fn subscribe(&self, sink: Sink) {
        write(&self.0).push(sink);
    }

    pub(super) fn notify(&self, event: &OrganizeEvent) {
        read(&self.0).iter().for_each(|sink| sink(event));
    }
}

debug_only!(Listeners);
