//! Rate limits of connections, and delays after wrong tokens.

use crate::locks::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A token bucket with a capacity of `burst`, refilled at `per_second`.
#[derive(Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    available: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub fn new(per_second: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            per_second: f64::from(per_second.max(1)),
            burst,
            available: burst,
            at: Instant::now(),
        }
    }

    pub fn set(&mut self, per_second: u32, burst: u32) {
        self.burst = f64::from(burst.max(1));
        self.per_second = f64::from(per_second.max(1));
        self.available = self.available.min(self.burst);
    }

    /// Takes one token at the time `now`.
    ///
    /// # Errors
    /// The time until the next token.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.per_second;
        self.available = (self.available + gained).min(self.burst);
        self.at = now;
        if self.available >= 1.0 {
            self.available -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64((1.0 - self.available) / self.per_second))
        }
    }
}

/// Slows down guessing: after a few wrong tokens, each further rejection is delayed by up to a
/// second. A correct token is never delayed.
#[derive(Debug, Default)]
pub struct Failures {
    recent: Mutex<Option<(u32, Instant)>>,
}

impl Failures {
    /// The number of wrong tokens without a delay, for clients that retry with a stale token.
    const FREE: u32 = 5;
    /// The time without a wrong token after which the count resets.
    const FORGET: Duration = Duration::from_secs(60);

    /// Counts a wrong token at time `now` and returns the delay of its answer.
    pub fn count(&self, now: Instant) -> Duration {
        let mut recent = lock(&self.recent);
        let before = match *recent {
            Some((count, at)) if now.saturating_duration_since(at) < Self::FORGET => count,
            _ => 0,
        };
        *recent = Some((before.saturating_add(1), now));
        match before.checked_sub(Self::FREE) {
            None => Duration::ZERO,
            Some(over) => Duration::from_millis(50 << over.min(10)).min(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_a_burst_and_then_a_rate() {
        let mut bucket = Bucket::new(10, 3);
        let start = bucket.at;
        for _ in 0..3 {
            bucket.take(start).unwrap();
        }
        let wait = bucket.take(start).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        bucket.take(start + wait).unwrap();
        bucket.take(start + wait).unwrap_err();
        let later = start + Duration::from_secs(3600);
        for _ in 0..3 {
            bucket.take(later).unwrap();
        }
        bucket.take(later).unwrap_err();
    }

    #[test]
    fn twenty_wrong_tokens_are_slowed_and_a_minute_forgives() {
        let failures = Failures::default();
        let start = Instant::now();
        let total: Duration = (0..20).map(|_| failures.count(start)).sum();
        assert!(total > Duration::from_secs(10), "{total:?}");
        assert_eq!(failures.count(start), Duration::from_secs(1));
        assert_eq!(failures.count(start + Failures::FORGET), Duration::ZERO);
    }
}
