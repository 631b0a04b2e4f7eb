//! `initialize`: ACP v1's handshake, with our extensions under `_meta.vault`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::acp::AuthMethod;
use super::host::HostOperation;

/// The client's identity and capabilities. Members of ACP that this server does not need are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The protocol version the client wants: 1. The server answers with the version it speaks;
    /// a client that cannot speak that one closes.
    pub protocol_version: u32,
    /// Name and version of the client, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_info: Option<Implementation>,
    /// What the client can do.
    #[serde(default)]
    #[ts(optional, as = "Option<ClientCapabilities>")]
    pub client_capabilities: ClientCapabilities,
}

/// A program, as ACP and MCP describe one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Implementation {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    #[serde(default)]
    pub version: String,
}

/// What the client can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ClientCapabilities {
    /// Which ways of setting up the agent it can go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub auth: Option<ClientAuth>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<ClientMeta>,
}

/// Ways of setting up an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ClientAuth {
    /// It can run the agent's program in a terminal for its user.
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

/// What a client of this protocol adds to ACP's handshake.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ClientVaultMeta {
    /// A random text that the server must sign with the token, at most 128 bytes: proves that the
    /// other end of this connection is the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub nonce: Option<String>,
    /// Whether the client can show a person what is asked (`session/request_permission`) and
    /// bring back their answer. Counts only with the token of a person's own program.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub approvals: bool,
    /// What the client can do as the program that has the vault open (`_vault/host/*`). Counts only
    /// with the token of a person's own program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<HostOperation>>")]
    pub host: Vec<HostOperation>,
    /// Whether it has the focus now; it tells changes by `_vault/host/focus`.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub focused: bool,
    /// The oldest version of the daemon that the client works with; an older one refuses it.
    #[serde(default, rename = "minDaemon", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub min_daemon: Option<String>,
}

/// What the server says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version spoken from here on.
    pub protocol_version: u32,
    /// The daemon.
    pub agent_info: Implementation,
    /// What it can do.
    pub agent_capabilities: AgentCapabilities,
    /// How a model can be set up, for an ACP client that can run a program in a terminal; else empty.
    /// Who may come in is decided before the upgrade.
    pub auth_methods: Vec<AuthMethod>,
}

/// What the daemon can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether `session/load` is there.
    pub load_session: bool,
    /// What a message may hold beside text.
    pub prompt_capabilities: PromptCapabilities,
    /// Which kinds of MCP servers `session/new` may name.
    pub mcp_capabilities: McpCapabilities,
    /// Which methods for conversations are there.
    pub session_capabilities: SessionCapabilities,
    #[serde(rename = "_meta")]
    pub meta: AgentMeta,
}

/// What a message may hold beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Pictures.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Parts of notes.
    pub embedded_context: bool,
}

/// Which kinds of MCP servers may be named beside those over stdio. None of them is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct McpCapabilities {
    /// Over HTTP.
    pub http: bool,
    /// Over HTTP with the older kind of stream.
    pub sse: bool,
}

/// Methods for conversations that are there: an object stands for each.
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

/// That a method is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Offered {}

/// The daemon's extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AgentMeta {
    pub vault: AgentVaultMeta,
}

/// What the daemon adds to ACP's handshake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AgentVaultMeta {
    /// The name of the vault.
    pub name: String,
    /// This run of the daemon: events are numbered anew with each.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
    /// What kind of caller the token makes of the client: `person`, `client`, `acp`, `mcp`, `voice`.
    pub scope: String,
    /// The oldest version of the plugin that the daemon works with; it refuses an older one.
    #[serde(default, rename = "minPlugin", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub min_plugin: Option<String>,
    /// What the server takes.
    pub limits: Limits,
    /// HMAC-SHA-256 of `vault-steward initialize 127.0.0.1:PORT NONCE`, the 64 characters of the token
    /// as key, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub proof: Option<String>,
}

/// What the server takes from one connection before it refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The largest message, in bytes.
    pub max_message_bytes: u64,
    /// The largest frame, in bytes; a larger message is sent as several frames.
    pub max_frame_bytes: u64,
    /// Requests that may be unanswered at a time.
    pub max_in_flight: u32,
    /// Messages a second, in the long run.
    pub messages_per_second: u32,
    /// Messages at once, after a pause.
    pub message_burst: u32,
    /// How long one request may take, in seconds.
    pub request_seconds: u32,
}
