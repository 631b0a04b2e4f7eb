//! Digests a conversation's items: questions, actions and answers.

use serde::Deserialize;

use crate::conversation::ItemKind;
use crate::conversation::extract::{Action, Digest};
use crate::llm;
use crate::tools::{Names, Registry};

/// The most calls of one answer to include.
const CALLS: usize = 8;

/// Builds a digest from kind, text and body of the items, in order.
pub(super) fn digest<'a>(
    items: impl Iterator<Item = (ItemKind, &'a str, Option<&'a str>)>,
) -> Digest {
    let mut digest = Digest::default();
    for (kind, text, body) in items {
        match kind {
            ItemKind::User => digest.user_messages.push(text.to_owned()),
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

/// An assistant item's body: a message alone, or an entry with the message and its ids.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredAnswer {
    Entry { message: llm::Message },
    Message(llm::Message),
}

/// The calls in an assistant item.
pub(super) fn actions(body: &str) -> Vec<Action> {
    let content = match serde_json::from_str(body) {
        Ok(
            StoredAnswer::Entry { message: llm::Message::Assistant { content, .. } }
            | StoredAnswer::Message(llm::Message::Assistant { content, .. }),
        ) => content,
        _ => return Vec::new(),
    };
    let action = |call: &llm::ToolCall| Action {
        tool: call.name.clone(),
        path: subject(call).map(str::to_owned),
    };
    content.iter().filter_map(llm::Block::call).take(CALLS).map(action).collect()
}

/// The file a call is about; `None` if it moves something from one path to another.
fn subject(call: &llm::ToolCall) -> Option<&str> {
    let llm::ToolArgs::Object(arguments) = &call.args else { return None };
    let tool = Registry::built_in().get(&call.name)?;
    let mut touched = tool.touched(arguments).filter(|(names, _)| *names != Names::Pattern);
    let (first, second) = (touched.next()?, touched.next());
    let goes = first.0 == Names::Path && second.is_some_and(|(names, _)| names == Names::Path);
    (!goes).then_some(first.1)
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
        let about = |name: &str, args: serde_json::Value| {
            let args = llm::ToolArgs::parse(&args.to_string());
            let call = llm::ToolCall { id: "1".into(), name: name.into(), args };
            subject(&call).map(str::to_owned)
        };
        assert_eq!(about("restore", json!({"item": "A.md"})).as_deref(), Some("A.md"));
        assert_eq!(about("rename_tag", json!({"from": "a", "to": "b"})).as_deref(), Some("a"));
        assert_eq!(about("rename_tag", json!({"from": "a", "path": "B"})).as_deref(), Some("B"));
        assert_eq!(about("move", json!({"source": "A.md", "destination": "B.md"})), None);
        assert_eq!(about("search_files", json!({"pattern": "a"})), None);
        let plain = serde_json::to_value(&answer).unwrap();
        assert_eq!(actions(&plain.to_string()), wanted);
        assert_eq!(actions(&json!({ "entry": "message", "message": plain }).to_string()), wanted);
        for other in ["", "null", "{}", "{\"message\": 3}", "[1]"] {
            assert!(actions(other).is_empty(), "{other}");
        }
    }
}
