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
}

impl Called {
    /// A failure, in words.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(text.into(), Value::Null) }
    }

    /// An answer of which nothing is learnt.
    pub fn done(text: String, data: Value) -> Self {
        Self { text, data, is_error: false, learnt: Vec::new() }
    }
}
