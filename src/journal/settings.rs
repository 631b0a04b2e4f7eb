//! The limits and retention of the journal.

use serde::{Deserialize, Serialize};

use crate::store::journal::Limits;

/// The section `[journal]` of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Notes and attachments that one turn may delete before a person has to agree. 0: no limit.
    pub max_deleted: usize,
    /// Notes and attachments that one turn may move before a person has to agree. 0: no limit.
    pub max_moved: usize,
    /// Notes and attachments that one turn may delete or move before a person has to agree, in
    /// percent of the vault's notes; at least ten are always allowed. 0: no limit.
    pub max_percent: usize,
    /// Versions kept of each file.
    pub versions: usize,
    /// Days that versions are kept, counting only days on which the daemon ran.
    pub days: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_deleted: 20, max_moved: 200, max_percent: 10, versions: 50, days: 30 }
    }
}

impl Settings {
    /// The retention limits of stored texts.
    pub(super) fn limits(&self) -> Limits {
        Limits { versions: u32::try_from(self.versions).unwrap_or(0), days: self.days }
    }
}
