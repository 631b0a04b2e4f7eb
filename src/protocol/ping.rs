//! `_vault/ping`: checks the connection.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PingParams {}

/// The last event, so that a client notices missed events after a sleep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PingResult {
    /// The id of this run of the daemon.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
}
