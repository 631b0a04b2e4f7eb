//! Forks and switches branches.

use super::error::{ConversationError, Result};
use super::{ConversationEvent, Conversations};
use crate::conversation::{BranchId, ConversationId, ItemKind, ItemNumber};
use crate::locks::lock;
use crate::store::StoreError;

impl Conversations {
    /// Forks before a message of the person. That message and all later ones remain on their
    /// branch. The conversation becomes the current one.
    pub fn fork(&self, id: ConversationId, item: ItemNumber) -> Result<BranchId> {
        let mut activity = lock(&self.0.last_active);
        let before = self.stored(id)?;
        let message = self.rows().branches.item(id, item)?;
        if message.is_none_or(|message| message.kind != ItemKind::User) {
            return Err(ConversationError::NoMessage { id, item });
        }
        let branch = self.rows().branches.fork(id, item, self.wall())?;
        activity.insert(id, self.now());
        if before.ended.is_some() {
            self.publish_conversation(id, ConversationEvent::Began);
        }
        Ok(branch)
    }

    pub fn switch(&self, id: ConversationId, branch: BranchId) -> Result<()> {
        let mut activity = lock(&self.0.last_active);
        let before = self.stored(id)?;
        self.rows().branches.switch(id, branch, self.wall()).map_err(|error| match error {
            StoreError::Unknown { what: "branch", .. } => {
                ConversationError::NoBranch { id, branch }
            }
            error => error.into(),
        })?;
        activity.insert(id, self.now());
        if before.ended.is_some() {
            self.publish_conversation(id, ConversationEvent::Began);
        }
        Ok(())
    }
}
