//! What a tool answered, as the agent keeps it.

use serde_json::Value;

use crate::tools::Learnt;

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// For the model.
    pub text: String,
    /// For programs.
    pub data: Value,
    /// Whether the tool failed.
    pub is_error: bool,
    /// What its reader knows by it of the texts of files.
    pub learnt: Vec<Learnt>,
    /// The files that it changed, as people are shown them.
    pub files: Vec<ChangedFile>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path in the vault.
    pub path: String,
    /// The first line that differs, counted from 1.
    pub line: Option<u32>,
    /// The text before; none for a new file.
    pub old: Option<String>,
    /// The text afterwards; none where both are too long to show, or no text.
    pub new: Option<String>,
}

impl Called {
    /// A failure, in words.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(text.into(), Value::Null) }
    }

    /// An answer of which nothing is learnt.
    pub fn done(text: String, data: Value) -> Self {
        Self { text, data, is_error: false, learnt: Vec::new(), files: Vec::new() }
    }
}
