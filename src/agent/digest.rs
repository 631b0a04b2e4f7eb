//! What a conversation came to, out of what was kept of it.

use serde::Deserialize;

use crate::conversation::ItemKind;
use crate::conversation::extract::{Action, Digest};
use crate::llm;

/// Calls of one answer that are told.
const CALLS: usize = 8;

/// What a conversation came to: kind, text and body of its items, in order.
pub(super) fn digest<'a>(
    items: impl Iterator<Item = (ItemKind, &'a str, Option<&'a str>)>,
) -> Digest {
    let mut digest = Digest::default();
    for (kind, text, body) in items {
        match kind {
            ItemKind::User => digest.asked.push(text.to_owned()),
            ItemKind::Assistant => {
                digest.actions.extend(body.map(actions).unwrap_or_default());
                if !text.trim().is_empty() {
                    digest.outcome = Some(text.to_owned());
                }
            }
            ItemKind::Message | ItemKind::Question => digest.outcome = Some(text.to_owned()),
            ItemKind::ToolResults
            | ItemKind::Notice
            | ItemKind::Compaction
            | ItemKind::Ended
            | ItemKind::Note => {}
        }
    }
    digest
}

/// A model's answer as it is kept: by itself, or in an entry beside what clients know it by.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    Entry { message: llm::Message },
    Message(llm::Message),
}

/// The calls in a model's answer.
pub(super) fn actions(body: &str) -> Vec<Action> {
    let content = match serde_json::from_str(body) {
        Ok(
            Kept::Entry { message: llm::Message::Assistant { content, .. } }
            | Kept::Message(llm::Message::Assistant { content, .. }),
        ) => content,
        _ => return Vec::new(),
    };
    let action = |call: &llm::ToolCall| {
        let path = match &call.args {
            llm::ToolArgs::Object(args) => ["path", "from", "note", "item"]
                .iter()
                .find_map(|name| args.get(*name)?.as_str().map(str::to_owned)),
            llm::ToolArgs::Invalid(_) => None,
        };
        Action { tool: call.name.clone(), path }
    };
    content.iter().filter_map(llm::Block::call).take(CALLS).map(action).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_found_in_an_answer_and_in_an_entry_that_holds_one() {
        let answer = llm::Message::Assistant {
            content: vec![
                llm::Block::text("I look"),
                llm::Block {
                    kind: llm::BlockKind::ToolCall(llm::ToolCall {
                        id: "1".into(),
                        name: "read_file".into(),
                        args: llm::ToolArgs::parse("{\"path\": \"A.md\"}"),
                    }),
                    native: None,
                },
            ],
            origin: None,
        };
        let wanted = [Action { tool: "read_file".into(), path: Some("A.md".into()) }];
        let plain = serde_json::to_value(&answer).unwrap();
        assert_eq!(actions(&plain.to_string()), wanted);
        assert_eq!(actions(&json!({ "entry": "message", "message": plain }).to_string()), wanted);
        for other in ["", "null", "{}", "{\"message\": 3}", "[1]"] {
            assert!(actions(other).is_empty(), "{other}");
        }
    }
}
