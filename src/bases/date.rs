//! Moments and days in the time zone of an evaluation.

use std::cell::Cell;

use chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta,
    TimeZone,
};

use super::duration::Unit;
use super::value::{Date, Duration};

const DAY: i64 = 86_400;

/// A time zone. Every zone of `chrono` is one.
pub trait Zone {
    /// Seconds east of Greenwich, at a moment in seconds since 1970.
    fn offset(&self, seconds: i64) -> i32;
}

impl<Z: TimeZone> Zone for Z {
    fn offset(&self, seconds: i64) -> i32 {
        let moment = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
        moment.with_timezone(self).offset().fix().local_minus_utc()
    }
}

/// Local times of a zone. The offset is looked up twice a day of the calendar and not for every date, since the lookup
/// takes longer than all else.
pub struct Times<'a> {
    zone: &'a dyn Zone,
    /// The last day that was looked up, with its offset.
    known: Cell<Option<(i64, i32)>>,
}

debug_only!(Times<'_>);

impl<'a> Times<'a> {
    /// Creates the local times of a zone.
    pub fn new(zone: &'a dyn Zone) -> Self {
        Self { zone, known: Cell::new(None) }
    }

    fn offset(&self, seconds: i64) -> i32 {
        let day = seconds.div_euclid(DAY);
        if let Some((known, offset)) = self.known.get()
            && known == day
        {
            return offset;
        }
        let (first, last) = (self.zone.offset(day * DAY), self.zone.offset(day * DAY + DAY - 1));
        if first != last {
            return self.zone.offset(seconds);
        }
        self.known.set(Some((day, first)));
        first
    }

    /// The local time of an instant; 1970 for an instant outside the calendar's range.
    pub fn local(&self, millis: i64) -> DateTime<FixedOffset> {
        let moment = DateTime::from_timestamp_millis(millis).unwrap_or_default();
        let offset = FixedOffset::east_opt(self.offset(millis.div_euclid(1_000)));
        moment.with_timezone(&offset.unwrap_or(Offset::fix(&chrono::Utc)))
    }

    /// The instant of a local time: the first of two, or shifted forward by the gap if the local time does not exist.
    pub fn millis(&self, local: NaiveDateTime) -> i64 {
        let seconds = local.and_utc().timestamp();
        let before = i64::from(self.offset(seconds - DAY));
        let after = i64::from(self.offset(seconds + DAY));
        let is_right = |offset: i64| i64::from(self.offset(seconds - offset)) == offset;
        let offset = if !is_right(before) && is_right(after) { after } else { before };
        local.and_utc().timestamp_millis() - offset * 1_000
    }

    /// The day of a date, without its time.
    pub fn day(&self, date: Date) -> Date {
        let local = self.local(date.millis).date_naive();
        Date { millis: self.millis(local.and_time(NaiveTime::MIN)), has_time: false }
    }

    /// The text of a date: `2026-11-24`, or `2026-11-24T10:30:00`.
    pub fn written(&self, date: Date) -> String {
        let local = self.local(date.millis);
        let day = format!("{:04}-{:02}-{:02}", local.year(), local.month(), local.day());
        if date.has_time { format!("{day}T{}", local.format("%H:%M:%S")) } else { day }
    }

    /// Parses a date: a day, then optionally a blank or `T` with a time, then a time zone; also ISO 8601's other forms
    /// (`2026-11`, `2026-W48-2`, `2026-328`, `20261124`).
    pub fn parse(&self, text: &str) -> Option<Date> {
        let text = text.trim();
        let split = text.find(['T', ' ']).unwrap_or(text.len());
        let day = day(&text[..split])?;
        let Some(time) = text.get(split + 1..) else {
            return Some(Date {
                millis: self.millis(day.and_time(NaiveTime::MIN)),
                has_time: false,
            });
        };
        let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let local = day.and_time(clock(time[..zone_at].trim_end())?);
        let millis = match &time[zone_at..] {
            "" => self.millis(local),
            zone => local.and_utc().timestamp_millis() - zone_seconds(zone)? * 1_000,
        };
        Some(Date { millis, has_time: true })
    }

    /// Adds a duration, or subtracts it (`sign` -1). Months are clamped to a month's last day; days keep the local time,
    /// hours do not. `None` outside the calendar's range.
    pub fn plus(&self, date: Date, duration: &Duration, sign: f64) -> Option<Date> {
        let months = (duration.years * 12.0 + duration.months).round() * sign;
        let whole_days = duration.days.trunc() * sign;
        let rest = ((duration.days.fract() * 86_400_000.0 + duration.millis) * sign).round();
        let in_range = |part: f64| part.is_finite() && part.abs() < 1e15;
        if ![months, whole_days, rest].into_iter().all(in_range) {
            return None;
        }
        let mut millis = date.millis;
        if months != 0.0 || whole_days != 0.0 {
            let local = self.local(millis).naive_local();
            let day = months_later(local.date(), months as i64)?;
            let day = day.checked_add_signed(TimeDelta::try_days(whole_days as i64)?)?;
            millis = self.millis(day.and_time(local.time()));
        }
        let millis = millis.checked_add(rest as i64)?;
        DateTime::from_timestamp_millis(millis)?;
        Some(Date { millis, has_time: date.has_time || rest != 0.0 })
    }

    /// The distance from now in Moment's words: `3 days ago`, `in 2 months`.
    pub fn relative(&self, date: Date, now: i64) -> String {
        let is_future = date.millis > now;
        let (from, to) = if is_future { (now, date.millis) } else { (date.millis, now) };
        let words = self.between(from, to).in_words();
        if is_future { format!("in {words}") } else { format!("{words} ago") }
    }

    /// The difference between two instants: whole calendar months, and the rest.
    fn between(&self, from: i64, to: i64) -> Duration {
        let (first, last) = (self.local(from), self.local(to));
        let years = last.year() - first.year();
        let mut months = i64::from(years) * 12 + i64::from(last.month()) - i64::from(first.month());
        let start = Date { millis: from, has_time: true };
        let later = |months: i64| {
            self.plus(start, &Duration::of(months as f64, Unit::Months), 1.0)
                .map_or(from, |date| date.millis)
        };
        if later(months) > to {
            months -= 1;
        }
        Duration {
            months: months as f64,
            millis: (to - later(months)) as f64,
            ..Duration::default()
        }
    }
}

fn months_later(day: NaiveDate, months: i64) -> Option<NaiveDate> {
    let count = chrono::Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    if months < 0 { day.checked_sub_months(count) } else { day.checked_add_months(count) }
}

/// `text` as a number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_right = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_right { text.parse().ok() } else { None }
}

fn day(text: &str) -> Option<NaiveDate> {
    let year = i32::try_from(digits(text.get(..4)?, 4)?).ok()?;
    let Some(rest) = text[4..].strip_prefix('-') else {
        let rest = &text[4..];
        return match rest.len() {
            0 => NaiveDate::from_ymd_opt(year, 1, 1),
            4 => NaiveDate::from_ymd_opt(
                year,
                digits(rest.get(..2)?, 2)?,
                digits(rest.get(2..)?, 2)?,
            ),
            _ => None,
        };
    };
    if let Some(week) = rest.strip_prefix('W') {
        let weekday = match week.get(2..)? {
            "" => 1,
            day => digits(day.strip_prefix('-')?, 1)?,
        };
        let monday =
            NaiveDate::from_isoywd_opt(year, digits(week.get(..2)?, 2)?, chrono::Weekday::Mon)?;
        let later = (1..=7).contains(&weekday).then(|| u64::from(weekday - 1))?;
        return monday.checked_add_days(chrono::Days::new(later));
    }
    match rest.split_once('-') {
        Some((month, day)) => NaiveDate::from_ymd_opt(year, digits(month, 2)?, digits(day, 2)?),
        None if rest.len() == 3 => NaiveDate::from_yo_opt(year, digits(rest, 3)?),
        None => NaiveDate::from_ymd_opt(year, digits(rest, 2)?, 1),
    }
}

/// `10`, `10:30`, `10:30:15`, `10:30:15.250`.
fn clock(text: &str) -> Option<NaiveTime> {
    let mut parts = text.splitn(3, ':');
    let hour = digits(parts.next()?, 2)?;
    let minute = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    let (second, fraction) = match parts.next() {
        None => ("00", ""),
        Some(part) => part.split_once(['.', ',']).unwrap_or((part, "0")),
    };
    if fraction.bytes().any(|byte| !byte.is_ascii_digit()) {
        return None;
    }
    let milli = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction)).parse().ok()?;
    NaiveTime::from_hms_milli_opt(hour, minute, digits(second, 2)?, milli)
}

/// `Z`, `+02:00`, `-0530`, `+01`: seconds east of Greenwich.
fn zone_seconds(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = text.get(1..)?;
    let hours = digits(rest.get(..2)?, 2)?;
    let minutes = match rest.get(2..)? {
        "" => 0,
        rest => digits(rest.strip_prefix(':').unwrap_or(rest), 2)?,
    };
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central Europe in 2026: summer time from 29 March to 25 October, 01:00 UTC.
    pub struct Berlin;

    impl Zone for Berlin {
        fn offset(&self, seconds: i64) -> i32 {
            if (1_774_746_000..1_792_890_000).contains(&seconds) { 7_200 } else { 3_600 }
        }
    }

    fn added(from: &str, duration: &str) -> String {
        let times = Times::new(&Berlin);
        let date = times.parse(from).expect(from);
        let duration = Duration::parse(duration).expect(duration);
        times.written(times.plus(date, &duration, 1.0).expect("a date"))
    }

    #[test]
    fn months_stop_at_the_last_day_and_days_keep_the_clocks_time() {
        assert_eq!(added("2026-01-31", "1M"), "2026-02-28");
        assert_eq!(added("2024-02-29", "1y"), "2025-02-28");
        assert_eq!(added("2026-03-31", "-1M"), "2026-02-28");
        assert_eq!(added("2026-03-28 12:00", "1d"), "2026-03-29T12:00:00");
        assert_eq!(added("2026-03-28 12:00", "24h"), "2026-03-29T13:00:00");
        assert_eq!(added("2026-10-24 12:00", "1d"), "2026-10-25T12:00:00");
        assert_eq!(added("2026-10-24 12:00", "24h"), "2026-10-25T11:00:00");
        assert_eq!(added("2024-12-01", "1M 4h 3m"), "2025-01-01T04:03:00");
        assert_eq!(added("2026-01-01", "1.5d"), "2026-01-02T12:00:00");
    }

    #[test]
    fn what_the_clocks_never_show_is_as_much_later() {
        let times = Times::new(&Berlin);
        let written = |text: &str| times.parse(text).map(|date| times.written(date));
        assert_eq!(written("2026-03-29 02:30").as_deref(), Some("2026-03-29T03:30:00"));
        let twice = times.parse("2026-10-25 02:30").expect("a date");
        assert_eq!(twice.millis, 1_792_888_200_000);
    }

    #[test]
    fn texts_that_are_dates() {
        let times = Times::new(&Berlin);
        for (text, written) in [
            ("2026-11-24", "2026-11-24"),
            ("2026-11-24 10:30", "2026-11-24T10:30:00"),
            ("2026-11-24T10:30:15", "2026-11-24T10:30:15"),
            ("2026-11-24T10:30:15.250Z", "2026-11-24T11:30:15"),
            ("2026-11-24T10:30:15+05:30", "2026-11-24T06:00:15"),
            ("2026-11", "2026-11-01"),
            ("2026", "2026-01-01"),
            ("20261124", "2026-11-24"),
            ("2026-W48-2", "2026-11-24"),
            ("2026-328", "2026-11-24"),
        ] {
            assert_eq!(times.parse(text).map(|date| times.written(date)).as_deref(), Some(written));
        }
        for text in [
            "",
            "x",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1",
            "24.11.2026",
            "2026-11-24T",
            "2026-11-24 25:00",
            "1",
            "é026-11-24",
        ] {
            assert_eq!(times.parse(text), None, "{text}");
        }
    }

    #[test]
    fn relative_as_moment() {
        let times = Times::new(&Berlin);
        let now = times.parse("2026-11-24 12:00").expect("a date").millis;
        for (text, words) in [
            ("2026-11-24 12:00", "a few seconds ago"),
            ("2026-11-21 12:00", "3 days ago"),
            ("2026-11-24 13:00", "in an hour"),
            ("2027-01-24 12:00", "in 2 months"),
            ("2025-11-24 12:00", "a year ago"),
            ("2100-01-01", "in 73 years"),
        ] {
            assert_eq!(times.relative(times.parse(text).expect(text), now), words, "{text}");
        }
    }
}
