//! What a note says of itself beside its name: its title, its first heading, its dates.

use chrono::{NaiveDate, NaiveTime};

use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::bases::value::{FileId, Value};
use crate::index::properties::Moment;
use crate::note::fold::fold_key;
use crate::note::markdown::{self, Heading};

/// Properties that say what day a note is of, the most telling first; any other date property comes behind.
const DATED: [&str; 5] = ["date", "day", "created", "published", "start"];

/// The property `title`, where it is a text or a number.
pub fn title(moment: &Moment<'_>, file: FileId) -> Option<String> {
    let column = moment.column("title")?;
    match moment.property(file, column) {
        Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The heading that a text without frontmatter begins with, or else its first one of the first level: what comes
/// further down is a part of it.
pub fn heading(text: &str) -> Option<String> {
    // Most notes without one are told by their having no `#`, and no underlined line.
    if !text.contains(['#', '=', '-']) {
        return None;
    }
    let headings = markdown::read(text).headings;
    let is_title = |heading: &&Heading| {
        let before = &text[..heading.text.start];
        heading.level == 1 || before.chars().all(|c| c.is_whitespace() || c == '#')
    };
    let first = headings.iter().find(is_title)?;
    Some(text[first.text.clone()].trim().to_owned()).filter(|heading| !heading.is_empty())
}

/// The dates of a note's properties, the most telling first: the property, the day, and the time if it has one.
pub fn dates(
    moment: &Moment<'_>,
    times: &Times<'_>,
    file: FileId,
) -> Vec<(String, NaiveDate, Option<NaiveTime>)> {
    let mut dates: Vec<(String, NaiveDate, Option<NaiveTime>)> = Vec::new();
    for (name, value) in &moment.properties(file).0 {
        if let Value::Date(date) = value {
            let local = times.local(date.millis).naive_local();
            dates.push((name.to_string(), local.date(), date.has_time.then(|| local.time())));
        }
    }
    let rank = |name: &str| {
        let known = DATED.iter().position(|known| *known == fold_key(name));
        known.unwrap_or(DATED.len())
    };
    dates.sort_by_key(|(name, ..)| rank(name));
    dates
}
