//! Durations: parsing, arithmetic, and Moment's wording.

use super::number_text::rounded;

const SECOND: f64 = 1_000.0;
const MINUTE: f64 = 60.0 * SECOND;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;
/// Mean days of a month over 400 years.
const DAYS_A_MONTH: f64 = 146_097.0 / 4_800.0;

/// A duration. Months and days have no fixed length, so the parts stay separate until they are added to a date.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Duration {
    pub years: f64,
    pub months: f64,
    pub days: f64,
    /// Hours and shorter units.
    pub millis: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Years,
    Months,
    Weeks,
    Days,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Unit {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "y" => Self::Years,
            "M" => Self::Months,
            "w" => Self::Weeks,
            "d" => Self::Days,
            "h" => Self::Hours,
            "m" => Self::Minutes,
            "s" => Self::Seconds,
            "ms" => Self::Milliseconds,
            word => match word.to_ascii_lowercase().as_str() {
                "year" | "years" => Self::Years,
                "month" | "months" => Self::Months,
                "week" | "weeks" => Self::Weeks,
                "day" | "days" => Self::Days,
                "hour" | "hours" => Self::Hours,
                "minute" | "minutes" => Self::Minutes,
                "second" | "seconds" => Self::Seconds,
                "millisecond" | "milliseconds" => Self::Milliseconds,
                _ => return None,
            },
        })
    }
}

impl Duration {
    pub fn of(amount: f64, unit: Unit) -> Self {
        let mut duration = Self::default();
        match unit {
            Unit::Years => duration.years = amount,
            Unit::Months => duration.months = amount,
            Unit::Weeks => duration.days = amount * 7.0,
            Unit::Days => duration.days = amount,
            Unit::Hours => duration.millis = amount * HOUR,
            Unit::Minutes => duration.millis = amount * MINUTE,
            Unit::Seconds => duration.millis = amount * SECOND,
            Unit::Milliseconds => duration.millis = amount,
        }
        duration
    }

    /// Parses `1d`, `2 hours`, `1y 2M -3d` or ISO 8601 (`P1DT2H`). `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(duration) = iso(text) {
            return Some(duration);
        }
        let mut sum = Self::default();
        let mut rest = text;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let amount;
            (amount, rest) = number(rest)?;
            rest = rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            sum = sum.plus(&Self::of(amount, Unit::of(&rest[..end])?));
            rest = rest[end..].trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(sum)
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self {
            years: self.years + other.years,
            months: self.months + other.months,
            days: self.days + other.days,
            millis: self.millis + other.millis,
        }
    }

    pub fn times(&self, factor: f64) -> Self {
        Self {
            years: self.years * factor,
            months: self.months * factor,
            days: self.days * factor,
            millis: self.millis * factor,
        }
    }

    fn all_months(&self) -> f64 {
        self.years * 12.0 + self.months
    }

    /// The whole duration in one unit; a month has 30.436875 days.
    pub fn total(&self, unit: Unit) -> f64 {
        let days = self.days + rounded(self.all_months() * DAYS_A_MONTH);
        let months = || self.all_months() + (self.days + self.millis / DAY) / DAYS_A_MONTH;
        match unit {
            Unit::Years => months() / 12.0,
            Unit::Months => months(),
            Unit::Weeks => days / 7.0 + self.millis / (7.0 * DAY),
            Unit::Days => days + self.millis / DAY,
            Unit::Hours => days * 24.0 + self.millis / HOUR,
            Unit::Minutes => days * 1_440.0 + self.millis / MINUTE,
            Unit::Seconds => days * 86_400.0 + self.millis / SECOND,
            Unit::Milliseconds => days * DAY + self.millis,
        }
    }

    /// In rounded words without a sign: `a day`, `3 months`, `a few seconds`.
    pub fn in_words(&self) -> String {
        let of = |unit| rounded(self.total(unit).abs());
        let (seconds, minutes, hours) = (of(Unit::Seconds), of(Unit::Minutes), of(Unit::Hours));
        let (days, months, years) = (of(Unit::Days), of(Unit::Months), of(Unit::Years));
        let one = |text: &str| text.to_owned();
        if seconds < 45.0 {
            one("a few seconds")
        } else if minutes <= 1.0 {
            one("a minute")
        } else if minutes < 45.0 {
            format!("{minutes} minutes")
        } else if hours <= 1.0 {
            one("an hour")
        } else if hours < 22.0 {
            format!("{hours} hours")
        } else if days <= 1.0 {
            one("a day")
        } else if days < 26.0 {
            format!("{days} days")
        } else if months <= 1.0 {
            one("a month")
        } else if months < 11.0 {
            format!("{months} months")
        } else if years <= 1.0 {
            one("a year")
        } else {
            format!("{years} years")
        }
    }
}

/// A number at the beginning, with its sign, and the rest of the text.
fn number(text: &str) -> Option<(f64, &str)> {
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = signed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(signed.len());
    let end = text.len() - signed.len() + end;
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn iso(text: &str) -> Option<Duration> {
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1.0, body),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut rest = body.strip_prefix('P')?;
    let mut sum = Duration::default();
    let mut is_time = false;
    let mut parts = 0;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T').filter(|_| !is_time) {
            (is_time, rest) = (true, after);
            continue;
        }
        let amount;
        (amount, rest) = number(rest)?;
        let letter = rest.chars().next()?;
        rest = &rest[letter.len_utf8()..];
        let unit = match (letter, is_time) {
            ('Y', false) => Unit::Years,
            ('M', false) => Unit::Months,
            ('W', false) => Unit::Weeks,
            ('D', false) => Unit::Days,
            ('H', true) => Unit::Hours,
            ('M', true) => Unit::Minutes,
            ('S', true) => Unit::Seconds,
            _ => return None,
        };
        sum = sum.plus(&Duration::of(amount, unit));
        parts += 1;
    }
    (parts > 0).then(|| sum.times(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read() {
        let hours = |hours: f64| Duration { millis: hours * HOUR, ..Duration::default() };
        for (text, duration) in [
            ("1d", Duration { days: 1.0, ..Duration::default() }),
            ("2 hours", hours(2.0)),
            ("1M", Duration { months: 1.0, ..Duration::default() }),
            ("60m", hours(1.0)),
            ("2w", Duration { days: 14.0, ..Duration::default() }),
            ("-1 Year", Duration { years: -1.0, ..Duration::default() }),
            ("1d 2h30m", Duration { days: 1.0, ..hours(2.5) }),
            ("P1DT2H", Duration { days: 1.0, ..hours(2.0) }),
            ("PT90M", hours(1.5)),
            ("500ms", Duration { millis: 500.0, ..Duration::default() }),
        ] {
            assert_eq!(Duration::parse(text), Some(duration), "{text}");
        }
        for text in ["", "1", "d", "1x", "1 d ago", "P", "PT", "1D", "1 H", "2026-01-01", "."] {
            assert_eq!(Duration::parse(text), None, "{text}");
        }
    }

    #[test]
    fn said_as_moment_says_it() {
        for (text, words) in [
            ("44s", "a few seconds"),
            ("45s", "a minute"),
            ("30m", "30 minutes"),
            ("45m", "an hour"),
            ("1h", "an hour"),
            ("21h", "21 hours"),
            ("22h", "a day"),
            ("2w", "14 days"),
            ("26d", "a month"),
            ("1M", "a month"),
            ("45d", "a month"),
            ("46d", "2 months"),
            ("11M", "a year"),
            ("1y", "a year"),
            ("-3y", "3 years"),
        ] {
            let duration = Duration::parse(text).expect(text);
            assert_eq!(duration.in_words(), words, "{text}");
        }
    }
}
