//! `_vault/names/suggest`: names for files, suggested by a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// The files to name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct NamesSuggestParams {
    /// The files, by path or name; for a folder, the files directly in it whose names break its
    /// convention or are meaningless. At most 100.
    pub paths: Vec<String>,
    /// A pattern, a style or the id of a convention, as `suggest_names` takes it. By default the
    /// convention of their folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub convention: Option<String>,
}

/// The suggested names. Nothing is renamed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct NamesSuggestResult {
    /// The model; absent if no file needed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
    /// The files whose first characters the model received.
    pub sent: Vec<String>,
    /// The names, as in the result of `suggest_names`.
    pub names: Value,
    /// The same as text.
    pub text: String,
}
