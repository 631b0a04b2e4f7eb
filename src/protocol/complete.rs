//! `_vault/complete`: completes the name of a note or folder.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The typed text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CompleteParams {
    /// Part of a name or path; empty for the most recently changed files.
    pub text: String,
    /// Maximum number, up to 100; 20 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Completions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CompleteResult {
    /// Most likely first.
    pub found: Vec<Completion>,
}

/// A note, another file or a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Completion {
    pub path: String,
    /// The name without `.md`.
    pub name: String,
    /// Its folder; empty at the vault's root.
    pub folder: String,
    pub kind: CompletionKind,
    /// Its aliases that begin with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub aliases: Vec<String>,
}

/// The kind of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CompletionKind {
    /// A Markdown file.
    Note,
    /// Any other file.
    File,
    Folder,
}
