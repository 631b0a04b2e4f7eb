//! `session/request_permission`: the daemon asks a person, in ACP v1's own shape, through every
//! client that said it can ask one.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a person is asked. The first valid answer counts; who else was asked gets
/// `$/cancel_request` with this request's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionParams {
    /// The conversation; `direct` for a call outside of one.
    pub session_id: String,
    /// What would be done.
    pub tool_call: PermissionToolCall,
    /// What can be answered.
    pub options: Vec<PermissionOption>,
    /// What ACP has no place for.
    #[serde(rename = "_meta")]
    pub meta: PermissionMeta,
}

/// The call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionToolCall {
    /// Names the call; the same for every client.
    pub tool_call_id: String,
    /// What it does, for people.
    pub title: String,
    /// `edit`, `delete`, `move` or `other`.
    pub kind: String,
    /// Always `pending`.
    pub status: String,
    /// The files it touches, as absolute paths.
    pub locations: Vec<PermissionLocation>,
    /// The texts it changes, where they are short, else their diffs.
    pub content: Vec<PermissionContent>,
}

/// A file that is touched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionLocation {
    /// Its absolute path.
    pub path: String,
}

/// A piece of what would be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PermissionContent {
    /// The whole text of a file before and after.
    #[serde(rename_all = "camelCase")]
    Diff {
        /// Its absolute path.
        path: String,
        /// The text now; none for a new file.
        old_text: Option<String>,
        /// The text afterwards.
        new_text: String,
    },
    /// Anything else, as text.
    Content {
        /// The text.
        content: super::tools::Content,
    },
}

/// A possible answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// What the answer says.
    pub option_id: String,
    /// For people.
    pub name: String,
    /// `allow_once`, `allow_always` or `reject_once`.
    pub kind: String,
}

/// What ACP has no place for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionMeta {
    /// Ours.
    pub vault: PermissionVaultMeta,
}

/// What is asked, in the vault's own terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionVaultMeta {
    /// The question's number: `_vault/diff` has all of its texts, `_vault/approvals/answer` takes it.
    #[serde(default)]
    pub question: i64,
    /// The tool.
    pub tool: String,
    /// The name the caller gave of itself.
    pub caller: String,
    /// What kind of caller it is.
    pub scope: String,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// What would be done; of a plan its first 50 changes.
    pub changes: Vec<PermissionChange>,
    /// Of a plan, all of it in a few lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub outline: Option<String>,
    /// The folder for which `allow_always` would hold.
    pub folder: Option<String>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionChange {
    /// `write`, `create_folder`, `move`, `delete` or `restore`.
    pub action: String,
    /// To what, from the vault's root; for a move, its path afterwards.
    pub path: String,
    /// For a move, its path before.
    pub from: Option<String>,
    /// The change of its text as a unified diff; `more` says whether that is all of it.
    pub diff: String,
    /// Lines that it adds.
    #[serde(default)]
    pub added: u64,
    /// Lines that it takes away.
    #[serde(default)]
    pub removed: u64,
    /// Lines of the diff that are not here, or not to their end: `_vault/diff` has them.
    #[serde(default)]
    pub more: u64,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct RequestPermissionResult {
    /// The answer.
    pub outcome: PermissionOutcome,
    /// What ACP has no place for.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<PermissionAnswerMeta>,
}

/// What ACP has no place for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionAnswerMeta {
    /// Ours.
    #[serde(default)]
    pub vault: PermissionAnswerVaultMeta,
}

/// What goes with an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PermissionAnswerVaultMeta {
    /// What the person said with it, such as why not; the caller hears it with a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub words: String,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PermissionOutcome {
    /// None was given here; others may still give one.
    Cancelled,
    /// One of the options.
    #[serde(rename_all = "camelCase")]
    Selected {
        /// Which.
        option_id: String,
    },
}
