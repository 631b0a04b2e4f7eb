//! The time, from a clock that tests can set.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// A clock that tells the time and waits.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time since an arbitrary moment; never goes backward.
    fn now(&self) -> Duration;

    /// Waits. Dropping the future cancels the wait.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// A random number from 0 to 1: jitter for pauses, so that many programs do not retry at the
    /// same moment.
    fn spread(&self) -> f64;
}

#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn spread(&self) -> f64 {
        let mut bytes = [0; 2];
        // If there is no randomness, pauses have no jitter.
        let _ = getrandom::fill(&mut bytes);
        f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX)
    }
}
