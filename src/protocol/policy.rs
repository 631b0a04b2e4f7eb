//! `_vault/mode`, `_vault/approvals`, `_vault/approvals/*`, `_vault/audit`: permissions and the
//! audit log. Only for a person's own programs. `_vault/mode_changed`: the mode changed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::events::EventMeta;
use super::permission::RequestPermissionParams;

/// Gets or sets the mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeParams {
    /// `ask`, `auto`, `plan` or `read-only`; `settings` returns to the mode in the settings. By
    /// default the mode is not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<String>,
}

/// The mode in effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModeResult {
    /// `ask`, `auto`, `plan` or `read-only`.
    pub mode: String,
    /// Whether a person set it while the steward ran; otherwise it is from the settings.
    pub set_live: bool,
}

/// The mode changed, by `_vault/mode` or in the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeChangedParams {
    #[serde(flatten)]
    pub mode: ModeResult,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// Lists standing approvals, or revokes one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ApprovalsParams {
    /// Number of the approval to revoke first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub revoke: Option<i64>,
}

/// The standing approvals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ApprovalsResult {
    /// Oldest first.
    pub approvals: Vec<Approval>,
    /// Whether the approval to revoke existed.
    pub revoked: bool,
}

/// A standing approval: a tool that needs no further approval in a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub id: i64,
    pub tool: String,
    /// The folder from the vault's root; empty for a tool of an MCP server, which has none.
    pub folder: String,
    /// The program in which the person agreed.
    pub agreed_by: String,
    /// Local time.
    pub time: String,
}

/// Lists the pending approval requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PendingParams {
    /// Only this request, complete as a person sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub id: Option<i64>,
}

/// The pending approval requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PendingResult {
    /// Oldest first.
    pub pending: Vec<PendingQuestion>,
}

/// A pending approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PendingQuestion {
    /// The number of the call in the audit, until it is answered.
    pub id: i64,
    /// Local time.
    pub since: String,
    /// The conversation; `direct` for a call outside of one.
    pub session_id: String,
    /// The changes, for people.
    pub title: String,
    pub tool: String,
    /// The caller's own name.
    pub caller: String,
    /// The caller's scope.
    pub scope: String,
    /// The reasons why approval is needed.
    pub reasons: Vec<String>,
    /// Number of changes.
    pub changes: u32,
    /// Whether a connected program shows it; it waits as long as one does.
    pub shown: bool,
    /// Whether its call still waits; otherwise an approval is stored until the call is repeated.
    pub waits: bool,
    /// The complete request, if it was selected by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub asked: Option<RequestPermissionParams>,
}

/// Answers a pending approval request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams {
    pub id: i64,
    /// `allow_once`, `allow_always` if it is offered, or `reject_once`.
    pub option_id: String,
    /// The person's comment, such as the reason of a refusal; the caller receives it with a
    /// refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub words: String,
}

/// The request was answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AnswerResult {
    /// The changes, for people.
    pub title: String,
    /// Whether its call waited for the answer; otherwise the answer is stored until the call is
    /// repeated.
    pub waited: bool,
}

/// A filter of audited calls; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct AuditParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// `allowed`, `refused`, `dry_run` or `asked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// At or after this time, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Only calls with a higher number than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Maximum number, up to 1000; 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The audited calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AuditResult {
    /// Oldest first.
    pub calls: Vec<AuditedCall>,
}

/// An audited call. Never contains text of notes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditedCall {
    pub id: i64,
    /// Local time of the call.
    pub time: String,
    /// The caller's own name.
    pub caller: String,
    /// The caller's scope.
    pub scope: String,
    pub conversation: Option<String>,
    pub tool: String,
    /// The paths that the call names.
    pub paths: Vec<String>,
    /// `allowed`, `refused`, `dry_run` or `asked`.
    pub decision: String,
    /// The layer that refused.
    pub layer: Option<String>,
    pub reason: Option<String>,
    /// The program that answered the approval request, if there was one.
    pub answered_by: Option<String>,
    /// `ok`, or the error kind; none while it waits for approval.
    pub outcome: Option<String>,
    /// Duration.
    pub microseconds: i64,
    /// Bytes written or returned.
    pub bytes: i64,
    /// The change set that the call made.
    pub change_set: Option<i64>,
}
