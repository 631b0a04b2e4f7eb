//! How a tool fails.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edits::EditsError;
use crate::journal::{JournalError, UndoError};
use crate::note::code::ErrorCode;
use crate::policy::Refusal;
use crate::vault::VaultError;

/// A failure that goes back to the caller, who may mend it. One shape for all tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The stable word.
    pub code: ErrorCode,
    /// What went wrong, with the real names in it.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ToolError {
    /// An error with a hint and no data.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: Some(hint.into()), data: None }
    }

    /// The error as one text: the message, and the hint on a line of its own.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<VaultError> for ToolError {
    fn from(error: VaultError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            data: error.data(),
        }
    }
}

impl From<JournalError> for ToolError {
    fn from(error: JournalError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            data: error.data(),
        }
    }
}

/// Characters of a difference that an error shows; the facts have all of it.
const MAX_SHOWN_DIFF: usize = 4000;

impl From<UndoError> for ToolError {
    fn from(error: UndoError) -> Self {
        let mut hint = error.hint();
        if let (UndoError::Changed { diff, .. }, Some(hint)) = (&error, &mut hint) {
            // To decide about `force` one has to see what it would undo.
            let shown: String = diff.chars().take(MAX_SHOWN_DIFF).collect();
            *hint = format!("{hint}\n{}", shown.trim_end());
        }
        Self { code: error.code(), message: error.to_string(), hint, data: error.data() }
    }
}

impl From<EditsError> for ToolError {
    fn from(error: EditsError) -> Self {
        match error {
            EditsError::Journal(error) => error.into(),
            EditsError::Undo(error) => error.into(),
            error => Self {
                code: error.code(),
                message: error.to_string(),
                hint: error.hint(),
                data: error.data(),
            },
        }
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        EditsError::Refused(refusal).into()
    }
}
