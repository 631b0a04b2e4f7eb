//! `_vault/as_of`: a note, or the list of all files, at an earlier moment.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A moment: a time, or a change set. Without either the present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct At {
    /// An RFC 3339 time, or as a person says it: `2026-11-20 14:30`, `14:02`, `2h`, `yesterday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub time: Option<String>,
    /// Number of a change set: the moment after its last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
    /// With `changeSet`: the moment before its first change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub before: bool,
}

/// What to show, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AsOfParams {
    /// A note or another file, by its path or name at that moment or now; or a folder. Without it the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
    #[serde(default)]
    #[ts(optional, as = "Option<At>")]
    pub at: At,
    /// Of a folder: the first entry to return, from 1: `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub first: Option<u64>,
}

/// The file or folder at that moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AsOfResult {
    /// The moment, in local time.
    pub time: String,
    /// The last change set by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
    /// The path at that moment; empty for the vault.
    pub path: String,
    pub kind: EntryThen,
    /// Where the file is now, unless it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub now: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// Why there is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// The change set that left the file so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub left_by: Option<u64>,
    /// Set if the state at that moment is not certain: somebody else changed the file, or may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub unsure: Option<Unsure>,
    /// Of a folder: everything in it, by path; as many as fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<TreeEntryThen>>")]
    pub entries: Vec<TreeEntryThen>,
    /// Number of all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub total: Option<u64>,
    /// `first` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<u64>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryThen {
    #[default]
    File,
    Folder,
    /// A symbolic link or a special file.
    Other,
}

/// The span in which somebody else changed a file, or may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Unsure {
    /// The sentence for a person.
    pub said: String,
    /// When the journal last knew the file, in local time; left out if it did not know it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// When it knew the file again, in local time; left out if nobody can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub to: Option<String>,
}

/// An entry of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TreeEntryThen {
    /// The path in the vault.
    pub path: String,
    pub kind: EntryThen,
    /// Whether somebody else made, changed or removed it since, so that it may have been otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub unsure: bool,
}
