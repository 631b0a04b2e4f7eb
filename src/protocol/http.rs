//! What crosses HTTP beside the WebSocket: a message, and its answer.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::session::StopReason;

/// The header in which `steward mcp` names the client whose message it passes on. What comes so has none of
/// MCP's own headers.
pub const RELAYED_FOR: &str = "steward-relayed-for";

/// The body of `POST /v1/sessions/{id}/messages`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageBody {
    /// What is said.
    pub text: String,
    /// A name that no other message has: the same message sent again under it is not heard twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
}

/// Its answer, once the turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageAnswer {
    /// The conversation that the message went to.
    pub session_id: String,
    /// The turn in which it was heard.
    pub turn: String,
    /// Why the turn is over.
    pub stop_reason: StopReason,
    /// The last message of the turn, whole; empty where nothing was said.
    pub text: String,
    /// Whether that is a question that waits for an answer: the next message.
    pub waiting: bool,
}

/// The answer to `GET /v1/challenge/NAME/NONCE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ChallengeAnswer {
    /// What the client signs to come in, once and within ten seconds.
    pub nonce: String,
    /// The daemon's proof that it knows the token of that name: it signs both nonces.
    pub proof: String,
}
