//! `_vault/ping`: is anybody there.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PingParams {}

/// Where the events stand, so that a client notices a gap after a sleep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PingResult {
    /// This run of the daemon.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
}
