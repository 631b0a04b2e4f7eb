//! The rows of conversations: themselves, their branches, turns and items, and search over all that
//! was said.
//!
//! Speaks in the values of `crate::conversation`. A row that cannot be read, or is not as it was
//! written, is an error that names it.
//!
//! In reading order: this page (conversations as a whole), `rows`, `write` (what commits are made
//! of), `turns`, `branches` (fork and history), `ending`, `indexing`, `search`.

mod branches;
mod ending;
mod indexing;
mod rows;
mod search;
mod turns;
mod write;

pub use branches::{Branch, Branches};
pub use ending::{Ending, Endings, Untitled};
pub use rows::{Arrival, NewConversation, NewItem, Placed};
pub use search::{Hit, Search};
pub use turns::{TurnEnd, Turns};

use rusqlite::{OptionalExtension, Transaction, params};

use super::database::Database;
use super::error::StoreError;
use super::held::Held;
use super::query::{each, first};
use super::usage;
use crate::conversation::{Chosen, Conversation, ConversationId, TitleOrigin};
use rows::CONVERSATION;
use write::{begin, check_quiet, reopen, touch};

/// Which conversations are listed; the newest activity comes first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order<'a> {
    /// Only those that were last active before this one.
    pub before: Option<ConversationId>,
    /// Only those that have not ended (`true`), or that have.
    pub open: Option<bool>,
    /// At most so many.
    pub limit: u32,
    /// Only those whose first message came from there.
    pub source: Option<&'a str>,
    /// Only those whose client said that it works in this folder.
    pub cwd: Option<&'a str>,
}

/// The name of the row of `setting` with the activity that a conversation must be newer than to be the
/// current one: what was so before the current one was deleted.
const CURRENT_AFTER: &str = "current_after";

/// What the limit of how many are kept is noted as.
const KEPT: &str = "conversations";

/// How long a smaller limit has to be wanted before it holds, in milliseconds: a day.
pub const WAIT: i64 = 86_400_000;

/// The conversations as a whole, and with them what belongs to each.
#[derive(Debug, Clone)]
pub struct Conversations {
    database: Database,
    /// Their turns, and what is said in each.
    pub turns: Turns,
    /// Their branches, and the history of each.
    pub branches: Branches,
    /// Their ends, and what they are called afterwards.
    pub endings: Endings,
    /// Search over all that was said.
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

    /// Begins a conversation in which nothing is said yet.
    pub fn begin(&self, new: &NewConversation<'_>) -> Result<ConversationId, StoreError> {
        self.database.change("begin a conversation", |change| begin(change, new))
    }

    /// One conversation.
    pub fn get(&self, id: ConversationId) -> Result<Option<Conversation>, StoreError> {
        self.database.read(|connection| {
            let query = format!("SELECT {CONVERSATION} FROM conversation WHERE id = ?1");
            first(connection, &query, [id.0], rows::conversation)
        })
    }

    /// Conversations, the newest activity first. A row that cannot be read is left out and logged:
    /// one that is damaged hides no other.
    pub fn list(&self, order: &Order<'_>) -> Result<Vec<Conversation>, StoreError> {
        self.database.read(|connection| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation
                 -- One bound, so that the index is entered at it and what is newer is passed over.
                 WHERE activity <= CASE WHEN ?1 IS NULL THEN 9223372036854775807
                     ELSE (SELECT activity - 1 FROM conversation WHERE id = ?1) END
                   AND (?2 IS NULL OR (ended IS NULL) = ?2)
                   AND (?4 IS NULL OR source = ?4) AND (?5 IS NULL OR cwd = ?5)
                 ORDER BY activity DESC LIMIT ?3"
            );
            let mut statement = connection.prepare_cached(&query)?;
            let before = order.before.map(|id| id.0);
            let Order { open, limit, source, cwd, .. } = *order;
            let found = statement.query(params![before, open, limit, source, cwd])?;
            let readable = |one: Result<_, StoreError>| {
                one.inspect_err(|error| tracing::error!(%error, "a conversation cannot be listed"))
            };
            Ok(each(found, rows::conversation)?.into_iter().flat_map(readable).collect())
        })
    }

    /// The conversation of this source that was last active.
    pub fn newest_of(&self, source: &str) -> Result<Option<Conversation>, StoreError> {
        self.newest("source = ?1", source)
    }

    /// The conversation that was last active of those whose source does not end so; none where a newer
    /// one was deleted since.
    pub fn newest_but(&self, ending: &str) -> Result<Option<Conversation>, StoreError> {
        let after = format!(
            "substr(source, -length(?1)) <> ?1 AND activity > coalesce(
                 (SELECT CAST(value AS INTEGER) FROM setting WHERE name = '{CURRENT_AFTER}'), 0)"
        );
        self.newest(&after, ending)
    }

    fn newest(&self, which: &str, value: &str) -> Result<Option<Conversation>, StoreError> {
        self.database.read(|connection| {
            let query = format!(
                "SELECT {CONVERSATION} FROM conversation WHERE {which}
                 ORDER BY activity DESC LIMIT 1"
            );
            first(connection, &query, [value], rows::conversation)
        })
    }

    /// How many are kept, once the settings were seen to say `wanted` at `now`: milliseconds since
    /// the Unix epoch, as they go by for a clock that nobody sets. The first time, what is there says
    /// what held before.
    pub fn hold(&self, wanted: u32, now: i64) -> Result<Held, StoreError> {
        let known = self.database.read(|connection| Held::of(connection, KEPT))?;
        let before = match known {
            Some(known) => known,
            None if self.beyond(wanted)? > 0 => Held { holds: 0, wanted, since: now },
            None => Held { holds: wanted, wanted, since: now },
        };
        let held = before.seen(wanted, now, WAIT);
        if known != Some(held) {
            self.database.change("hold a limit", |change| held.note(change, KEPT))?;
        }
        Ok(held)
    }

    /// How many that have ended are beyond the newest `kept`; 0 keeps all.
    pub fn beyond(&self, kept: u32) -> Result<i64, StoreError> {
        self.database.read(|connection| {
            let query = "SELECT min(max(count(*) - ?1, 0), count(ended)) FROM conversation";
            match kept {
                0 => Ok(0),
                kept => Ok(connection.query_row(query, [kept], |row| row.get(0))?),
            }
        })
    }

    /// What the model was given at the beginning of a conversation, if it was kept.
    pub fn context_of(&self, id: ConversationId) -> Result<Option<String>, StoreError> {
        self.database.read(|connection| {
            let query = "SELECT context FROM conversation WHERE id = ?1";
            let kept = connection.query_row(query, [id.0], |row| row.get(0)).optional()?;
            Ok(kept.flatten())
        })
    }

    /// Keeps what the model is given at the beginning of a conversation, once: the first stays. What
    /// holds from now on.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn keep_context(
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
            let kept = change.query_row(query, [conversation.0], |row| row.get(0)).optional()?;
            kept.ok_or(StoreError::Unknown { what: "conversation", number: conversation.0 })
        })
    }

    /// Makes a conversation the one that was last active, and open again if it had ended. Its title
    /// stays until it ends anew.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn resume(&self, conversation: ConversationId, time: i64) -> Result<(), StoreError> {
        self.database.change("resume a conversation", |change| {
            reopen(change, conversation)?;
            touch(change, conversation, time)
        })
    }

    /// Keeps what the client of a conversation chose for it. The folder stays as it was begun with.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn choose(&self, conversation: ConversationId, chosen: &Chosen) -> Result<(), StoreError> {
        self.database.change("choose for a conversation", |change| {
            let changed = change.execute(
                "UPDATE conversation SET mode = ?2, model = ?3 WHERE id = ?1",
                params![conversation.0, chosen.mode, chosen.model],
            )?;
            let unknown = StoreError::Unknown { what: "conversation", number: conversation.0 };
            if changed > 0 { Ok(()) } else { Err(unknown) }
        })
    }

    /// The mode that was chosen for a conversation alone.
    pub fn mode_of(&self, conversation: ConversationId) -> Result<Option<String>, StoreError> {
        self.database.read(|connection| {
            let query = "SELECT mode FROM conversation WHERE id = ?1";
            let mut statement = connection.prepare_cached(query)?;
            let mode = statement.query_row([conversation.0], |row| row.get(0)).optional()?;
            Ok(mode.flatten())
        })
    }

    /// Gives a conversation a title of a person's own, which no end and no model changes again.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn rename(&self, conversation: ConversationId, title: &str) -> Result<(), StoreError> {
        self.database.change("rename a conversation", |change| {
            let changed = change.execute(
                "UPDATE conversation SET title = ?2, titled_by = ?3 WHERE id = ?1",
                params![conversation.0, title, TitleOrigin::Person.word()],
            )?;
            let unknown = StoreError::Unknown { what: "conversation", number: conversation.0 };
            if changed > 0 { Ok(()) } else { Err(unknown) }
        })
    }

    /// Deletes a conversation with all that was said in it; whether there was one. What its models
    /// cost stays counted by day.
    ///
    /// Where that was the current one, none is until somebody speaks again; those whose source ends
    /// with `but` never are.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where a turn is at work in it.
    pub fn delete(&self, conversation: ConversationId, but: &str) -> Result<bool, StoreError> {
        self.database.change("delete a conversation", |change| {
            check_quiet(change, conversation)?;
            Ok(delete(change, &[conversation.0], but)? > 0)
        })
    }

    /// Deletes every conversation that has ended; which.
    pub fn clear(&self, but: &str) -> Result<Vec<ConversationId>, StoreError> {
        self.delete_oldest("clear the conversations", i64::MAX, but)
    }

    /// Deletes the oldest ended conversations beyond the newest `kept`, 0 keeping all; which.
    pub fn trim(&self, kept: u32, but: &str) -> Result<Vec<ConversationId>, StoreError> {
        match self.beyond(kept)? {
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

/// Deletes conversations; how many there were. Where the last active one is among them, of those whose
/// source does not end with `but`, it is noted in [`CURRENT_AFTER`] that none has taken its place.
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
        usage::forget_conversation(change, *id)?;
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
