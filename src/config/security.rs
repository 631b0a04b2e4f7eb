//! The settings of the daemon's sandbox, which limits what a compromised daemon can do.

use serde::{Deserialize, Serialize};

/// The `[security]` section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether the daemon sandboxes itself at the start (Linux only): it can then write only to its
    /// vault and its own folders, and connect only to the ports of models.
    pub landlock: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { landlock: true }
    }
}
