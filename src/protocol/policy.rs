//! `_vault/mode`, `_vault/approvals` with what is below it, `_vault/audit`: what may run and what ran. For
//! a person's own programs alone. `_vault/mode_changed`: another mode holds.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::events::EventMeta;
use super::permission::RequestPermissionParams;

/// Asks for the mode, or sets it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeParams {
    /// `ask`, `auto` or `read-only`; `settings` goes back to what the settings say. Left out: it
    /// is only asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<String>,
}

/// The mode that holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModeResult {
    /// `ask`, `auto` or `read-only`.
    pub mode: String,
    /// Whether a person set it while the steward ran; else it is the settings'.
    pub set_live: bool,
}

/// Another mode holds, whoever set it: by `_vault/mode`, or in the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeChangedParams {
    /// The one that holds now.
    #[serde(flatten)]
    pub mode: ModeResult,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// Asks for what was agreed to for good, or takes one of it back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ApprovalsParams {
    /// The one to take back first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub revoke: Option<i64>,
}

/// What was agreed to for good.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ApprovalsResult {
    /// Oldest first.
    pub approvals: Vec<Approval>,
    /// Whether the one to take back was there.
    pub revoked: bool,
}

/// A tool that needs no further agreement in a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its number.
    pub id: i64,
    /// The tool.
    pub tool: String,
    /// The folder.
    pub folder: String,
    /// The name of the program in which a person agreed.
    pub agreed_by: String,
    /// When, as local time.
    pub time: String,
}

/// Asks for the questions that wait for a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PendingParams {
    /// Only this one, with all that a person is shown of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub id: Option<i64>,
}

/// The questions that wait for a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PendingResult {
    /// Oldest first.
    pub pending: Vec<PendingQuestion>,
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PendingQuestion {
    /// Its number: that of the call in the audit, until it is answered.
    pub id: i64,
    /// Since when, as local time.
    pub since: String,
    /// The conversation; `direct` for a call outside of one.
    pub session_id: String,
    /// What would be done.
    pub title: String,
    /// The tool.
    pub tool: String,
    /// The name the caller gave of itself.
    pub caller: String,
    /// What kind of caller it is.
    pub scope: String,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// How many changes it would make.
    pub changes: u32,
    /// Whether a connected program shows it; then it waits for as long as one is there.
    pub shown: bool,
    /// Whether its call still waits; else a yes is kept for the call to be repeated.
    pub waits: bool,
    /// All of it, where it was asked for by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub asked: Option<RequestPermissionParams>,
}

/// Answers a question that waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams {
    /// The question.
    pub id: i64,
    /// `allow_once`, `allow_always` where it is offered, or `reject_once`.
    pub option_id: String,
    /// What the person says with it, such as why not; the caller hears it with a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub words: String,
}

/// A question that was answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AnswerResult {
    /// What was asked about.
    pub title: String,
    /// Whether its call waited for the answer; else the answer is kept for the call to be repeated.
    pub waited: bool,
}

/// Which calls are asked for; all conditions hold together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AuditParams {
    /// Of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub tool: Option<String>,
    /// Of this caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub caller: Option<String>,
    /// `allowed`, `refused`, `dry_run` or `asked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub decision: Option<String>,
    /// At or after this time, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub since: Option<i64>,
    /// After this number: to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub after: Option<i64>,
    /// At most so many, up to 1000; 100 where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Calls and what was decided on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AuditResult {
    /// Oldest first.
    pub calls: Vec<AuditedCall>,
}

/// A call and what was decided on it. Never what a note says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditedCall {
    /// Its number.
    pub id: i64,
    /// When it came, as local time.
    pub time: String,
    /// The name the caller gave of itself.
    pub caller: String,
    /// What kind of caller it is.
    pub scope: String,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// The tool.
    pub tool: String,
    /// The paths it was about.
    pub paths: Vec<String>,
    /// `allowed`, `refused`, `dry_run` or `asked`.
    pub decision: String,
    /// The layer that refused.
    pub layer: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Who agreed or refused, where somebody was asked.
    pub answered_by: Option<String>,
    /// `ok`, or the word for its failure; none while a person is asked.
    pub outcome: Option<String>,
    /// How long it took.
    pub microseconds: i64,
    /// Bytes written, or of the answer.
    pub bytes: i64,
    /// The change set it made.
    pub change_set: Option<i64>,
}
