//! `_vault/proposals/apply`: applies the proposals of the mode `plan`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The proposals to apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsApplyParams {
    pub session_id: String,
    /// The turn that made the proposals. By default the last turn with proposals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
}

/// The applied proposals, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsApplyResult {
    /// Number of applied proposals.
    pub applied: u64,
    /// Number of all proposals.
    pub total: u64,
    /// The change set that they form, which `undo` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
    /// The reason why the next one and all after it were not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub failed: Option<String>,
}
