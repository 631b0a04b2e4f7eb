//! `initialize`: ACP v1's handshake, with our extensions under `_meta.vault`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::acp::AuthMethod;
use super::host::HostOperation;

/// The client's identity and capabilities. Members of ACP that this server does not need are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The protocol version that the client supports: 1. The server answers with its own version; a
    /// client that does not support it closes the connection.
    pub protocol_version: u32,
    /// Name and version of the client, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_info: Option<Implementation>,
    /// The client's capabilities.
    #[serde(default)]
    #[ts(optional, as = "Option<ClientCapabilities>")]
    pub client_capabilities: ClientCapabilities,
}

/// A program, in ACP's and MCP's form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Implementation {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    #[serde(default)]
    pub version: String,
}

/// The client's capabilities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ClientCapabilities {
    /// The authentication methods that the client supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<ClientAuth>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ClientMeta>,
}

/// Authentication methods of a client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ClientAuth {
    /// The client can run the agent's program in a terminal for its user.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub terminal: bool,
}

/// The client's extensions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ClientMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<ClientVaultMeta>,
}

/// Members that a client of this protocol adds to ACP's handshake.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ClientVaultMeta {
    /// A random text that the server must sign with the token, at most 128 bytes: proves that the
    /// other end of this connection is the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Whether the client can show an approval request (`session/request_permission`) to a person
    /// and return the answer. Counts only with the token of a person's own program.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub approvals: bool,
    /// The host operations (`_vault/host/*`) that the client supports, as the program that has the
    /// vault open. Counts only with the token of a person's own program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<HostOperation>>")]
    pub host: Vec<HostOperation>,
    /// Whether the client has the focus now; `_vault/host/focus` reports changes.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub focused: bool,
    /// The oldest version of the daemon that the client works with; an older one refuses it.
    #[serde(default, rename = "minDaemon", skip_serializing_if = "Option::is_none")]
    pub min_daemon: Option<String>,
}

/// The server's identity and capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The protocol version of this connection.
    pub protocol_version: u32,
    /// The daemon.
    pub agent_info: Implementation,
    /// The daemon's capabilities.
    pub agent_capabilities: AgentCapabilities,
    /// The ways to set up a model, for an ACP client that can run a program in a terminal;
    /// otherwise empty. Clients authenticate before the upgrade to the WebSocket.
    pub auth_methods: Vec<AuthMethod>,
}

/// The daemon's capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether the daemon supports `session/load`.
    pub load_session: bool,
    /// The supported parts of a message besides text.
    pub prompt_capabilities: PromptCapabilities,
    /// The kinds of MCP servers that `session/new` may name.
    pub mcp_capabilities: McpCapabilities,
    /// The supported methods for conversations.
    pub session_capabilities: SessionCapabilities,
    #[serde(rename = "_meta")]
    pub meta: AgentMeta,
}

/// The supported parts of a message besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Parts of notes.
    pub embedded_context: bool,
}

/// The kinds of MCP servers that may be named besides those over stdio. None of them is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct McpCapabilities {
    /// Over HTTP.
    pub http: bool,
    /// Over HTTP with the older streaming transport.
    pub sse: bool,
}

/// The supported methods for conversations, with an object for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionCapabilities {
    /// `session/list`.
    pub list: Offered,
    /// `session/resume`.
    pub resume: Offered,
    /// `session/close`.
    pub close: Offered,
    /// `session/delete`.
    pub delete: Offered,
}

/// Marks a supported method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Offered {}

/// The daemon's extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AgentMeta {
    pub vault: AgentVaultMeta,
}

/// Members that the daemon adds to ACP's handshake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct AgentVaultMeta {
    /// The name of the vault.
    pub name: String,
    /// The id of this run of the daemon: each run numbers its events from 1.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
    /// The scope of the client's token: `person`, `client`, `acp`, `mcp`, `voice`.
    pub scope: String,
    /// The oldest version of the plugin that the daemon works with; it refuses an older one.
    #[serde(default, rename = "minPlugin", skip_serializing_if = "Option::is_none")]
    pub min_plugin: Option<String>,
    /// What the server takes.
    pub limits: Limits,
    /// HMAC-SHA-256 of `vault-steward initialize 127.0.0.1:PORT NONCE`, the 64 characters of the
    /// token as key, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// The limits of a connection, beyond which the server refuses messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The maximum size of a message, in bytes.
    pub max_message_bytes: u64,
    /// The maximum size of a frame, in bytes; a larger message is sent as several frames.
    pub max_frame_bytes: u64,
    /// The maximum number of pending requests.
    pub max_in_flight: u32,
    /// The sustained limit of messages per second.
    pub messages_per_second: u32,
    /// The maximum number of messages in a burst, after a pause.
    pub message_burst: u32,
    /// The time limit of a request, in seconds.
    pub request_seconds: u32,
}
