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
    /// The file; null if there is none.
    pub path: Option<String>,
    /// The line of the heading or block, from 1; null if the link names none, or none that is there.
    pub line: Option<u64>,
    /// Whether the file is there, with the heading or block that the link names.
    pub resolved: bool,
}
