//! A token bucket: full at first, refilled at a constant rate.

use std::time::Duration;

pub(super) struct Bucket {
    capacity: f64,
    /// The time in which an empty bucket fills.
    period: Duration,
    tokens: f64,
    refilled_at: Duration,
}

impl Bucket {
    pub(super) fn full(capacity: f64, period: Duration, now: Duration) -> Self {
        Self { capacity, period, tokens: capacity, refilled_at: now }
    }

    /// Refills the bucket and returns the number of tokens in it.
    pub(super) fn tokens(&mut self, now: Duration) -> f64 {
        let share = now.saturating_sub(self.refilled_at).as_secs_f64() / self.period.as_secs_f64();
        self.tokens = (self.tokens + share * self.capacity).min(self.capacity);
        self.refilled_at = now;
        self.tokens
    }

    /// Time until there are this many tokens.
    pub(super) fn until(&self, wanted: f64) -> Duration {
        self.period.mul_f64(((wanted - self.tokens) / self.capacity).max(0.0))
    }

    /// Takes tokens out; a negative number puts them back.
    pub(super) fn take(&mut self, tokens: f64) {
        self.tokens = (self.tokens - tokens).clamp(0.0, self.capacity);
    }

    pub(super) fn is_full(&mut self, now: Duration) -> bool {
        self.tokens(now) >= self.capacity
    }
}
