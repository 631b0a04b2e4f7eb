//! `_vault/ping`: checks the connection.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PingParams {}

/// The last event, so that a client notices a gap after a sleep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PingResult {
    /// This run of the daemon.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
}
