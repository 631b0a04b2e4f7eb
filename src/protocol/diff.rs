//! `_vault/diff`: diffs of a change set, of an approval request, or of a note between two moments, for
//! people.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::as_of::At;

/// The changes to return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct DiffParams {
    /// Number of the change set; or set `question` or `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set: Option<u64>,
    /// Number of a pending approval request in `_vault/approvals/pending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<i64>,
    /// A note, by its path or name at the later moment: returns its changes between `from` and
    /// `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<At>,
    /// By default the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// The first change to return, from 1: `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// With `question`: the first line to return of the diff of change `first`, from 0: `nextLine` of the
    /// last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct DiffResult {
    /// The change set's title.
    pub title: String,
    /// The changes in order; as many as fit.
    pub changes: Vec<DiffChange>,
    /// Number of all changes.
    pub total: u64,
    /// `first` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// `line` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_line: Option<u64>,
}

/// A change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct DiffChange {
    /// Its id: `17.2`, which `undo` takes; in an approval request its number, from 1.
    pub id: String,
    /// `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`; in
    /// an approval request as in `session/request_permission`.
    pub action: String,
    /// The path after the change.
    pub path: String,
    /// The path before a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Unified diff of the text; undefined without a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The reason why the diff is missing or incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// The files of a deleted folder, by their paths below it; the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub files: Vec<String>,
    /// Number of files in a deleted folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_files: Option<u64>,
    /// The change set that undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<u64>,
}
