//! HTTP bodies: a message and its answer, the challenge.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::session::StopReason;

/// The header in which `steward mcp` names the client whose message it relays. Such requests have none of MCP's
/// headers.
pub const RELAYED_FOR: &str = "steward-relayed-for";

/// The body of `POST /v1/sessions/{id}/messages`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageBody {
    pub text: String,
    /// A unique id of the message: a message that is sent again with the same id is not delivered
    /// twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
}

/// The answer to a message, after the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageAnswer {
    pub session_id: String,
    /// The turn to which the message was delivered.
    pub turn: String,
    pub stop_reason: StopReason,
    /// The turn's last message; empty if there is none.
    pub text: String,
    /// Whether the last message is a question, which the next message answers.
    pub waiting: bool,
}

/// The answer to `GET /v1/challenge/NAME/NONCE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ChallengeAnswer {
    /// The nonce that the client signs to log in, once and within ten seconds.
    pub nonce: String,
    /// The daemon's proof that it knows the token of that name: a signature of both nonces.
    pub proof: String,
}
