//! `_vault/complete`: notes and folders for somebody who types part of a name.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What was typed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CompleteParams {
    /// Part of a name or of a path; with nothing, what was changed last.
    pub text: String,
    /// How many at most, up to 100; 20 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// What could be meant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CompleteResult {
    /// The likeliest first.
    pub found: Vec<Completion>,
}

/// A note, another file or a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Completion {
    /// Its path in the vault.
    pub path: String,
    /// What people call it: its name, without `.md`.
    pub name: String,
    /// The folder it is in; empty at the vault's top.
    pub folder: String,
    /// What it is.
    pub kind: CompletionKind,
}

/// What something is that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CompletionKind {
    /// A Markdown file.
    Note,
    /// Any other file.
    File,
    /// A folder.
    Folder,
}
