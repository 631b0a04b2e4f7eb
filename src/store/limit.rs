//! Limits that are lowered with a delay: a smaller limit takes effect only after it was requested for a
//! while, since a settings file may be missing for a moment or half written.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::error::StoreError;

/// An effective limit, and the requested one; 0: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DelayedLimit {
    pub effective: u32,
    /// The limit in the settings when they were last read.
    pub requested: u32,
    /// Since when they have requested this limit or a smaller one.
    pub since: i64,
}

impl DelayedLimit {
    pub(super) fn read(connection: &Connection, name: &str) -> Result<Option<Self>, StoreError> {
        let query = "SELECT holds, wanted, since FROM held WHERE name = ?1";
        let row = connection.prepare_cached(query)?.query_row([name], |row| {
            Ok(Self { effective: row.get(0)?, requested: row.get(1)?, since: row.get(2)? })
        });
        Ok(row.optional()?)
    }

    /// The limit after the settings request `requested` at time `now`: a larger limit takes effect at once,
    /// a smaller one after `delay`. The unit of time is the caller's; its clock never goes back.
    pub(super) fn request(self, requested: u32, now: i64, delay: i64) -> Self {
        // 0 is no limit, which is the largest.
        let size = |limit: u32| limit.wrapping_sub(1);
        let continues = size(requested) >= size(self.requested) && self.since <= now;
        let since = if continues { self.since } else { now };
        let is_due = size(requested) >= size(self.effective) || now.saturating_sub(since) >= delay;
        Self { effective: if is_due { requested } else { self.effective }, requested, since }
    }

    /// Stores the limit under this name.
    pub(super) fn store(self, change: &Transaction, name: &str) -> Result<(), StoreError> {
        change.execute(
            "INSERT OR REPLACE INTO held (name, holds, wanted, since) VALUES (?1, ?2, ?3, ?4)",
            params![name, self.effective, self.requested, self.since],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_limit_takes_effect_at_once_and_a_smaller_one_after_the_delay() {
        let limit = |effective, requested, since| DelayedLimit { effective, requested, since };
        let steady = limit(100, 100, 0);
        assert_eq!(steady.request(100, 50, 10), steady);
        assert_eq!(steady.request(200, 50, 10).effective, 200);
        assert_eq!(steady.request(0, 50, 10).effective, 0);
        let less = steady.request(10, 50, 10);
        assert_eq!(less, limit(100, 10, 50));
        assert_eq!(less.request(10, 59, 10), less);
        assert_eq!(less.request(10, 60, 10).effective, 10);
        // The settings file was missing for a moment, or requests even less.
        let back = less.request(100, 55, 10);
        assert_eq!(back.request(10, 61, 10).effective, 100);
        assert_eq!(less.request(5, 61, 10), limit(100, 5, 61));
        // This limit or a smaller one was requested all the time.
        assert_eq!(less.request(20, 60, 10).effective, 20);
        // The clock was set back.
        assert_eq!(less.request(10, 7, 10).since, 7);
        assert_eq!(limit(0, 0, 0).request(1_000, 50, 10).effective, 0);
    }
}
