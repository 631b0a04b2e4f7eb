//! Decides where to cut a context that nearly fills its window.

use super::Context;
use super::size::weight;
use super::transcript::{MESSAGE_IN_SUMMARY, extract, short, transcript};
use crate::agent::entry::message_text;
use crate::agent::wrap;
use crate::llm::Message;

/// The share of the history's room that may stay, in percent.
const KEPT: u64 = 50;
/// Introduces the person's last message if it was dropped.
const LAST_MESSAGE: &str = "The user's last message was: ";

#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The dropped messages as plain text, as input for a summary.
    pub dropped: String,
    /// A summary made without a model.
    pub extract: String,
    /// The person's last message if it is dropped, else empty.
    pub asked: String,
    /// The number of messages that stay.
    pub kept: usize,
}

impl Context {
    /// Decides which messages to drop; `None` if none can be. A call stays with its results. If the
    /// vendor `refused` the history as too long, at most half of it stays, regardless of our
    /// estimate. The person's last message stays until it is answered, however long it is.
    pub fn cut(&self, window: u64, refused: bool) -> Option<Cut> {
        let mut room = self.room(window);
        if refused {
            room = room.min(self.messages.iter().map(weight).sum());
        }
        let mut left = room * KEPT as f64 / 100.0;
        let mut from = self.messages.len();
        let mut kept = from;
        let is_notice = |message: &Message| matches!(message, Message::Notice { .. });
        let last = self.messages.iter().rposition(|message| !is_notice(message));
        let unanswered = last.filter(|last| matches!(self.messages[*last], Message::User { .. }));
        let most = unanswered.unwrap_or(from.saturating_sub(1));
        while from > 0 {
            left -= weight(&self.messages[from - 1]);
            if left < 0.0 && kept <= most {
                break;
            }
            from -= 1;
            // Results follow their calls.
            if !matches!(self.messages[from], Message::ToolResults { .. }) {
                kept = from;
            }
        }
        let dropped = &self.messages[..kept];
        if dropped.iter().all(is_notice) {
            return None;
        }
        let recent = &self.messages[kept..];
        let is_user = |message: &&Message| matches!(message, Message::User { .. });
        // The person's present request must not get lost among older messages.
        let asked = match dropped.iter().rfind(is_user) {
            _ if recent.iter().any(|message| is_user(&message)) => String::new(),
            Some(last) => short(&message_text(last), MESSAGE_IN_SUMMARY),
            None => self.asked.clone(),
        };
        let lines: Vec<String> = dropped.iter().map(transcript).collect();
        let kept = self.messages.len() - kept;
        Some(Cut { dropped: lines.join("\n"), extract: extract(dropped), asked, kept })
    }
}

/// The notice that replaces the dropped messages. The summary may repeat what notes say, so it is
/// marked as data; the person's message is not.
pub(super) fn replacement_notice(summary: &str, asked: &str) -> String {
    let summary = wrap::data(summary, usize::MAX);
    let mut text = format!(
        "Earlier parts of this conversation were left out to make room; this is what they came \
         to.\n{summary}"
    );
    if !asked.is_empty() {
        text.push_str(&format!("\n{LAST_MESSAGE}{asked}"));
    }
    text
}
