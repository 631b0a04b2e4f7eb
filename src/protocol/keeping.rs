//! `_vault/trash/empty`, `_vault/journal/verify` and `_vault/journal/gc`: looking after what is
//! kept. For people's clients; none of it is a tool that a model can call.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What to remove from the trash for good.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrashEmptyParams {
    /// These things, as `list_trash` names them or by the change that deleted them (`17.2`). Their
    /// texts go from the journal too. None: what is older than `olderThanDays`.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub items: Vec<String>,
    /// Without `items`: what was deleted more than so many days ago. 30 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub older_than_days: Option<u32>,
    /// Only say what would be removed.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// What was, or would be, removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrashEmptyResult {
    /// The things, as `list_trash` names them.
    pub items: Vec<String>,
    /// Bytes in them.
    pub bytes: u64,
    /// Whether it was done.
    pub removed: bool,
    /// What a person should hear: texts that the journal still has, since other changes need them.
    pub notes: Vec<String>,
}

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct JournalVerifyParams {}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalVerifyResult {
    /// Texts that were read and are as they were kept.
    pub sound: u64,
    /// Bytes they take on disk.
    pub bytes: u64,
    /// Texts whose bytes are not what was kept: their hashes, and what is wrong.
    pub damaged: Vec<String>,
    /// Texts that a change needs and that are not there: their hashes.
    pub missing: Vec<String>,
    /// Texts that no change needs, left by an interruption; `_vault/journal/gc` frees them.
    pub unused: u64,
}

/// Whether to do it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalGcParams {
    /// Only say what would be freed.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// What was, or would be, freed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalGcResult {
    /// Changes whose texts are older than what is kept.
    pub changes: u64,
    /// Texts.
    pub texts: u64,
    /// Bytes they took on disk.
    pub bytes: u64,
    /// Whether it was done.
    pub freed: bool,
}
