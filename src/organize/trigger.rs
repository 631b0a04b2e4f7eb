//! Triggers of rules: files that have been quiet for a while, and schedules. Pure; the caller gives the time in
//! milliseconds since the Unix epoch.

use std::collections::BTreeMap;

use chrono::{Duration, NaiveTime};

use crate::bases::date::{Times, Zone};
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

/// The quiet time in milliseconds for a file that is open in Obsidian.
pub const OPEN_QUIET: i64 = 120_000;

/// The most matching changes within one quiet time. More look like a sync and wait for a person.
pub const BURST: usize = 25;

/// The most changes of one file by one rule in a day. At this number the rule stops.
pub const MAX_A_DAY: usize = 2;

/// Changed files with the time of their last change.
#[derive(Debug, Default)]
pub struct Pending(BTreeMap<VaultPath, i64>);

impl Pending {
    pub fn changed(&mut self, path: VaultPath, at: i64) {
        self.0.insert(path, at);
    }

    /// Forgets a file that is gone.
    pub fn left(&mut self, path: &VaultPath) {
        self.0.remove(path);
    }

    /// Forgets files that were handled, except those that changed after `until`, while they were.
    pub fn handled<'p>(&mut self, paths: impl IntoIterator<Item = &'p VaultPath>, until: i64) {
        for path in paths {
            if self.0.get(path).is_some_and(|at| *at <= until) {
                self.0.remove(path);
            }
        }
    }

    /// Forgets all files.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The changed files with the time of their last change.
    pub fn all(&self) -> &BTreeMap<VaultPath, i64> {
        &self.0
    }

    /// The files that have been quiet for `quiet`; the `open` one must be quiet for longer.
    pub fn due(&self, now: i64, quiet: i64, open: Option<&str>) -> Vec<VaultPath> {
        let is_due = |(path, at): &(&VaultPath, &i64)| due_at(path, **at, quiet, open) <= now;
        self.0.iter().filter(is_due).map(|(path, _)| path.clone()).collect()
    }

    /// The time when the next file is due, if any is pending.
    pub fn next(&self, quiet: i64, open: Option<&str>) -> Option<i64> {
        self.0.iter().map(|(path, at)| due_at(path, *at, quiet, open)).min()
    }

    /// The time of the oldest change.
    pub fn first(&self) -> Option<i64> {
        self.0.values().copied().min()
    }
}

fn due_at(path: &VaultPath, at: i64, quiet: i64, open: Option<&str>) -> i64 {
    let is_open = open.is_some_and(|open| fold_key(open) == path.fold_key());
    at.saturating_add(if is_open { quiet.max(OPEN_QUIET) } else { quiet })
}

/// The last time of a schedule after `enabled` and up to `now`: every `every` seconds, at a time of day for whole
/// days.
pub fn last_time(
    every: u64,
    at: Option<NaiveTime>,
    enabled: i64,
    now: i64,
    zone: &dyn Zone,
) -> Option<i64> {
    let seconds = i64::try_from(every.max(1)).ok()?;
    let Some(at) = at else {
        let times = now.checked_sub(enabled)?.div_euclid(seconds.checked_mul(1000)?);
        return (times > 0).then(|| enabled + times * seconds * 1000);
    };
    let times = Times::new(zone);
    let days = (seconds / 86_400).max(1);
    let first = times.local(enabled).date_naive();
    let mut day = times.local(now).date_naive();
    day -= Duration::days((day - first).num_days().rem_euclid(days));
    let time = times.millis(day.and_time(at));
    let time =
        if time <= now { time } else { times.millis((day - Duration::days(days)).and_time(at)) };
    (time > enabled && time <= now).then_some(time)
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, TimeZone as _};

    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::from_disk(text).unwrap()
    }

    #[test]
    fn a_file_is_due_when_it_was_left_alone_and_an_open_one_later() {
        let mut pending = Pending::default();
        pending.changed(path("a.md"), 1_000);
        pending.changed(path("b.md"), 2_000);
        assert_eq!(pending.next(30_000, None), Some(31_000));
        assert!(pending.due(30_999, 30_000, None).is_empty());
        assert_eq!(pending.due(31_000, 30_000, None), [path("a.md")]);
        assert_eq!(pending.due(40_000, 30_000, Some("A.md")), [path("b.md")]);
        assert_eq!(pending.due(121_000, 30_000, Some("a.md")).len(), 2);
        pending.changed(path("a.md"), 20_000);
        assert_eq!((pending.first(), pending.next(30_000, None)), (Some(2_000), Some(32_000)));
        pending.handled(&[path("a.md"), path("b.md")], 2_000);
        assert_eq!(pending.due(i64::MAX, 0, None), [path("a.md")], "it changed meanwhile");
        pending.left(&path("a.md"));
        assert!(pending.all().is_empty());
        pending.clear();
        assert_eq!(pending.next(1, None), None);
    }

    #[test]
    fn a_schedule_has_one_time_after_a_long_sleep() {
        let zone = FixedOffset::east_opt(3_600).unwrap();
        let ms = |d, h, m| zone.with_ymd_and_hms(2026, 3, d, h, m, 0).unwrap().timestamp_millis();
        let at = NaiveTime::from_hms_opt(3, 0, 0);
        let day = |now| last_time(86_400, at, ms(1, 12, 0), now, &zone);
        assert_eq!(day(ms(1, 23, 0)), None, "three o'clock was before it was enabled");
        assert_eq!(day(ms(2, 2, 59)), None);
        assert_eq!(day(ms(2, 3, 0)), Some(ms(2, 3, 0)));
        assert_eq!(day(ms(9, 1, 0)), Some(ms(8, 3, 0)));
        let week = |now| last_time(7 * 86_400, at, ms(1, 12, 0), now, &zone);
        assert_eq!(week(ms(7, 9, 0)), None);
        assert_eq!(week(ms(8, 9, 0)), Some(ms(8, 3, 0)));
        assert_eq!(week(ms(20, 9, 0)), Some(ms(15, 3, 0)));
        let often = |now| last_time(600, None, ms(1, 12, 0), now, &zone);
        assert_eq!(often(ms(1, 12, 9)), None);
        assert_eq!(often(ms(1, 13, 5)), Some(ms(1, 13, 0)));
        assert_eq!(often(ms(1, 11, 0)), None, "a clock that was set back");
    }
}
