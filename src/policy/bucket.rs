//! So many of something in a time: a bucket that is full at first, and fills again over that time.

use std::time::Duration;

pub(super) struct Bucket {
    most: f64,
    over: Duration,
    left: f64,
    at: Duration,
}

impl Bucket {
    pub(super) fn full(most: f64, over: Duration, now: Duration) -> Self {
        Self { most, over, left: most, at: now }
    }

    /// How much is in it by now.
    pub(super) fn left(&mut self, now: Duration) -> f64 {
        let share = now.saturating_sub(self.at).as_secs_f64() / self.over.as_secs_f64();
        self.left = (self.left + share * self.most).min(self.most);
        self.at = now;
        self.left
    }

    /// How long until so much is in it.
    pub(super) fn until(&self, wanted: f64) -> Duration {
        self.over.mul_f64(((wanted - self.left) / self.most).max(0.0))
    }

    /// Takes so much out, or puts it back where it is less than nothing.
    pub(super) fn take(&mut self, much: f64) {
        self.left = (self.left - much).clamp(0.0, self.most);
    }

    pub(super) fn is_full(&mut self, now: Duration) -> bool {
        self.left(now) >= self.most
    }
}
