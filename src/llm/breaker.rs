//! A circuit breaker: moves a provider that keeps failing to the end of the chain for a while.

use std::sync::Mutex;
use std::time::Duration;

use super::error::ErrorKind;
use crate::locks::lock;

/// Closed: ask this provider. Open: ask others first. After the pause, one turn tries the provider;
/// its success closes the breaker.
#[derive(Debug)]
pub struct Breaker {
    state: Mutex<BreakerState>,
    failures: u32,
    pause: Duration,
}

#[derive(Debug, Clone, Copy)]
enum BreakerState {
    Closed { failures: u32 },
    Open { until: Duration },
}

impl Breaker {
    /// Opens for `pause` after `failures` failed turns in a row.
    pub fn new(failures: u32, pause: Duration) -> Self {
        Self { state: Mutex::new(BreakerState::Closed { failures: 0 }), failures, pause }
    }

    /// Whether to ask other providers first at time `now`.
    pub fn is_open(&self, now: Duration) -> bool {
        matches!(*lock(&self.state), BreakerState::Open { until } if now < until)
    }

    /// Records that a turn goes to this provider. After the pause, that turn is the trial, and the
    /// breaker stays open for others.
    pub fn tried(&self, now: Duration) {
        let mut state = lock(&self.state);
        if let BreakerState::Open { until } = &mut *state
            && *until <= now
        {
            *until = now + self.pause;
        }
    }

    pub fn succeeded(&self) {
        *lock(&self.state) = BreakerState::Closed { failures: 0 };
    }

    /// Records a turn that failed after all its retries.
    pub fn failed(&self, kind: ErrorKind, now: Duration) {
        use ErrorKind as K;
        let mut state = lock(&self.state);
        let open = BreakerState::Open { until: now + self.pause };
        *state = match (kind, *state) {
            // The request is at fault, not the provider.
            (K::InvalidRequest | K::ContextLength | K::Refused | K::TooLarge, state) => state,
            // Retrying at the next turn would not help.
            (K::Auth | K::Billing | K::NotFound, _) | (_, BreakerState::Open { .. }) => open,
            (_, BreakerState::Closed { failures }) if failures + 1 >= self.failures => open,
            (_, BreakerState::Closed { failures }) => {
                BreakerState::Closed { failures: failures + 1 }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_lets_one_try_and_closes_again() {
        let seconds = Duration::from_secs;
        let breaker = Breaker::new(2, seconds(60));
        breaker.failed(ErrorKind::Overloaded, seconds(0));
        assert!(!breaker.is_open(seconds(1)));
        breaker.failed(ErrorKind::Refused, seconds(1));
        assert!(!breaker.is_open(seconds(1)), "what the request is to blame for does not count");
        breaker.failed(ErrorKind::Network, seconds(1));
        assert!(breaker.is_open(seconds(2)) && breaker.is_open(seconds(60)));
        assert!(!breaker.is_open(seconds(61)));
        breaker.tried(seconds(61));
        assert!(breaker.is_open(seconds(61)), "one tries, the others go elsewhere");
        breaker.failed(ErrorKind::Network, seconds(70));
        assert!(breaker.is_open(seconds(129)) && !breaker.is_open(seconds(130)));
        breaker.tried(seconds(130));
        breaker.succeeded();
        assert!(!breaker.is_open(seconds(130)));
        breaker.failed(ErrorKind::Network, seconds(131));
        assert!(!breaker.is_open(seconds(131)), "it counts from none again");
        breaker.failed(ErrorKind::Billing, seconds(132));
        assert!(breaker.is_open(seconds(133)), "no credit is no accident");
    }
}
