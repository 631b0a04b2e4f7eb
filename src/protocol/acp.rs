//! What ACP has beside the methods that every client uses: `authenticate`, `session/resume`, `close`,
//! `delete`, `set_mode` and `set_config_option`. For ACP clients, and for a person's own programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Asks whether the way in that was offered has been gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateParams {
    /// One of `authMethods`.
    pub method_id: String,
}

/// It has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AuthenticateResult {}

/// A way to set up what the agent needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AuthMethod {
    /// What `authenticate` takes.
    pub id: String,
    /// For people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// How it is gone: `terminal`, where the client runs the agent's program with `args`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the program is given.
    pub args: Vec<String>,
}

/// Goes on with a conversation without telling it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionResumeParams {
    /// The conversation.
    pub session_id: String,
    /// As for `session/new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// As for `session/new`.
    #[serde(default)]
    #[ts(optional, type = "Array<unknown>")]
    pub mcp_servers: Vec<Value>,
}

/// What can be chosen for a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionChoices {
    /// How far its calls are trusted.
    pub modes: ModeState,
    /// The same and the model, in ACP's newer shape.
    pub config_options: Vec<ConfigOption>,
}

/// Stops what goes on in a conversation, and tells no more of it; it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseParams {
    /// The conversation.
    pub session_id: String,
}

/// It is closed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionCloseResult {}

/// Deletes a conversation for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    /// The conversation.
    pub session_id: String,
}

/// It is gone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionDeleteResult {}

/// Sets how far the calls of a conversation are trusted; never further than the vault's own mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetModeParams {
    /// The conversation.
    pub session_id: String,
    /// `ask`, `auto` or `read-only`.
    pub mode_id: String,
}

/// It is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SetModeResult {}

/// Chooses something for a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionParams {
    /// The conversation.
    pub session_id: String,
    /// `mode` or `model`.
    pub config_id: String,
    /// One of its values.
    pub value: String,
}

/// How all options stand now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResult {
    /// All of them.
    pub config_options: Vec<ConfigOption>,
}

/// The modes that a conversation can have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModeState {
    /// The one that holds.
    pub current_mode_id: String,
    /// Those that are no looser than the vault's.
    pub available_modes: Vec<ModeInfo>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeInfo {
    /// `ask`, `auto` or `read-only`.
    pub id: String,
    /// For people.
    pub name: String,
    /// What it means.
    pub description: String,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// What `session/set_config_option` takes: `mode`, `model`.
    pub id: String,
    /// For people.
    pub name: String,
    /// What kind of choice it is, which some clients show in its own place: `mode`, `model`.
    pub category: String,
    /// Always `select`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is chosen now.
    pub current_value: String,
    /// What can be.
    pub options: Vec<ConfigValue>,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ConfigValue {
    /// What is set.
    pub value: String,
    /// For people.
    pub name: String,
}
