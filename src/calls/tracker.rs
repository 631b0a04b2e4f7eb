//! Counts running work and waits for it to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// A count of live guards. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Tracker(Arc<SharedTracker>);

#[derive(Debug, Default)]
struct SharedTracker {
    count: AtomicUsize,
    idle: Notify,
}

/// One piece of running work; dropping it ends it.
#[derive(Debug)]
pub struct Guard(Arc<SharedTracker>);

impl Tracker {
    #[must_use]
    pub fn begin(&self) -> Guard {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        Guard(Arc::clone(&self.0))
    }

    /// Counts one more, unless `most` are running already.
    #[must_use]
    pub fn begin_below(&self, most: usize) -> Option<Guard> {
        let more = |count: usize| (count < most).then(|| count + 1);
        let begun = self.0.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        begun.is_ok().then(|| Guard(Arc::clone(&self.0)))
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// Waits until nothing is running.
    pub async fn idle(&self) {
        loop {
            let notified = self.0.idle.notified();
            if self.count() == 0 {
                return;
            }
            notified.await;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
