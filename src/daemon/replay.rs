//! What was said in a conversation, told again in the words in which it was told live.

use std::path::Path;

use super::told;
use crate::agent::entry::{Entry, result_text};
use crate::agent::memory;
use crate::agent::ports::MemoryError;
use crate::conversation::{Item, TurnId};
use crate::llm::{BlockKind, Message, ToolResult};
use crate::protocol::session::{
    SessionEventMeta, SessionEventVaultMeta, SessionUpdate, SessionUpdateParams, ToolCallContent,
    ToolCallStatus,
};
use crate::protocol::tools::Content;

/// Bytes of a history that are told; of a longer one its end is.
const MOST: usize = 8 << 20;
/// Bytes that stand around each text.
const AROUND: usize = 300;

/// The updates that tell these items again, the oldest first. What is kept and cannot be read is left
/// out.
pub fn updates(items: &[Item], root: &Path) -> Vec<SessionUpdateParams> {
    let Some(last) = items.last() else { return Vec::new() };
    let session = last.conversation.to_string();
    let mut room = MOST;
    let mut first = items.len();
    for item in items.iter().rev() {
        let size = item.text.len() + item.body.as_ref().map_or(0, String::len) + AROUND;
        let Some(rest) = room.checked_sub(size).or((first == items.len()).then_some(0)) else {
            break;
        };
        room = rest;
        first -= 1;
    }
    let mut told = Vec::new();
    let mut tell = |turn: Option<TurnId>, update| {
        let turn = turn.map(|turn| turn.to_string());
        let meta = SessionEventMeta { vault: SessionEventVaultMeta { seq: 0, turn } };
        told.push(SessionUpdateParams { session_id: session.clone(), update, meta });
    };
    if first > 0 {
        tell(
            None,
            SessionUpdate::Notice {
                severity: "info".to_owned(),
                title: "This is the end of a long conversation".to_owned(),
                description: Some(format!("{first} earlier items are not told again")),
            },
        );
    }
    for item in &items[first..] {
        let updates = of_item(item, root).unwrap_or_else(|error| {
            tracing::error!(%error, item = %item.number, "it is told again without what is damaged");
            Vec::new()
        });
        updates.into_iter().for_each(|update| tell(item.turn, update));
    }
    told
}

/// The updates that tell one item again.
///
/// # Errors
/// It cannot be read.
pub fn of_item(item: &Item, root: &Path) -> Result<Vec<SessionUpdate>, MemoryError> {
    Ok(memory::entry(item)?.map(|entry| of_entry(item, entry, root)).unwrap_or_default())
}

fn of_entry(item: &Item, entry: Entry, root: &Path) -> Vec<SessionUpdate> {
    let turn = item.turn.map(|turn| turn.to_string()).unwrap_or_default();
    let named = |call: &str| format!("{turn}/{call}");
    let unnamed = || format!("i{}", item.number);
    let chunk = |text: String, message_id: String| SessionUpdate::AgentMessageChunk {
        content: Content::Text { text },
        message_id,
    };
    match entry {
        Entry::Message { message: Message::User { .. }, id, source, .. } => {
            let source = source.unwrap_or_else(|| "chat".to_owned());
            let id = id.unwrap_or_else(unnamed);
            vec![told::user_message(id, item.text.clone(), source, None)]
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
            let calls = content.iter().filter_map(|block| block.call());
            updates.extend(calls.map(|call| told::tool_call(named(&call.id), call, root)));
            updates
        }
        // Said in the model's place.
        Entry::Message { message: Message::Notice { text }, id: Some(id), .. } => {
            vec![chunk(text, id)]
        }
        Entry::Message { message: Message::ToolResults { results }, .. } => {
            results.iter().map(|result| over(named(&result.call_id), result)).collect()
        }
        Entry::Result { result } => vec![over(named(&result.call_id), &result)],
        Entry::Sent { id, text, .. } => vec![chunk(text, id)],
        // What the model alone is told.
        Entry::Message { message: Message::Notice { .. }, id: None, .. }
        | Entry::Opening { .. }
        | Entry::Trimmed { .. } => Vec::new(),
    }
}

/// The end of a call.
fn over(tool_call_id: String, result: &ToolResult) -> SessionUpdate {
    let text: String = result_text(result).chars().take(told::SHOWN).collect();
    SessionUpdate::ToolCallUpdate {
        tool_call_id,
        status: match result.is_error {
            true => ToolCallStatus::Failed,
            false => ToolCallStatus::Completed,
        },
        title: None,
        content: vec![ToolCallContent::Content { content: Content::Text { text } }],
        raw_output: None,
    }
}
