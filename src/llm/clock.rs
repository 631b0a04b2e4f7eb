//! The time, as something a test can hold still.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Tells the time and waits.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time since some moment, never running backward.
    fn now(&self) -> Duration;

    /// Waits; dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// A number from 0 to 1 that spreads out pauses, so that many programs do not ask again at
    /// the same moment.
    fn spread(&self) -> f64;
}

/// The machine's clock.
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
        // Without randomness pauses are merely not spread.
        let _ = getrandom::fill(&mut bytes);
        f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX)
    }
}
