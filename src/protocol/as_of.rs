//! `_vault/as_of`: a note, or the list of all files, at an earlier moment.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A moment: a time, or a change set. By default the present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct At {
    /// An RFC 3339 time, or a time as a person writes it: `2026-11-20 14:30`, `14:02`, `2h`,
    /// `yesterday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Number of a change set: the moment after its last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set: Option<u64>,
    /// With `changeSet`: the moment before its first change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub before: bool,
}

/// The file or folder, and the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct AsOfParams {
    /// A note or another file, by its path or name at that moment or now; or a folder. By default
    /// the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default)]
    #[ts(optional, as = "Option<At>")]
    pub at: At,
    /// For a folder: the first entry to return, from 1: `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
}

/// The file or folder at that moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct AsOfResult {
    /// The moment, in local time.
    pub time: String,
    /// The last change set by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set: Option<u64>,
    /// The path at that moment; empty for the vault.
    pub path: String,
    pub kind: EntryThen,
    /// The file's path now; none if the file no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// The file's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason why there is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The change set that left the file in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_by: Option<u64>,
    /// Set if the state at that moment is uncertain: another program changed the file, or may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<Unsure>,
    /// For a folder: its files and folders, by path; as many as fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<TreeEntryThen>>")]
    pub entries: Vec<TreeEntryThen>,
    /// Number of all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// `first` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryThen {
    #[default]
    File,
    Folder,
    /// A symbolic link or a special file.
    Other,
}

/// The period in which another program changed a file, or may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct Unsure {
    /// The sentence for a person.
    pub said: String,
    /// The last time before at which the journal recorded the file, in local time; none if it never
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The next time at which the journal recorded the file, in local time; none if that is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// An entry of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TreeEntryThen {
    /// The path in the vault.
    pub path: String,
    pub kind: EntryThen,
    /// Whether another program created, changed or removed it since, so that its state then is
    /// uncertain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub unsure: bool,
}
