//! Conversations as they are kept: `session/list`, `_vault/conversation` and its like, and
//! `_vault/conversation_changed`. A session of ACP is a conversation; its id is the conversation's
//! number as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::acp::SessionChoices;
use super::events::{ChangeSetInfo, EventMeta};
use super::session::SessionUpdate;

/// Which conversations to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionListParams {
    /// Only those of this folder: all of them for the vault's, of another those that were begun with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// The `nextCursor` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cursor: Option<String>,
    /// What ACP has no place for.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<SessionListMeta>,
}

/// What ACP has no place for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionListMeta {
    /// Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<SessionListVaultMeta>,
}

/// How many conversations are wanted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionListVaultMeta {
    /// At most so many, and as many as fit into an answer; 100 where it is left out, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// Conversations, the one last active first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// At most as many as were asked for.
    pub sessions: Vec<SessionInfo>,
    /// There are more: `cursor` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next_cursor: Option<String>,
}

/// A conversation as ACP lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its number.
    pub session_id: String,
    /// The folder that its client named, else the vault's.
    pub cwd: String,
    /// What it is called; none while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// When something was last said in it, local time.
    pub updated_at: String,
    /// What ACP has no place for.
    #[serde(rename = "_meta")]
    pub meta: SessionMeta,
}

/// What ACP has no place for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionMeta {
    /// Ours.
    pub vault: ConversationInfo,
}

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationInfo {
    /// Its number, as text.
    pub session_id: String,
    /// What it is called; none while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// What it was about; none while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub summary: Option<String>,
    /// Who gave it the title: `model`, `extract` or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub titled_by: Option<String>,
    /// `open`, `waiting` or `ended`.
    pub state: String,
    /// What to show a person: `working`, `waiting_for_you` or `done`.
    pub shown: String,
    /// The question that waits for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub question: Option<String>,
    /// Where its first message came from.
    pub source: String,
    /// When it began, local time.
    pub began: String,
    /// When something was last said in it, local time.
    pub last_active: String,
    /// When it ended, local time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended: Option<String>,
    /// What ended it: `idle`, `unanswered`, `agent` or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended_by: Option<String>,
    /// Why it ended, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// The branch that is gone on with.
    pub branch: u64,
    /// How many items all its branches hold together.
    pub items: u64,
}

/// Which conversation to show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationParams {
    /// Its number; left out, the one that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    /// The branch; left out, the live one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub branch: Option<u64>,
    /// Only what comes after this item.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub after: u64,
    /// Only what comes before this item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before: Option<u64>,
    /// Of these only the last so many, up to 500: how to show a long conversation from its end. Go
    /// on backwards with `before` and the first item of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub last: Option<u32>,
    /// Tell each item also as `session/load` tells it, in `updates`.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub updates: bool,
}

/// A conversation, and what was said in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ConversationResult {
    /// The conversation.
    pub conversation: ConversationInfo,
    /// Its branches, in the order in which they began.
    pub branches: Vec<BranchInfo>,
    /// What was said, in order.
    pub items: Vec<ItemInfo>,
    /// Whether more follows: ask with `after` the last item.
    pub more: bool,
    /// Whether there is something before the first of these items: ask with `before` its number.
    pub earlier: bool,
    /// With `updates`: the change sets that were applied in the turns of these items, the oldest
    /// first, and how they stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ChangeSetInfo>>")]
    pub changes: Vec<ChangeSetInfo>,
}

/// A branch: what goes on from before a message that was edited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct BranchInfo {
    /// Its number.
    pub number: u64,
    /// The branch it came from; none for the first.
    pub parent: Option<u64>,
    /// The first item of that one which it no longer has.
    pub before: Option<u64>,
    /// When it began, local time.
    pub began: String,
    /// How many items were said in it.
    pub items: u64,
}

/// One thing that was said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ItemInfo {
    /// Its number in the conversation.
    pub item: u64,
    /// The turn it belongs to.
    pub turn: Option<u64>,
    /// The branch it was said in.
    pub branch: u64,
    /// `user`, `assistant`, `tool_results`, `notice`, `message`, `question`, `compaction`, `ended`
    /// or `note`.
    pub kind: String,
    /// When, local time.
    pub time: String,
    /// What, in plain words.
    pub text: String,
    /// The tools that were called with it.
    pub tools: Vec<String>,
    /// Whether the text was too long and is cut.
    pub cut: bool,
    /// The same as `session/load` tells it: messages with their sources, thinking, calls with their
    /// arguments, results. Where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<SessionUpdate>>")]
    pub updates: Vec<SessionUpdate>,
}

/// Which conversation to end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EndParams {
    /// Its number; left out, the one that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub reason: String,
}

/// What was ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EndResult {
    /// The conversation; none where none goes on.
    pub session_id: Option<String>,
    /// Whether it had not ended before.
    pub ended: bool,
}

/// Where to go on otherwise: one of the two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkParams {
    /// The conversation.
    pub session_id: String,
    /// A message of the person's: go on from before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub item: Option<u64>,
    /// A branch: go on with it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub branch: Option<u64>,
}

/// What is gone on with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkResult {
    /// The conversation, which is the current one.
    pub session_id: String,
    /// The branch.
    pub branch: u64,
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SearchConversationsParams {
    /// Words, all of which must have been said at one place; what stands in double quotes belongs
    /// together. Nothing else has a meaning.
    pub text: String,
    /// Conversations at most, up to 100; 20 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SearchConversationsResult {
    /// First those whose title or summary has the words, then those with the newest words.
    pub found: Vec<FoundConversation>,
}

/// A conversation in which the words were said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct FoundConversation {
    /// The conversation.
    pub conversation: ConversationInfo,
    /// Where, at most three places; none where only its title or summary has the words.
    pub places: Vec<ItemInfo>,
}

/// What to delete for good.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeleteConversationParams {
    /// A conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    /// In its place: every conversation that has ended.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all_ended: bool,
    /// Only say what would be deleted.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// What was, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct DeleteConversationResult {
    /// How many conversations.
    pub conversations: u64,
    /// The title of the one that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// Whether it was done.
    pub deleted: bool,
}

/// A title of a person's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RenameConversationParams {
    /// The conversation.
    pub session_id: String,
    /// What it is to be called: one line of at most 200 characters. No model changes it again.
    pub title: String,
}

/// What it is called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RenameConversationResult {
    /// The conversation.
    pub session_id: String,
    /// Its title, on one line and without what cannot be seen.
    pub title: String,
}

/// Which conversation to write into a note, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportConversationParams {
    /// The conversation.
    pub session_id: String,
    /// The note's path, which must be free. Left out: a note named after the title and the day, in
    /// `Conversations`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
}

/// The note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportConversationResult {
    /// Its path.
    pub path: String,
    /// The change set, which `undo` takes.
    pub change_set: u64,
}

/// Of which days, and which conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageParams {
    /// The last so many days, today included; all that is kept if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub days: Option<u32>,
    /// Only this conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
}

/// What models were used for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct UsageResult {
    /// By day and model, the oldest first.
    pub days: Vec<UsageDay>,
    /// All together.
    pub total: UsageInfo,
}

/// One model on one day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct UsageDay {
    /// The day where the daemon runs: `2026-11-20`.
    pub day: String,
    /// The model.
    pub model: String,
    /// In how many conversations that are still kept.
    pub conversations: u64,
    /// How much.
    pub used: UsageInfo,
}

/// Tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageInfo {
    /// Requests.
    pub requests: u64,
    /// Tokens read, those of the two below included.
    pub input: u64,
    /// Of these, from the vendor's cache.
    pub cache_read: u64,
    /// Of these, written to it.
    pub cache_write: u64,
    /// Tokens written.
    pub output: u64,
    /// Estimated cost in millionths of a US dollar, of the requests whose price is known.
    pub cost_millionths: u64,
    /// Requests whose price is not known.
    pub unpriced: u64,
}

/// Something happened to a conversation as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationChangedParams {
    /// The conversation.
    pub session_id: String,
    /// What happened.
    pub kind: ConversationChange,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// What happened to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConversationChange {
    /// It began, or goes on again after its end.
    Began,
    /// It ended; it has a title.
    Ended,
    /// A model gave it a better title and summary, or a person a title.
    Titled,
    /// A look back at it was kept as a note.
    Noted,
    /// It was deleted.
    Deleted,
}

/// A conversation that is to be told again and gone on with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionLoadParams {
    /// The conversation.
    pub session_id: String,
    /// The folder to work in: the vault's root, or left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cwd: Option<String>,
    /// Programs to run as MCP servers: must be empty, since clients have none run here.
    #[serde(default)]
    #[ts(optional, type = "Array<unknown>")]
    pub mcp_servers: Vec<Value>,
}

/// Its history was told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionLoadResult {
    /// What can be chosen for it; for ACP clients.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    #[ts(skip)]
    pub choices: Option<SessionChoices>,
    /// What ACP has no place for.
    #[serde(rename = "_meta")]
    pub meta: SessionMeta,
}
