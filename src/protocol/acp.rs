//! ACP's methods besides those that all clients use: `authenticate`, `session/resume`, `close`,
//! `delete`, `set_mode` and `set_config_option`. For ACP clients, and for a person's own programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Asks whether the authentication method was completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateParams {
    /// One of `authMethods`.
    pub method_id: String,
}

/// The authentication method was completed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AuthenticateResult {}

/// A way to set up a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AuthMethod {
    /// The id that `authenticate` takes.
    pub id: String,
    /// Display name.
    pub name: String,
    /// A description for people.
    pub description: String,
    /// `terminal`: the client runs the agent's program with `args`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Arguments of the program.
    pub args: Vec<String>,
}

/// Resumes a conversation without replaying its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionResumeParams {
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

/// The modes and options of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionChoices {
    /// The approval mode: which of its changes need a person's approval.
    pub modes: ModeState,
    /// The mode, the model and the agent, in ACP's newer form. An option without a choice is left out.
    pub config_options: Vec<ConfigOption>,
}

/// Stops the turn of a conversation and unsubscribes from it. The conversation is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseParams {
    pub session_id: String,
}

/// The conversation was closed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionCloseResult {}

/// Deletes a conversation permanently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    pub session_id: String,
}

/// The conversation was deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionDeleteResult {}

/// Sets the mode of a conversation, which cannot allow more than the vault's mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetModeParams {
    pub session_id: String,
    /// `ask`, `auto`, `plan` or `read-only`.
    pub mode_id: String,
}

/// The mode was set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SetModeResult {}

/// Sets an option of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionParams {
    pub session_id: String,
    /// `mode`, `model` or `agent`.
    pub config_id: String,
    /// One of the option's values.
    pub value: String,
}

/// The options after the change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResult {
    pub config_options: Vec<ConfigOption>,
}

/// The modes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModeState {
    /// The mode in effect.
    pub current_mode_id: String,
    /// The modes that allow no more than the vault's mode.
    pub available_modes: Vec<ModeInfo>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModeInfo {
    /// `ask`, `auto`, `plan` or `read-only`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// A description for people.
    pub description: String,
}

/// An option of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// The id that `session/set_config_option` takes: `mode`, `model`, `agent`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// The kind of option, which some clients show in its own place: `mode`, `model`, `_agent`.
    pub category: String,
    /// Always `select`.
    #[serde(rename = "type")]
    pub kind: String,
    pub current_value: String,
    pub options: Vec<ConfigValue>,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ConfigValue {
    pub value: String,
    /// Display name.
    pub name: String,
    /// What it means, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub description: Option<String>,
}
