//! The system prompt, and the notices of changes.

use chrono::{DateTime, FixedOffset};

use super::turn_settings::TurnSettings;

/// The fixed part of the system prompt.
const PROMPT: &str = include_str!("prompt.md");

/// The most characters of each of the user's own texts.
pub const MAX_INSTRUCTIONS: usize = 20_000;

/// The most changes by others that a notice lists.
const MAX_NEWS: usize = 20;

/// The user's own instructions for every conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    pub settings: String,
    /// How the vault is organised, from the settings.
    pub architecture: String,
    /// Path and text of the note that the settings name.
    pub note: Option<(String, String)>,
}

impl Instructions {
    /// The instructions from the settings, with the note if it was found.
    pub fn new(settings: &TurnSettings, note: Option<(String, String)>) -> Self {
        Self {
            settings: settings.instructions.clone(),
            architecture: settings.information_architecture.clone(),
            note,
        }
    }
}

/// The system prompt. Contains nothing that changes within a conversation, such as the date or the
/// open note.
pub fn system(vault: &str, own: &Instructions) -> String {
    let mut prompt = PROMPT.trim_end().to_owned();
    prompt.push_str(&format!("\n\nThe vault is called \"{}\".", vault.replace('"', "'")));
    let mut add = |heading: &str, text: &str| {
        let text = super::wrap::cleared(text.trim()).0;
        if !text.is_empty() {
            let text: String = text.chars().take(MAX_INSTRUCTIONS).collect();
            prompt.push_str(&format!("\n\n# {heading}\n\n{text}"));
        }
    };
    add("The user's own instructions, from their settings", &own.settings);
    add("How the user arranges this vault, from their settings", &own.architecture);
    if let Some((path, text)) = &own.note {
        add(
            &format!(
                "The user's own instructions, from their note `{path}`, which their settings name"
            ),
            text,
        );
    }
    prompt
}

/// The current situation around a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    pub now: DateTime<FixedOffset>,
    /// The note open in Obsidian.
    pub active_note: Option<String>,
    /// The time of that information if Obsidian did not report it itself: the note may be closed by
    /// now.
    pub as_of: Option<String>,
    /// Changes by others since the last call, such as `created a.md`.
    pub news: Vec<String>,
}

/// The last notice of a conversation, so that nothing is repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announced {
    minute: Option<String>,
    active_note: Option<String>,
    /// Whether the notice said that the note may be closed by now.
    was_last: bool,
}

impl Announced {
    /// The notice of changes; `None` if there are none.
    pub fn news(&mut self, situation: &Situation) -> Option<String> {
        let mut lines = Vec::new();
        let minute = situation.now.format("%A, %Y-%m-%d, %H:%M (UTC%:z)").to_string();
        if self.minute.as_ref() != Some(&minute) {
            lines.push(format!("It is {minute}."));
            self.minute = Some(minute);
        }
        let is_last = situation.active_note.is_some() && situation.as_of.is_some();
        if self.active_note != situation.active_note || self.was_last != is_last {
            lines.push(match (&situation.active_note, &situation.as_of) {
                (Some(path), None) => format!("In Obsidian this note is open:\n{}", data(path)),
                (Some(path), Some(when)) => format!(
                    "In Obsidian this note was open last (as of {when}; it may be closed by now):\n{}",
                    data(path)
                ),
                (None, _) => "No note is open in Obsidian any more.".to_owned(),
            });
            self.active_note.clone_from(&situation.active_note);
            self.was_last = is_last;
        }
        if !situation.news.is_empty() {
            let more = situation.news.len().saturating_sub(MAX_NEWS);
            let named: Vec<_> = situation.news.iter().take(MAX_NEWS).map(String::as_str).collect();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let named = data(&format!("{}{more}", named.join("; ")));
            lines.push(format!("Changed by others meanwhile:\n{named}"));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Names of notes, titles and summaries are data, and marked like the text of notes.
fn data(text: &str) -> String {
    super::wrap::data(text, MAX_INSTRUCTIONS)
}

/// The part of the first notice that outlines the vault.
pub fn outline(outline: &str) -> String {
    format!("The vault as this conversation begins; vault_outline shows more:\n{}", data(outline))
}

/// The notice about earlier conversations.
pub fn earlier(summaries: &[(String, String, String)]) -> Option<String> {
    if summaries.is_empty() {
        return None;
    }
    let lines =
        summaries.iter().map(|(id, title, summary)| format!("- {id}, \"{title}\": {summary}"));
    let lines = data(&lines.collect::<Vec<_>>().join("\n"));
    Some(format!("Earlier conversations, for your awareness; get_conversation has more:\n{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_words_are_marked_as_theirs() {
        let own = Instructions {
            settings: "Be brief.\u{200b}".to_owned(),
            architecture: String::new(),
            note: Some(("Steward.md".to_owned(), "Use tags.".to_owned())),
        };
        let prompt = system("My \"vault\"", &own);
        assert!(prompt.contains("The vault is called \"My 'vault'\"."));
        assert!(prompt.contains("from their settings\n\nBe brief.\n"), "{prompt}");
        assert!(prompt.ends_with("note `Steward.md`, which their settings name\n\nUse tags."));
        assert!(!prompt.contains("arranges this vault"));
        assert_eq!(prompt, system("My \"vault\"", &own), "the same bytes each time");
    }

    #[test]
    fn notices_are_sent_once() {
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap();
        let mut announced = Announced::default();
        let mut situation = Situation {
            now: at("2026-11-21T17:40:00+01:00"),
            active_note: Some("A.md".to_owned()),
            as_of: None,
            news: Vec::new(),
        };
        let first = announced.news(&situation).unwrap();
        assert_eq!(
            first,
            "It is Saturday, 2026-11-21, 17:40 (UTC+01:00).\nIn Obsidian this note is \
             open:\n<tool_data>\nA.md\n</tool_data>"
        );
        assert_eq!(announced.news(&situation), None);
        situation.news = (0..25).map(|n| format!("created {n}.md")).collect();
        let news = announced.news(&situation).unwrap();
        let head = "Changed by others meanwhile:\n<tool_data>\ncreated 0.md; ";
        assert!(news.starts_with(head), "{news}");
        assert!(news.ends_with("and 5 more\n</tool_data>"), "{news}");
        situation.news.clear();
        situation.as_of = Some("2026-11-21 17:30".to_owned());
        let last = announced.news(&situation).unwrap();
        assert!(
            last.starts_with("In Obsidian this note was open last (as of 2026-11-21 17:30;"),
            "{last}"
        );
        situation.as_of = Some("2026-11-21 17:31".to_owned());
        assert_eq!(announced.news(&situation), None, "the same note, closed or not");
        situation.active_note = None;
        assert_eq!(announced.news(&situation).unwrap(), "No note is open in Obsidian any more.");
    }
}
