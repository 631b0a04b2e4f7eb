//! Prompts: the note of a day, and the templates of the core plugin, filled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::daily_note::{day_asked, place};
use super::super::list_files::parse_glob;
use super::super::text_file::{TextFile, size};
use super::super::{Answer, Context, Tier, Tool, ToolError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::note::template::{Variables, fill};
use crate::vault::{DailyNotes, Found, Kind, Order, Want, Wanted, WriteTarget};

/// The name of the prompt that is not made from a template.
const DAILY: &str = "daily";

/// Before the name of a template.
const PREFIX: &str = "template_";

/// Templates that become prompts: clients show all of them as commands.
const MOST: usize = 40;

/// Bytes of text that a prompt brings into a conversation.
const MOST_BYTES: usize = 100 << 10;

/// Lists the prompts.
pub struct ListPrompts;

/// Lists the prompts: the daily note, and one for each template.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {}

/// The prompts.
#[derive(Serialize, JsonSchema)]
pub struct ListOutput {
    /// `daily`, then the templates by path.
    prompts: Vec<Prompt>,
}

/// A prompt.
#[derive(Serialize, JsonSchema)]
pub struct Prompt {
    /// Its name for clients.
    name: String,
    /// For people.
    title: String,
    /// The content that it adds to the conversation.
    description: String,
    /// Its arguments.
    arguments: Vec<PromptArgument>,
}

/// Something that a prompt can be given.
#[derive(Serialize, JsonSchema)]
pub struct PromptArgument {
    /// Its name for clients.
    name: &'static str,
    /// Its purpose.
    description: &'static str,
    /// Whether there is no prompt without it.
    required: bool,
}

impl Tool for ListPrompts {
    const NAME: &'static str = "prompts/list";
    const TITLE: &'static str = "List prompts";
    const TIER: Tier = Tier::Safe;
    const EXAMPLE: &'static str = "{}";
    type Input = ListInput;
    type Output = ListOutput;

    fn run(context: &Context, _: ListInput) -> Result<Answer<ListOutput>, ToolError> {
        let argument = |name, description| PromptArgument { name, description, required: false };
        let date = || argument("date", "the day: `2026-11-24`, `yesterday`; left out: today");
        let title = || argument("title", "the value of `{{title}}`; left out: Untitled");
        let daily = Prompt {
            name: DAILY.to_owned(),
            title: "Daily note".to_owned(),
            description: "The daily note of a day".to_owned(),
            arguments: vec![date()],
        };
        let templates = templates(context, &context.vault.daily_notes()?)?;
        let of_template = templates.into_iter().map(|(name, path)| Prompt {
            name,
            title: path.stem().to_owned(),
            description: format!("The template `{path}`, filled"),
            arguments: vec![title(), date()],
        });
        let prompts = std::iter::once(daily).chain(of_template).collect();
        Ok(Answer::new(String::new(), ListOutput { prompts }))
    }
}

/// The templates that the caller may see, with the names of their prompts, by path.
fn templates(
    context: &Context,
    settings: &DailyNotes,
) -> Result<Vec<(String, VaultPath)>, ToolError> {
    let Some(folder) = folder_of(context, settings) else { return Ok(Vec::new()) };
    let glob = parse_glob("**/*.md")?;
    let wanted = Wanted { folder: &folder, glob: &glob, kind: Some(Kind::File) };
    let catalogue = context.vault.catalogue();
    let mut named: Vec<(String, VaultPath)> = Vec::new();
    for entry in catalogue.list(&wanted, Order::Name, MOST).first {
        let path = entry.path().to_path();
        let plain: String =
            path.stem().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let first = format!("{PREFIX}{plain}");
        let is_free = |name: &String| named.iter().all(|(known, _)| known != name);
        let others = (2..).map(|number| format!("{first}_{number}"));
        let name = std::iter::once(first.clone()).chain(others).find(is_free);
        named.extend(name.map(|name| (name, path)));
    }
    Ok(named)
}

/// The folder whose notes are prompts; as in Obsidian, one that is not there holds none.
fn folder_of(context: &Context, settings: &DailyNotes) -> Option<VaultPath> {
    let found = context.vault.resolve(settings.templates.as_deref()?, Want::Folder);
    found.ok().map(|found| found.path)
}

/// The folder of templates, where there is one. May block.
#[must_use]
pub fn template_folder(context: &Context) -> Option<VaultPath> {
    folder_of(context, &context.vault.daily_notes().ok()?)
}

/// Fills a prompt.
pub struct GetPrompt;

/// The text that a prompt brings into a conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    /// The prompt's name.
    name: String,
    /// The day, as a date or in words. Left out: today.
    #[serde(default)]
    date: Option<String>,
    /// The value of `{{title}}` in a template. Left out: Untitled.
    #[serde(default)]
    title: Option<String>,
}

/// A prompt that is filled.
#[derive(Serialize, JsonSchema)]
pub struct GetOutput {
    /// Its description, for people.
    description: String,
    /// The text for the conversation.
    text: String,
}

impl Tool for GetPrompt {
    const NAME: &'static str = "prompts/get";
    const TITLE: &'static str = "Get a prompt";
    const TIER: Tier = Tier::Safe;
    const EXAMPLE: &'static str = r#"{"name": "daily"}"#;
    type Input = GetInput;
    type Output = GetOutput;

    fn run(context: &Context, input: GetInput) -> Result<Answer<GetOutput>, ToolError> {
        // Clients send an empty text for a field that a person left blank.
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let time = day_asked(context, given(input.date).as_deref().unwrap_or("today"))?;
        let settings = context.vault.daily_notes()?;
        let output = if input.name == DAILY {
            let day = time.format("%Y-%m-%d");
            let description = format!("The daily note of {day}");
            let text = match place(context, &settings.path(&time).text)? {
                WriteTarget::Existing(Found { path, .. }) => {
                    format!("My daily note of {day}, `{path}`:\n\n{}", text(context, &path)?)
                }
                WriteTarget::Free(path) => format!(
                    "There is no daily note of {day} yet. It would be `{path}`; the tool \
                     `daily_note` makes it."
                ),
            };
            GetOutput { description, text }
        } else {
            let templates = templates(context, &settings)?;
            let found = templates.into_iter().find(|(name, _)| *name == input.name);
            let (_, path) = found.ok_or_else(|| no_prompt(&input.name))?;
            let description = format!("The template `{path}`, filled");
            let title = given(input.title);
            let variables = Variables {
                title: title.as_deref().unwrap_or("Untitled"),
                time,
                date_format: &settings.date_format,
                time_format: &settings.time_format,
            };
            GetOutput { description, text: fill(&text(context, &path)?, &variables).text }
        };
        Ok(Answer::new(String::new(), output))
    }
}

fn no_prompt(name: &str) -> ToolError {
    let name: String = name.chars().take(80).collect();
    let message = format!("there is no prompt `{}`", name.escape_debug());
    ToolError::new(ErrorCode::InvalidInput, message, "`prompts/list` names them all")
}

fn text(context: &Context, path: &VaultPath) -> Result<String, ToolError> {
    let file = TextFile { content: context.vault.read(path)?, path: path.clone() };
    let text = file.text()?;
    let text = text.body();
    if text.len() > MOST_BYTES {
        let most = size(MOST_BYTES as u64);
        let message =
            format!("`{path}` has {}, and a prompt at most {most}", size(text.len() as u64));
        let hint = "the tool `read_file` reads it in parts";
        return Err(ToolError::new(ErrorCode::TooLarge, message, hint));
    }
    Ok(text.to_owned())
}
