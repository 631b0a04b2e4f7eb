//! `_vault/prompts`: notes that a person uses as prompts, by `/name`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Lists the prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptsParams {}

/// The person's prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptsResult {
    /// The folder in the settings; empty if none is set.
    pub folder: String,
    /// By path.
    pub prompts: Vec<PromptInfo>,
    /// Example notes that are not in the folder yet.
    pub examples: Vec<PromptExample>,
}

/// A note that is a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptInfo {
    /// The name that follows the slash.
    pub name: String,
    /// The note's name.
    pub title: String,
    /// A description.
    pub description: String,
    pub path: String,
    /// The argument that can follow its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
    /// The inputs that it needs: `arguments`, `note`, `selection`.
    pub needs: Vec<String>,
}

/// An example note that can be added to the folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptExample {
    /// The name that follows the slash.
    pub name: String,
    /// The note's name.
    pub title: String,
    /// A description.
    pub description: String,
    /// The path of the note that would be written.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The prompt to fill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct PromptGetParams {
    /// The name that follows the slash.
    pub name: String,
    /// The text after the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The note that the prompt is about. By default the note that is open in Obsidian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The selected text in `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
}

/// A filled prompt. Nothing was sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptGetResult {
    /// The message to send.
    pub text: String,
    /// The selected text that the prompt refers to, to be attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub selection: Option<PromptSelection>,
}

/// A part of a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptSelection {
    /// The note.
    pub path: String,
    pub text: String,
}
