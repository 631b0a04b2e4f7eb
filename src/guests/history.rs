//! A conversation as text for a guest: the messages not yet delivered to it, within limits.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::llm::{Block, BlockKind, Message, TurnRequest};

/// The most characters of the earlier conversation that a new session gets; its end counts most.
const MAX_EARLIER: usize = 60_000;

/// The most characters of one answer in it.
const MAX_ANSWER: usize = 8_000;

/// The messages of a conversation that a session knows: the first ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownMessages {
    pub messages: usize,
    /// A hash of their content.
    hash: String,
}

impl KnownMessages {
    /// These messages, and the session's answer to them.
    pub fn of(messages: &[Message], answer: Option<&[Block]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        // The rest is shortened and replaced as a conversation continues.
        let messages_said = messages.iter().filter_map(|message| match message {
            Message::User { content } => Some(('u', content.as_slice())),
            Message::Assistant { content, .. } => Some(('a', content.as_slice())),
            Message::ToolResults { .. } | Message::Notice { .. } => None,
        });
        for (by, content) in messages_said.chain(answer.map(|content| ('a', content))) {
            let text = texts(content);
            hasher.update(format!("{by}{}:{}", text.trim().len(), text.trim()).as_bytes());
        }
        let messages = messages.len() + usize::from(answer.is_some());
        Self { messages, hash: hasher.finalize().to_hex().to_string() }
    }

    /// Whether a conversation begins with it.
    pub fn is_start_of(&self, messages: &[Message]) -> bool {
        messages.get(..self.messages).is_some_and(|start| Self::of(start, None).hash == self.hash)
    }
}

/// The prompt of a session: all of the conversation for a new one, else the messages from `delivered` on.
pub(super) fn prompt(
    request: &TurnRequest,
    delivered: Option<usize>,
    has_images: bool,
) -> Vec<Value> {
    let messages = &request.messages;
    // The user's latest messages are the prompt; everything before them is history.
    let is_answer = |message: &Message| {
        matches!(message, Message::Assistant { .. } | Message::ToolResults { .. })
    };
    let new = messages.get(delivered.unwrap_or(0)..).unwrap_or_default();
    let split = new.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let (earlier, now) = new.split_at(split);
    let mut text = String::new();
    if delivered.is_none() {
        text.push_str(
            "[From Vault Steward, the program that runs you here. Your tools are those of its MCP server `vault`; \
             files, terminals and the network are not part of this work. Its instructions and those of its user:]\n",
        );
        text.push_str(&request.system);
        text.push_str("\n\n");
    }
    let earlier = transcript(earlier);
    if !earlier.is_empty() {
        text.push_str("[Earlier in this conversation:]\n");
        text.push_str(&end_of(&earlier, MAX_EARLIER));
        text.push_str("\n\n[Now:]\n");
    }
    // The user's messages come last.
    let (mut prompt_text, mut blocks) = (String::new(), Vec::new());
    for message in now {
        match message {
            Message::User { content } => {
                for block in content {
                    add(block, has_images, &mut prompt_text, &mut blocks);
                }
            }
            Message::Notice { text: notice } => text.push_str(&format!("[{notice}]\n")),
            Message::Assistant { .. } | Message::ToolResults { .. } => {}
        }
    }
    text.push_str(&prompt_text);
    blocks.insert(0, json!({ "type": "text", "text": text.trim_end() }));
    blocks
}

/// Messages that arrived after the results of its calls while it works, as text for it.
pub(super) fn new_messages(after: &[Message]) -> Option<String> {
    let text = transcript(after);
    (!text.is_empty()).then(|| format!("\n[Meanwhile, from the program that runs you:]\n{text}"))
}

fn add(block: &Block, has_images: bool, text: &mut String, blocks: &mut Vec<Value>) {
    match &block.kind {
        BlockKind::Text { text: more } => {
            text.push_str(more);
            text.push('\n');
        }
        BlockKind::Image { mime, base64 } if has_images => {
            blocks.push(json!({ "type": "image", "mimeType": mime, "data": base64 }));
        }
        BlockKind::Image { .. } => text.push_str("[an image that you cannot be shown]\n"),
        BlockKind::ImageFile { path, .. } => text.push_str(&format!("[the image {path}]\n")),
        BlockKind::Thinking { .. } | BlockKind::ToolCall(_) | BlockKind::Opaque => {}
    }
}

fn transcript(messages: &[Message]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::User { content } => lines.push(format!("User: {}", texts(content))),
            Message::Assistant { content, .. } => {
                let text = texts(content);
                if !text.is_empty() {
                    let text: String = text.chars().take(MAX_ANSWER).collect();
                    lines.push(format!("Answer: {text}"));
                }
                let calls = content.iter().filter_map(Block::call);
                lines.extend(calls.map(|call| format!("(tool called: {})", call.name)));
            }
            // They are long, and can be looked up again.
            Message::ToolResults { .. } => {}
            Message::Notice { text } => lines.push(format!("[{text}]")),
        }
    }
    lines.join("\n")
}

fn texts(content: &[Block]) -> String {
    let text = |block: &Block| match &block.kind {
        BlockKind::Text { text } => Some(text.clone()),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// The end of a text, beginning at a line.
fn end_of(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - most).collect();
    let end = end.split_once('\n').map_or(end.as_str(), |(_, rest)| rest);
    format!("[…]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(blocks: &[Value]) -> &str {
        blocks[0]["text"].as_str().expect("a text")
    }

    fn answer(text: &str) -> Message {
        Message::Assistant { content: vec![Block::text(text)], origin: None }
    }

    #[test]
    fn a_new_session_gets_the_conversation_and_an_old_one_what_is_new() {
        let messages = vec![
            Message::user("Hello"),
            answer("Hi"),
            Message::Notice { text: "It is Monday.".to_owned() },
            Message::user("Move it"),
        ];
        let request = TurnRequest { system: "Be kind.".into(), ..TurnRequest::new(messages) };
        let new = prompt(&request, None, false);
        for part in ["Be kind.", "User: Hello\nAnswer: Hi", "[Now:]\n[It is Monday.]\nMove it"] {
            assert!(text(&new).contains(part), "{part}: {new:?}");
        }
        let known = prompt(&request, Some(2), false);
        assert_eq!(text(&known), "[It is Monday.]\nMove it");
    }

    #[test]
    fn a_session_knows_a_conversation_until_what_was_said_changes() {
        let messages = vec![Message::user("Hello"), answer("Hi"), Message::user("Move it")];
        let known = KnownMessages::of(&messages, Some(&[Block::text("Moved.\n")]));
        let and = |rest: &[Message]| [&messages[..], rest].concat();
        assert!(known.is_start_of(&and(&[answer("Moved."), Message::user("So?")])));
        assert!(!known.is_start_of(&and(&[Message::user("So?")])), "its answer was not said");
        assert!(!known.is_start_of(&messages[..2]), "shortened");
        assert!(!known.is_start_of(&[Message::user("Hello"), Message::user("Hi")]));
        let mut changed = and(&[answer("Moved."), Message::user("So?")]);
        changed[0] = Message::user("Good evening");
        assert!(!known.is_start_of(&changed));
    }

    #[test]
    fn a_long_history_keeps_its_end() {
        let mut messages: Vec<Message> =
            (0..200).map(|n| answer(&format!("{n} {}", "x".repeat(1_000)))).collect();
        messages.push(Message::user("So?"));
        let blocks = prompt(&TurnRequest::new(messages), None, false);
        assert!(text(&blocks).contains("Answer: 199 ") && !text(&blocks).contains("Answer: 0 "));
        assert!(text(&blocks).len() < 70_000 && text(&blocks).ends_with("So?"));
    }
}
