//! What an ACP client is told: ACP's own messages, of the conversations that it began or loaded on this
//! connection, and nothing else.
//!
//! The wire of all other clients is ACP's with additions; here they are left out, and what ACP has no
//! message for is told in one that it has.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::lock;
use crate::protocol::permission::{PermissionContent, PermissionOption, RequestPermissionParams};
use crate::protocol::session::{FileChange, SessionUpdate};
use crate::protocol::tools::Content;

/// The methods beside `session/…` that ACP has.
const OTHERS: [&str; 2] = ["initialize", "authenticate"];

/// Characters of the reasons that stand in a question's title.
const MAX_TITLE: usize = 400;

/// Whether ACP has this method: an ACP client has no other.
pub fn knows(method: &str) -> bool {
    method.starts_with("session/") || OTHERS.contains(&method)
}

/// The conversations that a connection began or loaded. A clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Attached(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    sessions: Mutex<HashSet<String>>,
    /// Whether the client can have its user set up a model.
    offers_setup: AtomicBool,
}

impl Attached {
    /// From now on this one is among them; whether it was not.
    pub fn add(&self, session: &str) -> bool {
        lock(&self.0.sessions).insert(session.to_owned())
    }

    /// The client can have its user set up a model.
    pub fn offer_setup(&self) {
        self.0.offers_setup.store(true, Ordering::Relaxed);
    }

    /// Whether it said so.
    #[must_use]
    pub fn offers_setup(&self) -> bool {
        self.0.offers_setup.load(Ordering::Relaxed)
    }

    /// It is not from now on.
    pub fn remove(&self, session: &str) {
        lock(&self.0.sessions).remove(session);
    }

    /// Whether this one is.
    #[must_use]
    pub fn has(&self, session: &str) -> bool {
        lock(&self.0.sessions).contains(session)
    }
}

/// That what was shown of a message counts for nothing: it cannot be taken away.
pub(super) fn void(message: &str) -> Value {
    json!({
        "sessionUpdate": "agent_message_chunk",
        "messageId": message,
        "content": { "type": "text", "text": "\n\n(The answer broke off and is asked for again.)\n\n" },
    })
}

/// A notification with this update.
pub(super) fn update_of(session: &str, update: &Value) -> Utf8Bytes {
    let message = json!({
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": { "sessionId": session, "update": update },
    });
    Utf8Bytes::from(message.to_string())
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
    if let Some(object) = value.as_object_mut() {
        object.remove("_meta");
    }
    value
}

/// A question as an ACP client puts it to its user: what it may answer, and why it is asked where every
/// client shows it.
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

/// Whether an ACP client may answer so: it may be no person, and a yes for good would outlive it.
pub(super) fn may_choose(option: &str) -> bool {
    option != "allow_always"
}

/// The text of a request.
pub(super) fn request(id: &str, method: &str, params: &Value) -> Utf8Bytes {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    Utf8Bytes::from(message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::session::{ToolCallContent, ToolCallStatus};

    #[test]
    fn what_acp_has_no_message_for_is_told_in_one_that_it_has() {
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
        };
        let value = of_update(&update(file(Some("1\n2\nthree\n"))));
        assert_eq!(value["content"][0]["type"], "diff", "{value}");
        assert_eq!(value["content"][0]["newText"], "1\n2\nthree\n");
        assert_eq!(value["locations"], json!([{ "path": "/v/a.md", "line": 3 }]));
        // What is too long is told as text.
        let value = of_update(&update(file(None)));
        assert_eq!(value["content"][0]["content"]["text"], "done", "{value}");
    }
}
