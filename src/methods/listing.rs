//! A page of the list of conversations: as many as requested and as fit into an answer.

use super::info::{info, numbered};
use crate::agent::Conversations;
use crate::conversation::Conversation;
use crate::protocol::conversations::{
    SessionInfo, SessionListParams, SessionListResult, SessionMeta,
};
use crate::protocol::error::Result;
use crate::store::conversations::Order;

/// The default and the largest page.
const PAGE: u32 = 100;
const MAX_PAGE: u32 = 1_000;

/// Bytes around the list in an answer, at most: an id of 256 bytes, each escaped.
pub(super) const FRAME: u64 = 2_048;

/// The conversations last active before the one that the cursor names, the most recent first. `most` limits the bytes of
/// the conversations as JSON.
pub(super) fn page(
    conversations: &Conversations,
    folder: &str,
    source: Option<&str>,
    params: &SessionListParams,
    most: u64,
) -> Result<SessionListResult> {
    let before = params.cursor.as_deref().map(numbered).transpose()?;
    let requested = params.meta.as_ref().and_then(|meta| meta.vault.as_ref()?.limit);
    let limit = requested.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    // All belong to the vault; another folder selects those that were begun with it.
    let cwd = params.cwd.as_deref().filter(|cwd| *cwd != folder);
    let order = Order { before, limit: limit + 1, open: None, source, cwd };
    let listed = conversations.list(&order)?;
    let all = listed.len();
    let mut sessions: Vec<SessionInfo> = Vec::with_capacity(all);
    // The brackets of the list; a comma comes with each conversation.
    let mut bytes = 2;
    for one in listed.into_iter().take(limit as usize).map(|one| session(one, folder)) {
        bytes += serde_json::to_string(&one).map_or(0, |json| json.len() as u64 + 1);
        // A client that received an empty page would request the same page forever.
        if bytes - 1 > most && !sessions.is_empty() {
            break;
        }
        sessions.push(one);
    }
    let last = sessions.last().filter(|_| sessions.len() < all);
    let next_cursor = last.map(|last| last.session_id.clone());
    Ok(SessionListResult { sessions, next_cursor })
}

/// A conversation as clients see it.
fn session(one: Conversation, folder: &str) -> SessionInfo {
    let cwd = one.chosen.cwd.clone().unwrap_or_else(|| folder.to_owned());
    let vault = info(one);
    SessionInfo {
        session_id: vault.session_id.clone(),
        cwd,
        title: vault.title.clone(),
        updated_at: vault.last_active.clone(),
        meta: SessionMeta { vault },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::ConversationSettings;
    use crate::agent::clock::SystemClock;
    use crate::agent::conversations::TurnEnd;
    use crate::conversation::{ItemKind, TurnState};
    use crate::protocol::conversations::{SessionListMeta, SessionListVaultMeta};
    use crate::store::Store;
    use crate::store::conversations::NewItem;

    fn with_conversations(folder: &std::path::Path, number: usize) -> Conversations {
        let clock = Arc::new(SystemClock::default());
        let settings = ConversationSettings::default();
        let stored_conversations = Conversations::new(Store::at(folder), settings, clock);
        for at in 0..number {
            let text = format!("say \"{at}\" \\ \u{1} Überlegung\n twice");
            let message = NewItem { kind: ItemKind::User, text, body: None };
            let source = format!("bench \"{at}\"\t");
            let to = Some(stored_conversations.open_new(&source).unwrap().id);
            let arrived = stored_conversations.arrive(&message, &source, to).unwrap();
            stored_conversations
                .rename(arrived.conversation, &"a \"title\" \\ ".repeat(at % 7 + 1))
                .unwrap();
            if at % 2 == 0 {
                let end = TurnEnd::plain(TurnState::Done, "");
                stored_conversations.finish_turn(arrived.conversation, arrived.turn, &end).unwrap();
            }
        }
        stored_conversations
    }

    fn list_params(limit: Option<u32>, cursor: Option<String>) -> SessionListParams {
        let vault = Some(SessionListVaultMeta { limit });
        SessionListParams { cwd: None, cursor, meta: Some(SessionListMeta { vault }) }
    }

    #[test]
    fn pages_have_the_requested_size_and_together_everything() {
        let state = tempfile::tempdir().unwrap();
        let stored_conversations = with_conversations(state.path(), 130);
        for (limit, most, first) in [
            (None, u64::MAX, 100),
            (Some(7), u64::MAX, 7),
            (Some(0), u64::MAX, 1),
            (Some(5_000), u64::MAX, 130),
            (Some(1_000), 9_000, 0),
            (None, 1, 1),
        ] {
            let (mut cursor, mut all, mut pages) = (None, Vec::new(), 0);
            loop {
                let params = list_params(limit, cursor);
                let page = page(&stored_conversations, "/vault \"of\" notes", None, &params, most)
                    .unwrap();
                let bytes = serde_json::to_string(&page.sessions).unwrap().len() as u64;
                assert!(bytes <= most || page.sessions.len() == 1, "{bytes} of {most} bytes");
                if pages == 0 && first > 0 {
                    assert_eq!(page.sessions.len(), first);
                }
                // Each page but the last is full.
                if most == 9_000 && page.next_cursor.is_some() {
                    assert!(bytes > most / 2, "{bytes} of {most} bytes");
                }
                pages += 1;
                all.extend(page.sessions.into_iter().map(|one| one.session_id));
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            let whole: Vec<String> = (1..=130).rev().map(|id| id.to_string()).collect();
            assert_eq!(all, whole, "{limit:?} in {most} bytes");
        }
    }
}
