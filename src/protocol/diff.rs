//! `_vault/diff`: what a change set did, or what a question is about, text by text, for a person to
//! look at.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which changes to show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffParams {
    /// The change set's number, or `question`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
    /// A question that waits: the number in `_vault/approvals/pending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub question: Option<i64>,
    /// The first change to show, from 1: how to go on where an answer ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub first: Option<u64>,
    /// Of a question: the first line of the diff of the change `first`, from 0: how to go on in a
    /// diff that an answer cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<u64>,
}

/// The changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffResult {
    /// What the change set did, for people.
    pub title: String,
    /// Its changes, in the order in which they were made; as many as fit.
    pub changes: Vec<DiffChange>,
    /// How many there are in all.
    pub total: u64,
    /// Where to go on: `first` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<u64>,
    /// Where to go on in the diff of that change: `line` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next_line: Option<u64>,
}

/// One change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffChange {
    /// What names it: `17.2`; `undo` takes it. Of a question its place, from 1.
    pub id: String,
    /// `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`; of a
    /// question what it is in `session/request_permission`.
    pub action: String,
    /// The path it has, or had, afterwards.
    pub path: String,
    /// The path before, of something moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// The change of its text as a unified diff; left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub diff: Option<String>,
    /// Why there is no diff, or not all of it, where a text changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were taken away.
    pub removed: u64,
    /// The files of a folder that was deleted, by their paths below it; the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub files: Vec<String>,
    /// How many files were in a folder that was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub total_files: Option<u64>,
    /// The change set that took it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub undone_by: Option<u64>,
}
