//! Reads how long a vendor asks us to wait. There are four notations.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

/// From `retry-after-ms` and `retry-after`; the more precise one wins.
pub(super) fn of_headers(
    milliseconds: Option<&str>,
    after: Option<&str>,
    now: DateTime<Utc>,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    if let Some(milliseconds) = milliseconds.and_then(number) {
        return of_seconds(milliseconds / 1_000.0);
    }
    let after = after?.trim();
    if let Some(seconds) = number(after) {
        return of_seconds(seconds);
    }
    let at = DateTime::parse_from_rfc2822(after).ok()?;
    // A date in the past means no delay.
    Some((at.with_timezone(&Utc) - now).to_std().unwrap_or_default())
}

/// From Google's `details[].retryDelay`: `"34.07s"`.
pub(super) fn of_google_details(details: &Value) -> Option<Duration> {
    let delay = details.as_array()?.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    of_seconds(delay.strip_suffix('s')?.parse().ok()?)
}

fn of_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_four_ways_are_read() {
        let now = DateTime::parse_from_rfc3339("2026-11-21T12:00:00Z").unwrap().to_utc();
        let read = |ms, after| of_headers(ms, after, now).map(|delay| delay.as_millis());
        assert_eq!(read(Some("1500"), Some("9")), Some(1_500));
        assert_eq!(read(None, Some("7")), Some(7_000));
        assert_eq!(read(None, Some("0.5")), Some(500));
        assert_eq!(read(None, Some("Sat, 21 Nov 2026 12:00:30 GMT")), Some(30_000));
        assert_eq!(read(None, Some("Sat, 21 Nov 2026 11:00:00 GMT")), Some(0));
        for nonsense in ["soon", "-1", "nan", "inf", "1e300", ""] {
            assert_eq!(read(None, Some(nonsense)), None, "{nonsense}");
        }
        let google = |delay: &str| of_google_details(&json!([{}, {"retryDelay": delay}]));
        assert_eq!(google("34.07s"), Some(Duration::from_millis(34_070)));
        assert_eq!(google("x"), None);
        assert_eq!(of_google_details(&Value::Null), None);
    }
}
