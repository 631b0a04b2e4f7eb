//! Fills the template of a new note: `{{title}}`, `{{date}}` and `{{time}}`, as Obsidian does; and
//! a prompt, which has its own placeholders.

use std::sync::LazyLock;

use chrono::{DateTime, FixedOffset};
use regex::{Captures, Regex};

use super::moment::{self, Formatted};

/// Names are case-insensitive; a Moment format may follow after a colon.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*([A-Za-z]+)\s*(?::([^}\n]*))?\}\}").expect("a valid pattern")
});

#[derive(Debug, Clone, Copy)]
pub struct Variables<'a> {
    /// The new note's name, without its extension.
    pub title: &'a str,
    /// The day of the note, with the time of day.
    pub time: DateTime<FixedOffset>,
    /// The Moment format of `{{date}}`.
    pub date_format: &'a str,
    /// The Moment format of `{{time}}`.
    pub time_format: &'a str,
}

/// Fills a template. Other words in braces stay, since other programs use them.
pub fn fill(template: &str, variables: &Variables<'_>) -> Formatted {
    fill_with(template, variables, &[])
}

pub fn has(template: &str, word: &str) -> bool {
    VARIABLE.captures_iter(template).any(|found| found[1].eq_ignore_ascii_case(word))
}

/// Fills a template, and the words of `more` with their values, which are not searched for words again.
pub fn fill_with(template: &str, variables: &Variables<'_>, more: &[(&str, &str)]) -> Formatted {
    let mut unknown: Vec<char> = Vec::new();
    let text = VARIABLE.replace_all(template, |found: &Captures<'_>| {
        let name = found[1].to_ascii_lowercase();
        let default = match &*name {
            "title" => return variables.title.to_owned(),
            "date" => variables.date_format,
            "time" => variables.time_format,
            other => {
                let value = more.iter().find(|(word, _)| *word == other).map(|(_, value)| *value);
                return value.unwrap_or(&found[0]).to_owned();
            }
        };
        let format = found.get(2).map(|format| format.as_str().trim());
        let format = format.filter(|format| !format.is_empty()).unwrap_or(default);
        let written = moment::format(&variables.time, format);
        unknown.extend(written.unknown.iter().filter(|c| !unknown.contains(c)).collect::<Vec<_>>());
        written.text
    });
    Formatted { text: text.into_owned(), unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_other_braces() {
        let time = DateTime::parse_from_rfc3339("2026-11-21T09:05:00+01:00").expect("a time");
        let variables =
            Variables { title: "$1 day", time, date_format: "YYYY-MM-DD", time_format: "HH:mm" };
        for (template, text) in [
            ("# {{title}}\r\n{{DATE}} {{ Time }}", "# $1 day\r\n2026-11-21 09:05"),
            ("{{date:dddd, Do MMMM}} {{time:h:mm a}}", "Saturday, 21st November 9:05 am"),
            ("{{date:}} {{date: YYYY }}", "2026-11-21 2026"),
            (
                "{{titles}} {title} {{tp.date}} {{date\n}}",
                "{{titles}} {title} {{tp.date}} 2026-11-21",
            ),
            ("{{date:[{{]}} {{", "{{ {{"),
        ] {
            assert_eq!(fill(template, &variables).text, text, "{template}");
        }
        assert_eq!(fill("{{date:J}}{{time:JR}}", &variables).unknown, ['J', 'R']);
        // A value is not filled again, whatever it holds.
        let more = [("note", "{{date}}"), ("arguments", "$1 {{note}}")];
        let filled = fill_with("{{Note}} {{ arguments }} {{other}} {{date}}", &variables, &more);
        assert_eq!(filled.text, "{{date}} $1 {{note}} {{other}} 2026-11-21");
        assert!(has("a {{ Note }}", "note") && !has("{{notes}} {note}", "note"));
    }
}
