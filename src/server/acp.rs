//! ACP clients: they get only standard ACP messages, and only about the conversations that they
//! began or loaded on this connection.
//!
//! All other clients get ACP with extensions. This module removes the extensions, and translates
//! what ACP has no message for into standard messages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::session_event::SessionEvent;
use crate::locks::lock;
use crate::protocol::permission::{PermissionContent, PermissionOption, RequestPermissionParams};
use crate::protocol::session::{FileChange, MessageKind, SessionUpdate};
use crate::protocol::tools::Content;

/// ACP's methods other than `session/…`.
const OTHERS: [&str; 2] = ["initialize", "authenticate"];

/// The most characters of reasons in a question's title.
const MAX_TITLE: usize = 400;

/// Whether ACP defines this method; an ACP client can call no other.
pub fn knows(method: &str) -> bool {
    method.starts_with("session/") || OTHERS.contains(&method)
}

/// The conversations that a connection began or loaded. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Attached(Arc<SharedAcp>);

#[derive(Debug, Default)]
struct SharedAcp {
    sessions: Mutex<HashMap<String, Delivery>>,
    /// Whether the client can offer its user the setup of a model.
    offers_setup: AtomicBool,
}

/// The delivery of a conversation's events.
#[derive(Debug)]
enum Delivery {
    /// Events are sent at once.
    Live,
    /// The history is being sent; events are held back until then.
    Held {
        /// Whether the conversation was not attached before.
        is_new: bool,
        happened: Vec<SessionEvent>,
    },
}

impl Attached {
    /// Attaches a conversation and holds its events, starting with `unfinished`, until the release.
    pub(super) fn hold(&self, session: &str, unfinished: Vec<SessionEvent>) {
        let mut sessions = lock(&self.0.sessions);
        let is_new = !sessions.contains_key(session);
        sessions.insert(session.to_owned(), Delivery::Held { is_new, happened: unfinished });
    }

    /// Ends the hold; returns whether the conversation is newly attached, and the events held.
    pub(super) fn release(&self, session: &str) -> (bool, Vec<SessionEvent>) {
        match lock(&self.0.sessions).insert(session.to_owned(), Delivery::Live) {
            Some(Delivery::Held { is_new, happened }) => (is_new, happened),
            Some(Delivery::Live) | None => (false, Vec::new()),
        }
    }

    /// Whether to send this event now; stores it if the conversation is held.
    pub(super) fn receives(&self, session: &str, session_event: &SessionEvent) -> bool {
        match lock(&self.0.sessions).get_mut(session) {
            Some(Delivery::Live) => true,
            Some(Delivery::Held { happened, .. }) => {
                happened.push(session_event.clone());
                false
            }
            None => false,
        }
    }

    /// Records that the client can offer the setup of a model.
    pub fn offer_setup(&self) {
        self.0.offers_setup.store(true, Ordering::Relaxed);
    }

    /// Whether the client can offer the setup of a model.
    #[must_use]
    pub fn offers_setup(&self) -> bool {
        self.0.offers_setup.load(Ordering::Relaxed)
    }

    /// Detaches a conversation.
    pub fn remove(&self, session: &str) {
        lock(&self.0.sessions).remove(session);
    }

    /// Whether a conversation is attached.
    #[must_use]
    pub fn has(&self, session: &str) -> bool {
        lock(&self.0.sessions).contains_key(session)
    }
}

/// A note that the text shown of a message is discarded; ACP cannot remove it.
pub(super) fn discard_notice(message: &str) -> Value {
    json!({
        "sessionUpdate": "agent_message_chunk",
        "messageId": message,
        "content": { "type": "text", "text": "\n\n(The answer was interrupted; the model is asked again.)\n\n" },
    })
}

pub(super) fn update_of(session: &str, update: &Value) -> Utf8Bytes {
    let message = json!({
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": { "sessionId": session, "update": update },
    });
    Utf8Bytes::from(message.to_string())
}

/// The ACP update for an event; `None` if ACP has no such update.
pub(super) fn of_event(session_event: &SessionEvent) -> Option<Value> {
    match session_event {
        SessionEvent::Update(update) => Some(of_update(update)),
        SessionEvent::Message { id, kind: MessageKind::Void, .. } => Some(discard_notice(id)),
        SessionEvent::Message { .. } | SessionEvent::State { .. } => None,
    }
}

/// An update in ACP's words.
pub fn of_update(update: &SessionUpdate) -> Value {
    let mut value = match update {
        SessionUpdate::Notice { title, description, .. } => {
            let text = match description {
                Some(more) => format!("({title}: {more})\n\n"),
                None => format!("({title})\n\n"),
            };
            return json!({
                "sessionUpdate": "agent_message_chunk",
                "content": { "type": "text", "text": text },
            });
        }
        update => serde_json::to_value(update).unwrap_or_default(),
    };
    if let SessionUpdate::ToolCallUpdate { files, .. } = update
        && !files.is_empty()
    {
        let diff = |file: &FileChange| {
            let new = file.new.as_ref()?;
            Some(json!({ "type": "diff", "path": file.path, "oldText": file.old, "newText": new }))
        };
        let diffs: Vec<Value> = files.iter().filter_map(diff).collect();
        let locations: Vec<Value> = files
            .iter()
            .map(|file| match file.line {
                Some(line) => json!({ "path": file.path, "line": line }),
                None => json!({ "path": file.path }),
            })
            .collect();
        value["locations"] = locations.into();
        if !diffs.is_empty() {
            value["content"] = diffs.into();
        }
    }
    if let SessionUpdate::ToolCallUpdate { image: Some(image), .. } = update
        && let Some(content) = value["content"].as_array_mut()
    {
        let data = STANDARD.encode(&*image.bytes);
        let image = json!({ "type": "image", "mimeType": image.mime_type, "data": data });
        content.push(json!({ "type": "content", "content": image }));
    }
    if let Some(object) = value.as_object_mut() {
        object.remove("_meta");
    }
    value
}

/// The question for an ACP client's user: the options that the client may answer with, and the
/// reason in the title, which every client shows.
pub(super) fn question(params: &RequestPermissionParams) -> Value {
    let mut call = params.tool_call.clone();
    let reasons = &params.meta.vault.reasons;
    if !reasons.is_empty() {
        let all = reasons.join("; ");
        let short: String = all.chars().take(MAX_TITLE).collect();
        call.title = format!("{}, since {short}", call.title);
        if short.len() < all.len() {
            let text = Content::Text { text: reasons.join("\n") };
            call.content.insert(0, PermissionContent::Content { content: text });
        }
    }
    let options: Vec<&PermissionOption> =
        params.options.iter().filter(|option| may_choose(&option.option_id)).collect();
    json!({ "sessionId": params.session_id, "toolCall": call, "options": options })
}

/// Whether an ACP client may choose this option. It may not be a person, and a permanent approval
/// would outlive it.
pub(super) fn may_choose(option: &str) -> bool {
    option != "allow_always"
}

pub(super) fn request(id: &str, method: &str, params: &Value) -> Utf8Bytes {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    Utf8Bytes::from(message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::session::{ToolCallContent, ToolCallStatus, ToolImage};

    #[test]
    fn extensions_are_translated_into_acp_messages() {
        let notice = SessionUpdate::Notice {
            severity: "info".to_owned(),
            title: "stopped".to_owned(),
            description: None,
        };
        let update = of_update(&notice);
        assert_eq!(update["sessionUpdate"], "agent_message_chunk");
        assert_eq!(update["content"]["text"], "(stopped)\n\n");
    }

    #[test]
    fn an_image_that_was_read_is_shown() {
        let update = SessionUpdate::ToolCallUpdate {
            tool_call_id: "1/a".to_owned(),
            status: ToolCallStatus::Completed,
            title: None,
            content: vec![ToolCallContent::Content {
                content: Content::Text { text: "a.png".to_owned() },
            }],
            raw_output: None,
            files: Vec::new(),
            image: Some(ToolImage { mime_type: "image/png", bytes: Arc::new(b"abc".to_vec()) }),
        };
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" });
        let value = of_update(&update);
        assert_eq!(value["content"][1], json!({ "type": "content", "content": image }), "{value}");
        // Other clients are not sent it: they have the file's path.
        assert!(!serde_json::to_string(&update).unwrap().contains("YWJj"));
    }

    #[test]
    fn a_change_is_shown_as_a_diff_with_the_line_it_begins_at() {
        let file = |new: Option<&str>| FileChange {
            path: "/v/a.md".to_owned(),
            line: Some(3),
            old: Some("1\n2\n3\n".to_owned()),
            new: new.map(str::to_owned),
        };
        let update = |file| SessionUpdate::ToolCallUpdate {
            tool_call_id: "1/a".to_owned(),
            status: ToolCallStatus::Completed,
            title: None,
            content: vec![ToolCallContent::Content {
                content: Content::Text { text: "done".to_owned() },
            }],
            raw_output: None,
            files: vec![file],
            image: None,
        };
        let value = of_update(&update(file(Some("1\n2\nthree\n"))));
        assert_eq!(value["content"][0]["type"], "diff", "{value}");
        assert_eq!(value["content"][0]["newText"], "1\n2\nthree\n");
        assert_eq!(value["locations"], json!([{ "path": "/v/a.md", "line": 3 }]));
        // A text that is too long for a diff is sent as text.
        let value = of_update(&update(file(None)));
        assert_eq!(value["content"][0]["content"]["text"], "done", "{value}");
    }
}
