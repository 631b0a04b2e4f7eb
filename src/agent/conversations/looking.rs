//! What is asked about conversations.

use std::collections::HashMap;

use super::Conversations;
use super::error::{Answer, ConversationError};
use crate::agent::wrap::unmarked;
use crate::conversation::excerpt::{excerpt, terms};
use crate::conversation::{
    BranchId, Conversation, ConversationId, Item, ItemKind, ItemNumber, Turn,
};
use crate::store::StoreError;
use crate::store::conversations::{Branch, Hit, Order};
use crate::store::usage::{UsageRow, Used};

/// Characters shown of something that was found.
const EXCERPT: usize = 160;
/// Excerpts shown of one conversation.
const EXCERPTS: usize = 3;

/// What was found in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub conversation: Conversation,
    /// Where in it, the newest first; empty where its title or summary alone fits.
    pub excerpts: Vec<Excerpt>,
}

/// A place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub item: ItemNumber,
    pub branch: BranchId,
    pub kind: ItemKind,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
    /// The words around what was found, on one line.
    pub text: String,
}

impl Conversations {
    /// One conversation.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn get(&self, id: ConversationId) -> Answer<Conversation> {
        Ok(self.seen(self.stored(id)?))
    }

    /// The items of the live branch, in order, with a gap for each that is damaged, which is logged.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn history_with_gaps(&self, id: ConversationId) -> Answer<Vec<Option<Item>>> {
        let branch = self.stored(id)?.branch;
        self.with_gaps(id, branch)
    }

    /// As [`Self::history_with_gaps`], of a branch and of those it came from.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`], [`ConversationError::NoBranch`].
    pub fn branch_with_gaps(
        &self,
        id: ConversationId,
        branch: BranchId,
    ) -> Answer<Vec<Option<Item>>> {
        match self.branches(id)?.iter().any(|known| known.number == branch) {
            true => self.with_gaps(id, branch),
            false => Err(ConversationError::NoBranch { id, branch }),
        }
    }

    fn with_gaps(&self, id: ConversationId, branch: BranchId) -> Answer<Vec<Option<Item>>> {
        let each = self.rows().branches.each_of_history(id, Some(branch))?.into_iter();
        let readable = |item: Result<Item, StoreError>| {
            item.inspect_err(|error| {
                tracing::error!(%error, conversation = %id, "it goes on without what is damaged");
            })
            .ok()
        };
        Ok(each.map(readable).collect())
    }

    /// The branches, in the order in which they began.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn branches(&self, id: ConversationId) -> Answer<Vec<Branch>> {
        self.stored(id)?;
        Ok(self.rows().branches.of(id)?)
    }

    /// The turns, in order.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn turns(&self, id: ConversationId) -> Answer<Vec<Turn>> {
        self.stored(id)?;
        Ok(self.rows().turns.of(id)?)
    }

    /// The conversations, the newest activity first.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn recent(&self, limit: u32) -> Answer<Vec<Conversation>> {
        self.list(&Order { limit, ..Order::default() })
    }

    /// Conversations as asked for, the newest activity first.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn list(&self, order: &Order<'_>) -> Answer<Vec<Conversation>> {
        let listed = self.rows().list(order)?;
        Ok(listed.into_iter().map(|one| self.seen(one)).collect())
    }

    /// Conversations with all words of `text`: first those whose title or summary has them, then
    /// those in which they were said in one item, the newest first; at most `limit`. What stands in
    /// double quotes is looked for as a whole.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn search(&self, text: &str, limit: usize) -> Answer<Vec<Found>> {
        let terms = terms(text);
        let mut found: Vec<(ConversationId, Vec<Excerpt>)> = Vec::new();
        let mut place = HashMap::new();
        for hit in self.rows().search.find(&terms, limit, EXCERPTS)? {
            let id = match &hit {
                Hit::Title(id) => *id,
                Hit::Item(item) => item.conversation,
            };
            let at = *place.entry(id).or_insert_with(|| {
                found.push((id, Vec::new()));
                found.len() - 1
            });
            if let Hit::Item(item) = hit {
                found[at].1.push(Excerpt {
                    item: item.number,
                    branch: item.branch,
                    kind: item.kind,
                    time: item.time,
                    text: excerpt(&unmarked(&item.text), &terms, EXCERPT),
                });
            }
        }
        let mut shown = Vec::with_capacity(found.len());
        for (id, excerpts) in found {
            if let Some(conversation) = self.rows().get(id)? {
                shown.push(Found { conversation: self.seen(conversation), excerpts });
            }
        }
        Ok(shown)
    }

    /// Keeps what a model is given at the beginning of a conversation, once; what holds.
    ///
    /// # Errors
    /// [`ConversationError::NotFound`].
    pub fn keep_context(&self, id: ConversationId, context: &str) -> Answer<String> {
        Ok(self.rows().keep_context(id, context)?)
    }

    /// What the model was given at the beginning of a conversation, if it was kept.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn context(&self, id: ConversationId) -> Answer<Option<String>> {
        Ok(self.rows().context_of(id)?)
    }

    /// Counts what a model was used for in a conversation, today.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn count_usage(&self, id: ConversationId, model: &str, used: Used) -> Answer<()> {
        let day = self.0.clock.wall().format("%Y-%m-%d").to_string();
        let row = UsageRow { day, model: model.to_owned(), conversation: Some(id), used };
        Ok(self.0.store.usage.count(&row)?)
    }

    /// What models were used for in the last so many days, today included; all with `None`.
    ///
    /// # Errors
    /// [`ConversationError::Store`].
    pub fn usage(
        &self,
        days: Option<u32>,
        conversation: Option<ConversationId>,
    ) -> Answer<Vec<UsageRow>> {
        let back = |days: u32| chrono::Days::new(u64::from(days.saturating_sub(1)));
        let since = days.and_then(|days| self.0.clock.wall().checked_sub_days(back(days)));
        let since = since.map(|day| day.format("%Y-%m-%d").to_string());
        Ok(self.0.store.usage.rows(since.as_deref(), conversation)?)
    }
}
