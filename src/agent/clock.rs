//! The time, from a clock that tests can set.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, Local};

/// A wall clock, a monotonic clock and a timer.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The local time, which a person may set at any moment.
    fn wall(&self) -> DateTime<FixedOffset>;

    /// The time since an arbitrary moment. Never adjusted, and also counts while the machine
    /// sleeps.
    fn running(&self) -> Duration;

    /// Waits. Dropping the future cancels the wait.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

#[derive(Debug, Default)]
pub struct SystemClock(());

impl Clock for SystemClock {
    fn wall(&self) -> DateTime<FixedOffset> {
        Local::now().fixed_offset()
    }

    fn running(&self) -> Duration {
        since_boot()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A laptop closed overnight was idle overnight, but `Instant` does not count sleep on these
/// systems.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(target_os = "linux")]
    const COUNTS_SLEEP: ClockId = ClockId::Boottime;
    #[cfg(target_os = "macos")]
    const COUNTS_SLEEP: ClockId = ClockId::Monotonic;
    let time = clock_gettime(COUNTS_SLEEP);
    let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or(0));
    seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or(0))
}

/// On Windows, `Instant` counts sleep.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn since_boot() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
