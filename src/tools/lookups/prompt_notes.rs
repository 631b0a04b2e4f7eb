//! Shared by prompts made from notes: their names, texts and listing.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::list_files::parse_glob;
use super::super::text_file::{TextFile, size};
use super::super::{Context, ToolError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::{EntryQuery, Kind, Order};

/// The name of the prompt that is not made from a note.
pub(super) const DAILY: &str = "daily";

/// Notes of a folder that become prompts: clients show all of them as commands.
pub(super) const MAX_PROMPTS: usize = 40;

/// Bytes of a prompt's text.
const MAX_BYTES: usize = 100 << 10;

/// A prompt.
#[derive(Serialize, JsonSchema)]
pub struct Prompt {
    /// The name for clients.
    pub(super) name: String,
    /// For people.
    pub(super) title: String,
    /// The text that it adds to the conversation.
    pub(super) description: String,
    /// Its arguments.
    pub(super) arguments: Vec<PromptArgument>,
    /// For a person's own: data that MCP does not define.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Meta>,
}

/// Data that MCP does not define.
#[derive(Serialize, JsonSchema)]
pub struct Meta {
    pub(super) vault: Own,
}

/// The person's own prompt.
#[derive(Serialize, JsonSchema)]
pub struct Own {
    /// Its note.
    pub(super) path: String,
    /// A hint for the argument, for people.
    pub(super) hint: Option<String>,
}

/// An argument of a prompt.
#[derive(Serialize, JsonSchema)]
pub struct PromptArgument {
    /// The name for clients.
    pub(super) name: &'static str,
    /// Its purpose.
    pub(super) description: &'static str,
    /// Whether it is required.
    pub(super) required: bool,
}

/// The text of a note, added to the conversation as data.
#[derive(Serialize, JsonSchema)]
pub struct Selection {
    /// The note.
    pub(super) path: String,
    /// The text.
    pub(super) text: String,
}

/// The notes of a folder with names that differ, by path; those without a name are left out.
pub(super) fn named(
    context: &Context,
    folder: &VaultPath,
    hyphen: char,
    name_of: impl Fn(&VaultPath) -> String,
) -> Result<Vec<(String, VaultPath)>, ToolError> {
    let glob = parse_glob("**/*.md")?;
    let query = EntryQuery { folder, glob: &glob, kind: Some(Kind::File) };
    let catalogue = context.vault.catalogue();
    let mut named: Vec<(String, VaultPath)> = Vec::new();
    for entry in catalogue.list(&query, Order::Name, MAX_PROMPTS).first {
        let path = entry.path().to_path();
        let first = name_of(&path);
        if first.is_empty() {
            continue;
        }
        let is_free = |name: &String| name != DAILY && named.iter().all(|(known, _)| known != name);
        let others = (2..).map(|number| format!("{first}{hyphen}{number}"));
        let name = std::iter::once(first.clone()).chain(others).find(is_free);
        named.extend(name.map(|name| (name, path)));
    }
    Ok(named)
}

/// The text of a note that becomes a prompt.
pub(super) fn text(context: &Context, path: &VaultPath) -> Result<String, ToolError> {
    let file = TextFile { content: context.vault.read(path)?, path: path.clone() };
    let text = file.text()?;
    let text = text.body();
    if text.len() > MAX_BYTES {
        let most = size(MAX_BYTES as u64);
        let message =
            format!("`{path}` has {}, and a prompt at most {most}", size(text.len() as u64));
        let hint = "the tool `read_file` reads it in parts";
        return Err(ToolError::new(ErrorCode::TooLarge, message, hint));
    }
    Ok(text.to_owned())
}
