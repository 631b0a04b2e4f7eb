//! The `[vault]` section of the configuration file.

use serde::{Deserialize, Serialize};

/// The `[vault]` section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Minutes between full scans, which find what events missed. 0: never.
    pub rescan_minutes: u32,
    /// Seconds between full scans where the file system sends no events.
    pub poll_seconds: u32,
    /// Bytes of the largest file that is read or edited whole.
    pub max_file_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rescan_minutes: 15, poll_seconds: 30, max_file_bytes: 10 << 20 }
    }
}
