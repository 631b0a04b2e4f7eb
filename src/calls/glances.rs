//! When a call may be done where it was asked for, on the connection's own task.
//!
//! To hand a call to a thread that may block and to be woken with its answer takes several times as
//! long as to read a note. So a call is tried at a glance first, and the backend sees to it that a
//! glance waits for nothing. Yet how long each took is looked at: a machine that swaps, or a vault so
//! large that listing it takes a while, would hold up whoever else the worker serves. After one that
//! took too long there are none for a hundred times as long, so that no more than about a hundredth
//! of a worker's time is lost to such ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a glance may take.
const LONGEST: Duration = Duration::from_millis(5);

/// How many times as long as one that took longer there are none.
const REST: u32 = 100;

/// The longest time without any.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Whether calls are done at a glance now, for all connections together.
#[derive(Debug)]
pub struct Glances {
    begun: Instant,
    /// Microseconds from then until they may be again.
    none_until: AtomicU64,
}

impl Glances {
    /// They may be from `now` on.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { begun: now, none_until: AtomicU64::new(0) }
    }

    /// Whether there may be one at the time `now`.
    #[must_use]
    pub fn may_be(&self, now: Instant) -> bool {
        self.at(now) >= self.none_until.load(Ordering::Relaxed)
    }

    /// One ended at the time `now` that took so `long`.
    pub fn took(&self, now: Instant, long: Duration) {
        if long <= LONGEST {
            return;
        }
        let rest = long.saturating_mul(REST).min(LONGEST_REST);
        let rested = self.at(now).saturating_add(micros(rest));
        self.none_until.fetch_max(rested, Ordering::Relaxed);
        tracing::debug!(
            ?long,
            ?rest,
            "a quick call took long; others are done elsewhere for a while"
        );
    }

    fn at(&self, now: Instant) -> u64 {
        micros(now.saturating_duration_since(self.begun))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_one_is_followed_by_none_for_a_hundred_times_as_long() {
        let start = Instant::now();
        let glances = Glances::new(start);
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        glances.took(start, LONGEST);
        assert!(glances.may_be(start), "as long as one may take is not too long");
        glances.took(after(1), Duration::from_millis(20));
        assert!(!glances.may_be(after(1)) && !glances.may_be(after(2_000)));
        assert!(glances.may_be(after(2_001)));
        // The longest rest counts, whichever came last.
        glances.took(after(3_000), Duration::from_secs(1_000));
        glances.took(after(3_000), Duration::from_millis(6));
        assert!(!glances.may_be(after(602_999)));
        assert!(glances.may_be(after(603_000)));
    }
}
