//! A note as a prompt, which a person sends to the agent by its name, with the note, the selection
//! and the arguments filled in.

use super::frontmatter;
use super::template::{self, Variables};

/// Characters of a prompt's name.
const MAX_NAME: usize = 60;

/// The placeholder for the selection. The selected text is sent next to the message, marked as
/// data: a stranger may have written it, while the message is the person's own.
const SELECTION: &str = "the selected text";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    pub description: Option<String>,
    /// Its property `arguments`: what can follow its name, for people.
    pub hint: Option<String>,
    /// The text before placeholders are replaced.
    pub text: String,
}

/// The values for a prompt's placeholders.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// The path of the note for `{{note}}`.
    pub note: Option<&'a str>,
    /// Whether a text is selected in it.
    pub has_selection: bool,
    /// The words after the prompt's name.
    pub arguments: &'a str,
    pub variables: Variables<'a>,
}

/// A value that a prompt requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Note,
    /// A selected text.
    Selection,
    /// Words behind its name.
    Arguments,
}

/// What a person types for the note of this name: lower case, with hyphens. Empty if none of it can
/// be typed.
pub fn name_of(note: &str) -> String {
    let mut name = String::new();
    for c in note.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name: String = name.chars().take(MAX_NAME).collect();
    name.trim_end_matches('-').to_owned()
}

impl Prompt {
    pub fn parse(text: &str) -> Self {
        let found = frontmatter::find(text, 0);
        let property = |name: &str| {
            let value = found.as_ref()?.get(name)?.value.as_str()?.trim();
            let line: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(line.chars().take(200).collect::<String>()).filter(|line| !line.is_empty())
        };
        let body = found.as_ref().map_or(text, |found| &text[found.range.end..]);
        Self {
            description: property("description"),
            hint: property("arguments"),
            text: body.trim().to_owned(),
        }
    }

    /// Whether it uses this word: `note`, `selection`, `arguments`, `date`.
    pub fn uses(&self, word: &str) -> bool {
        template::has(&self.text, word)
    }

    /// The text to send. Arguments without a placeholder are appended.
    pub fn fill(&self, input: &PromptInput<'_>) -> Result<String, Missing> {
        let arguments = input.arguments.trim();
        let places = self.uses("arguments");
        if self.uses("selection") && !input.has_selection {
            return Err(Missing::Selection);
        }
        if self.uses("note") && input.note.is_none() {
            return Err(Missing::Note);
        }
        if places && arguments.is_empty() {
            return Err(Missing::Arguments);
        }
        let note = input.note.unwrap_or_default();
        let link = format!("[[{}]]", note.strip_suffix(".md").unwrap_or(note));
        let values = [("note", &*link), ("selection", SELECTION), ("arguments", arguments)];
        let text = template::fill_with(&self.text, &input.variables, &values).text;
        Ok(match arguments {
            more if !places && !more.is_empty() => format!("{text}\n\n{more}"),
            _ => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    fn input(arguments: &str) -> PromptInput<'_> {
        let time = DateTime::parse_from_rfc3339("2026-11-21T09:05:00+01:00").expect("a time");
        let (date_format, time_format) = ("YYYY-MM-DD", "HH:mm");
        let variables = Variables { title: "", time, date_format, time_format };
        PromptInput { note: Some("A/Compost.md"), has_selection: true, arguments, variables }
    }

    #[test]
    fn a_prompt_is_named_so_that_it_can_be_typed() {
        for (note, name) in [
            ("Weekly review", "weekly-review"),
            ("  To-do: what's next?", "to-do-what-s-next"),
            ("Übersetzen", "übersetzen"),
            ("要約", "要約"),
            ("???", ""),
        ] {
            assert_eq!(name_of(note), name, "{note}");
        }
        assert_eq!(name_of(&"a ".repeat(90)).len(), 59);
    }

    #[test]
    fn properties_are_not_sent_and_words_in_braces_are_filled_once() {
        let note = "---\ndescription: In another  language\narguments: LANGUAGE\n---\n\nTranslate \
                    {{Selection}} of {{note}} into {{arguments}}; today is {{date}}. {{other}}\n";
        let prompt = Prompt::parse(note);
        assert_eq!(prompt.description.as_deref(), Some("In another language"));
        assert_eq!(prompt.hint.as_deref(), Some("LANGUAGE"));
        assert_eq!(
            prompt.fill(&input(" {{note}} ")).expect("filled"),
            "Translate the selected text of [[A/Compost]] into {{note}}; today is 2026-11-21. {{other}}"
        );
        let plain = Prompt::parse("Sum it up.");
        assert_eq!(plain.fill(&input("In French")).expect("filled"), "Sum it up.\n\nIn French");
        assert_eq!(plain.fill(&input("")).expect("filled"), "Sum it up.");
    }

    #[test]
    fn what_is_missing_is_named() {
        let fill = |text: &str| {
            let input = PromptInput { note: None, has_selection: false, ..input("") };
            Prompt::parse(text).fill(&input)
        };
        assert_eq!(fill("{{selection}} {{note}}"), Err(Missing::Selection));
        assert_eq!(fill("{{note}}"), Err(Missing::Note));
        assert_eq!(fill("{{arguments}}"), Err(Missing::Arguments));
        assert_eq!(fill("{{date}}").as_deref(), Ok("2026-11-21"));
    }
}
