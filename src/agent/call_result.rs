//! The result of a tool call, as the agent handles it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::note::code::ErrorCode;
use crate::tools::{Image, ReadUpdate};

#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub text: String,
    /// The structured result for programs.
    pub data: Value,
    /// Clients draw `data`: the conversation stores it too.
    pub is_drawn: bool,
    pub is_error: bool,
    /// Updates to the model's read set.
    pub read_updates: Vec<ReadUpdate>,
    pub files: Vec<ChangedFile>,
    /// The image that goes with the text.
    pub image: Option<Arc<Image>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The first line that differs, counted from 1.
    pub line: Option<u32>,
    /// The text before; `None` for a new file.
    pub old: Option<String>,
    /// The text after; `None` if the texts are too long to show, or not text.
    pub new: Option<String>,
}

impl CallResult {
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(text.into(), Value::Null) }
    }

    /// Code and data of the error, if the call was denied or waits for a person's approval.
    pub fn refusal(&self) -> Option<Value> {
        let (code, data) = (&self.data["code"], &self.data["data"]);
        let refusals = [ErrorCode::Denied, ErrorCode::ApprovalPending];
        let is_refusal = self.is_error && refusals.iter().any(|one| *code == json!(one));
        is_refusal.then(|| json!({"code": code, "data": data}))
    }

    /// The call's proposal in the mode `plan`; without diffs if they exceed `most` bytes.
    pub fn proposal(&self, most: usize) -> Option<Value> {
        let mut proposal = (self.data["proposed"] == true).then(|| self.data.clone())?;
        if proposal.to_string().len() > most
            && let Some(changes) = proposal["changes"].as_array_mut()
        {
            for change in changes {
                change["diff"] = json!("");
            }
        }
        Some(proposal)
    }

    /// A result without read-set updates.
    pub fn done(text: String, data: Value) -> Self {
        let (read_updates, files) = (Vec::new(), Vec::new());
        Self { text, data, is_drawn: false, is_error: false, read_updates, files, image: None }
    }
}
