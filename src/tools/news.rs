//! What becomes of plans and jobs, for whoever listens.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Something that became of a plan or a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A plan was made or changed.
    Plan {
        plan: u64,
        identity: String,
        items: usize,
        /// The folders that it touches, by name.
        folders: Vec<String>,
    },
    /// Rules were enabled or disabled, or one was stopped.
    Rules,
    /// A job began, came further, or stands otherwise.
    Job {
        job: u64,
        plan: u64,
        /// The word for where it stands.
        state: &'static str,
        done: usize,
        total: usize,
        /// The folders that it touches, by name.
        folders: Vec<String>,
    },
}

type Sink = Box<dyn Fn(&News) + Send + Sync>;

/// Those who listen. Clones are the same.
#[derive(Clone, Default)]
pub struct Listeners(Arc<RwLock<Vec<Sink>>>);

impl Listeners {
    /// Calls `sink` for all that happens from now on.
    pub fn subscribe(&self, sink: Sink) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    pub(super) fn tell(&self, news: &News) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(|sink| sink(news));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}
