//! A page of the list of conversations: as many as were asked for, and fit into an answer.

use super::conversations::{failed, info, numbered};
use crate::agent::Conversations;
use crate::protocol::conversations::{
    SessionInfo, SessionListParams, SessionListResult, SessionMeta,
};
use crate::protocol::error::ErrorObject;
use crate::store::conversations::Order;

/// Conversations of a page where nothing is said, and at most.
const PAGE: u32 = 100;
const MOST: u32 = 1_000;

/// All that stands around what a conversation says of itself, with the comma behind it.
const SHELL: &str = r#"{"sessionId":"","cwd":"","title":"","updatedAt":"","_meta":{"vault":{"sessionId":"","title":"","summary":"","titledBy":"","state":"","shown":"","question":"","source":"","began":"","lastActive":"","ended":"","endedBy":"","reason":"","branch":,"items":}}},"#;

/// The conversations that were last active before the one that the cursor names, the newest activity
/// first. `most` counts the bytes of their JSON.
///
/// # Errors
/// Kind `unknown_session`: the cursor is none.
pub(super) fn page(
    conversations: &Conversations,
    folder: &str,
    params: &SessionListParams,
    most: u64,
) -> Result<SessionListResult, ErrorObject> {
    let before = params.cursor.as_deref().map(numbered).transpose()?;
    let wanted = params.meta.as_ref().and_then(|meta| meta.vault.as_ref()?.limit);
    let limit = wanted.unwrap_or(PAGE).clamp(1, MOST);
    let order = Order { before, limit: limit + 1, open: None };
    let listed = conversations.list(&order).map_err(failed)?;
    let found = listed.len();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut sessions, mut bytes) = (Vec::with_capacity(found), 0_usize);
    for one in listed.into_iter().take(limit as usize) {
        let vault = info(one);
        let session = SessionInfo {
            session_id: vault.session_id.clone(),
            cwd: folder.to_owned(),
            title: vault.title.clone(),
            updated_at: vault.last_active.clone(),
            meta: SessionMeta { vault },
        };
        bytes += json_bytes(&session);
        // A client that was answered with none at all would ask for the same ones for ever.
        if bytes > most && !sessions.is_empty() {
            break;
        }
        sessions.push(session);
    }
    let next_cursor = (found > sessions.len())
        .then(|| sessions.last().map(|last| last.session_id.clone()))
        .flatten();
    Ok(SessionListResult { sessions, next_cursor })
}

/// How many bytes a conversation takes as JSON, at most.
fn json_bytes(session: &SessionInfo) -> usize {
    let one = &session.meta.vault;
    let texts = [
        &session.session_id,
        &session.cwd,
        &session.updated_at,
        &one.session_id,
        &one.state,
        &one.shown,
        &one.source,
        &one.began,
        &one.last_active,
    ];
    let perhaps = [
        &session.title,
        &one.title,
        &one.summary,
        &one.titled_by,
        &one.question,
        &one.ended,
        &one.ended_by,
        &one.reason,
    ];
    let texts = texts.into_iter().chain(perhaps.into_iter().flatten());
    let digits = |number: u64| number.checked_ilog10().unwrap_or(0) as usize + 1;
    SHELL.len()
        + texts.map(|text| escaped(text)).sum::<usize>()
        + digits(one.branch)
        + digits(one.items)
}

/// How many bytes a text takes inside quotes: signs of control six, quotes and backslashes two.
fn escaped(text: &str) -> usize {
    // Without branches, so that many bytes are counted at once.
    let more = text.as_bytes().iter().map(|&byte| {
        5 * u32::from(byte < 0x20) + u32::from(byte == b'"') + u32::from(byte == b'\\')
    });
    text.len() + more.sum::<u32>() as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::clock::SystemClock;
    use crate::agent::{ConversationSettings, Message};
    use crate::protocol::conversations::{SessionListMeta, SessionListVaultMeta};
    use crate::store::Store;

    fn kept(folder: &std::path::Path, number: usize) -> Conversations {
        let clock = Arc::new(SystemClock::default());
        let settings = ConversationSettings::default();
        let kept = Conversations::new(Store::at(folder), settings, clock);
        for at in 0..number {
            let message = Message {
                text: format!("say \"{at}\" \\ \u{1} Überlegung\n twice"),
                body: None,
                source: format!("bench \"{at}\"\t"),
                conversation: Some(kept.open_new(&format!("bench \"{at}\"\t")).unwrap().id),
            };
            let arrived = kept.arrive(&message).unwrap();
            kept.rename(arrived.conversation, &"a \"title\" \\ ".repeat(at % 7 + 1)).unwrap();
        }
        kept
    }

    fn asked(limit: Option<u32>, cursor: Option<String>) -> SessionListParams {
        let vault = Some(SessionListVaultMeta { limit });
        SessionListParams { cwd: None, cursor, meta: Some(SessionListMeta { vault }) }
    }

    #[test]
    fn pages_hold_what_was_asked_for_and_together_all_of_it() {
        let state = tempfile::tempdir().unwrap();
        let kept = kept(state.path(), 130);
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
                let page = page(&kept, "/vault \"of\" notes", &asked(limit, cursor), most).unwrap();
                let bytes = serde_json::to_string(&page.sessions).unwrap().len() as u64;
                assert!(bytes <= most || page.sessions.len() == 1, "{bytes} of {most} bytes");
                if pages == 0 && first > 0 {
                    assert_eq!(page.sessions.len(), first);
                }
                // Each page but the last is as full as it may be.
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

    #[test]
    fn the_bytes_of_a_conversation_are_never_more_than_counted_and_hardly_less() {
        let state = tempfile::tempdir().unwrap();
        let kept = kept(state.path(), 20);
        let page = page(&kept, "/vault\u{7} \"of\" nötes", &asked(None, None), u64::MAX).unwrap();
        for session in &page.sessions {
            let (bytes, counted) =
                (serde_json::to_string(session).unwrap().len() + 1, json_bytes(session));
            assert!(bytes <= counted && counted < bytes + 160, "{bytes} counted as {counted}");
        }
    }
}
