//! The person's own prompts: the notes of a folder that the settings name.

use chrono::{DateTime, FixedOffset};

use super::super::get_active_note::open_note;
use super::super::{Context, ToolError};
use super::prompt_notes::{Meta, Own, Prompt as Listed, PromptArgument, Selection, named, text};
use crate::note::path::VaultPath;
use crate::note::prompt::{Missing, Prompt, PromptInput, name_of};
use crate::note::template::Variables;
use crate::vault::{DailyNotes, Want};

pub(super) struct OwnPrompt {
    name: String,
    path: VaultPath,
    prompt: Prompt,
}

pub(super) struct PromptRequest<'a> {
    pub(super) note: Option<String>,
    pub(super) selection: Option<String>,
    pub(super) arguments: String,
    pub(super) time: DateTime<FixedOffset>,
    pub(super) settings: &'a DailyNotes,
}

/// The configured folder.
pub(super) fn folder(context: &Context) -> Option<String> {
    let folder = context.settings.prompts_folder.trim();
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// The folder's path, if it exists.
pub(super) fn found(context: &Context, folder: &str) -> Option<VaultPath> {
    let found = context.vault.resolve(folder, Want::Folder).ok()?;
    (!found.path.is_root()).then_some(found.path)
}

/// The prompts that the caller may see, by path. Notes that cannot be read are left out.
pub(super) fn all(context: &Context) -> Result<Vec<OwnPrompt>, ToolError> {
    let notes = notes(context)?.into_iter();
    let read = |(name, path): (String, VaultPath)| {
        let prompt = Prompt::parse(&text(context, &path).ok()?);
        Some(OwnPrompt { name, path, prompt })
    };
    Ok(notes.filter_map(read).collect())
}

pub(super) fn find(context: &Context, name: &str) -> Result<Option<OwnPrompt>, ToolError> {
    let Some((name, path)) = notes(context)?.into_iter().find(|(known, _)| known == name) else {
        return Ok(None);
    };
    let prompt = Prompt::parse(&text(context, &path)?);
    Ok(Some(OwnPrompt { name, path, prompt }))
}

fn notes(context: &Context) -> Result<Vec<(String, VaultPath)>, ToolError> {
    let found = folder(context).and_then(|folder| found(context, &folder));
    let Some(folder) = found else { return Ok(Vec::new()) };
    named(context, &folder, '-', |path| name_of(path.stem()))
}

impl OwnPrompt {
    pub(super) fn description(&self) -> String {
        let own = self.prompt.description.clone();
        own.unwrap_or_else(|| format!("Your prompt `{}`", self.path))
    }

    pub(super) fn listed(self) -> Listed {
        let uses = |name: &str| self.prompt.uses(name);
        let argument = |name, description, required| PromptArgument { name, description, required };
        let words = "words that follow the prompt's name";
        let mut arguments = vec![argument("arguments", words, uses("arguments"))];
        if uses("note") || uses("selection") {
            let note = "the note that is meant; left out: the one open in Obsidian";
            arguments.push(argument("note", note, false));
        }
        if uses("selection") {
            let selected = "the text that is meant; left out: what is selected in Obsidian";
            arguments.push(argument("selection", selected, false));
        }
        if uses("date") {
            arguments.push(argument("date", "the day; left out: today", false));
        }
        let description = self.description();
        let vault = Own { path: self.path.as_str().to_owned(), hint: self.prompt.hint };
        Listed {
            name: self.name,
            title: self.path.stem().to_owned(),
            description,
            arguments,
            meta: Some(Meta { vault }),
        }
    }

    /// The message with its parts filled in, and the selected text that it refers to.
    pub(super) fn fill(
        &self,
        context: &Context,
        request: PromptRequest<'_>,
    ) -> Result<(String, Option<Selection>), ToolError> {
        let wants_selection = self.prompt.uses("selection");
        let (mut note, mut selected) = (request.note, request.selection);
        match &note {
            Some(path) => note = Some(context.find(path, Want::File)?.path.as_str().to_owned()),
            None if selected.is_some() => {
                let (message, hint) = ("a selection comes without its note", "give `note` as well");
                return Err(ToolError::invalid(message, hint));
            }
            None if wants_selection || self.prompt.uses("note") => {
                if let Some((path, text)) = open_note(context) {
                    (note, selected) = (Some(path), text);
                }
            }
            None => {}
        }
        selected = selected.filter(|_| wants_selection);
        let variables = Variables {
            title: &self.name,
            time: request.time,
            date_format: &request.settings.date_format,
            time_format: &request.settings.time_format,
        };
        let input = PromptInput {
            note: note.as_deref(),
            has_selection: selected.is_some(),
            arguments: &request.arguments,
            variables,
        };
        let text = self.prompt.fill(&input).map_err(|missing| self.lacks(missing))?;
        if text.is_empty() {
            let message = format!("the prompt `{}` is empty", self.path);
            let hint = "write into the note what is to be sent";
            return Err(ToolError::invalid(message, hint));
        }
        let selection = note.zip(selected).map(|(path, text)| Selection { path, text });
        Ok((text, selection))
    }

    fn lacks(&self, missing: Missing) -> ToolError {
        let name = &self.name;
        let (what, hint) = match missing {
            Missing::Note => ("a note", "open one in Obsidian first".to_owned()),
            Missing::Selection => {
                ("a selected text", "select some text in a note in Obsidian first".to_owned())
            }
            Missing::Arguments => {
                let words = self.prompt.hint.as_deref().unwrap_or("WORDS");
                ("words after its name", format!("`/{name} {words}`"))
            }
        };
        let message = format!("`/{name}` needs {what}");
        ToolError::invalid(message, hint)
    }
}
