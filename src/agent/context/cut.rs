//! Where a context is cut when the window is nearly full, and what stands for what goes.

use super::Context;
use super::size::weight;
use super::transcript::{MESSAGE_IN_SUMMARY, extract, message_text, short, transcript};
use crate::agent::wrap;
use crate::llm::Message;

/// What is kept may take so much of the room that the history has, in hundredths.
const KEPT: u64 = 50;
/// What the last message of a person's that is left out is told after.
const LAST_MESSAGE: &str = "The user's last message was: ";

/// What is left out, and how much stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// What goes, as plain text from which a summary can be made.
    pub dropped: String,
    /// The summary that needs no model.
    pub extract: String,
    /// What the person wants now, where it goes too; empty where it stays.
    pub asked: String,
    /// So many of the last messages stay.
    pub kept: usize,
}

impl Context {
    /// What to leave out so that much less of the window is taken; `None` where nothing can be.
    /// A call stays with its results. Where the history was `refused` as too long, whatever was
    /// estimated, at most half of it is kept. What the person has said last stays until it is answered,
    /// however long it is.
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
            // Results stand behind their calls.
            if !matches!(self.messages[from], Message::ToolResults { .. }) {
                kept = from;
            }
        }
        let dropped = &self.messages[..kept];
        if dropped.iter().all(is_notice) {
            return None;
        }
        let told = &self.messages[kept..];
        let is_user = |message: &&Message| matches!(message, Message::User { .. });
        // What the person wants now must not be lost among what they wanted before.
        let asked = match dropped.iter().rfind(is_user) {
            _ if told.iter().any(|message| is_user(&message)) => String::new(),
            Some(last) => short(&message_text(last), MESSAGE_IN_SUMMARY),
            None => self.asked.clone(),
        };
        let lines: Vec<String> = dropped.iter().map(transcript).collect();
        let kept = self.messages.len() - kept;
        Some(Cut { dropped: lines.join("\n"), extract: extract(dropped), asked, kept })
    }
}

/// The notice that stands for what was left out. A summary is made of what notes say too, so that it
/// is marked like them; what the person wants stands outside.
pub(super) fn in_its_place(summary: &str, asked: &str) -> String {
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
