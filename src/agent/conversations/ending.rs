//! The end of conversations, and their removal.

use std::collections::HashMap;

use chrono::DateTime;

use super::error::{Answer, ConversationError};
use super::{ConversationEvent, Conversations, FOREIGN};
use crate::agent::digest::digest;
use crate::conversation::{Boundary, Conversation, ConversationId, End, EndKind, Moment, decide};
use crate::store::Held;
use crate::store::conversations::{Ending, NewItem, Order, WAIT};

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
        let open = Order { open: Some(true), limit: ROUND, ..Order::default() };
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
        match ended {
            // A smaller limit may have come to hold.
            0 => self.let_go_held()?,
            _ => self.trim_held()?,
        };
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

    /// Lets go of the oldest ended conversations beyond those that are kept, and says what is going to
    /// go, for a start; how many.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn trim(&self) -> Answer<usize> {
        let _said = self.said();
        let gone = self.trim_held()?;
        self.warn_of_limit();
        Ok(gone)
    }

    /// How many conversations go under a smaller limit of the settings, and when: for a person, who
    /// may not have meant it.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn goes_soon(&self) -> Answer<Option<String>> {
        let held = self.held()?;
        let beyond = match held.holds == held.wanted {
            true => 0,
            false => self.rows().beyond(held.wanted)?,
        };
        let due = DateTime::from_timestamp_millis(held.since.saturating_add(WAIT));
        let Some(due) = due.filter(|_| beyond > 0) else { return Ok(None) };
        let due = due.with_timezone(self.clock().wall().offset()).format("%Y-%m-%d %H:%M");
        Ok(Some(format!(
            "`[conversation] kept` is {}, smaller than it was: of the conversations {beyond} go \
             after {due}, unless it keeps more by then (0 keeps all)",
            held.wanted
        )))
    }

    pub(super) fn warn_of_limit(&self) {
        match self.goes_soon() {
            Ok(None) => {}
            Ok(Some(sentence)) => tracing::warn!("{sentence}"),
            Err(error) => tracing::warn!(%error, "how many conversations are kept is not known"),
        }
    }

    fn held(&self) -> Answer<Held> {
        let now = self.0.timeline.noted(self.clock().running());
        Ok(self.rows().hold(self.settings().kept, now)?)
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
        self.let_go_held()
    }

    fn let_go_held(&self) -> Answer<usize> {
        let kept = self.held()?.holds;
        let gone = self.rows().trim(kept, FOREIGN)?;
        if !gone.is_empty() {
            tracing::info!(conversations = gone.len(), kept, "let go");
        }
        Ok(self.deleted(gone))
    }

    fn deleted(&self, ids: Vec<ConversationId>) -> usize {
        ids.iter().for_each(|id| self.tell(&ConversationEvent::Deleted(*id)));
        ids.len()
    }
}
