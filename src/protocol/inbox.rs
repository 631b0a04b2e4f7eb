//! Voice messages: `_vault/inbox/list`, `_vault/inbox/retry`, `_vault/inbox/discard` and the event
//! `_vault/inbox`; `_vault/smarthole`: the state of the connection to SmartHole.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::events::EventMeta;

/// A filter of messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct InboxListParams {
    /// Only this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Include messages that are done.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
    /// Maximum number, the newest; 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxListResult {
    /// In order of arrival.
    pub messages: Vec<InboxMessage>,
}

/// Retries a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxRetryParams {
    pub id: u64,
}

/// Discards a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxDiscardParams {
    pub id: u64,
}

/// The message after the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxResult {
    pub message: InboxMessage,
}

/// A voice message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct InboxMessage {
    /// Increases in order of arrival.
    pub id: u64,
    /// The transcript; empty once it is done, since its conversation has it.
    pub text: String,
    pub state: InboxMessageState,
    /// Number of attempts to deliver it.
    pub attempts: u32,
    /// Whether another text with the same id had arrived before.
    pub differs: bool,
    /// Local time of its arrival.
    pub received: String,
    /// The result, for people; may be empty.
    pub reason: String,
    /// Whether it was typed.
    pub typed: bool,
    /// Whether the person named the steward; otherwise a router chose it.
    pub direct: bool,
    /// The reason why the router chose the steward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_reason: Option<String>,
    /// Its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The conversation of that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// State of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum InboxMessageState {
    New,
    /// Being processed, or answered but not shown yet.
    Taken,
    /// Answered or discarded.
    Done,
    /// It failed too often; a person may retry it.
    SetAside,
}

/// A message arrived or changed its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxParams {
    pub message: InboxMessage,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// State of the connection to SmartHole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SmartHoleState {
    pub state: SmartHoleConnection,
    /// The steward's name in SmartHole.
    pub name: String,
    /// The reason of the state, and advice; may be empty.
    pub reason: String,
    /// Number of messages that wait or are being processed.
    pub waiting: u64,
    /// Number of messages that were set aside.
    pub set_aside: u64,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SmartHoleConnection {
    /// Switched off in the settings.
    #[default]
    Disabled,
    /// SmartHole has not answered yet.
    Connecting,
    Connected,
    /// SmartHole refused the steward.
    Refused,
    /// SmartHole does not run; the connection is retried.
    Disconnected,
}

/// The state of the connection changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SmartHoleParams {
    pub smarthole: SmartHoleState,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
