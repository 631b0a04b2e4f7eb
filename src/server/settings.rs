//! The settings of the local server.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::llm::settings::at_least;
use crate::policy::Scope;
use crate::protocol::initialize::Limits;

/// The number of connections reserved for a person's own programs.
const RESERVED: usize = 8;

/// The origin that Obsidian's desktop app sends.
pub const OBSIDIAN_ORIGIN: &str = "app://obsidian.md";

/// The `[server]` section. The address is not configurable: it is always 127.0.0.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The TCP port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// The accepted values of `Origin`, compared byte for byte. Clients that send none (programs
    /// other than browsers) are accepted too. Every client needs the token.
    pub allowed_origins: Vec<String>,
    /// The most connections at a time; further ones get status 503.
    #[serde(deserialize_with = "at_least::<_, _, 16>")]
    pub max_connections: u32,
    /// The most connections with an unfinished handshake.
    #[serde(deserialize_with = "at_least::<_, _, 16>")]
    pub max_pending_handshakes: u32,
    /// The largest message accepted, in bytes.
    #[serde(deserialize_with = "at_least::<_, _, 65_536>")]
    pub max_message_bytes: u64,
    /// The largest frame accepted, in bytes.
    #[serde(deserialize_with = "at_least::<_, _, 4_096>")]
    pub max_frame_bytes: u64,
    /// The largest answer sent, in bytes.
    #[serde(deserialize_with = "at_least::<_, _, 65_536>")]
    pub max_reply_bytes: u64,
    /// The most messages queued for a client that reads slowly.
    #[serde(deserialize_with = "at_least::<_, _, 16>")]
    pub max_queued_messages: u32,
    /// The most bytes queued for a client that reads slowly.
    #[serde(deserialize_with = "at_least::<_, _, 65_536>")]
    pub max_queued_bytes: u64,
    /// The most unanswered requests of one connection.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub max_in_flight: u32,
    /// The sustained rate limit of one connection, in messages per second.
    #[serde(deserialize_with = "at_least::<_, _, 10>")]
    pub messages_per_second: u32,
    /// The burst limit of one connection, in messages.
    #[serde(deserialize_with = "at_least::<_, _, 100>")]
    pub message_burst: u32,
    /// The timeout of a request in seconds, including queueing.
    #[serde(deserialize_with = "at_least::<_, _, 5>")]
    pub request_seconds: u32,
    /// The ping interval in seconds; a client that misses three is dropped.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub ping_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AcpSettings {
    /// Whether an ACP client may approve changes in its own conversations. Otherwise only your own
    /// programs are asked.
    pub may_approve: bool,
}

impl Default for AcpSettings {
    fn default() -> Self {
        Self { may_approve: true }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            port: 27180,
            allowed_origins: vec![OBSIDIAN_ORIGIN.to_owned()],
            max_connections: 128,
            max_pending_handshakes: 64,
            max_message_bytes: 4 << 20,
            max_frame_bytes: 1 << 20,
            max_reply_bytes: 1 << 20,
            max_queued_messages: 1024,
            max_queued_bytes: 8 << 20,
            max_in_flight: 32,
            messages_per_second: 5_000,
            message_burst: 10_000,
            request_seconds: 60,
            ping_seconds: 20,
        }
    }
}

impl Settings {
    pub fn limits(&self) -> Limits {
        Limits {
            max_message_bytes: self.max_message_bytes,
            max_frame_bytes: self.max_frame_bytes,
            max_in_flight: self.max_in_flight,
            messages_per_second: self.messages_per_second,
            message_burst: self.message_burst,
            request_seconds: self.request_seconds,
        }
    }

    /// The connection limit for a program of this scope. The last places are reserved for the
    /// owner's programs, so that no other program can take them all.
    pub fn places(&self, scope: Scope) -> usize {
        let most = self.max_connections as usize;
        if scope.is_person() { most } else { most.saturating_sub(RESERVED).max(1) }
    }

    /// How long a request may take.
    pub fn request_deadline(&self) -> Duration {
        Duration::from_secs(u64::from(self.request_seconds.max(1)))
    }

    /// The time between two pings.
    pub fn ping_every(&self) -> Duration {
        Duration::from_secs(u64::from(self.ping_seconds.max(1)))
    }
}
