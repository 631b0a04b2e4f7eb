//! Converts a history to plain text: the input for a summary, and a summary made without a model.

use crate::agent::entry::{message_text, result_text};
use crate::llm::{Block, Message, ToolArgs, ToolCall};

/// The most characters of a result in the input for a summary.
const RESULT_IN_SUMMARY: usize = 600;
/// The most characters of a message in it.
pub(super) const MESSAGE_IN_SUMMARY: usize = 4_000;

/// The arguments of a call as JSON text.
pub(super) fn arguments(call: &ToolCall) -> String {
    match &call.args {
        ToolArgs::Object(map) => serde_json::Value::Object(map.clone()).to_string(),
        ToolArgs::Invalid(text) => text.clone(),
    }
}

/// A message as plain text.
pub(super) fn transcript(message: &Message) -> String {
    match message {
        Message::User { .. } => {
            format!("User: {}", short(&message_text(message), MESSAGE_IN_SUMMARY))
        }
        Message::Notice { text } => format!("Note: {}", short(text, MESSAGE_IN_SUMMARY)),
        Message::Assistant { content, .. } => {
            let mut text = format!("You: {}", short(&message_text(message), MESSAGE_IN_SUMMARY));
            for call in content.iter().filter_map(Block::call) {
                let arguments = short(&arguments(call), RESULT_IN_SUMMARY);
                text.push_str(&format!("\nYou called {} {arguments}", call.name));
            }
            text
        }
        Message::ToolResults { results } => {
            let lines = results.iter().map(|result| {
                let failed = if result.is_error { " failed" } else { "" };
                let text = short(&result_text(result), RESULT_IN_SUMMARY);
                format!("{}{failed}: {text}", result.name)
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// A summary without a model: the requests, and the tools that were called.
pub(super) fn extract(messages: &[Message]) -> String {
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::User { .. } => {
                lines.push(format!("- the user: {}", short(&message_text(message), 300)));
            }
            Message::Assistant { content, .. } => {
                let text = message_text(message);
                if !text.is_empty() {
                    lines.push(format!("- you: {}", short(&text, 200)));
                }
                for call in content.iter().filter_map(Block::call) {
                    lines.push(format!(
                        "- you called {} {}",
                        call.name,
                        short(&arguments(call), 120)
                    ));
                }
            }
            // Carries over an earlier summary.
            Message::Notice { text } if text.starts_with("Earlier parts") => {
                lines.push(short(text, 1_500));
            }
            Message::Notice { .. } | Message::ToolResults { .. } => {}
        }
    }
    // The newest lines matter most.
    let skipped = lines.len().saturating_sub(60);
    let mut text = lines.split_off(skipped).join("\n");
    if skipped > 0 {
        text = format!("({skipped} older steps are left out)\n{text}");
    }
    text
}

/// The beginning of a text on one line, with an ellipsis if it is cut.
pub(super) fn short(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words,
    }
}
