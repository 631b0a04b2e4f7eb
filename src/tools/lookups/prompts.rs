//! Prompts with their arguments filled in: the daily note, the core plugin's templates, and the
//! person's own.

use super::super::daily_note::{day_asked, place};
use super::super::prelude::*;
use super::own_prompts::{self, OwnPrompt};
use super::prompt_notes::{DAILY, Prompt, PromptArgument, Selection, named, text};
use crate::note::path::VaultPath;
use crate::note::template::{Variables, fill};
use crate::vault::{DailyNotes, ResolvedEntry, Want, WriteTarget};

/// The prefix of a template's name.
const PREFIX: &str = "template_";

/// Lists the prompts: the daily note, the person's own, and one for each template.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPrompts {}

/// The prompts.
#[derive(Serialize, JsonSchema)]
pub struct ListOutput {
    /// `daily`, then the person's own and the templates by path.
    prompts: Vec<Prompt>,
    /// The folder of the person's own prompts; empty if none is configured.
    folder: String,
}

impl Tool for ListPrompts {
    const NAME: &'static str = "prompts/list";
    const TITLE: &'static str = "List prompts";
    const TIER: Tier = Tier::Safe;
    const EXAMPLE: &'static str = "{}";
    type Output = ListOutput;

    fn run(self, context: &Context) -> Result<Answer<ListOutput>, ToolError> {
        let argument = |name, description| PromptArgument { name, description, required: false };
        let date = || argument("date", "the day: `2026-11-24`, `yesterday`; left out: today");
        let title = || argument("title", "the value of `{{title}}`; left out: Untitled");
        let daily = Prompt {
            name: DAILY.to_owned(),
            title: "Daily note".to_owned(),
            description: "The daily note of a day".to_owned(),
            arguments: vec![date()],
            meta: None,
        };
        let templates = templates(context, &context.vault.daily_notes()?)?;
        let of_template = templates.into_iter().map(|(name, path)| Prompt {
            name,
            title: path.stem().to_owned(),
            description: format!("The template `{path}`, filled"),
            arguments: vec![title(), date()],
            meta: None,
        });
        let own = own_prompts::all(context)?.into_iter().map(OwnPrompt::listed);
        let prompts = std::iter::once(daily).chain(own).chain(of_template).collect();
        let folder = own_prompts::folder(context).unwrap_or_default();
        Ok(Answer::new(String::new(), ListOutput { prompts, folder }))
    }
}

/// The templates that the caller may see, with the names of their prompts, by path.
fn templates(
    context: &Context,
    settings: &DailyNotes,
) -> Result<Vec<(String, VaultPath)>, ToolError> {
    let Some(folder) = folder_of(context, settings) else { return Ok(Vec::new()) };
    let name_of = |path: &VaultPath| {
        let plain: String =
            path.stem().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        format!("{PREFIX}{plain}")
    };
    named(context, &folder, '_', name_of)
}

/// The folder whose notes are prompts. Like in Obsidian, a missing folder has none.
fn folder_of(context: &Context, settings: &DailyNotes) -> Option<VaultPath> {
    let found = context.vault.resolve(settings.templates.as_deref()?, Want::Folder);
    found.ok().map(|found| found.path)
}

/// The folders of notes that are prompts: of templates, and of the person's own. May block.
pub fn prompt_folders(context: &Context, own: &str) -> Vec<VaultPath> {
    let settings = context.vault.daily_notes().ok();
    let templates = settings.and_then(|settings| folder_of(context, &settings));
    templates.into_iter().chain(own_prompts::found(context, own)).collect()
}

/// Fills in a prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPrompt {
    /// The prompt's name.
    name: String,
    /// The day, as a date or in words. Default: today.
    date: Option<String>,
    /// The value of `{{title}}` in a template. Default: Untitled.
    title: Option<String>,
    /// The note that a person's own prompt is about. Default: the one open in Obsidian.
    note: Option<String>,
    /// The text that is selected in that note. Default: what is selected in Obsidian.
    selection: Option<String>,
    /// The words that follow the name of a person's own prompt.
    arguments: Option<String>,
}

/// A filled-in prompt.
#[derive(Serialize, JsonSchema)]
pub struct GetOutput {
    /// Its description, for people.
    description: String,
    /// The text for the conversation.
    text: String,
    /// The selected text that it refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
}

impl Tool for GetPrompt {
    const NAME: &'static str = "prompts/get";
    const TITLE: &'static str = "Get a prompt";
    const TIER: Tier = Tier::Safe;
    const IDEMPOTENT: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: note);
    const EXAMPLE: &'static str = r#"{"name": "daily"}"#;
    type Output = GetOutput;

    fn run(self, context: &Context) -> Result<Answer<GetOutput>, ToolError> {
        // Clients send an empty text for a field left blank.
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let time = day_asked(context, given(self.date).as_deref().unwrap_or("today"))?;
        let settings = context.vault.daily_notes()?;
        let output = if self.name == DAILY {
            let day = time.format("%Y-%m-%d");
            let description = format!("The daily note of {day}");
            let text = match place(context, &settings.path(&time).text)? {
                WriteTarget::Existing(ResolvedEntry { path, .. }) => {
                    format!("My daily note of {day}, `{path}`:\n\n{}", text(context, &path)?)
                }
                WriteTarget::Free(path) => format!(
                    "There is no daily note of {day} yet. It would be `{path}`; the tool \
                     `daily_note` makes it."
                ),
            };
            GetOutput { description, text, selection: None }
        } else if let Some(own) = own_prompts::find(context, &self.name)? {
            let request = own_prompts::PromptRequest {
                note: given(self.note),
                selection: given(self.selection),
                arguments: given(self.arguments).unwrap_or_default(),
                time,
                settings: &settings,
            };
            let (text, selection) = own.fill(context, request)?;
            let description = own.description();
            GetOutput { description, text, selection }
        } else {
            let templates = templates(context, &settings)?;
            let found = templates.into_iter().find(|(name, _)| *name == self.name);
            let (_, path) = found.ok_or_else(|| no_prompt(&self.name))?;
            let description = format!("The template `{path}`, filled");
            let title = given(self.title);
            let variables = Variables {
                title: title.as_deref().unwrap_or("Untitled"),
                time,
                date_format: &settings.date_format,
                time_format: &settings.time_format,
            };
            let text = fill(&text(context, &path)?, &variables).text;
            GetOutput { description, text, selection: None }
        };
        Ok(Answer::new(String::new(), output))
    }
}

fn no_prompt(name: &str) -> ToolError {
    let name: String = name.chars().take(80).collect();
    let message = format!("there is no prompt `{}`", name.escape_debug());
    ToolError::not_found(message, "`prompts/list` names them all")
}
