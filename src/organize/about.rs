//! Metadata of a note besides its name: title, first heading, dates.

use chrono::{NaiveDate, NaiveTime};

use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::bases::value::{FileId, Value};
use crate::index::properties::VaultSnapshot;
use crate::note::fold::fold_key;
use crate::note::markdown::{self, Heading};

/// Properties with the date of a note, most specific first; other date properties follow.
const DATED: [&str; 5] = ["date", "day", "created", "published", "start"];

/// The property `title`, if it is a text or a number.
pub fn title(snapshot: &VaultSnapshot<'_>, file: FileId) -> Option<String> {
    let column = snapshot.column("title")?;
    match snapshot.property(file, column) {
        Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The heading at the start of a text without frontmatter, else its first one of level 1. Lower headings name parts of
/// the note.
pub fn heading(text: &str) -> Option<String> {
    // A quick check excludes most notes without one: no `#` and no underlined line.
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

/// The dates in a note's properties, most specific first: property, day, and time if given.
pub fn dates(
    snapshot: &VaultSnapshot<'_>,
    times: &Times<'_>,
    file: FileId,
) -> Vec<(String, NaiveDate, Option<NaiveTime>)> {
    let mut dates: Vec<(String, NaiveDate, Option<NaiveTime>)> = Vec::new();
    for (name, value) in &snapshot.properties(file).0 {
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
