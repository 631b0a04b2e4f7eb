//! What tools see of conversations.

use std::fmt;

use super::ToolError;
use crate::conversation::{Conversation, ConversationId, ItemKind, ItemNumber};

/// The conversations, to look at. A trait, since those that keep them live on a floor above.
pub trait ConversationView: Send + Sync + fmt::Debug {
    /// The newest, the one last active first.
    ///
    /// # Errors
    /// What the caller is told instead.
    fn recent(&self, limit: usize) -> Result<Vec<Conversation>, ToolError>;

    /// Those in which all words of `text` were said, the newest first, each with places.
    ///
    /// # Errors
    /// What the caller is told instead.
    fn search(&self, text: &str, limit: usize)
    -> Result<Vec<(Conversation, Vec<Said>)>, ToolError>;

    /// One, with what was said in its live branch; `None` where there is none of this number.
    ///
    /// # Errors
    /// What the caller is told instead.
    fn told(&self, id: ConversationId) -> Result<Option<(Conversation, Vec<Said>)>, ToolError>;
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its number in the conversation.
    pub item: ItemNumber,
    pub kind: ItemKind,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
    pub text: String,
    /// The tools that were called with it: `read_file` or `read_file a.md`.
    pub tools: Vec<String>,
}
