//! `_vault/timeline`: the changes of the vault, turn by turn, with their authors.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The change sets to list. All conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct TimelineParams {
    /// Only change sets before this number: `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Maximum number, up to 500; 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only change sets that touched this note, under its earlier names too, or a file in this
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only change sets of this kind of actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// Only change sets that a call of this tool made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// Change sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TimelineResult {
    /// Newest first.
    pub sets: Vec<TimelineSet>,
    /// `before` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<u64>,
    /// The days with changes, oldest first, with the number of change sets; without `before` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<TimelineDay>>")]
    pub days: Vec<TimelineDay>,
}

/// A change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct TimelineSet {
    pub id: u64,
    /// The time of its start, in UTC.
    pub time: String,
    pub title: String,
    pub by: Actor,
    /// The program's own name.
    pub caller: String,
    /// The conversation that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The change set (`17`) or change (`17.2`) that it undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Whether all of it is undone.
    pub undone: bool,
    /// Number of its changes.
    pub total: u64,
    /// The first files that it changed.
    pub paths: Vec<String>,
    /// The tools that made the changes, if the audit log still has them.
    pub tools: Vec<String>,
}

/// The author of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A person, by a command or a button.
    Person,
    /// The agent, in a conversation.
    Agent,
    /// The agent, after a voice message.
    Voice,
    /// A script or another program with a token.
    Client,
    /// An MCP client.
    Mcp,
    /// An ACP client.
    Acp,
    /// A rule that runs automatically.
    Rule,
}

/// A day with changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TimelineDay {
    /// `2026-11-21`, in the daemon's time zone.
    pub day: String,
    /// Number of change sets.
    pub count: u64,
    /// The last change set of the day.
    pub last: u64,
}
