//! How much of a window a context takes: estimated, and put right by what vendors count.

use super::Context;
use super::transcript::arguments;
use crate::llm::{Block, BlockKind, Message};

/// The history is made shorter when it takes so much of the window, in hundredths.
const FULL: u64 = 80;
/// The history has so much of the window, however much every request begins with, in hundredths.
const ROOM: u64 = 10;
/// Tokens that an image counts for where nobody says better.
const IMAGE_TOKENS: f64 = 1_600.0;

impl Context {
    /// About how many tokens it takes.
    pub fn tokens(&self) -> u64 {
        (self.estimate() * self.factor) as u64
    }

    fn estimate(&self) -> f64 {
        self.opening() + self.messages.iter().map(weight).sum::<f64>()
    }

    /// What every request begins with.
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

    /// How many tokens of a window the messages may take, as this context estimates them: what every
    /// request begins with takes its part first, and cannot go.
    pub(super) fn room(&self, window: u64) -> f64 {
        let opening = self.opening() * self.factor;
        let room = (window * FULL / 100) as f64 - opening;
        room.max((window * ROOM / 100) as f64) / self.factor
    }

    /// Learns from what a vendor counted for the history as it was asked, `messages` long.
    pub fn counted(&mut self, input: u64, messages: usize) {
        let later: f64 = self.messages.iter().skip(messages).map(weight).sum();
        let estimate = self.estimate() - later;
        if input > 0 && estimate > 0.0 {
            self.factor = (input as f64 / estimate).clamp(0.25, 4.0);
        }
    }

    /// Whether it takes so much of a window that it has to be made shorter.
    pub fn is_full(&self, window: u64) -> bool {
        self.messages.iter().map(weight).sum::<f64>() > self.room(window)
    }
}

/// About how many tokens a message takes.
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
        (BlockKind::Image { .. }, _) => IMAGE_TOKENS,
        // What goes back as it came is counted as it came; a signature among it costs too.
        (_, Some(native)) => tokens_of(native),
        (BlockKind::Text { text } | BlockKind::Thinking { text, .. }, None) => tokens_of(text),
        (BlockKind::ToolCall(call), None) => {
            tokens_of(&call.name) + tokens_of(&arguments(call)) + 12.0
        }
        (BlockKind::Opaque, None) => 0.0,
    }
}

/// About four letters make a token in English, fewer in most other languages.
fn tokens_of(text: &str) -> f64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    ascii as f64 / 3.6 + others as f64 / 1.4
}
