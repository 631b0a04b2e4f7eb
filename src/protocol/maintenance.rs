//! `_vault/trash/empty`, `_vault/journal/verify` and `_vault/journal/gc`: maintenance of trash and journal. For
//! a person's clients; no tool does it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The files to delete permanently from the trash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrashEmptyParams {
    /// These files, as in `list_trash` or by the change that deleted them (`17.2`). Their texts are
    /// deleted from the journal, too. Empty: the files that are older than `olderThanDays`.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub items: Vec<String>,
    /// Without `items`: the files that were deleted more than this number of days ago. 30 by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub older_than_days: Option<u32>,
    /// Only preview.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// The files that were, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrashEmptyResult {
    /// The files, as in `list_trash`.
    pub items: Vec<String>,
    /// Their size.
    pub bytes: u64,
    /// Whether they were deleted.
    pub removed: bool,
    /// Information for a person: texts that stay in the journal, since other changes need them.
    pub notes: Vec<String>,
}

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct JournalVerifyParams {}

/// The state of the journal's texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalVerifyResult {
    /// Number of intact texts.
    pub sound: u64,
    /// Size on disk.
    pub bytes: u64,
    /// Hashes of damaged texts, with the damage.
    pub damaged: Vec<String>,
    /// Hashes of missing texts that a change needs.
    pub missing: Vec<String>,
    /// Number of texts that no change needs, left by an interruption; `_vault/journal/gc` deletes them.
    pub unused: u64,
}

/// Deletes texts in the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalGcParams {
    /// Only preview.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// The texts that were, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalGcResult {
    /// Number of changes whose texts are beyond the limits.
    pub changes: u64,
    /// Number of texts.
    pub texts: u64,
    /// Size on disk.
    pub bytes: u64,
    /// Whether they were deleted.
    pub freed: bool,
}
