//! Parses times of people and models: `2026-11-20`, `2026-11-20 14:30`, `14:30`, `yesterday 14:30`, `2h`,
//! `3 days`, `today`.

use chrono::{DateTime, Days, Duration, Local, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};

use super::ToolError;

/// The time that `text` means relative to `now`; a day begins at local midnight.
pub fn parse(text: &str, now: DateTime<Local>) -> Result<DateTime<Local>, ToolError> {
    let normalized = text.trim().to_lowercase();
    age(&normalized)
        .and_then(|age| now.checked_sub_signed(age))
        .or_else(|| day(&normalized, now).and_then(|day| local(day.and_time(NaiveTime::MIN))))
        .or_else(|| clock(&normalized, now))
        .or_else(|| exactly(text.trim()))
        .ok_or_else(|| {
            ToolError::invalid(
                format!("`{text}` is not a time"),
                "give a date such as 2026-11-20, a date and time such as 2026-11-20 14:30, an age \
                 such as 2h, 3d or 1w, `today` or `yesterday`",
            )
        })
}

/// `2h`, `3 days`, `1 week ago`.
fn age(text: &str) -> Option<Duration> {
    let text = text.strip_suffix("ago").unwrap_or(text).trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    match unit.strip_suffix('s').filter(|stem| !stem.is_empty()).unwrap_or(unit) {
        "second" | "sec" | "s" => Duration::try_seconds(number),
        "m" | "min" | "minute" => Duration::try_minutes(number),
        "h" | "hour" => Duration::try_hours(number),
        "d" | "day" => Duration::try_days(number),
        "w" | "week" => Duration::try_weeks(number),
        _ => None,
    }
}

fn day(text: &str, now: DateTime<Local>) -> Option<NaiveDate> {
    match text {
        "today" => Some(now.date_naive()),
        "yesterday" => now.date_naive().checked_sub_days(Days::new(1)),
        text => text.parse().ok(),
    }
}

/// `14:02`: the most recent such time; or that time of a given day.
fn clock(text: &str, now: DateTime<Local>) -> Option<DateTime<Local>> {
    let (day_text, time) = match text.rsplit_once(' ') {
        Some((day_text, time)) => (Some(day(day_text, now)?), time),
        None => (None, text),
    };
    let time = NaiveTime::parse_from_str(time, "%H:%M")
        .or_else(|_| NaiveTime::parse_from_str(time, "%H:%M:%S"))
        .ok()?;
    let today = local(day_text.unwrap_or_else(|| now.date_naive()).and_time(time))?;
    if day_text.is_none() && today > now {
        local(now.date_naive().checked_sub_days(Days::new(1))?.and_time(time))
    } else {
        Some(today)
    }
}

fn exactly(text: &str) -> Option<DateTime<Local>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.with_timezone(&Local));
    }
    let forms = ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"];
    forms.iter().find_map(|form| local(NaiveDateTime::parse_from_str(text, form).ok()?))
}

/// The first of two instants in a repeated hour; `None` in a skipped hour.
fn local(time: NaiveDateTime) -> Option<DateTime<Local>> {
    Local.from_local_datetime(&time).earliest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::code::ErrorCode;

    #[test]
    fn times_are_understood_as_they_are_said() {
        let now = Local.with_ymd_and_hms(2026, 11, 21, 14, 0, 0).earliest().expect("a time");
        let at = |text: &str| parse(text, now).map(|time| time.format("%F %T").to_string());
        for (text, expected) in [
            ("2026-11-20", "2026-11-20 00:00:00"),
            ("2026-11-20 14:30", "2026-11-20 14:30:00"),
            ("2026-11-20T14:30:15", "2026-11-20 14:30:15"),
            ("today", "2026-11-21 00:00:00"),
            (" Yesterday ", "2026-11-20 00:00:00"),
            ("2h", "2026-11-21 12:00:00"),
            ("90 s", "2026-11-21 13:58:30"),
            ("3 days", "2026-11-18 14:00:00"),
            ("14:00", "2026-11-21 14:00:00"),
            ("9:05", "2026-11-21 09:05:00"),
            ("14:02", "2026-11-20 14:02:00"),
            ("yesterday 14:30", "2026-11-20 14:30:00"),
            ("1 week ago", "2026-11-14 14:00:00"),
        ] {
            assert_eq!(at(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "soon",
            "25:00",
            "soon 14:00",
            "-2h",
            "h",
            "99999999999999999999d",
            "2026-13-01",
            "9999999999w",
        ] {
            assert_eq!(
                at(text).map_err(|error| error.code),
                Err(ErrorCode::InvalidInput),
                "{text}"
            );
        }
    }
}
