//! What can be set about the local door.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::protocol::initialize::Limits;

/// The origin that Obsidian's desktop app sends.
pub const OBSIDIAN_ORIGIN: &str = "app://obsidian.md";

/// Settings of the local protocol. The address is not among them: it is 127.0.0.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The TCP port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// Values of `Origin` that are let in, compared byte for byte. A client that sends none (every
    /// program that is not a browser) is let in too; the token is needed in any case.
    pub allowed_origins: Vec<String>,
    /// Connections at a time; one more is answered with 503.
    #[serde(deserialize_with = "at_least_one")]
    pub max_connections: u32,
    /// Connections that have not finished their handshake.
    #[serde(deserialize_with = "at_least_one")]
    pub max_pending_handshakes: u32,
    /// The largest message taken, in bytes.
    #[serde(deserialize_with = "at_least_one")]
    pub max_message_bytes: u64,
    /// The largest frame taken, in bytes.
    #[serde(deserialize_with = "at_least_one")]
    pub max_frame_bytes: u64,
    /// The largest answer sent, in bytes.
    #[serde(deserialize_with = "at_least_one")]
    pub max_reply_bytes: u64,
    /// Messages that may wait for a client that reads slowly.
    #[serde(deserialize_with = "at_least_one")]
    pub max_queued_messages: u32,
    /// Bytes that may wait for a client that reads slowly.
    #[serde(deserialize_with = "at_least_one")]
    pub max_queued_bytes: u64,
    /// Requests of one connection that may be unanswered at a time.
    #[serde(deserialize_with = "at_least_one")]
    pub max_in_flight: u32,
    /// Messages a second from one connection, in the long run.
    #[serde(deserialize_with = "at_least_one")]
    pub messages_per_second: u32,
    /// Messages at once from one connection, after a pause.
    #[serde(deserialize_with = "at_least_one")]
    pub message_burst: u32,
    /// How long a request may take, in seconds, waiting included.
    #[serde(deserialize_with = "at_least_one")]
    pub request_seconds: u32,
    /// How often the server pings, in seconds; a client that stays silent for three is dropped.
    #[serde(deserialize_with = "at_least_one")]
    pub ping_seconds: u32,
}

/// Takes any number but 0: with none of something the daemon would run and nobody could use it.
fn at_least_one<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + From<u8> + PartialEq,
{
    let number = T::deserialize(deserializer)?;
    if number == T::from(0) {
        return Err(de::Error::custom("it must be at least 1"));
    }
    Ok(number)
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
    /// The part a client must know.
    #[must_use]
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

    /// How long a request may take.
    #[must_use]
    pub fn request_deadline(&self) -> Duration {
        Duration::from_secs(u64::from(self.request_seconds.max(1)))
    }

    /// The time between two pings.
    #[must_use]
    pub fn ping_every(&self) -> Duration {
        Duration::from_secs(u64::from(self.ping_seconds.max(1)))
    }
}
