//! Conversations with the agent: `session/new`, `session/prompt`, `session/cancel`, and the events
//! `session/update`, `_vault/message`, `_vault/state`. ACP v1's forms, with our extensions under
//! `_meta.vault`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::acp::SessionChoices;
use super::permission::PermissionLocation;
use super::tools::Content;

/// Starts a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionNewParams {
    /// The client's working folder: absolute, or undefined. The agent works in the vault: another
    /// folder is accepted from ACP clients only, and stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// MCP servers to run. None are run for clients: they are ignored for ACP clients, and refused
    /// for others.
    #[serde(default)]
    #[ts(optional, type = "Array<unknown>")]
    pub mcp_servers: Vec<Value>,
}

/// The conversation has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionNewResult {
    /// The conversation's number.
    pub session_id: String,
    /// The available modes and options; for ACP clients.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    #[ts(skip)]
    pub choices: Option<SessionChoices>,
}

/// A person's message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionPromptParams {
    /// The conversation. By default the current one, or a new one if the last message is too old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub prompt: Vec<PromptContent>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<PromptMeta>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptContent {
    Text {
        text: String,
    },
    /// A reference to a note. The model receives its name.
    ResourceLink {
        /// A path in the vault, or its `file:` URL.
        uri: String,
        #[serde(default)]
        name: String,
    },
    /// A part of a note, such as the selection, or a text from elsewhere. The model receives it as
    /// data.
    Resource {
        resource: EmbeddedResource,
    },
    /// A PNG, JPEG, GIF or WebP image of at most 5 MiB. A model without vision receives a note that
    /// there is one.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The media type, such as `image/png`.
        mime_type: String,
        /// Base64.
        data: String,
    },
    /// Any other part is refused.
    #[serde(other)]
    Other,
}

/// A part of a note, or another text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct EmbeddedResource {
    /// A path in the vault, or its `file:` URL; [`Self::STDIN`] for a text that is not from a note.
    pub uri: String,
    pub text: String,
}

impl EmbeddedResource {
    /// The URI of a text without a file, such as one that was piped to a program.
    pub const STDIN: &str = "stdin:";
}

/// The extension member `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<PromptVaultMeta>,
}

/// Our extensions of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct PromptVaultMeta {
    /// A unique id of at most 100 characters. A message that is sent again with the same id, after
    /// a lost connection, is not delivered twice and gets the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// `chat`, `cli` or `voice`. Voice messages have fewer rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The turn has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptResult {
    pub stop_reason: StopReason,
    #[serde(rename = "_meta")]
    pub meta: PromptResultMeta,
}

/// The reason of a turn's end, in ACP's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has finished, or waits for an answer.
    EndTurn,
    /// The answer reached its maximum length.
    MaxTokens,
    /// The turn reached its limits.
    MaxTurnRequests,
    /// The model declined.
    Refusal,
    /// The turn was cancelled.
    Cancelled,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptResultMeta {
    pub vault: PromptResultVaultMeta,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptResultVaultMeta {
    pub session_id: String,
    /// The turn to which the message was delivered.
    pub turn: String,
    /// The turn's last message; empty if there is none.
    pub answer: String,
    /// Whether the last message is a question that waits for an answer.
    pub waiting: bool,
    /// No model was asked, since none is configured or usable: `answer` is the steward's own text
    /// with advice. Undefined if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub no_model: bool,
}

/// Cancels the turn of a conversation, whichever client started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCancelParams {
    pub session_id: String,
}

/// An update of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    pub session_id: String,
    pub update: SessionUpdate,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// The extension member `_meta` of a conversation's event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionEventMeta {
    pub vault: SessionEventVaultMeta,
}

/// The event's number and turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionEventVaultMeta {
    /// Counted from 1 in each run of the daemon, without gaps. 0 in a replayed history, which is
    /// not part of the event stream.
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
}

/// An update, with ACP's kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionUpdate {
    /// A person's message.
    UserMessageChunk {
        content: Content,
        /// Id of the message.
        message_id: String,
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        meta: Option<UserMessageMeta>,
    },
    /// A part of the agent's message.
    AgentMessageChunk {
        content: Content,
        /// Id of the message.
        message_id: String,
    },
    /// A part of the model's thinking.
    AgentThoughtChunk {
        content: Content,
        /// Id of the thinking.
        message_id: String,
    },
    /// A tool call.
    ToolCall {
        tool_call_id: String,
        /// A description of the call, for people.
        title: String,
        /// `read`, `edit`, `delete`, `move`, `search` or `other`.
        kind: String,
        status: ToolCallStatus,
        /// The files that the call names, as absolute paths.
        locations: Vec<PermissionLocation>,
        /// The arguments.
        #[ts(type = "unknown")]
        raw_input: Value,
        #[serde(rename = "_meta")]
        meta: ToolCallMeta,
    },
    /// An update of a tool call.
    ToolCallUpdate {
        tool_call_id: String,
        status: ToolCallStatus,
        /// The approval that it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        title: Option<String>,
        /// The result, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<ToolCallContent>>")]
        content: Vec<ToolCallContent>,
        /// The result, for programs: `structuredContent` of `tools/call`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "unknown")]
        raw_output: Option<Value>,
        /// The files that it changed, for ACP clients, which show diffs; others use
        /// `_vault/changes`.
        #[serde(skip)]
        #[ts(skip)]
        files: Vec<FileChange>,
        /// The image that it read, for ACP clients, which show it.
        #[serde(skip)]
        #[ts(skip)]
        image: Option<ToolImage>,
    },
    /// The used part of the model's context window.
    UsageUpdate {
        /// Tokens in use.
        used: u64,
        /// Size of the window in tokens.
        size: u64,
        /// Cost of the conversation in this run of the daemon, if prices are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        cost: Option<Cost>,
    },
    /// A message for the person.
    Notice {
        /// `info`, `warning` or `error`.
        severity: String,
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        description: Option<String>,
    },
    /// The conversation's title changed.
    SessionInfoUpdate {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        title: Option<String>,
        /// Local time of the last message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        updated_at: Option<String>,
    },
}

impl SessionUpdate {
    /// The id of the message or call that the update starts or extends.
    pub fn part_of(&self) -> Option<&str> {
        match self {
            Self::UserMessageChunk { message_id: id, .. }
            | Self::AgentMessageChunk { message_id: id, .. }
            | Self::AgentThoughtChunk { message_id: id, .. }
            | Self::ToolCall { tool_call_id: id, .. } => Some(id),
            _ => None,
        }
    }

    /// Appends `next` if both are text of one message. Returns whether they are.
    pub fn append(&mut self, next: &Self) -> bool {
        let (text, more) = match (self, next) {
            (
                Self::AgentMessageChunk { content: Content::Text { text }, message_id: id },
                Self::AgentMessageChunk {
                    content: Content::Text { text: more },
                    message_id: other,
                },
            )
            | (
                Self::AgentThoughtChunk { content: Content::Text { text }, message_id: id },
                Self::AgentThoughtChunk {
                    content: Content::Text { text: more },
                    message_id: other,
                },
            ) if id == other => (text, more),
            _ => return false,
        };
        text.push_str(more);
        true
    }
}

/// The extension member `_meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct UserMessageMeta {
    pub vault: UserMessageVaultMeta,
}

/// The origin of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UserMessageVaultMeta {
    /// `chat`, `cli`, `voice`.
    pub source: String,
    /// The client's id for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_message_id: Option<String>,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolCallMeta {
    pub vault: ToolCallVaultMeta,
}

/// Our extensions of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolCallVaultMeta {
    pub tool: String,
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// It has not started, or waits for approval.
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// A file that a tool call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The absolute path.
    pub path: String,
    /// The first line that differs, from 1; none if it is unknown.
    pub line: Option<u32>,
    /// The text before; none for a new file.
    pub old: Option<String>,
    /// The text after; none if both are too long to show, or the file is not text.
    pub new: Option<String>,
}

/// An image in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolImage {
    /// The media type.
    pub mime_type: &'static str,
    /// The encoded image.
    pub bytes: Arc<Vec<u8>>,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolCallContent {
    Content { content: Content },
}

/// An estimated cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Cost {
    pub amount: f64,
    /// `USD`.
    pub currency: String,
}

/// A message is complete and stored, or its displayed part is void.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageParams {
    pub session_id: String,
    /// The id of the message's chunks.
    pub message_id: String,
    pub kind: MessageKind,
    /// The whole text; empty if the message is void.
    pub text: String,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The model's answer.
    Answer,
    /// A part of an answer that was interrupted.
    Part,
    /// A message that the model sent during its turn.
    Sent,
    /// A question of the model, which waits for an answer.
    Question,
    /// The answer was interrupted and is requested again: remove its displayed part.
    Void,
}

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct StateParams {
    pub session_id: String,
    pub state: SessionState,
    /// Number of messages that wait for delivery.
    pub queued: u32,
    /// Whether there is a question, which the next message answers.
    pub waiting: bool,
    /// The reason of the turn's end; none while it runs, or if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The reason why the turn failed, and advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// The state of a conversation's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Running,
    /// The turn runs, and waits for a person's approval.
    RequiresAction,
    /// No turn runs.
    Idle,
}
