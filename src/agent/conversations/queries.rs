//! Queries about conversations.

use std::collections::HashMap;

use super::Conversations;
use super::error::{ConversationError, Result};
use crate::agent::wrap::unmarked;
use crate::conversation::excerpt::{excerpt, terms};
use crate::conversation::{
    BranchId, Conversation, ConversationId, Item, ItemKind, ItemNumber, Turn,
};
use crate::store::StoreError;
use crate::store::conversations::{Branch, Hit, Order};
use crate::store::usage::{UsageRow, Used};

/// The most characters of an excerpt.
const EXCERPT: usize = 160;
/// The most excerpts of one conversation.
const EXCERPTS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMatch {
    pub conversation: Conversation,
    /// Matching items, newest first; empty if only the title or summary matches.
    pub excerpts: Vec<Excerpt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub item: ItemNumber,
    pub branch: BranchId,
    pub kind: ItemKind,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    /// The text around the match, on one line.
    pub text: String,
}

impl Conversations {
    pub fn get(&self, id: ConversationId) -> Result<Conversation> {
        Ok(self.for_display(self.stored(id)?))
    }

    /// The items of the live branch, in order. A damaged item is `None` and is logged.
    pub fn history_with_gaps(&self, id: ConversationId) -> Result<Vec<Option<Item>>> {
        let branch = self.stored(id)?.branch;
        self.with_gaps(id, branch)
    }

    /// As [`Self::history_with_gaps`], for a branch and the branches it forked from.
    pub fn branch_with_gaps(
        &self,
        id: ConversationId,
        branch: BranchId,
    ) -> Result<Vec<Option<Item>>> {
        if self.branches(id)?.iter().any(|known| known.number == branch) {
            self.with_gaps(id, branch)
        } else {
            Err(ConversationError::NoBranch { id, branch })
        }
    }

    fn with_gaps(&self, id: ConversationId, branch: BranchId) -> Result<Vec<Option<Item>>> {
        let each = self.rows().branches.each_of_history(id, Some(branch))?.into_iter();
        let readable = |item: std::result::Result<Item, StoreError>| {
            item.inspect_err(|error| {
                tracing::error!(%error, conversation = %id, "it continues without the damaged part");
            })
            .ok()
        };
        Ok(each.map(readable).collect())
    }

    /// The branches in the order in which they began.
    pub fn branches(&self, id: ConversationId) -> Result<Vec<Branch>> {
        self.stored(id)?;
        Ok(self.rows().branches.list(id)?)
    }

    pub fn turns(&self, id: ConversationId) -> Result<Vec<Turn>> {
        self.stored(id)?;
        Ok(self.rows().turns.list(id)?)
    }

    /// The conversations, most recent activity first.
    pub fn recent(&self, limit: u32) -> Result<Vec<Conversation>> {
        self.list(&Order { limit, ..Order::default() })
    }

    /// The conversations that `order` selects, most recent activity first.
    pub fn list(&self, order: &Order<'_>) -> Result<Vec<Conversation>> {
        let listed = self.rows().list(order)?;
        Ok(listed.into_iter().map(|one| self.for_display(one)).collect())
    }

    /// Of the last `among` active conversations, those whose tool results contain one of these texts.
    pub fn with_results(&self, texts: [&str; 2], among: u32) -> Result<Vec<Conversation>> {
        let found = self.rows().with_results(texts, among)?;
        Ok(found.into_iter().map(|one| self.for_display(one)).collect())
    }

    /// At most `limit` conversations that contain all words of `text`: first those with all words
    /// in title or summary, then those with all words in one item, newest first. A phrase in double
    /// quotes matches as a whole.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<ConversationMatch>> {
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
                shown.push(ConversationMatch {
                    conversation: self.for_display(conversation),
                    excerpts,
                });
            }
        }
        Ok(shown)
    }

    /// Stores the opening of a conversation unless it has one; returns the stored one.
    pub fn keep_context(&self, id: ConversationId, context: &str) -> Result<String> {
        Ok(self.rows().store_context(id, context)?)
    }

    /// The opening of a conversation, if it was stored.
    pub fn context(&self, id: ConversationId) -> Result<Option<String>> {
        Ok(self.rows().context_of(id)?)
    }

    /// Records usage of a model in a conversation, for today.
    pub fn count_usage(&self, id: ConversationId, model: &str, used: Used) -> Result<()> {
        let day = self.0.clock.wall().format("%Y-%m-%d").to_string();
        let row = UsageRow { day, model: model.to_owned(), conversation: Some(id), used };
        Ok(self.0.store.usage.count(&row)?)
    }

    /// The usage of models in the last `days` days, including today; all of it with `None`.
    pub fn usage(
        &self,
        days: Option<u32>,
        conversation: Option<ConversationId>,
    ) -> Result<Vec<UsageRow>> {
        let back = |days: u32| chrono::Days::new(u64::from(days.saturating_sub(1)));
        let since = days.and_then(|days| self.0.clock.wall().checked_sub_days(back(days)));
        let since = since.map(|day| day.format("%Y-%m-%d").to_string());
        Ok(self.0.store.usage.rows(since.as_deref(), conversation)?)
    }
}
