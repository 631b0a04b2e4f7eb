//! Ends and deletes conversations.

use std::collections::HashMap;

use chrono::DateTime;

use super::error::{ConversationError, Result};
use super::{ConversationEvent, Conversations, FOREIGN};
use crate::agent::digest::digest;
use crate::conversation::{Boundary, Conversation, ConversationId, End, EndKind, Moment, decide};
use crate::locks::lock;
use crate::store::DelayedLimit;
use crate::store::conversations::{Ending, LIMIT_DELAY, NewItem, Order};

/// How long a delivered message stays in the inbox to detect duplicates, in milliseconds: thirty
/// days.
const KEEP_DELIVERED: i64 = 30 * 86_400_000;

/// The most conversations to check in one [`Conversations::end_idle`].
const ROUND: u32 = 10_000;

impl Conversations {
    /// Ends a conversation; deletes it instead if it is empty. Returns whether it was still open.
    ///
    /// # Errors
    /// [`ConversationError::TurnRuns`]: cancel the turn first; [`ConversationError::NotFound`].
    pub fn end(&self, id: ConversationId, kind: EndKind, reason: &str) -> Result<bool> {
        let mut activity = lock(&self.0.last_active);
        let conversation = self.stored(id)?;
        let has_ended = self.end_locked(&mut activity, &conversation, kind, reason)?;
        if has_ended {
            self.trim_locked()?;
        }
        Ok(has_ended)
    }

    /// Ends every conversation idle for longer than the settings allow; returns how many. The next
    /// message would end them too, but this gives them their titles earlier.
    pub fn end_idle(&self) -> Result<usize> {
        let mut activity = lock(&self.0.last_active);
        let limits = self.settings().limits();
        let open = Order { open: Some(true), limit: ROUND, ..Order::default() };
        let current = self.current_locked()?.map(|current| current.id);
        let mut ended = 0;
        for conversation in &self.rows().list(&open)? {
            let last = self.last_activity(&activity, conversation);
            let waits = conversation.waiting.is_some();
            // The current one may stay empty: a client has just opened it.
            let is_fresh = current == Some(conversation.id) && conversation.items == 0;
            if !conversation.is_working
                && !is_fresh
                && let Boundary::Begin(kind) = decide(self.now(), last, waits, limits)
            {
                ended += usize::from(self.end_locked(&mut activity, conversation, kind, "")?);
            }
        }
        match ended {
            // A smaller limit may have come into effect.
            0 => self.delete_excess_locked()?,
            _ => self.trim_locked()?,
        };
        Ok(ended)
    }

    /// Sets a title chosen by a person; models never change it.
    pub fn rename(&self, id: ConversationId, title: &str) -> Result<()> {
        self.rows().rename(id, title)?;
        self.publish_conversation(id, ConversationEvent::Titled);
        Ok(())
    }

    /// Deletes a conversation with all its items. The usage of models stays counted by day, and the
    /// daily database backups still contain the conversation.
    pub fn delete(&self, id: ConversationId) -> Result<()> {
        let mut activity = lock(&self.0.last_active);
        if self.rows().delete(id, FOREIGN)? {
            activity.remove(&id);
            self.publish(&ConversationEvent::Deleted(id));
            Ok(())
        } else {
            Err(ConversationError::NotFound { id })
        }
    }

    /// Deletes every ended conversation; returns how many.
    pub fn clear(&self) -> Result<usize> {
        let _activity = lock(&self.0.last_active);
        let cleared = self.rows().clear(FOREIGN)?;
        Ok(self.deleted(cleared))
    }

    /// Deletes the oldest ended conversations beyond the limit, and warns of pending deletions;
    /// returns how many. Called at the start.
    pub fn trim(&self) -> Result<usize> {
        let _activity = lock(&self.0.last_active);
        let gone = self.trim_locked()?;
        self.warn_of_limit();
        Ok(gone)
    }

    /// A warning for people if a smaller limit in the settings will delete conversations: how many,
    /// and when.
    pub fn pending_deletions(&self) -> Result<Option<String>> {
        let limit = self.limit()?;
        let beyond = if limit.effective == limit.requested {
            0
        } else {
            self.rows().beyond(limit.requested)?
        };
        let due = DateTime::from_timestamp_millis(limit.since.saturating_add(LIMIT_DELAY));
        let Some(due) = due.filter(|_| beyond > 0) else { return Ok(None) };
        let due = due.with_timezone(self.clock().wall().offset()).format("%Y-%m-%d %H:%M");
        Ok(Some(format!(
            "`[conversation] kept` is {}, smaller than it was: of the conversations {beyond} go \
             after {due}, unless it keeps more by then (0 keeps all)",
            limit.requested
        )))
    }

    pub(super) fn warn_of_limit(&self) {
        match self.pending_deletions() {
            Ok(None) => {}
            Ok(Some(sentence)) => tracing::warn!("{sentence}"),
            Err(error) => {
                tracing::warn!(%error, "the limit of stored conversations cannot be read")
            }
        }
    }

    fn limit(&self) -> Result<DelayedLimit> {
        let now = self.0.timeline.noted(self.clock().running());
        Ok(self.rows().request_limit(self.settings().kept, now)?)
    }

    pub(super) fn ending(&self, id: ConversationId, end: End, last: &[NewItem]) -> Ending {
        let settings = self.settings();
        let history = self.rows().branches.readable_history(id).unwrap_or_else(|error| {
            // An unreadable history must not prevent the end.
            tracing::error!(%error, conversation = %id, "its history cannot be read; it ends all the same");
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

    fn end_locked(
        &self,
        activity: &mut HashMap<ConversationId, Moment>,
        conversation: &Conversation,
        kind: EndKind,
        reason: &str,
    ) -> Result<bool> {
        let id = conversation.id;
        if conversation.is_working {
            return Err(ConversationError::TurnRuns { id });
        }
        if conversation.items == 0 && conversation.ended.is_none() {
            let gone = self.rows().delete(id, FOREIGN)?;
            activity.remove(&id);
            self.deleted(vec![id]);
            return Ok(gone);
        }
        let end = End { at: self.wall(), kind, reason: reason.to_owned() };
        let has_ended = self.rows().endings.end(&self.ending(id, end, &[]))?;
        activity.remove(&id);
        if has_ended {
            self.publish_conversation(id, ConversationEvent::Ended);
        }
        Ok(has_ended)
    }

    pub(super) fn trim_locked(&self) -> Result<usize> {
        self.0.store.inbox.trim(self.wall().saturating_sub(KEEP_DELIVERED))?;
        self.delete_excess_locked()
    }

    fn delete_excess_locked(&self) -> Result<usize> {
        let kept = self.limit()?.effective;
        let gone = self.rows().trim(kept, FOREIGN)?;
        if !gone.is_empty() {
            tracing::info!(conversations = gone.len(), kept, "let go");
        }
        Ok(self.deleted(gone))
    }

    fn deleted(&self, ids: Vec<ConversationId>) -> usize {
        ids.iter().for_each(|id| self.publish(&ConversationEvent::Deleted(*id)));
        ids.len()
    }
}
