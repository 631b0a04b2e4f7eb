//! Conversations, their branches, turns and items, and search over them.
//!
//! Speaks in the values of `crate::conversation`. A row that cannot be read, or whose checksum is wrong,
//! is an error that names it.
//!
//! In reading order: this file (conversations as a whole), `rows`, `write` (functions that transactions
//! share), `turns`, `branches`, `ending`, `indexing`, `search`.

mod branches;
mod ending;
mod indexing;
mod rows;
mod search;
mod turns;
mod write;

pub use branches::{Branch, Branches};
pub use ending::{Ending, Endings, Untitled};
pub use rows::{Arrival, Delivery, NewConversation, NewItem};
pub use search::{Hit, Search};
pub use turns::{TurnEnd, Turns};

use rusqlite::{OptionalExtension, Transaction, params};

use super::database::Database;
use super::error::StoreError;
use super::limit::DelayedLimit;
use super::query::each;
use super::usage;
use crate::conversation::{Chosen, Conversation, ConversationId, TitleOrigin};
use rows::CONVERSATION;
use write::{begin, check_changed, check_no_turn, unknown};

/// A filter of conversations, which are listed by newest activity first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order<'a> {
    /// Last active before this one.
    pub before: Option<ConversationId>,
    /// Not ended (`true`), or ended.
    pub open: Option<bool>,
    pub limit: u32,
    /// Source of the first message.
    pub source: Option<&'a str>,
    /// The client's working folder.
    pub cwd: Option<&'a str>,
}

/// Name of the row of `setting` with the activity that a conversation must exceed to be the current one.
/// It is set when the current one is deleted, so that no older one takes its place.
const CURRENT_AFTER: &str = "current_after";

/// Name of the stored limit on the number of conversations.
const LIMIT: &str = "conversations";

/// How long a smaller limit must be requested before it takes effect, in milliseconds: a day.
pub const LIMIT_DELAY: i64 = 86_400_000;

#[derive(Debug, Clone)]
pub struct Conversations {
    database: Database,
    pub turns: Turns,
    pub branches: Branches,
    pub endings: Endings,
    pub search: Search,
}

impl Conversations {
    pub(super) fn on(database: &Database) -> Self {
        Self {
            database: database.clone(),
            turns: Turns(database.clone()),
            branches: Branches(database.clone()),
            endings: Endings(database.clone()),
            search: Search(database.clone()),
        }
    }

    pub fn begin(&self, new: &NewConversation<'_>) -> Result<ConversationId, StoreError> {
        self.database.change("begin a conversation", |change| begin(change, new))
    }

    pub fn get(&self, id: ConversationId) -> Result<Option<Conversation>, StoreError> {
        let query = format!("SELECT {CONVERSATION} FROM conversation WHERE id = ?1");
        self.database.first(&query, [id.0], rows::conversation)
    }

    /// The conversations that match the filter, newest activity first. A damaged row is logged and left
    /// out.
    pub fn list(&self, order: &Order<'_>) -> Result<Vec<Conversation>, StoreError> {
        self.database.read(|connection| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation
                                  -- One bound, so that SQLite seeks in the index instead of scanning newer rows.
                 WHERE activity <= CASE WHEN ?1 IS NULL THEN 9223372036854775807
                     ELSE (SELECT activity - 1 FROM conversation WHERE id = ?1) END
                   AND (?2 IS NULL OR (ended IS NULL) = ?2)
                   AND (?4 IS NULL OR source = ?4) AND (?5 IS NULL OR cwd = ?5)
                 ORDER BY activity DESC LIMIT ?3"
            );
                        let before = order.before.map(|id| id.0);
                        let Order { open, limit, source, cwd, .. } = *order;
                        let values = params![before, open, limit, source, cwd];
                        let readable = |one: Result<_, StoreError>| {
                            one.inspect_err(|error| tracing::error!(%error, "a conversation cannot be listed"))
                        };
                        let found = each(connection, &query, values, rows::conversation)?;
                        Ok(found.into_iter().flat_map(readable).collect())
        })
    }

    /// Those of the `among` conversations active last whose tool results contain one of these texts, newest
    /// activity first. A damaged row is an error.
    pub fn with_results(
        &self,
        texts: [&str; 2],
        among: u32,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.database.read(|connection| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation
                 WHERE id IN (SELECT id FROM conversation ORDER BY activity DESC LIMIT ?3)
                   AND EXISTS (SELECT 1 FROM item WHERE item.conversation = conversation.id
                       AND item.kind = 'tool_results'
                       AND (instr(item.body, ?1) > 0 OR instr(item.body, ?2) > 0))
                 ORDER BY activity DESC"
            );
            let values = params![texts[0], texts[1], among];
            each(connection, &query, values, rows::conversation)?.into_iter().collect()
        })
    }

    /// The last active conversation of this source.
    pub fn newest_of(&self, source: &str) -> Result<Option<Conversation>, StoreError> {
        self.newest("source = ?1", source)
    }

    /// The last active conversation whose source does not end with `ending`; none if a newer one was
    /// deleted since.
    pub fn newest_excluding(&self, ending: &str) -> Result<Option<Conversation>, StoreError> {
        let after = format!(
            "substr(source, -length(?1)) <> ?1 AND activity > coalesce(
                 (SELECT CAST(value AS INTEGER) FROM setting WHERE name = '{CURRENT_AFTER}'), 0)"
        );
        self.newest(&after, ending)
    }

    fn newest(&self, which: &str, value: &str) -> Result<Option<Conversation>, StoreError> {
        let query = format!(
            "SELECT {CONVERSATION} FROM conversation WHERE {which} ORDER BY activity DESC LIMIT 1"
        );
        self.database.first(&query, [value], rows::conversation)
    }

    /// The limit on the number of conversations after the settings request `wanted` at `now`, in
    /// milliseconds since the Unix epoch by a monotonic clock. The first time, the limit in effect is
    /// taken from the stored conversations.
    pub fn request_limit(&self, wanted: u32, now: i64) -> Result<DelayedLimit, StoreError> {
        let known = self.database.read(|connection| DelayedLimit::read(connection, LIMIT))?;
        let before = match known {
            Some(known) => known,
            None => {
                let effective = if self.beyond(wanted)? > 0 { 0 } else { wanted };
                DelayedLimit { effective, requested: wanted, since: now }
            }
        };
        let limit = before.request(wanted, now, LIMIT_DELAY);
        if known != Some(limit) {
            self.database.change("hold a limit", |change| limit.store(change, LIMIT))?;
        }
        Ok(limit)
    }

    /// Number of ended conversations beyond the newest `keep_count`; 0 keeps all.
    pub fn beyond(&self, keep_count: u32) -> Result<i64, StoreError> {
        self.database.read(|connection| {
            let query = "SELECT min(max(count(*) - ?1, 0), count(ended)) FROM conversation";
            match keep_count {
                0 => Ok(0),
                keep_count => Ok(connection.query_row(query, [keep_count], |row| row.get(0))?),
            }
        })
    }

    /// The context that the model was given at the beginning of a conversation, if it was stored.
    pub fn context_of(&self, id: ConversationId) -> Result<Option<String>, StoreError> {
        let query = "SELECT context FROM conversation WHERE id = ?1";
        Ok(self.database.first(query, [id.0], |row| Ok(row.get(0)?))?.flatten())
    }

    /// Stores the context that the model is given at the beginning of a conversation, unless one is stored.
    /// Returns the stored one.
    pub fn store_context(
        &self,
        conversation: ConversationId,
        context: &str,
    ) -> Result<String, StoreError> {
        self.database.change("keep a context", |change| {
            change.execute(
                "UPDATE conversation SET context = ?2 WHERE id = ?1 AND context IS NULL",
                params![conversation.0, context],
            )?;
            let query = "SELECT context FROM conversation WHERE id = ?1";
            let stored = change.query_row(query, [conversation.0], |row| row.get(0)).optional()?;
            stored.ok_or(unknown(conversation))
        })
    }

    /// Stores the mode and model that the client chose. The folder is not changed.
    pub fn choose(&self, conversation: ConversationId, chosen: &Chosen) -> Result<(), StoreError> {
        let update = "UPDATE conversation SET mode = ?2, model = ?3, agent = ?4 WHERE id = ?1";
        let values = params![conversation.0, chosen.mode, chosen.model, chosen.agent];
        check_changed(
            self.database.execute("choose for a conversation", update, values)?,
            conversation,
        )
    }

    pub fn mode_of(&self, conversation: ConversationId) -> Result<Option<String>, StoreError> {
        let query = "SELECT mode FROM conversation WHERE id = ?1";
        Ok(self.database.first(query, [conversation.0], |row| Ok(row.get(0)?))?.flatten())
    }

    /// Stores a title that a person gave, which neither the end nor a model replaces.
    pub fn rename(&self, conversation: ConversationId, title: &str) -> Result<(), StoreError> {
        let update = "UPDATE conversation SET title = ?2, titled_by = ?3 WHERE id = ?1";
        let values = params![conversation.0, title, TitleOrigin::Person.word()];
        check_changed(self.database.execute("rename a conversation", update, values)?, conversation)
    }

    /// Deletes a conversation and its items. Returns whether there was one. Its usage stays counted by day.
    ///
    /// If it was the current one, there is no current conversation until the next message; those whose
    /// source ends with `but` are never current.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]: a turn is running in it.
    pub fn delete(&self, conversation: ConversationId, but: &str) -> Result<bool, StoreError> {
        self.database.change("delete a conversation", |change| {
            check_no_turn(change, conversation)?;
            Ok(delete(change, &[conversation.0], but)? > 0)
        })
    }

    /// Deletes all ended conversations. Returns which.
    pub fn clear(&self, but: &str) -> Result<Vec<ConversationId>, StoreError> {
        self.delete_oldest("clear the conversations", i64::MAX, but)
    }

    /// Deletes the oldest ended conversations beyond the newest `keep_count`, 0 keeping all. Returns which.
    pub fn trim(&self, keep_count: u32, but: &str) -> Result<Vec<ConversationId>, StoreError> {
        match self.beyond(keep_count)? {
            0 => Ok(Vec::new()),
            beyond => self.delete_oldest("trim the conversations", beyond, but),
        }
    }

    fn delete_oldest(
        &self,
        name: &'static str,
        most: i64,
        but: &str,
    ) -> Result<Vec<ConversationId>, StoreError> {
        self.database.change(name, |change| {
            let mut statement = change.prepare_cached(
                "SELECT id FROM conversation WHERE ended IS NOT NULL AND NOT EXISTS (
                     SELECT 1 FROM turn WHERE turn.conversation = conversation.id
                         AND turn.state = 'running')
                 ORDER BY activity LIMIT ?1",
            )?;
            let ids = statement.query_map([most], |row| row.get::<_, i64>(0))?;
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            delete(change, &ids, but)?;
            Ok(ids.into_iter().map(ConversationId).collect())
        })
    }
}

/// Deletes conversations. Returns how many there were. If the current one is among them, sets
/// [`CURRENT_AFTER`].
fn delete(change: &Transaction<'_>, ids: &[i64], but: &str) -> Result<usize, StoreError> {
    let newest: Option<i64> = change
        .prepare_cached(
            "SELECT id FROM conversation WHERE substr(source, -length(?1)) <> ?1
             ORDER BY activity DESC LIMIT 1",
        )?
        .query_row([but], |row| row.get(0))
        .optional()?;
    let mut gone = 0;
    for id in ids {
        change.prepare_cached("DELETE FROM item WHERE conversation = ?1")?.execute([id])?;
        change.prepare_cached("DELETE FROM turn WHERE conversation = ?1")?.execute([id])?;
        change.prepare_cached("DELETE FROM branch WHERE conversation = ?1")?.execute([id])?;
        usage::move_to_deleted(change, *id)?;
        gone += change.prepare_cached("DELETE FROM conversation WHERE id = ?1")?.execute([id])?;
    }
    if newest.is_some_and(|newest| ids.contains(&newest)) {
        change.execute(
            "INSERT OR REPLACE INTO setting (name, value)
             SELECT ?1, coalesce(max(activity), 0) FROM conversation",
            [CURRENT_AFTER],
        )?;
    }
    Ok(gone)
}
