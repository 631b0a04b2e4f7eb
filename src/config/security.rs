//! What holds the daemon in, should a fault of its own be turned against its user.

use serde::{Deserialize, Serialize};

/// The `[security]` section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether the daemon confines itself at start, where the system can (Linux): it may then write
    /// to its vault and its own folders only, and connect to the ports of models only.
    pub landlock: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { landlock: true }
    }
}
