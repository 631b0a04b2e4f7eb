//! What is asked about conversations.

use rusqlite::{OptionalExtension, params};

use super::ending::CURRENT_AFTER;
use super::rows::{self, CONVERSATION, ITEM, TURN};
use crate::conversation::{Conversation, ConversationId, Item, ItemNumber, Turn, TurnId};
use crate::store::{Store, StoreError};

/// Which conversations are listed; the newest activity comes first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order {
    /// Only those that were last active before this one.
    pub before: Option<ConversationId>,
    /// Only those that have not ended (`true`), or that have.
    pub open: Option<bool>,
    /// At most so many.
    pub limit: u32,
}

impl Store {
    /// One conversation.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn conversation(&self, id: ConversationId) -> Result<Option<Conversation>, StoreError> {
        self.with(|database| {
            let query = format!("SELECT {CONVERSATION} FROM conversation WHERE id = ?1");
            let mut statement = database.read().prepare_cached(&query)?;
            let mut found = statement.query([id.0])?;
            found.next()?.map(rows::conversation).transpose()
        })
    }

    /// Conversations, the newest activity first. A row that cannot be read is left out and logged:
    /// one that is damaged hides no other.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn conversations(&self, order: &Order) -> Result<Vec<Conversation>, StoreError> {
        self.with(|database| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation
                 -- One bound, so that the index is entered at it and what is newer is passed over.
                 WHERE activity <= CASE WHEN ?1 IS NULL THEN 9223372036854775807
                     ELSE (SELECT activity - 1 FROM conversation WHERE id = ?1) END
                   AND (?2 IS NULL OR (ended IS NULL) = ?2)
                 ORDER BY activity DESC LIMIT ?3"
            );
            let mut statement = database.read().prepare_cached(&query)?;
            let before = order.before.map(|id| id.0);
            let mut found = statement.query(params![before, order.open, order.limit])?;
            let mut conversations = Vec::new();
            while let Some(row) = found.next()? {
                match rows::conversation(row) {
                    Ok(conversation) => conversations.push(conversation),
                    Err(error) => tracing::error!(%error, "a conversation cannot be listed"),
                }
            }
            Ok(conversations)
        })
    }

    /// The conversation of this source that was last active.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn newest_of(&self, source: &str) -> Result<Option<Conversation>, StoreError> {
        self.newest("source = ?1", source)
    }

    /// The conversation that was last active of those whose source does not end so; none where a newer
    /// one was deleted since.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn newest_but(&self, ending: &str) -> Result<Option<Conversation>, StoreError> {
        let after = format!(
            "substr(source, -length(?1)) <> ?1 AND activity > coalesce(
                 (SELECT CAST(value AS INTEGER) FROM setting WHERE name = '{CURRENT_AFTER}'), 0)"
        );
        self.newest(&after, ending)
    }

    fn newest(&self, which: &str, value: &str) -> Result<Option<Conversation>, StoreError> {
        self.with(|database| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation WHERE {which}
                 ORDER BY activity DESC LIMIT 1"
            );
            let mut statement = database.read().prepare_cached(&query)?;
            let mut found = statement.query([value])?;
            found.next()?.map(rows::conversation).transpose()
        })
    }

    /// How many conversations there are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn count_conversations(&self) -> Result<u64, StoreError> {
        self.with(|database| {
            let query = "SELECT count(*) FROM conversation";
            let count: i64 = database.read().query_row(query, [], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }

    /// What the model was given at the beginning of a conversation, if it was kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn context_of(&self, id: ConversationId) -> Result<Option<String>, StoreError> {
        self.with(|database| {
            let query = "SELECT context FROM conversation WHERE id = ?1";
            let kept = database.read().query_row(query, [id.0], |row| row.get(0)).optional()?;
            Ok(kept.flatten())
        })
    }

    /// One turn.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.with(|database| {
            let query = format!("SELECT {TURN} FROM turn WHERE id = ?1");
            let mut statement = database.read().prepare_cached(&query)?;
            let mut found = statement.query([id.0])?;
            found.next()?.map(rows::turn).transpose()
        })
    }

    /// The turns of a conversation, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn turns(&self, id: ConversationId) -> Result<Vec<Turn>, StoreError> {
        self.with(|database| {
            let query = format!("SELECT {TURN} FROM turn WHERE conversation = ?1 ORDER BY id");
            let mut statement = database.read().prepare_cached(&query)?;
            let mut found = statement.query([id.0])?;
            let mut turns = Vec::new();
            while let Some(row) = found.next()? {
                turns.push(rows::turn(row)?);
            }
            Ok(turns)
        })
    }

    /// One item, on whichever branch.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn item(
        &self,
        conversation: ConversationId,
        number: ItemNumber,
    ) -> Result<Option<Item>, StoreError> {
        self.with(|database| {
            let query = format!("SELECT {ITEM} FROM item WHERE conversation = ?1 AND number = ?2");
            let mut statement = database.read().prepare_cached(&query)?;
            let mut found = statement.query(params![conversation.0, number.0])?;
            found.next()?.map(rows::item).transpose()
        })
    }
}
