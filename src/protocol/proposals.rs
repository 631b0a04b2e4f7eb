//! `_vault/proposals/apply`: carries out what was proposed in the mode `plan`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The proposals to apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsApplyParams {
    pub session_id: String,
    /// The turn that proposed them. Left out: the last one that proposed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
}

/// What was applied, in the order in which it was proposed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsApplyResult {
    /// How many were applied.
    pub applied: u64,
    /// How many there are.
    pub total: u64,
    /// The change set that they form: what `undo` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
    /// Why the next one was not applied, and none after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub failed: Option<String>,
}
