//! The end of conversations, and their removal.

use std::collections::HashMap;

use super::error::{Answer, ConversationError};
use super::{ConversationEvent, Conversations, FOREIGN};
use crate::agent::digest::digest;
use crate::conversation::{Boundary, Conversation, ConversationId, End, EndKind, Moment, decide};
use crate::store::conversations::{Ending, NewItem, Order};

/// How long a message that was heard is known again, in milliseconds: thirty days.
const HEARD: i64 = 30 * 86_400_000;

/// Conversations looked at in one round of [`Conversations::end_idle`].
const ROUND: u32 = 10_000;

impl Conversations {
    /// Ends a conversation; one in which nothing was said is deleted instead. Whether it had not
    /// ended before.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: cancel it first; [`ConversationError::NotFound`].
    pub fn end(&self, id: ConversationId, kind: EndKind, reason: &str) -> Answer<bool> {
        let mut said = self.said();
        let conversation = self.stored(id)?;
        let has_ended = self.end_held(&mut said, &conversation, kind, reason)?;
        if has_ended {
            self.trim_held()?;
        }
        Ok(has_ended)
    }

    /// Ends what nothing was said in for as long as the settings allow, as the next message would;
    /// how many. So a conversation has its title in the evening already.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn end_idle(&self) -> Answer<usize> {
        let mut said = self.said();
        let limits = self.settings().limits();
        let open = Order { open: Some(true), limit: ROUND, before: None };
        let current = self.current_held()?.map(|current| current.id);
        let mut ended = 0;
        for conversation in &self.rows().list(&open)? {
            let last = self.last_activity(&said, conversation);
            let waits = conversation.waiting.is_some();
            // The current one may stay empty: it is what a client has just opened.
            let is_fresh = current == Some(conversation.id) && conversation.items == 0;
            if !conversation.is_working
                && !is_fresh
                && let Boundary::Begin(kind) = decide(self.now(), last, waits, limits)
            {
                ended += usize::from(self.end_held(&mut said, conversation, kind, "")?);
            }
        }
        if ended > 0 {
            self.trim_held()?;
        }
        Ok(ended)
    }

    /// Gives a conversation a title of a person's own; nothing changes it again but another.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn rename(&self, id: ConversationId, title: &str) -> Answer<()> {
        self.rows().rename(id, title)?;
        self.tell_of(id, ConversationEvent::Titled);
        Ok(())
    }

    /// Deletes a conversation and all that was said in it. What models cost stays counted by day,
    /// and the daily copies of the database keep it for as long as they are kept.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`], [`ConversationError::NotFound`].
    pub fn delete(&self, id: ConversationId) -> Answer<()> {
        let mut said = self.said();
        match self.rows().delete(id, FOREIGN)? {
            true => {
                said.remove(&id);
                self.tell(&ConversationEvent::Deleted(id));
                Ok(())
            }
            false => Err(ConversationError::NotFound { id }),
        }
    }

    /// Deletes every conversation that has ended; how many.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn clear(&self) -> Answer<usize> {
        let _said = self.said();
        let cleared = self.rows().clear(FOREIGN)?;
        Ok(self.deleted(cleared))
    }

    /// Lets go of the oldest ended conversations beyond those that are kept; how many.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn trim(&self) -> Answer<usize> {
        let _said = self.said();
        self.trim_held()
    }

    pub(super) fn ending(&self, id: ConversationId, end: End, last: &[NewItem]) -> Ending {
        let settings = self.settings();
        let history = self.rows().branches.readable_history(id).unwrap_or_else(|error| {
            // What cannot be read must not keep the conversation from ending.
            tracing::error!(%error, conversation = %id, "it ends without being read");
            Vec::new()
        });
        let digest = digest(
            history
                .iter()
                .map(|item| (item.kind, &*item.text, item.body.as_deref()))
                .chain(last.iter().map(|item| (item.kind, &*item.text, item.body.as_deref()))),
        );
        Ending {
            conversation: id,
            end,
            titled: digest.titled(),
            wants_title: settings.titles_by_model,
            wants_note: settings.retrospection,
        }
    }

    fn end_held(
        &self,
        said: &mut HashMap<ConversationId, Moment>,
        conversation: &Conversation,
        kind: EndKind,
        reason: &str,
    ) -> Answer<bool> {
        let id = conversation.id;
        if conversation.is_working {
            return Err(ConversationError::TurnRuns { id });
        }
        if conversation.items == 0 && conversation.ended.is_none() {
            let gone = self.rows().delete(id, FOREIGN)?;
            said.remove(&id);
            self.deleted(vec![id]);
            return Ok(gone);
        }
        let end = End { at: self.wall(), kind, reason: reason.to_owned() };
        let has_ended = self.rows().endings.end(&self.ending(id, end, &[]))?;
        said.remove(&id);
        if has_ended {
            self.tell_of(id, ConversationEvent::Ended);
        }
        Ok(has_ended)
    }

    pub(super) fn trim_held(&self) -> Answer<usize> {
        self.0.store.inbox.trim(self.wall().saturating_sub(HEARD))?;
        match self.settings().kept {
            0 => Ok(0),
            kept => {
                let trimmed = self.rows().trim(kept, FOREIGN)?;
                Ok(self.deleted(trimmed))
            }
        }
    }

    fn deleted(&self, ids: Vec<ConversationId>) -> usize {
        ids.iter().for_each(|id| self.tell(&ConversationEvent::Deleted(*id)));
        ids.len()
    }
}
