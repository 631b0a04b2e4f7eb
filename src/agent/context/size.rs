//! Estimates the size of a context in tokens, corrected by the vendor's counts.

use super::Context;
use super::transcript::arguments;
use crate::llm::{Block, BlockKind, Message};

/// The share of the window, in percent, at which the history is compacted.
const FULL: u64 = 80;
/// The minimum share of the window for the history, in percent, however large the opening is.
const ROOM: u64 = 10;
/// The estimate for an image.
const IMAGE_TOKENS: f64 = 1_600.0;

impl Context {
    pub(super) fn estimate(&self) -> f64 {
        self.opening() + self.messages.iter().map(weight).sum::<f64>()
    }

    /// The tokens of the system prompt and the tools.
    pub(super) fn opening(&self) -> f64 {
        let tools: f64 = self
            .tools
            .iter()
            .map(|tool| {
                let schema = tool.schema.to_string();
                tokens_of(&tool.description) + tokens_of(&schema) + 10.0
            })
            .sum();
        tokens_of(&self.system) + tools
    }

    /// The most tokens of messages that fit into a window, in this context's own estimate. The
    /// opening cannot be dropped and is subtracted.
    pub(super) fn room(&self, window: u64) -> f64 {
        let opening = self.opening() * self.factor;
        let room = (window * FULL / 100) as f64 - opening;
        room.max((window * ROOM / 100) as f64) / self.factor
    }

    /// Adjusts the estimate to the vendor's count of a request with `messages` messages.
    pub fn counted(&mut self, input: u64, messages: usize) {
        let later: f64 = self.messages.iter().skip(messages).map(weight).sum();
        let estimate = self.estimate() - later;
        if input > 0 && estimate > 0.0 {
            self.factor = (input as f64 / estimate).clamp(0.25, 4.0);
        }
    }

    pub fn is_full(&self, window: u64) -> bool {
        self.messages.iter().map(weight).sum::<f64>() > self.room(window)
    }
}

pub(super) fn weight(message: &Message) -> f64 {
    let blocks = |content: &[Block]| -> f64 { content.iter().map(block_tokens).sum() };
    let tokens = match message {
        Message::User { content } | Message::Assistant { content, .. } => blocks(content),
        Message::ToolResults { results } => {
            results.iter().map(|result| blocks(&result.content) + 12.0).sum()
        }
        Message::Notice { text } => tokens_of(text),
    };
    tokens + 6.0
}

fn block_tokens(block: &Block) -> f64 {
    match (&block.kind, &block.native) {
        (BlockKind::Image { .. } | BlockKind::ImageFile { .. }, _) => IMAGE_TOKENS,
        // A native item goes back unchanged, with its signature, and counts in full.
        (_, Some(native)) => tokens_of(native),
        (BlockKind::Text { text } | BlockKind::Thinking { text, .. }, None) => tokens_of(text),
        (BlockKind::ToolCall(call), None) => {
            tokens_of(&call.name) + tokens_of(&arguments(call)) + 12.0
        }
        (BlockKind::Opaque, None) => 0.0,
    }
}

/// In English about four letters make a token, in most other languages fewer.
fn tokens_of(text: &str) -> f64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    ascii as f64 / 3.6 + others as f64 / 1.4
}
