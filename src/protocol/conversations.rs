//! Stored conversations: `session/list`, `_vault/conversation`, `_vault/conversation_changed` and others. ACP
//! calls a conversation a session; its id is the conversation's number as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::acp::SessionChoices;
use super::events::{ChangeSetInfo, EventMeta};
use super::session::SessionUpdate;

/// A filter of conversations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionListParams {
    /// Only conversations of this folder: all for the vault's folder; for another folder those that
    /// were started with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `nextCursor` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<SessionListMeta>,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionListMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<SessionListVaultMeta>,
}

/// The size of a page of the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionListVaultMeta {
    /// Maximum number; 100 by default, 1,000 at most. Fewer are returned if they do not fit into an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Conversations, last active first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    pub sessions: Vec<SessionInfo>,
    /// `cursor` of the next request, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next_cursor: Option<String>,
}

/// A conversation, as ACP lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The conversation's number.
    pub session_id: String,
    /// The folder that its client named; otherwise the vault's.
    pub cwd: String,
    /// None before it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// Local time of the last message.
    pub updated_at: String,
    #[serde(rename = "_meta")]
    pub meta: SessionMeta,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionMeta {
    pub vault: ConversationInfo,
}

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ConversationInfo {
    /// The conversation's number, as text.
    pub session_id: String,
    /// None before it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// None before it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The origin of the title: `model`, `extract` or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titled_by: Option<String>,
    /// `open`, `waiting` or `ended`.
    pub state: String,
    /// State for people: `working`, `waiting_for_you` or `done`.
    pub shown: String,
    /// The question that waits for the person's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The source of its first message.
    pub source: String,
    /// Local time.
    pub began: String,
    /// Local time of the last message.
    pub last_active: String,
    /// Local time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The mode that was chosen for it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model that was chosen for it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent that was chosen for it, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The mode of that agent, where it has one; of `_vault/conversation` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// What ended it: `idle`, `unanswered`, `agent` or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// The reason of its end, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The live branch.
    pub branch: u64,
    /// Number of items of all branches.
    pub items: u64,
}

/// The items to return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ConversationParams {
    /// By default the current conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// By default the live branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<u64>,
    /// Only items after this one.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub after: u64,
    /// Only items before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Only this many of the last items, up to 500, to show a long conversation from its end. For
    /// earlier items set `before` to the first item of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// Also return each item as `session/load` does, in `updates`.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub updates: bool,
}

/// A conversation with its items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ConversationResult {
    pub conversation: ConversationInfo,
    /// In the order in which they began.
    pub branches: Vec<BranchInfo>,
    /// In order.
    pub items: Vec<ItemInfo>,
    /// Whether more items follow: set `after` to the last item.
    pub more: bool,
    /// Whether there are earlier items: set `before` to the first item.
    pub earlier: bool,
    /// With `updates`: the change sets of the turns of these items, oldest first, and their state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ChangeSetInfo>>")]
    pub changes: Vec<ChangeSetInfo>,
}

/// A branch: an edited message and the following items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct BranchInfo {
    pub number: u64,
    /// The branch that it was forked from; none for the first.
    pub parent: Option<u64>,
    /// The first item of the parent that this branch does not have.
    pub before: Option<u64>,
    /// Local time.
    pub began: String,
    /// Number of its own items.
    pub items: u64,
}

/// An item of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ItemInfo {
    /// Its number in the conversation.
    pub item: u64,
    pub turn: Option<u64>,
    pub branch: u64,
    /// `user`, `assistant`, `tool_results`, `notice`, `message`, `question`, `compaction`, `ended`
    /// or `note`.
    pub kind: String,
    /// Local time.
    pub time: String,
    /// The plain text.
    pub text: String,
    /// The tools that the model called.
    pub tools: Vec<String>,
    /// Whether the text is cut.
    pub cut: bool,
    /// If requested, the item as in `session/load`: messages with their sources, thinking, calls with
    /// arguments, results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<SessionUpdate>>")]
    pub updates: Vec<SessionUpdate>,
}

/// Ends a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EndParams {
    /// By default the current conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub reason: String,
}

/// The conversation that was ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EndResult {
    /// None if there is no current conversation.
    pub session_id: Option<String>,
    /// Whether the request ended it; false if it had ended before.
    pub ended: bool,
}

/// Continues from an earlier message or on a branch: set `item` or `branch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ForkParams {
    pub session_id: String,
    /// A message of the person: continue before it, on a new branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// A branch to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<u64>,
}

/// The point from which the conversation continues.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkResult {
    /// The conversation, which is the current one now.
    pub session_id: String,
    pub branch: u64,
}

/// A search for conversations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SearchConversationsParams {
    /// Words that must all be in one item; double quotes make a phrase. There is no other syntax.
    pub text: String,
    /// Maximum number of conversations, up to 100; 20 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// The search results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SearchConversationsResult {
    /// First by title or summary, then by the newest item.
    pub found: Vec<FoundConversation>,
}

/// A conversation that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct FoundConversation {
    pub conversation: ConversationInfo,
    /// Items with the words, at most three; none if only the title or summary has them.
    pub places: Vec<ItemInfo>,
}

/// The conversations to delete permanently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeleteConversationParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    /// Alternatively: all ended conversations.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all_ended: bool,
    /// Only preview.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// The conversations that were, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct DeleteConversationResult {
    /// Number of conversations.
    pub conversations: u64,
    /// The title of the conversation, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// A title that a person gives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RenameConversationParams {
    pub session_id: String,
    /// One line of at most 200 characters. No model changes it.
    pub title: String,
}

/// The new title.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RenameConversationResult {
    pub session_id: String,
    /// On one line, without invisible characters.
    pub title: String,
}

/// The conversation to write to a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportConversationParams {
    pub session_id: String,
    /// Path of the note, which must not exist. By default a note in `Conversations`, named after the title and
    /// the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
}

/// The note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportConversationResult {
    pub path: String,
    /// The change set, which `undo` takes.
    pub change_set: u64,
}

/// The usage to return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct UsageParams {
    /// Only this number of days, including today; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Only this conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Usage of models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct UsageResult {
    /// By day and model, oldest first.
    pub days: Vec<UsageDay>,
    pub total: UsageInfo,
}

/// Usage of one model on one day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct UsageDay {
    /// The daemon's local date: `2026-11-20`.
    pub day: String,
    pub model: String,
    /// Number of conversations that are still stored.
    pub conversations: u64,
    pub used: UsageInfo,
}

/// Tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageInfo {
    pub requests: u64,
    /// Input tokens, including the two below.
    pub input: u64,
    /// Input tokens read from the vendor's cache.
    pub cache_read: u64,
    /// Input tokens written to it.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// Estimated cost in millionths of a US dollar, of the requests with a known price.
    pub cost_millionths: u64,
    /// Number of requests without a known price.
    pub unpriced: u64,
}

/// A conversation began, ended, got a title, was decided on, or was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationChangedParams {
    pub session_id: String,
    pub kind: ConversationChange,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// The kind of a conversation's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConversationChange {
    /// It began, or was reopened.
    Began,
    /// It ended, and has a title.
    Ended,
    /// A model or a person gave it a title.
    Titled,
    /// A note on it was stored.
    Noted,
    /// A person applied or rejected what was proposed in it.
    Decided,
    Deleted,
}

/// Loads a conversation with its history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionLoadParams {
    pub session_id: String,
    /// The folder to work in: the vault's root, or undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// MCP servers to run: must be empty, since none are run for clients.
    #[serde(default)]
    #[ts(optional, type = "Array<unknown>")]
    pub mcp_servers: Vec<Value>,
}

/// The history was replayed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionLoadResult {
    /// The available modes and options; for ACP clients.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    #[ts(skip)]
    pub choices: Option<SessionChoices>,
    #[serde(rename = "_meta")]
    pub meta: SessionMeta,
}
