//! Talking to the agent: `session/new`, `session/prompt`, `session/cancel`, and what every client is
//! told meanwhile (`session/update`, `_vault/message`, `_vault/state`). ACP v1's own shapes, with what
//! is ours under `_meta.vault`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::acp::SessionChoices;
use super::permission::PermissionLocation;
use super::tools::Content;

/// A new conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionNewParams {
    /// The folder that the client works in, absolute, or left out. The agent works in the vault: another
    /// folder is taken of ACP clients alone, and remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// Programs to run as MCP servers. None is run for a client: of ACP clients they are taken and passed
    /// over, of others refused.
    #[serde(default)]
    #[ts(optional, type = "Array<unknown>")]
    pub mcp_servers: Vec<Value>,
}

/// It has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionNewResult {
    /// Its number.
    pub session_id: String,
    /// What can be chosen for it; for ACP clients.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    #[ts(skip)]
    pub choices: Option<SessionChoices>,
}

/// A person's message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptParams {
    /// The conversation it belongs to. Left out: the current one, or a new one where the last was
    /// silent for too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    /// The message.
    pub prompt: Vec<PromptContent>,
    /// What ACP has no place for.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<PromptMeta>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A note that is meant, by its address; it is named to the model, which can read it.
    ResourceLink {
        /// The address: a path in the vault, or a `file:` address of one.
        uri: String,
        /// How it is called.
        #[serde(default)]
        name: String,
    },
    /// A part of a note that is meant, such as what is selected, or a text from elsewhere; the model is
    /// given it as data.
    Resource {
        /// The part.
        resource: EmbeddedResource,
    },
    /// A picture: PNG, JPEG, GIF or WebP, at most 5 MiB. A model that cannot see is told that there
    /// is one.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its kind, such as `image/png`.
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
    /// Anything else is refused.
    #[serde(other)]
    Other,
}

/// A part of a note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct EmbeddedResource {
    /// The note's address: a path in the vault, or a `file:` address of one; [`Self::STDIN`] for a text
    /// that is no part of a note.
    pub uri: String,
    /// The part, or the text.
    pub text: String,
}

impl EmbeddedResource {
    /// The address of a text that lies nowhere, such as one that was piped to a program.
    pub const STDIN: &str = "stdin:";
}

/// What goes with a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptMeta {
    /// Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<PromptVaultMeta>,
}

/// What a client of this protocol adds to a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptVaultMeta {
    /// A name that no other message of the client has, at most 100 characters. The same message
    /// sent again under it, after a lost connection, is not heard twice: it gets the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_message_id: Option<String>,
    /// Where the words came from: `chat`, `cli`, `voice`. What was heard may do less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub source: Option<String>,
}

/// The turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptResult {
    /// Why.
    pub stop_reason: StopReason,
    /// What ACP has no place for.
    #[serde(rename = "_meta")]
    pub meta: PromptResultMeta,
}

/// Why a turn is over, in ACP's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had no more to say, or waits for an answer.
    EndTurn,
    /// Its answer was as long as it may be.
    MaxTokens,
    /// It reached the limits of a turn.
    MaxTurnRequests,
    /// It declined.
    Refusal,
    /// It was stopped.
    Cancelled,
}

/// What ACP has no place for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptResultMeta {
    /// Ours.
    pub vault: PromptResultVaultMeta,
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptResultVaultMeta {
    /// The conversation that the message went to.
    pub session_id: String,
    /// The turn in which it was heard.
    pub turn: String,
    /// The last message of the turn, whole; empty where nothing was said.
    pub answer: String,
    /// Whether that is a question that waits for an answer.
    pub waiting: bool,
    /// No model was asked, since none is configured or none of those can be: `answer` is the steward's
    /// own word on what to do. Left out where one was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub no_model: bool,
}

/// Stops the turn of a conversation, whoever began it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCancelParams {
    /// The conversation.
    pub session_id: String,
}

/// Something happened in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    /// The conversation.
    pub session_id: String,
    /// What.
    pub update: SessionUpdate,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// What an event of a conversation carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionEventMeta {
    /// Ours.
    pub vault: SessionEventVaultMeta,
}

/// The event's place among all events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionEventVaultMeta {
    /// Its number, counted from 1 in each run of the daemon, without gaps. 0 in a history that is
    /// told again, which has no place among the events.
    pub seq: u64,
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
}

/// What happened, in ACP's kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionUpdate {
    /// A person said something.
    UserMessageChunk {
        /// What.
        content: Content,
        /// The message.
        message_id: String,
        /// What ACP has no place for.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        meta: Option<UserMessageMeta>,
    },
    /// More of what the agent says.
    AgentMessageChunk {
        /// What was added.
        content: Content,
        /// The message it belongs to.
        message_id: String,
    },
    /// More of what the model thinks.
    AgentThoughtChunk {
        /// What was added.
        content: Content,
        /// The thought it belongs to.
        message_id: String,
    },
    /// A tool is to be called.
    ToolCall {
        /// The call.
        tool_call_id: String,
        /// What it does, for people.
        title: String,
        /// `read`, `edit`, `delete`, `move`, `search` or `other`.
        kind: String,
        /// How it stands.
        status: ToolCallStatus,
        /// The files it names, as absolute paths.
        locations: Vec<PermissionLocation>,
        /// Its arguments.
        #[ts(type = "unknown")]
        raw_input: Value,
        /// What ACP has no place for.
        #[serde(rename = "_meta")]
        meta: ToolCallMeta,
    },
    /// More of a call.
    ToolCallUpdate {
        /// The call.
        tool_call_id: String,
        /// How it stands.
        status: ToolCallStatus,
        /// What it waits for, where a person has to agree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        title: Option<String>,
        /// What it answered, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<ToolCallContent>>")]
        content: Vec<ToolCallContent>,
        /// What it answered, for programs: as `structuredContent` of `tools/call`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "unknown")]
        raw_output: Option<Value>,
        /// The files that it changed, for ACP clients, which are shown diffs; others have `_vault/changes`.
        #[serde(skip)]
        #[ts(skip)]
        files: Vec<FileChange>,
    },
    /// How much of the model's window is used.
    UsageUpdate {
        /// Tokens in use.
        used: u64,
        /// Tokens there are.
        size: u64,
        /// What the conversation cost in this run, where prices are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        cost: Option<Cost>,
    },
    /// Something to know.
    Notice {
        /// `info`, `warning` or `error`.
        severity: String,
        /// It.
        title: String,
        /// More.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        description: Option<String>,
    },
    /// The conversation is called otherwise.
    SessionInfoUpdate {
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        title: Option<String>,
        /// When something was last said, local time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        updated_at: Option<String>,
    },
}

impl SessionUpdate {
    /// The message or the call that begins with it, or of which it is more text.
    #[must_use]
    pub fn part_of(&self) -> Option<&str> {
        match self {
            Self::UserMessageChunk { message_id: id, .. }
            | Self::AgentMessageChunk { message_id: id, .. }
            | Self::AgentThoughtChunk { message_id: id, .. }
            | Self::ToolCall { tool_call_id: id, .. } => Some(id),
            _ => None,
        }
    }

    /// Puts `next` behind it where both are text of one message; whether they are.
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

/// What ACP has no place for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct UserMessageMeta {
    /// Ours.
    pub vault: UserMessageVaultMeta,
}

/// Where a message came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UserMessageVaultMeta {
    /// `chat`, `cli`, `voice`.
    pub source: String,
    /// What its client called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_message_id: Option<String>,
}

/// What ACP has no place for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolCallMeta {
    /// Ours.
    pub vault: ToolCallVaultMeta,
}

/// The call in the vault's own terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolCallVaultMeta {
    /// The tool.
    pub tool: String,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// It has not begun, or waits for a person.
    Pending,
    /// It runs.
    InProgress,
    /// It did what it should.
    Completed,
    /// It did not.
    Failed,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its absolute path.
    pub path: String,
    /// The first line that differs, counted from 1; none where it cannot be said.
    pub line: Option<u32>,
    /// The text before; none for a new file.
    pub old: Option<String>,
    /// The text afterwards; none where both are too long to show, or no text.
    pub new: Option<String>,
}

/// A piece of what a call answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolCallContent {
    /// Text.
    Content {
        /// The text.
        content: Content,
    },
}

/// An estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// Of what: `USD`.
    pub currency: String,
}

/// A message is whole, and kept; or what was shown of one counts for nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageParams {
    /// The conversation.
    pub session_id: String,
    /// The message whose pieces came before.
    pub message_id: String,
    /// Which kind.
    pub kind: MessageKind,
    /// All of it; empty for one that counts for nothing.
    pub text: String,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// Which kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// An answer of the model's.
    Answer,
    /// The beginning of one that broke off or was stopped.
    Part,
    /// Sent by the model while it was at work.
    Sent,
    /// A question of the model's that waits for an answer.
    Question,
    /// It counts for nothing: the answer broke off and is asked for again. Take it away.
    Void,
}

/// How a conversation stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StateParams {
    /// The conversation.
    pub session_id: String,
    /// How it stands.
    pub state: SessionState,
    /// How many messages wait to be heard.
    pub queued: u32,
    /// Whether the person is asked something: the next message is the answer.
    pub waiting: bool,
    /// Why the turn is over; none while it is not, and where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub stop_reason: Option<StopReason>,
    /// Why it failed, and what can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub error: Option<String>,
    /// The event's number, and the turn.
    #[serde(rename = "_meta")]
    pub meta: SessionEventMeta,
}

/// How a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// A turn is at work.
    Running,
    /// It is, and a person has to agree to something first.
    RequiresAction,
    /// None is.
    Idle,
}
