//! Exponential backoff between connection attempts.

use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(30);
const SHORTEST: Duration = Duration::from_secs(1);

/// The pause after this many failed attempts in a row: doubles from one second to thirty. `spread`
/// (0 to 1) shortens it by up to a quarter, so that several stewards do not reconnect at once.
pub(super) fn pause(attempts: u32, spread: f64) -> Duration {
    let doubled = SHORTEST.saturating_mul(1 << attempts.saturating_sub(1).min(5)).min(LONGEST);
    doubled.mul_f64(1.0 - 0.25 * spread.clamp(0.0, 1.0)).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_half_a_minute_and_no_further() {
        let seconds: Vec<u64> = (1..9).map(|attempt| pause(attempt, 0.0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(pause(u32::MAX, 1.0), Duration::from_millis(22_500));
        assert_eq!(pause(0, 1.0), SHORTEST);
    }
}
