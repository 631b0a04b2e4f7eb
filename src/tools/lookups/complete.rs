//! Completions of the beginning of an argument.

use chrono::{DateTime, Days, FixedOffset};

use super::super::prelude::*;
use super::likely::likely;
use crate::vault::Want;

/// The most values in one answer, as the protocol limits them.
const MAX_VALUES: usize = 100;

/// Days that are checked for a note.
const BEFORE: u64 = 400;
const AFTER: u64 = 31;

/// Completes the beginning of an argument.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// The kind of the argument.
    what: What,
    /// The typed beginning.
    text: String,
}

/// The kind of an argument.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A file or folder of the vault.
    Path,
    /// A day.
    Day,
    /// Free text.
    Text,
}

/// The completions.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The likeliest first; at most a hundred.
    values: Vec<String>,
    /// The number of all.
    total: usize,
}

impl Tool for Complete {
    const NAME: &'static str = "completion/complete";
    const TITLE: &'static str = "Complete an argument";
    const TIER: Tier = Tier::Safe;
    const EXAMPLE: &'static str = r#"{"what": "path", "text": "a"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        // Processes pending changes first.
        context.find("", Want::Folder)?;
        let (values, total) = match self.what {
            What::Path => {
                let (found, total) = likely(&context.vault, &self.text, MAX_VALUES);
                (found.into_iter().map(|one| one.path).collect(), total)
            }
            What::Day => {
                let mut days = days(context, &self.text.trim().to_lowercase())?;
                let total = days.len();
                days.truncate(MAX_VALUES);
                (days, total)
            }
            What::Text => (Vec::new(), 0),
        };
        Ok(Answer::new(String::new(), Output { values, total }))
    }
}

/// Days whose name begins with the text: first spoken names, then days with a note, latest first.
fn days(context: &Context, typed: &str) -> Result<Vec<String>, ToolError> {
    let day_names = ["today", "yesterday", "tomorrow"].map(str::to_owned).into_iter();
    let (settings, now) = (context.vault.daily_notes()?, context.clock.now());
    let catalogue = context.vault.catalogue();
    let last = now.checked_add_days(Days::new(AFTER)).unwrap_or(now);
    let has_note = |day: &DateTime<FixedOffset>| {
        let path = context.vault.parse(&settings.path(day).text);
        path.is_ok_and(|path| catalogue.get(path.as_str()).is_some())
    };
    let dates = (0..=BEFORE + AFTER).filter_map(|back| last.checked_sub_days(Days::new(back)));
    let begins = |day: &String| day.starts_with(typed);
    let written = dates.map(|day| (day.format("%Y-%m-%d").to_string(), day));
    let noted = written.filter(|(text, day)| begins(text) && has_note(day)).map(|(text, _)| text);
    Ok(day_names.filter(begins).chain(noted).collect())
}
