//! How a tool fails.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read_update::ReadUpdate;
use crate::edits::EditsError;
use crate::journal::{JournalError, UndoError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::Refusal;
use crate::store::StoreError;
use crate::vault::VaultError;

/// An error for the caller, in one shape for all tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub code: ErrorCode,
    pub message: String,
    /// Advice on the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The file state that the error reveals.
    #[serde(skip)]
    pub read_update: Option<Box<ReadUpdate>>,
    /// The path at which the call found nothing.
    #[serde(skip)]
    pub missing: Option<Box<VaultPath>>,
}

impl ToolError {
    /// An error with a hint and no data.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..Self::plain(code, message) }
    }

    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidInput, message, hint)
    }

    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message, hint)
    }

    /// An error with its message alone.
    pub fn plain(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            data: None,
            read_update: None,
            missing: None,
        }
    }

    pub(super) fn cancelled() -> Self {
        let message = "the call was cancelled; nothing was changed";
        Self::plain(ErrorCode::Cancelled, message)
    }

    /// The error as one text: the message, and the hint on its own line.
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
            read_update: ReadUpdate::of_refusal(&error).map(Box::new),
            missing: match error {
                VaultError::NotFound { path, .. } => Some(Box::new(path)),
                _ => None,
            },
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        Self::new(ErrorCode::IoError, error.to_string(), error.hint())
    }
}

impl From<JournalError> for ToolError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Change(error) => error.into(),
            error => Self {
                hint: error.hint(),
                data: error.data(),
                ..Self::plain(error.code(), error.to_string())
            },
        }
    }
}

/// The most characters of a diff in an error's text; the data has all of it.
const MAX_SHOWN_DIFF: usize = 4000;

impl From<UndoError> for ToolError {
    fn from(error: UndoError) -> Self {
        let mut hint = error.hint();
        if let (UndoError::Changed { diff, .. }, Some(hint)) = (&error, &mut hint) {
            // The caller needs to see what `force` would undo.
            let shown: String = diff.chars().take(MAX_SHOWN_DIFF).collect();
            *hint = format!("{hint}\n{}", shown.trim_end());
        }
        Self { hint, data: error.data(), ..Self::plain(error.code(), error.to_string()) }
    }
}

impl From<EditsError> for ToolError {
    fn from(error: EditsError) -> Self {
        match error {
            EditsError::Journal(error) => error.into(),
            EditsError::Undo(error) => error.into(),
            error => Self {
                hint: error.hint(),
                data: error.data(),
                ..Self::plain(error.code(), error.to_string())
            },
        }
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        EditsError::Refused(refusal).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_of_a_new_name_whoever_noticed_it() {
        let at = |path: &str| VaultPath::parse(path, None).unwrap();
        let renamed = || VaultError::Renamed { path: at("a.md"), now: at("b.md") };
        let read_update = ReadUpdate::Moved { from: "a.md".to_owned(), to: "b.md".to_owned() };
        let refused = [renamed().into(), ToolError::from(JournalError::Change(renamed()))];
        for error in refused {
            assert_eq!(error.read_update.as_deref(), Some(&read_update), "{error:?}");
        }
    }
}
