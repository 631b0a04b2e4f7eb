//! A page of the list of conversations: as many as requested, and as fit into an answer.
//!
//! A thousand conversations are half a megabyte of JSON, so each is written directly from its
//! stored form, without a wire value in between; most times share a day, whose UTC offset is
//! cached.

use super::info::{failed, numbered};
use crate::agent::Conversations;
use crate::conversation::Conversation;
use crate::protocol::conversations::SessionListParams;
use crate::protocol::error::ErrorObject;
use crate::protocol::quoted;
use crate::store::conversations::Order;
use crate::tools::LocalTimes;

/// The default and the largest page.
const PAGE: u32 = 100;
const MOST: u32 = 1_000;

/// Bytes around the list in an answer, at most: an id of 256 bytes, each escaped.
pub(super) const FRAME: u64 = 2_048;

/// Bytes of JSON of most conversations; this much is reserved.
const ORDINARY: usize = 768;

/// Appends to `json` the conversations last active before the one that the cursor names, the most
/// recent first: the JSON of a `SessionListResult`. `most` limits the bytes of the conversations.
pub(super) fn page(
    conversations: &Conversations,
    folder: &str,
    source: Option<&str>,
    params: &SessionListParams,
    most: u64,
    json: &mut Vec<u8>,
) -> Result<(), ErrorObject> {
    let before = params.cursor.as_deref().map(numbered).transpose()?;
    let wanted = params.meta.as_ref().and_then(|meta| meta.vault.as_ref()?.limit);
    let limit = wanted.unwrap_or(PAGE).clamp(1, MOST);
    // All belong to the vault; a client's other folder shows those that were begun with that
    // folder.
    let cwd = params.cwd.as_deref().filter(|cwd| *cwd != folder);
    let order = Order { before, limit: limit + 1, open: None, source, cwd };
    let listed = conversations.list(&order).map_err(failed)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut times = LocalTimes::default();
    json.reserve(listed.len() * ORDINARY);
    json.extend_from_slice(br#"{"sessions":"#);
    let begin = json.len();
    json.push(b'[');
    let mut last = None;
    for one in listed.iter().take(limit as usize) {
        let so_far = json.len();
        if last.is_some() {
            json.push(b',');
        }
        write(one, one.chosen.cwd.as_deref().unwrap_or(folder), &mut times, json);
        // A client that received an empty page would request the same page forever.
        if json.len() + 1 - begin > most && last.is_some() {
            json.truncate(so_far);
            break;
        }
        last = Some(one);
    }
    json.push(b']');
    let is_last = listed.last().map(|one| one.id) == last.map(|one| one.id);
    if let Some(last) = last.filter(|_| !is_last) {
        json.extend_from_slice(format!(r#","nextCursor":"{}""#, last.id).as_bytes());
    }
    json.push(b'}');
    Ok(())
}

/// Writes a conversation as clients see it: the JSON of a `SessionInfo`, whose keys need no
/// escaping.
fn write(one: &Conversation, cwd: &str, times: &mut LocalTimes, json: &mut Vec<u8>) {
    let (session_id, last_active) = (one.id.to_string(), times.of_milliseconds(one.last_active));
    let (title, end) = (one.title.as_deref(), one.ended.as_ref());
    let mut text = |before: &str, text: &str| {
        json.extend_from_slice(before.as_bytes());
        quoted::write(text, json);
    };
    text(r#"{"sessionId":"#, &session_id);
    text(r#","cwd":"#, cwd);
    title.inspect(|title| text(r#","title":"#, title));
    text(r#","updatedAt":"#, &last_active);
    text(r#","_meta":{"vault":{"sessionId":"#, &session_id);
    title.inspect(|title| text(r#","title":"#, title));
    one.summary.iter().for_each(|summary| text(r#","summary":"#, summary));
    one.titled_by.inspect(|by| text(r#","titledBy":"#, by.word()));
    text(r#","state":"#, one.state().word());
    text(r#","shown":"#, one.shown().word());
    one.waiting.iter().for_each(|waiting| text(r#","question":"#, &waiting.question));
    text(r#","source":"#, &one.source);
    text(r#","began":"#, &times.of_milliseconds(one.began));
    text(r#","lastActive":"#, &last_active);
    if let Some(end) = end {
        text(r#","ended":"#, &times.of_milliseconds(end.at));
        text(r#","endedBy":"#, end.kind.word());
    }
    one.chosen.mode.iter().for_each(|mode| text(r#","mode":"#, mode));
    one.chosen.model.iter().for_each(|model| text(r#","model":"#, model));
    one.chosen.agent.iter().for_each(|agent| text(r#","agent":"#, agent));
    if let Some(end) = end.filter(|end| !end.reason.is_empty()) {
        text(r#","reason":"#, &end.reason);
    }
    let mut number = |before: &str, number: u64| {
        json.extend_from_slice(before.as_bytes());
        json.extend_from_slice(number.to_string().as_bytes());
    };
    number(r#","branch":"#, u64::try_from(one.branch.0).unwrap_or(0));
    number(r#","items":"#, one.items);
    json.extend_from_slice(b"}}}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::ConversationSettings;
    use crate::agent::clock::SystemClock;
    use crate::agent::conversations::TurnEnd;
    use crate::conversation::{EndKind, ItemKind, TurnState};
    use crate::methods::info::info;
    use crate::protocol::conversations::{
        SessionInfo, SessionListMeta, SessionListResult, SessionListVaultMeta, SessionMeta,
    };
    use crate::store::Store;
    use crate::store::conversations::NewItem;

    fn kept(folder: &std::path::Path, number: usize) -> Conversations {
        let clock = Arc::new(SystemClock::default());
        let settings = ConversationSettings::default();
        let kept = Conversations::new(Store::at(folder), settings, clock);
        for at in 0..number {
            let text = format!("say \"{at}\" \\ \u{1} Überlegung\n twice");
            let message = NewItem { kind: ItemKind::User, text, body: None };
            let source = format!("bench \"{at}\"\t");
            let to = Some(kept.open_new(&source).unwrap().id);
            let arrived = kept.arrive(&message, &source, to).unwrap();
            kept.rename(arrived.conversation, &"a \"title\" \\ ".repeat(at % 7 + 1)).unwrap();
            if at % 2 == 0 {
                let end = TurnEnd::plain(TurnState::Done, "");
                kept.finish_turn(arrived.conversation, arrived.turn, &end).unwrap();
            }
        }
        kept
    }

    fn asked(limit: Option<u32>, cursor: Option<String>) -> SessionListParams {
        let vault = Some(SessionListVaultMeta { limit });
        SessionListParams { cwd: None, cursor, meta: Some(SessionListMeta { vault }) }
    }

    fn read(
        kept: &Conversations,
        folder: &str,
        params: &SessionListParams,
        most: u64,
    ) -> SessionListResult {
        let mut json = b"before".to_vec();
        page(kept, folder, None, params, most, &mut json).unwrap();
        serde_json::from_slice(json.strip_prefix(b"before").unwrap()).unwrap()
    }

    #[test]
    fn pages_have_the_requested_size_and_together_everything() {
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
                let page = read(&kept, "/vault \"of\" notes", &asked(limit, cursor), most);
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
    fn the_output_equals_that_of_the_wire_types() {
        let state = tempfile::tempdir().unwrap();
        let kept = kept(state.path(), 24);
        let all = kept.list(&Order { limit: 100, ..Order::default() }).unwrap();
        for one in all.iter().filter(|one| !one.is_working).take(8) {
            kept.end(one.id, EndKind::Person, ["", "a \"reason\""][one.id.0 as usize / 2 % 2])
                .unwrap();
        }
        let cwd = "/vault\u{7} \"of\" nötes";
        let all = kept.list(&Order { limit: 100, ..Order::default() }).unwrap();
        assert!(all.iter().any(|one| one.ended.is_some() && one.summary.is_some()));
        let session = |one: Conversation| {
            let vault = info(one);
            SessionInfo {
                session_id: vault.session_id.clone(),
                cwd: cwd.to_owned(),
                title: vault.title.clone(),
                updated_at: vault.last_active.clone(),
                meta: SessionMeta { vault },
            }
        };
        let sessions: Vec<SessionInfo> = all.into_iter().map(session).collect();
        for (limit, next) in [(24, None), (23, Some(sessions[22].session_id.clone()))] {
            let mut json = Vec::new();
            page(&kept, cwd, None, &asked(Some(limit), None), u64::MAX, &mut json).unwrap();
            let sessions = sessions[..limit as usize].to_vec();
            let whole = SessionListResult { sessions, next_cursor: next };
            assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&whole).unwrap());
        }
        let mut json = Vec::new();
        let elsewhere = SessionListParams { cwd: Some("/other".to_owned()), ..asked(None, None) };
        page(&kept, cwd, None, &elsewhere, u64::MAX, &mut json).unwrap();
        assert_eq!(json, serde_json::to_vec(&SessionListResult::default()).unwrap());
    }
}
