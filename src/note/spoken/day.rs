//! Days in words: `yesterday`, `last friday`, `november fourteenth`, `14 Nov 2026`.

use chrono::{DateTime, Datelike, Days, FixedOffset, NaiveDate, Weekday};

use super::words;

/// A day read from words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Day {
    /// One day and no other.
    Sure(NaiveDate),
    /// A day of the year without a year.
    Yearless {
        /// The last one before today, or today.
        past: NaiveDate,
        /// The next one after today.
        coming: NaiveDate,
    },
}

/// Words around a day that refer to its note.
const AROUND: [&str; 15] = [
    "the", "my", "daily", "on", "for", "of", "note", "notes", "page", "journal", "diary", "entry",
    "log", "from", "s",
];

/// The day that `text` names, relative to `today`; `None` if it names none, or something else too.
pub fn parse(text: &str, today: NaiveDate) -> Option<Day> {
    let possessive = text.replace("'s", "").replace("’s", "");
    let mut found = words(&possessive);
    found.retain(|word| !AROUND.contains(&&**word));
    // A weekday with a date adds nothing, if it is the right one.
    let named = found.first().and_then(|word| weekday(word)).filter(|_| found.len() > 2);
    let phrase: Vec<&str> =
        found.iter().skip(usize::from(named.is_some())).map(|word| &**word).collect();
    let day = day_of(&phrase, today)?;
    match (named, day) {
        (Some(named), Day::Sure(day)) if day.weekday() != named => None,
        (Some(named), Day::Yearless { past, coming }) => {
            let fits = |day: &NaiveDate| day.weekday() == named;
            [past, coming].into_iter().find(fits).map(Day::Sure)
        }
        (_, day) => Some(day),
    }
}

/// `date` at the time of day of `now`; `None` where there is no such moment.
pub fn at_the_time_of(
    date: NaiveDate,
    now: DateTime<FixedOffset>,
) -> Option<DateTime<FixedOffset>> {
    date.and_time(now.time()).and_local_timezone(now.timezone()).single()
}

fn day_of(phrase: &[&str], today: NaiveDate) -> Option<Day> {
    let back = |days: u64| today.checked_sub_days(Days::new(days)).map(Day::Sure);
    let ahead = |days: u64| today.checked_add_days(Days::new(days)).map(Day::Sure);
    let since = |day: Weekday| u64::from(today.weekday().days_since(day));
    let number = |word: &str| word.parse::<u32>().ok();
    match *phrase {
        ["today"] | ["tonight"] | ["this", "morning" | "afternoon" | "evening"] => {
            Some(Day::Sure(today))
        }
        ["yesterday"] => back(1),
        ["tomorrow"] => ahead(1),
        ["day", "before", "yesterday"] => back(2),
        ["day", "after", "tomorrow"] => ahead(2),
        ["last", day] => back(match since(weekday(day)?) {
            0 => 7,
            days => days,
        }),
        ["next", day] => ahead(7 - since(weekday(day)?)),
        [count, unit, "ago"] => back(days(count, unit)?),
        ["in", count, unit] => ahead(days(count, unit)?),
        [year, month, day] => {
            let year = number(year).filter(|year| (1000..=2999).contains(year))?;
            NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, number(month)?, number(day)?)
                .map(Day::Sure)
        }
        [month, day] => yearless(number(month)?, number(day)?, today),
        _ => None,
    }
}

fn days(count: &str, unit: &str) -> Option<u64> {
    let count: u64 = if count == "a" { 1 } else { count.parse().ok().filter(|c| *c <= 10_000)? };
    match unit {
        "day" | "days" => Some(count),
        "week" | "weeks" => Some(count * 7),
        _ => None,
    }
}

fn weekday(word: &str) -> Option<Weekday> {
    // Whole, so that "sun" and "sat" stay words.
    (word.len() >= 6).then(|| word.parse().ok()).flatten()
}

fn yearless(month: u32, day: u32, today: NaiveDate) -> Option<Day> {
    let of = |year: i32| NaiveDate::from_ymd_opt(year, month, day);
    // 29 February is up to eight years away.
    let past = (0..=8).filter_map(|back| of(today.year() - back)).find(|day| *day <= today)?;
    let coming = (0..=8).filter_map(|ahead| of(today.year() + ahead)).find(|day| *day > today)?;
    Some(Day::Yearless { past, coming })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_as_they_are_said() {
        // A Sunday.
        let today = NaiveDate::from_ymd_opt(2026, 11, 22).expect("a day");
        let sure = |text: &str| match parse(text, today) {
            Some(Day::Sure(day)) => day.to_string(),
            other => format!("{other:?}"),
        };
        for (phrase, day) in [
            ("today", "2026-11-22"),
            ("this morning's journal", "2026-11-22"),
            ("my diary for today", "2026-11-22"),
            ("Yesterday's note", "2026-11-21"),
            ("tomorrow", "2026-11-23"),
            ("the day before yesterday", "2026-11-20"),
            ("last friday", "2026-11-20"),
            ("last Sunday", "2026-11-15"),
            ("next sunday", "2026-11-29"),
            ("next tuesday", "2026-11-24"),
            ("three days ago", "2026-11-19"),
            ("in 2 weeks", "2026-12-06"),
            ("a week ago", "2026-11-15"),
            ("2026-11-14", "2026-11-14"),
            ("November 14, 2026", "2026-11-14"),
            ("the fourteenth of november twenty twenty five", "2025-11-14"),
            ("Saturday, November 14th", "2026-11-14"),
            ("14 Nov 2026", "2026-11-14"),
            ("2026/3/4", "2026-03-04"),
        ] {
            assert_eq!(sure(phrase), day, "{phrase}");
        }
        let at = |text: &str| text.parse::<NaiveDate>().expect("a day");
        for (phrase, past, coming) in [
            ("november fourteenth", "2026-11-14", "2027-11-14"),
            ("December 3rd", "2025-12-03", "2026-12-03"),
            ("the 22nd of november", "2026-11-22", "2027-11-22"),
            ("february 29", "2024-02-29", "2028-02-29"),
        ] {
            let day = Day::Yearless { past: at(past), coming: at(coming) };
            assert_eq!(parse(phrase, today), Some(day), "{phrase}");
        }
        for phrase in [
            "",
            "compost",
            "friday",
            "november",
            "november 31",
            "2026-02-30",
            "last week",
            "monday november 14",
            "14",
            "november fourteenth committee",
            "99999999999 days ago",
            "may",
        ] {
            assert_eq!(parse(phrase, today), None, "{phrase}");
        }
    }
}
