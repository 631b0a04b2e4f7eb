//! Conversations and their items in the protocol's types.

use crate::agent::conversations::Excerpt;
use crate::agent::view;
use crate::conversation::{Conversation, ConversationId, Item, ItemKind};
use crate::protocol::conversations::{ConversationInfo, ItemInfo, UsageInfo};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::store::usage::Used;

/// The most characters of one item.
const ITEM_CHARS: usize = 100_000;

pub fn info(one: Conversation) -> ConversationInfo {
    let (state, shown) = (one.state().word().to_owned(), one.shown().word().to_owned());
    let end = one.ended.as_ref();
    let (ended, ended_by) =
        (end.map(|end| local(end.at)), end.map(|end| end.kind.word().to_owned()));
    ConversationInfo {
        session_id: one.id.to_string(),
        title: one.title,
        summary: one.summary,
        titled_by: one.titled_by.map(|by| by.word().to_owned()),
        state,
        shown,
        question: one.waiting.map(|waiting| waiting.question),
        source: one.source,
        began: local(one.began),
        last_active: local(one.last_active),
        ended,
        ended_by,
        mode: one.chosen.mode,
        model: one.chosen.model,
        agent: one.chosen.agent,
        agent_mode: None,
        reason: one.ended.map(|end| end.reason).filter(|reason| !reason.is_empty()),
        branch: unsigned(one.branch.0),
        items: one.items,
    }
}

pub(super) fn item_info(item: Item) -> ItemInfo {
    let (turn, branch, kind) = (item.turn, item.branch, item.kind);
    let conversation_item = view::conversation_item(item);
    // A cut text is marked, so that the client does not take part of a result for the whole.
    let most = if kind == ItemKind::ToolResults { ITEM_CHARS / 10 } else { ITEM_CHARS };
    let end = conversation_item.text.char_indices().nth(most).map(|(at, _)| at);
    ItemInfo {
        item: unsigned(conversation_item.item.0),
        turn: turn.map(|turn| unsigned(turn.0)),
        branch: unsigned(branch.0),
        kind: kind.word().to_owned(),
        time: local(conversation_item.time),
        text: end
            .map_or(conversation_item.text.clone(), |end| conversation_item.text[..end].to_owned()),
        tools: conversation_item.tools,
        cut: end.is_some(),
        updates: Vec::new(),
    }
}

pub(super) fn place(excerpt: Excerpt) -> ItemInfo {
    ItemInfo {
        item: unsigned(excerpt.item.0),
        turn: None,
        branch: unsigned(excerpt.branch.0),
        kind: excerpt.kind.word().to_owned(),
        time: local(excerpt.time),
        text: excerpt.text,
        tools: Vec::new(),
        cut: true,
        updates: Vec::new(),
    }
}

pub(super) fn shown(used: &Used) -> UsageInfo {
    UsageInfo {
        requests: used.requests,
        input: used.input,
        cache_read: used.cache_read,
        cache_write: used.cache_write,
        output: used.output,
        cost_millionths: used.cost,
        unpriced: used.unpriced,
    }
}

/// Parses a conversation id as clients write it.
pub fn numbered(session: &str) -> Result<ConversationId> {
    session.parse().map_err(|_| {
        let shown: String = session.chars().take(80).collect();
        let message = format!("there is no conversation `{}`", shown.escape_debug());
        ErrorObject::new(Kind::UnknownSession, message).hint("`session/list` names them")
    })
}

pub(super) fn local(milliseconds: i64) -> String {
    let time = chrono::DateTime::from_timestamp_millis(milliseconds).unwrap_or_default();
    time.with_timezone(&chrono::Local).to_rfc3339_opts(chrono::SecondsFormat::Secs, false)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}
