//! `session/request_permission`: asks a person to approve a call, in ACP v1's form, through every client that
//! can show the question.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// An approval request. The first valid answer counts; the other clients get `$/cancel_request` with this
/// request's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionParams {
    /// The conversation; `direct` for a call outside of one.
    pub session_id: String,
    pub tool_call: PermissionToolCall,
    pub options: Vec<PermissionOption>,
    #[serde(rename = "_meta")]
    pub meta: PermissionMeta,
}

/// The call that needs approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionToolCall {
    /// Id of the call; the same for every client.
    pub tool_call_id: String,
    /// A description of the call, for people.
    pub title: String,
    /// `edit`, `delete`, `move` or `other`.
    pub kind: String,
    /// Always `pending`.
    pub status: String,
    /// The files that the call changes, as absolute paths.
    pub locations: Vec<PermissionLocation>,
    /// The texts before and after if they are short, otherwise diffs.
    pub content: Vec<PermissionContent>,
}

/// A file that the call touches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionLocation {
    /// Its absolute path.
    pub path: String,
}

/// A part of the changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PermissionContent {
    /// The whole text of a file before and after.
    #[serde(rename_all = "camelCase")]
    Diff {
        /// Its absolute path.
        path: String,
        /// The current text; none for a new file.
        old_text: Option<String>,
        /// The new text.
        new_text: String,
    },
    /// Anything else, as text.
    Content { content: super::tools::Content },
}

/// A possible answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    pub option_id: String,
    /// Display name.
    pub name: String,
    /// `allow_once`, `allow_always` or `reject_once`.
    pub kind: String,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionMeta {
    pub vault: PermissionVaultMeta,
}

/// The request in the vault's terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionVaultMeta {
    /// Number of the request: `_vault/diff` returns all its texts, `_vault/approvals/answer` takes it.
    #[serde(default)]
    pub question: i64,
    pub tool: String,
    /// The caller's own name.
    pub caller: String,
    /// The caller's scope.
    pub scope: String,
    /// The reasons why approval is needed.
    pub reasons: Vec<String>,
    /// The changes; for a plan the first 50.
    pub changes: Vec<PermissionChange>,
    /// For a plan, a short outline of the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub outline: Option<String>,
    /// The folder to which `allow_always` would apply.
    pub folder: Option<String>,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionChange {
    /// `write`, `create_folder`, `remove_folder`, `move`, `delete` or `restore`.
    pub action: String,
    /// Path from the vault's root; for a move, the destination.
    pub path: String,
    /// For a move, the source.
    pub from: Option<String>,
    /// Unified diff of the text; `more` tells whether it is complete.
    pub diff: String,
    /// Number of added lines.
    #[serde(default)]
    pub added: u64,
    /// Number of removed lines.
    #[serde(default)]
    pub removed: u64,
    /// Number of lines of the diff that are missing: `_vault/diff` returns them.
    #[serde(default)]
    pub more: u64,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct RequestPermissionResult {
    pub outcome: PermissionOutcome,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<PermissionAnswerMeta>,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionAnswerMeta {
    #[serde(default)]
    pub vault: PermissionAnswerVaultMeta,
}

/// A comment on the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionAnswerVaultMeta {
    /// The person's comment, such as the reason of a refusal; the caller receives it with a
    /// refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub words: String,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PermissionOutcome {
    /// No answer from this client; others may still answer.
    Cancelled,
    /// One of the options.
    #[serde(rename_all = "camelCase")]
    Selected { option_id: String },
}
