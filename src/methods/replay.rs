//! Replays a conversation in the same updates that were sent live.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use super::session_updates;
use crate::agent::entry::{Entry, result_text};
use crate::agent::memory;
use crate::agent::ports::MemoryError;
use crate::agent::turn::{Reason, Severity, Show, name_of};
use crate::conversation::{Item, ItemKind, ItemNumber, Turn, TurnId, TurnState};
use crate::llm::{BlockKind, Message, ToolCall, ToolResult};
use crate::policy::Scope;
use crate::protocol::session::{
    SessionEventMeta, SessionEventVaultMeta, SessionUpdate, SessionUpdateParams, ToolCallContent,
    ToolCallStatus,
};
use crate::protocol::tools::Content;

/// The most bytes of history that are replayed; only the end of a longer one.
const MAX_BYTES: usize = 8 << 20;
/// Bytes that surround each text.
const AROUND: usize = 300;

/// A replay of a history: its items, and between them the status updates that were shown live.
#[derive(Debug)]
pub struct Replay<'a> {
    /// The vault's folder, used to report paths.
    root: &'a Path,
    /// The first message whose sender has fewer rights than a person, and that sender's scope.
    limiting: Option<(ItemNumber, Scope)>,
    /// The call ids that clients know, for items in which a call repeats an id of its turn.
    names: HashMap<ItemNumber, Vec<String>>,
    /// The last item of each turn that ended without an answer, and how the turn ended.
    ends: HashMap<ItemNumber, SessionUpdate>,
}

impl<'a> Replay<'a> {
    /// A replay of the turns `replayed` of a history with these items, all of one branch, and these
    /// turns.
    pub fn new<'i>(
        items: &'i [Item],
        turns: &[Turn],
        root: &'a Path,
        replayed: impl Iterator<Item = &'i Item>,
    ) -> Self {
        let last: HashMap<TurnId, ItemNumber> =
            items.iter().filter_map(|item| Some((item.turn?, item.number))).collect();
        let end = |turn: &Turn| Some((*last.get(&turn.id)?, end(turn)?));
        let limiting = items.iter().find_map(|item| Some((item.number, limiting(item)?)));
        let ends = turns.iter().filter_map(end).collect();
        // Reads the ids of each answer and result: of a long history a page has only a few turns.
        let replayed: HashSet<Option<TurnId>> = replayed.map(|item| item.turn).collect();
        let names = names(items.iter().filter(|item| replayed.contains(&item.turn)));
        Self { root, limiting, names, ends }
    }

    pub fn updates(&self, item: &Item) -> Result<Vec<SessionUpdate>, MemoryError> {
        let entry = memory::entry(item)?;
        let mut updates = entry.map(|entry| self.of_entry(item, entry)).unwrap_or_default();
        if let Some((number, scope)) = self.limiting
            && number == item.number
        {
            updates.extend(notice(Show::limited(scope)));
        }
        updates.extend(self.ends.get(&item.number).cloned());
        Ok(updates)
    }

    /// The updates that replay these items, the oldest first. Unreadable items are skipped.
    pub fn all(&self, items: &[Item]) -> Vec<SessionUpdateParams> {
        let Some(last) = items.last() else { return Vec::new() };
        let session = last.conversation.to_string();
        let mut room = MAX_BYTES;
        let mut first = items.len();
        for item in items.iter().rev() {
            let size = item.text.len() + item.body.as_ref().map_or(0, String::len) + AROUND;
            let Some(rest) = room.checked_sub(size).or((first == items.len()).then_some(0)) else {
                break;
            };
            room = rest;
            first -= 1;
        }
        let mut notifications = Vec::new();
        let mut tell = |turn: Option<TurnId>, update| {
            let turn = turn.map(|turn| turn.to_string());
            let meta = SessionEventMeta { vault: SessionEventVaultMeta { seq: 0, turn } };
            notifications.push(SessionUpdateParams { session_id: session.clone(), update, meta });
        };
        if first > 0 {
            let title = "This is the end of a long conversation".to_owned();
            let more = format!("{first} earlier items are not replayed");
            tell(None, session_updates::notice(Severity::Info, title, Some(more)));
        }
        for item in &items[first..] {
            let updates = self.updates(item).unwrap_or_else(|error| {
                let item = item.number;
                tracing::error!(%error, %item, "it is replayed without the damaged part");
                Vec::new()
            });
            updates.into_iter().for_each(|update| tell(item.turn, update));
        }
        notifications
    }

    fn of_entry(&self, item: &Item, entry: Entry) -> Vec<SessionUpdate> {
        let turn = item.turn.map(|turn| turn.to_string()).unwrap_or_default();
        let names = self.names.get(&item.number);
        let named = |at: usize, id: &str| {
            let name = names.and_then(|names| names.get(at)).map_or(id, String::as_str);
            format!("{turn}/{name}")
        };
        let unnamed = || format!("i{}", item.number);
        let chunk = |text: String, message_id: String| SessionUpdate::AgentMessageChunk {
            content: Content::Text { text },
            message_id,
        };
        match entry {
            Entry::Message { message: Message::User { .. }, id, source, .. } => {
                let source = source.unwrap_or_else(|| "chat".to_owned());
                let id = id.unwrap_or_else(unnamed);
                vec![session_updates::user_message(id, item.text.clone(), source, None)]
            }
            Entry::Message { message: Message::Assistant { content, .. }, id, .. } => {
                let mut updates = Vec::new();
                let thoughts = content.iter().filter_map(|block| match &block.kind {
                    BlockKind::Thinking { text, .. } if !text.is_empty() => Some(text.as_str()),
                    _ => None,
                });
                let thoughts: Vec<&str> = thoughts.collect();
                if !thoughts.is_empty() {
                    updates.push(SessionUpdate::AgentThoughtChunk {
                        content: Content::Text { text: thoughts.join("\n\n") },
                        message_id: format!("{}-thought", unnamed()),
                    });
                }
                if !item.text.is_empty() {
                    updates.push(chunk(item.text.clone(), id.unwrap_or_else(unnamed)));
                }
                let calls = content.iter().filter_map(|block| block.call()).enumerate();
                let tool_call = |(at, call): (usize, &ToolCall)| {
                    session_updates::tool_call(named(at, &call.id), call, self.root)
                };
                updates.extend(calls.map(tool_call));
                updates
            }
            // Stands in for the model's answer.
            Entry::Message { message: Message::Notice { text }, id: Some(id), .. } => {
                vec![chunk(text, id)]
            }
            Entry::Message { message: Message::ToolResults { results }, .. } => {
                let results = results.iter().enumerate();
                results.map(|(at, result)| over(named(at, &result.call_id), result, None)).collect()
            }
            Entry::Result { result, data, .. } => {
                vec![over(named(0, &result.call_id), &result, data)]
            }
            Entry::Sent { id, text, .. } => vec![chunk(text, id)],
            Entry::Trimmed { .. } => notice(Show::compacting()).into_iter().collect(),
            // Notices are only for the model.
            Entry::Message { message: Message::Notice { .. }, id: None, .. }
            | Entry::Opening { .. } => Vec::new(),
        }
    }
}

/// The call ids that clients know, for ids that repeat within a turn: assigned as in the live
/// updates, in the order of the calls and of their results.
fn names<'i>(items: impl Iterator<Item = &'i Item>) -> HashMap<ItemNumber, Vec<String>> {
    let mut names = HashMap::new();
    let mut seen: HashMap<(Option<TurnId>, bool, String), u32> = HashMap::new();
    for item in items {
        let is_result = match item.kind {
            ItemKind::Assistant => false,
            ItemKind::ToolResults => true,
            _ => continue,
        };
        // Damaged items are reported when they are replayed.
        let Ok(Some(entry)) = memory::entry(item) else { continue };
        let ids: Vec<String> = match entry {
            Entry::Message { message: Message::Assistant { content, .. }, .. } => {
                content.iter().filter_map(|block| Some(block.call()?.id.clone())).collect()
            }
            Entry::Message { message: Message::ToolResults { results }, .. } => {
                results.into_iter().map(|result| result.call_id).collect()
            }
            Entry::Result { result, .. } => vec![result.call_id],
            _ => continue,
        };
        let mut is_again = false;
        let named = |id: String| {
            let nth = seen.entry((item.turn, is_result, id.clone())).or_default();
            *nth += 1;
            is_again |= *nth > 1;
            name_of(&id, *nth)
        };
        let named: Vec<String> = ids.into_iter().map(named).collect();
        if is_again {
            names.insert(item.number, named);
        }
    }
    names
}

/// The scope of a message's sender, if it has fewer rights than a person.
fn limiting(item: &Item) -> Option<Scope> {
    // Few messages have a sender with fewer rights, and only those are parsed.
    let says_so = |body: &String| body.contains("\"scope\"");
    if item.kind != ItemKind::User || !item.body.as_ref().is_some_and(says_so) {
        return None;
    }
    match memory::entry(item) {
        Ok(Some(Entry::Message { scope, .. })) => scope.filter(|scope| scope.limits()),
        _ => None,
    }
}

fn end(turn: &Turn) -> Option<SessionUpdate> {
    let (severity, title) = match memory::reason(turn) {
        Some(Reason::Done | Reason::Waiting | Reason::Ended) => return None,
        Some(Reason::Cancelled) => (Severity::Info, "stopped"),
        Some(Reason::MaxTokens) => {
            (Severity::Warning, "the answer reached the model's maximum length")
        }
        Some(Reason::MaxRounds) => {
            (Severity::Warning, "stopped at the maximum number of steps of a turn")
        }
        Some(Reason::Refused) => (Severity::Warning, "the model declined to answer"),
        Some(Reason::Failed) if turn.reason.is_empty() => (Severity::Error, "it could not go on"),
        Some(Reason::Failed) => (Severity::Error, turn.reason.as_str()),
        None if turn.state == TurnState::Interrupted => (Severity::Warning, turn.reason.as_str()),
        None => return None,
    };
    Some(session_updates::notice(severity, title.to_owned(), None))
}

fn notice(show: Show) -> Option<SessionUpdate> {
    match show {
        Show::Notice { severity, title, text } => {
            Some(session_updates::notice(severity, title, text))
        }
        _ => None,
    }
}

fn over(tool_call_id: String, result: &ToolResult, raw_output: Option<Value>) -> SessionUpdate {
    let text: String = result_text(result).chars().take(session_updates::SHOWN).collect();
    SessionUpdate::ToolCallUpdate {
        tool_call_id,
        status: if result.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed },
        title: None,
        content: vec![ToolCallContent::Content { content: Content::Text { text } }],
        raw_output,
        files: Vec::new(),
        image: None,
    }
}
