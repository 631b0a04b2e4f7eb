//! SmartHole's wire format: one JSON object a frame.
//!
//! This follows its behaviour, which differs from its protocol document in places. Unknown frames
//! are ignored, as SmartHole does.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::notification::{Notification, Priority};

/// In characters; longer reasons are cut.
const MAX_REASON: usize = 1_000;

/// In bytes; messages with a longer id are ignored.
const MAX_ID: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// SmartHole's id: an arbitrary text, and not always unique.
    pub id: String,
    pub text: String,
    pub how: Delivery,
}

/// How a message arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delivery {
    /// Typed instead of spoken.
    pub typed: bool,
    /// Whether the person named the steward; else SmartHole's router chose it.
    pub direct: bool,
    /// Why the router chose it.
    pub reason: Option<String>,
    /// By SmartHole's clock; for display only.
    pub timestamp: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    Registered,
    Refused {
        /// SmartHole's error code.
        code: String,
        message: String,
    },
    Message(ReceivedMessage),
    /// A message without text.
    Empty {
        id: String,
    },
}

/// Parses a frame; `None` if it is unknown.
pub fn read(text: &str) -> Option<Incoming> {
    let frame: Map<String, Value> = serde_json::from_str(text).ok()?;
    let payload = frame.get("payload")?.as_object()?;
    let text = |object: &Map<String, Value>, key: &str, most: usize| {
        let text = object.get(key)?.as_str()?;
        Some(text.chars().take(most).collect::<String>())
    };
    match frame.get("type")?.as_str()? {
        "registration_response" => Some(if payload.get("success")?.as_bool()? {
            Incoming::Registered
        } else {
            Incoming::Refused {
                code: text(payload, "code", 100).unwrap_or_default(),
                message: text(payload, "message", MAX_REASON).unwrap_or_default(),
            }
        }),
        "message" => {
            let id = payload.get("id")?.as_str()?;
            if id.is_empty() || id.len() > MAX_ID {
                return None;
            }
            let id = id.to_owned();
            let raw_text = payload.get("text").and_then(Value::as_str).unwrap_or_default();
            if raw_text.trim().is_empty() {
                return Some(Incoming::Empty { id });
            }
            let empty = Map::new();
            let more = payload.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
            let how = Delivery {
                typed: more.get("inputMethod").and_then(Value::as_str) == Some("text"),
                direct: more.get("directRouted").and_then(Value::as_bool).unwrap_or(false),
                reason: text(more, "routingReason", MAX_REASON)
                    .filter(|why| !why.trim().is_empty()),
                timestamp: text(payload, "timestamp", 100),
            };
            Some(Incoming::Message(ReceivedMessage { id, text: raw_text.trim().to_owned(), how }))
        }
        _ => None,
    }
}

/// The first frame, which announces the steward.
pub fn registration(name: &str, description: &str, version: &str) -> String {
    let payload = json!({ "name": name, "description": description, "version": version });
    json!({ "type": "registration", "payload": payload }).to_string()
}

/// Tells SmartHole that the message is stored.
pub fn ack(id: &str) -> String {
    response(id, "ack", &json!({}))
}

/// Tells SmartHole to give the message to another program.
pub fn reject(id: &str, reason: &str) -> String {
    response(id, "reject", &json!({ "reason": reason }))
}

/// Shows a text to the person.
pub fn notification(notification: &Notification) -> String {
    let priority = match notification.priority {
        Priority::Normal => "normal",
        Priority::High => "high",
    };
    let payload =
        json!({ "title": notification.title, "body": notification.body, "priority": priority });
    response(&notification.message, "notification", &payload)
}

fn response(id: &str, kind: &str, payload: &Value) -> String {
    let payload = json!({ "messageId": id, "type": kind, "payload": payload });
    json!({ "type": "response", "payload": payload }).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_read_with_how_it_came() {
        let frame = json!({"type": "message", "payload": {"id": "../../x\n", "text": " buy milk ",
            "timestamp": "yesterday", "metadata": {"inputMethod": "voice", "directRouted": false,
            "routingReason": "it is to be noted", "confidence": null, "more": {}}}});
        let Some(Incoming::Message(received)) = read(&frame.to_string()) else { panic!("{frame}") };
        assert_eq!((&*received.id, &*received.text), ("../../x\n", "buy milk"));
        assert_eq!(received.how.reason.as_deref(), Some("it is to be noted"));
        assert!(!received.how.typed && !received.how.direct);
        let bare = json!({"type": "message", "payload": {"id": "1", "text": "x"}}).to_string();
        assert!(
            matches!(read(&bare), Some(Incoming::Message(received)) if received.how == Delivery::default())
        );
    }

    #[test]
    fn unknown_frames_are_ignored() {
        for frame in [
            "",
            "null",
            "[]",
            "{",
            "{\"type\":\"message\"}",
            "{\"type\":\"message\",\"payload\":null}",
            "{\"type\":\"message\",\"payload\":{\"text\":\"no id\"}}",
            "{\"type\":\"message\",\"payload\":{\"id\":7,\"text\":\"x\"}}",
            "{\"type\":\"update\",\"payload\":{}}",
            "{\"type\":\"registration_response\",\"payload\":{}}",
        ] {
            assert_eq!(read(frame), None, "{frame}");
        }
        let empty = "{\"type\":\"message\",\"payload\":{\"id\":\"1\",\"text\":\" \"}}";
        assert_eq!(read(empty), Some(Incoming::Empty { id: "1".to_owned() }));
        let refused = "{\"type\":\"registration_response\",\"payload\":{\"success\":false}}";
        assert!(matches!(read(refused), Some(Incoming::Refused { .. })));
    }

    proptest! {
        #[test]
        fn no_frame_breaks_it(text in ".*", id in ".*", key in "[a-z]+") {
            let _ = read(&text);
            let frame = json!({"type": "message", "payload": {"id": id, "text": text, key: 1}});
            if let Some(Incoming::Message(received)) = read(&frame.to_string()) {
                prop_assert_eq!(received.text, text.trim());
                prop_assert!(!ack(&received.id).contains("null"));
            }
        }
    }
}
