//! `_vault/inbox/list`, `_vault/inbox/retry`, `_vault/inbox/discard` and `_vault/inbox`: messages that
//! came by voice; `_vault/smarthole`: how the connection stands that they come by.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::events::EventMeta;

/// Which messages to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxListParams {
    /// This one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub id: Option<u64>,
    /// Those that are done as well.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
    /// At most so many, the last ones; 100 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxListResult {
    /// They, in the order in which they came.
    pub messages: Vec<InboxMessage>,
}

/// A message to be tried again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxRetryParams {
    /// Its number.
    pub id: u64,
}

/// A message to be let go of, undone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxDiscardParams {
    /// Its number.
    pub id: u64,
}

/// The message as it stands now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxResult {
    /// It.
    pub message: InboxMessage,
}

/// A message that came by voice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxMessage {
    /// Its number; the order in which they came.
    pub id: u64,
    /// What was said, as it was heard; empty once it is done, since its conversation has it then.
    pub text: String,
    /// How it stands.
    pub state: InboxMessageState,
    /// How often it was begun.
    pub attempts: u32,
    /// Whether another text had come under the same name before.
    pub differs: bool,
    /// When it came, local time.
    pub received: String,
    /// What became of it, for people; may be empty.
    pub reason: String,
    /// Whether it was typed, not spoken.
    pub typed: bool,
    /// Whether the person called the steward by name; else a router chose it.
    pub direct: bool,
    /// Why the router chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub routing_reason: Option<String>,
    /// The turn that it is, or was, worked on in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
    /// The conversation of that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum InboxMessageState {
    /// It waits for its turn.
    New,
    /// It is worked on, or answered and not shown yet.
    Taken,
    /// Answered, or let go of.
    Done,
    /// It came to nothing too often; a person may have it tried again.
    SetAside,
}

/// A message came, or stands otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct InboxParams {
    /// It.
    pub message: InboxMessage,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// How the connection to SmartHole stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SmartHoleState {
    /// How.
    pub state: SmartHoleConnection,
    /// The name that the steward has there.
    pub name: String,
    /// Why it stands so, and what to do; empty where there is nothing to say.
    pub reason: String,
    /// Messages that wait or are worked on.
    pub waiting: u64,
    /// Messages that were set aside.
    pub set_aside: u64,
}

/// How a connection stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SmartHoleConnection {
    /// Switched off in the settings.
    #[default]
    Disabled,
    /// SmartHole is there and has not answered yet.
    Connecting,
    /// Messages come.
    Connected,
    /// SmartHole does not take the steward.
    Refused,
    /// SmartHole is not there; it is tried again.
    Disconnected,
}

/// The connection stands otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SmartHoleParams {
    /// How.
    pub smarthole: SmartHoleState,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
