//! Converts many times to local time.

use chrono::{DateTime, FixedOffset, Local, Offset as _, Utc};

use super::text_file::written;

const DAY: i64 = 86_400;

/// Converts times to local time. Looks up the zone's offset for the first and last second of a day; if
/// both are equal, it applies to the whole day, since a lookup takes longer than printing. Use one per
/// result, since the zone may change.
#[derive(Debug, Default)]
pub struct LocalTimes {
    /// The last day since the epoch that was looked up, and its offset.
    known: Option<(i64, FixedOffset)>,
}

impl LocalTimes {
    /// Milliseconds since the epoch as local time, to the second: `2026-11-21T10:28:45+01:00`. An
    /// out-of-range time becomes the epoch.
    pub fn of_milliseconds(&mut self, milliseconds: i64) -> String {
        let moment = DateTime::from_timestamp_millis(milliseconds).unwrap_or_default();
        written(&self.local(moment), false)
    }

    /// Nanoseconds since the epoch as local time, to the second, as tools tell it: with `Z` in the place
    /// of `+00:00`.
    pub fn of_nanoseconds(&mut self, nanoseconds: i64) -> String {
        written(&self.local(DateTime::from_timestamp_nanos(nanoseconds)), true)
    }

    fn local(&mut self, moment: DateTime<Utc>) -> DateTime<FixedOffset> {
        let offset = self.offset(moment.timestamp(), |seconds| {
            let moment = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
            moment.with_timezone(&Local).offset().fix()
        });
        moment.with_timezone(&offset)
    }

    /// The offset at a time, with `zone` as the lookup.
    fn offset(&mut self, seconds: i64, ask: impl Fn(i64) -> FixedOffset) -> FixedOffset {
        let day = seconds.div_euclid(DAY);
        if let Some((known, offset)) = self.known
            && known == day
        {
            return offset;
        }
        let (first, last) = (ask(day * DAY), ask(day * DAY + DAY - 1));
        if first != last {
            return ask(seconds);
        }
        self.known = Some((day, first));
        first
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use chrono::SecondsFormat;

    use super::super::text_file;
    use super::*;

    #[test]
    fn a_time_is_told_as_the_system_tells_it() {
        let mut times = LocalTimes::default();
        for milliseconds in (-3..4_000).map(|at| at * 86_400_123 / 7).chain([i64::MIN, i64::MAX]) {
            let moment = DateTime::from_timestamp_millis(milliseconds).unwrap_or_default();
            let told = moment.with_timezone(&Local).to_rfc3339_opts(SecondsFormat::Secs, false);
            assert_eq!(times.of_milliseconds(milliseconds), told);
            let nanoseconds = milliseconds.saturating_mul(1_000_000);
            assert_eq!(times.of_nanoseconds(nanoseconds), text_file::local(nanoseconds));
        }
    }

    #[test]
    fn the_offset_is_asked_for_once_a_day_and_always_where_it_changes() {
        let hours = |hours: i32| FixedOffset::east_opt(hours * 3_600).expect("less than a day");
        // Two hours before noon of the second day the clocks are put forward.
        let change = DAY + DAY / 2 - 7_200;
        let asked = Cell::new(0);
        let zone = |seconds: i64| {
            asked.set(asked.get() + 1);
            if seconds < change { hours(1) } else { hours(2) }
        };
        let mut times = LocalTimes::default();
        for seconds in (-DAY..4 * DAY).step_by(600) {
            assert_eq!(times.offset(seconds, zone), zone(seconds));
        }
        let (of_a_day, own) = (DAY / 600, 5 * DAY / 600);
        assert_eq!(asked.get(), own + 4 * 2 + of_a_day * 3);
    }
}
