//! `_vault/prompts`: notes that a person uses as prompts, by `/name`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Lists the prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptsParams {}

/// The person's prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptsResult {
    /// The folder that the settings name; empty where they name none.
    pub folder: String,
    /// By path.
    pub prompts: Vec<PromptInfo>,
    /// Notes that could be written into the folder: those that are not there yet.
    pub examples: Vec<PromptExample>,
}

/// A note that is a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptInfo {
    /// What is typed behind the slash.
    pub name: String,
    /// The note's name.
    pub title: String,
    /// What it does.
    pub description: String,
    pub path: String,
    /// What can follow its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
    /// What it cannot do without: `arguments`, `note`, `selection`.
    pub needs: Vec<String>,
}

/// A note that could be written into the folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptExample {
    /// What would be typed behind the slash.
    pub name: String,
    /// The note's name.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The note that would be written.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The prompt to fill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptGetParams {
    /// What was typed behind the slash.
    pub name: String,
    /// What followed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub arguments: Option<String>,
    /// The note that is meant. Left out: the one open in Obsidian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub note: Option<String>,
    /// What is selected in `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub selection: Option<String>,
}

/// A filled prompt. Nothing was sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptGetResult {
    /// The message to send.
    pub text: String,
    /// The selected text that it speaks of, to be attached.
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
