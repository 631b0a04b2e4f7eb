//! Going on from an earlier message, or with another branch.

use super::error::{Answer, ConversationError};
use super::{ConversationEvent, Conversations};
use crate::conversation::{BranchId, ConversationId, ItemKind, ItemNumber};
use crate::store::StoreError;

impl Conversations {
    /// Goes on from before a message of the person: what came from it on is kept as the branch it
    /// was in. The conversation is the current one from now on.
    ///
    /// # Errors
    /// [`ConversationError::NoMessage`], [`ConversationError::TurnRuns`].
    pub fn fork(&self, id: ConversationId, item: ItemNumber) -> Answer<BranchId> {
        let mut said = self.said();
        let before = self.stored(id)?;
        let message = self.rows().branches.item(id, item)?;
        if message.is_none_or(|message| message.kind != ItemKind::User) {
            return Err(ConversationError::NoMessage { id, item });
        }
        let branch = self.rows().branches.fork(id, item, self.wall())?;
        said.insert(id, self.now());
        if before.ended.is_some() {
            self.tell_of(id, ConversationEvent::Began);
        }
        Ok(branch)
    }

    /// Goes on with another branch.
    ///
    /// # Errors
    /// [`ConversationError::NoBranch`], [`ConversationError::TurnRuns`].
    pub fn switch(&self, id: ConversationId, branch: BranchId) -> Answer<()> {
        let mut said = self.said();
        let before = self.stored(id)?;
        self.rows().branches.switch(id, branch, self.wall()).map_err(|error| match error {
            StoreError::Unknown { what: "branch", .. } => {
                ConversationError::NoBranch { id, branch }
            }
            error => error.into(),
        })?;
        said.insert(id, self.now());
        if before.ended.is_some() {
            self.tell_of(id, ConversationEvent::Began);
        }
        Ok(())
    }
}
