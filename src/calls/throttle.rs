//! Decides when a call may run without blocking on the connection's own task.
//!
//! Handing a call to a blocking thread and being woken with its answer takes several times as long
//! as reading a note. So the runner first tries a non-blocking call. It measures each one: on a
//! swapping machine, or in a very large vault, such a call delays the other clients of the worker
//! thread. A slow call is followed by a pause a hundred times as long, so a worker loses at most
//! about one percent of its time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time limit of a non-blocking call.
const LONGEST: Duration = Duration::from_millis(5);

/// The pause after a slow call, as a multiple of its duration.
const REST: u32 = 100;

/// The longest pause.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Whether calls currently run without blocking, for all connections together.
#[derive(Debug)]
pub struct Throttle {
    created: Instant,
    /// End of the pause, in microseconds since `created`.
    none_until: AtomicU64,
}

impl Throttle {
    /// Allows calls from `now` on.
    pub fn new(now: Instant) -> Self {
        Self { created: now, none_until: AtomicU64::new(0) }
    }

    /// Whether a call is allowed at the time `now`.
    pub fn may_be(&self, now: Instant) -> bool {
        self.at(now) >= self.none_until.load(Ordering::Relaxed)
    }

    /// Records a call that ended at the time `now` and took so `long`.
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
        micros(now.saturating_duration_since(self.created))
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
        let throttle = Throttle::new(start);
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        throttle.took(start, LONGEST);
        assert!(throttle.may_be(start), "as long as one may take is not too long");
        throttle.took(after(1), Duration::from_millis(20));
        assert!(!throttle.may_be(after(1)) && !throttle.may_be(after(2_000)));
        assert!(throttle.may_be(after(2_001)));
        // The longest pause counts, in any order.
        throttle.took(after(3_000), Duration::from_secs(1_000));
        throttle.took(after(3_000), Duration::from_millis(6));
        assert!(!throttle.may_be(after(602_999)));
        assert!(throttle.may_be(after(603_000)));
    }
}
