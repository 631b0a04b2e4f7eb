//! Access to conversations for tools.

use std::fmt;

use super::ToolError;
use crate::conversation::{Conversation, ConversationId, ItemKind, ItemNumber};

/// Read access to conversations. A trait, since their implementation is on a floor above.
pub trait ConversationView: Send + Sync + fmt::Debug {
    /// The most recent conversations, last active first.
    fn recent(&self, limit: usize) -> Result<Vec<Conversation>, ToolError>;

    /// Conversations that contain all words of `text`, newest first, with the places.
    fn search(
        &self,
        text: &str,
        limit: usize,
    ) -> Result<Vec<(Conversation, Vec<ConversationItem>)>, ToolError>;

    /// A conversation with the messages of its live branch; `None` if there is none of this number.
    fn conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<(Conversation, Vec<ConversationItem>)>, ToolError>;
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationItem {
    pub item: ItemNumber,
    pub kind: ItemKind,
    /// The time in milliseconds since the Unix epoch.
    pub time: i64,
    pub text: String,
    /// The tools that it called: `read_file` or `read_file a.md`.
    pub tools: Vec<String>,
}
