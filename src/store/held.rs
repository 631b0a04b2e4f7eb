//! Limits that hold. What was kept under one limit goes under a smaller one only when that was wanted
//! for a while: a settings file may be away for a moment, or half written.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::error::StoreError;

/// A limit, and the one that is wanted in its place; 0: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// What things are kept by.
    pub holds: u32,
    /// What the settings said when they were looked at last.
    pub wanted: u32,
    /// Since when they have said so, or even less.
    pub since: i64,
}

impl Held {
    /// The limit of this name, if any was seen yet.
    pub(super) fn of(connection: &Connection, name: &str) -> Result<Option<Self>, StoreError> {
        let query = "SELECT holds, wanted, since FROM held WHERE name = ?1";
        let row = connection.prepare_cached(query)?.query_row([name], |row| {
            Ok(Self { holds: row.get(0)?, wanted: row.get(1)?, since: row.get(2)? })
        });
        Ok(row.optional()?)
    }

    /// The limit once the settings were seen to say `wanted` at `now`: at once where that keeps more,
    /// else when they have done so for `wait`. Times are any that only go on.
    pub(super) fn seen(self, wanted: u32, now: i64, wait: i64) -> Self {
        // No limit keeps the most.
        let keeps = |limit: u32| limit.wrapping_sub(1);
        let goes_on = keeps(wanted) >= keeps(self.wanted) && self.since <= now;
        let since = if goes_on { self.since } else { now };
        let is_due = keeps(wanted) >= keeps(self.holds) || now.saturating_sub(since) >= wait;
        Self { holds: if is_due { wanted } else { self.holds }, wanted, since }
    }

    /// Notes it under this name.
    pub(super) fn note(self, change: &Transaction, name: &str) -> Result<(), StoreError> {
        change.execute(
            "INSERT OR REPLACE INTO held (name, holds, wanted, since) VALUES (?1, ?2, ?3, ?4)",
            params![name, self.holds, self.wanted, self.since],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_kept_at_once_and_less_after_a_while() {
        let steady = Held { holds: 100, wanted: 100, since: 0 };
        assert_eq!(steady.seen(100, 50, 10), steady);
        assert_eq!(steady.seen(200, 50, 10).holds, 200);
        assert_eq!(steady.seen(0, 50, 10).holds, 0);
        let less = steady.seen(10, 50, 10);
        assert_eq!(less, Held { holds: 100, wanted: 10, since: 50 });
        assert_eq!(less.seen(10, 59, 10), less);
        assert_eq!(less.seen(10, 60, 10).holds, 10);
        // It was away for a moment, or is less again than it was.
        let back = less.seen(100, 55, 10);
        assert_eq!(back.seen(10, 61, 10).holds, 100);
        assert_eq!(less.seen(5, 61, 10), Held { holds: 100, wanted: 5, since: 61 });
        // So many or fewer were wanted for all of the time.
        assert_eq!(less.seen(20, 60, 10).holds, 20);
        // A clock that was set back.
        assert_eq!(less.seen(10, 7, 10).since, 7);
        let all = Held { holds: 0, wanted: 0, since: 0 };
        assert_eq!(all.seen(1_000, 50, 10).holds, 0);
    }
}
