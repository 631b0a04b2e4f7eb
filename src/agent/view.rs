//! Conversations, as the tools read them.

use super::conversations::{ConversationError, Conversations};
use super::digest::actions;
use crate::conversation::{Conversation, ConversationId, Item};
use crate::note::code::ErrorCode;
use crate::tools::{ConversationItem, ConversationView, ToolError};

impl ConversationView for Conversations {
    fn recent(&self, limit: usize) -> Result<Vec<Conversation>, ToolError> {
        Self::recent(self, u32::try_from(limit).unwrap_or(u32::MAX)).map_err(conversation_failure)
    }

    fn search(
        &self,
        text: &str,
        limit: usize,
    ) -> Result<Vec<(Conversation, Vec<ConversationItem>)>, ToolError> {
        let found = Self::search(self, text, limit).map_err(conversation_failure)?;
        let place = |place: super::Excerpt| ConversationItem {
            item: place.item,
            kind: place.kind,
            time: place.time,
            text: place.text,
            tools: Vec::new(),
        };
        let one = |one: super::ConversationMatch| {
            (one.conversation, one.excerpts.into_iter().map(place).collect())
        };
        Ok(found.into_iter().map(one).collect())
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<(Conversation, Vec<ConversationItem>)>, ToolError> {
        let conversation = match self.get(id) {
            Ok(conversation) => conversation,
            Err(ConversationError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(conversation_failure(error)),
        };
        // A damaged item must not hide the others.
        let history = self
            .rows()
            .branches
            .readable_history(id)
            .map_err(|error| conversation_failure(error.into()))?;
        Ok(Some((conversation, history.into_iter().map(conversation_item).collect())))
    }
}

/// Converts an item, listing the tools that it called.
pub fn conversation_item(item: Item) -> ConversationItem {
    let tools = item.body.as_deref().map(actions).unwrap_or_default();
    let tools = tools.into_iter().map(|action| match action.path {
        Some(path) => format!("{} {path}", action.tool),
        None => action.tool,
    });
    ConversationItem {
        tools: tools.collect(),
        item: item.number,
        kind: item.kind,
        time: item.time,
        text: item.text,
    }
}

fn conversation_failure(error: ConversationError) -> ToolError {
    ToolError::new(ErrorCode::IoError, error.to_string(), error.hint())
}
