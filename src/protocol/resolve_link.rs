//! `_vault/resolve_link`: says where a link leads.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ResolveLinkParams {
    /// As between `[[` and `]]`, without a display text: a name or path, and perhaps a heading or block.
    pub link: String,
}

/// The target of the link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ResolveLinkResult {
    /// The file; null if there is none. If the file was moved, its present path.
    pub path: Option<String>,
    /// The line of the heading or block, from 1; null if the link names none, or none that is there.
    pub line: Option<u64>,
    /// Whether the file is there, with the heading or block that the link names.
    pub resolved: bool,
    /// The file that had the name, if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub deleted: Option<DeletedFile>,
}

/// A file that was deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct DeletedFile {
    /// Its last path, by which the time machine finds it.
    pub path: String,
    /// When it was deleted, with the offset of the local time.
    pub time: String,
}
