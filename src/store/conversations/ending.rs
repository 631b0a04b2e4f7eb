//! The end of a conversation, what it is called afterwards, and its removal.

use rusqlite::{OptionalExtension, Transaction, params};

use super::rows::NewItem;
use super::write::append;
use crate::conversation::{ConversationId, End, ItemNumber, TitleOrigin, Titled};
use crate::store::{Store, StoreError};

/// How a conversation is to end.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Which.
    pub conversation: ConversationId,
    /// When and why.
    pub end: End,
    /// What it is called until a model has found better: it is never without a title.
    pub titled: Titled,
    /// Whether a model is to be asked for better.
    pub wants_title: bool,
    /// Whether a look back is wanted.
    pub wants_note: bool,
}

/// A conversation for which something is still to be asked of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untitled {
    /// Which.
    pub conversation: ConversationId,
    /// Whether a title and a summary are wanted.
    pub title: bool,
    /// How often it was tried.
    pub tries: u32,
    /// Whether a look back is wanted.
    pub note: bool,
}

/// The name of the row of `setting` with the activity that a conversation must be newer than to be the
/// current one: what was so before the current one was deleted.
pub(super) const CURRENT_AFTER: &str = "current_after";

impl Store {
    /// Ends a conversation; one that has ended stays as it is. Whether it had not.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn end_conversation(&self, ending: &Ending) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("end a conversation", |change| end(change, ending))
        })
    }

    /// Ended conversations for which something is to be asked of a model, oldest end first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn untitled(&self, limit: u32) -> Result<Vec<Untitled>, StoreError> {
        self.with(|database| {
            let mut statement = database.read().prepare_cached(
                "SELECT id, title_tries, note_wanted FROM conversation
                 WHERE ended IS NOT NULL AND (title_tries IS NOT NULL OR note_wanted)
                 ORDER BY activity LIMIT ?1",
            )?;
            let rows = statement.query_map([limit], |row| {
                let tries: Option<u32> = row.get(1)?;
                Ok(Untitled {
                    conversation: ConversationId(row.get(0)?),
                    title: tries.is_some(),
                    tries: tries.unwrap_or(0),
                    note: row.get(2)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Counts one more time that a model was asked in vain; with `give_up` it is not asked again.
    /// Counts for the end at the time `ended` alone: one that went on and ended anew begins anew.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn count_title_try(
        &self,
        conversation: ConversationId,
        ended: i64,
        give_up: bool,
    ) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("count a try", |change| {
                change.execute(
                    "UPDATE conversation
                     SET title_tries = CASE WHEN ?2 THEN NULL ELSE title_tries + 1 END
                     WHERE id = ?1 AND ended = ?3",
                    params![conversation.0, give_up, ended],
                )?;
                Ok(())
            })
        })
    }

    /// Gives a conversation that ended at the time `ended` a title and a summary, unless it went on
    /// again since or is gone; whether it was given. A title of a person's own stays.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn title_conversation(
        &self,
        conversation: ConversationId,
        ended: i64,
        titled: &Titled,
        by: TitleOrigin,
    ) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("title a conversation", |change| {
                Ok(change.execute(
                    "UPDATE conversation
                     SET title = CASE WHEN titled_by = 'person' THEN title ELSE ?2 END,
                         titled_by = CASE WHEN titled_by = 'person' THEN titled_by ELSE ?4 END,
                         summary = ?3, title_tries = NULL
                     WHERE id = ?1 AND ended = ?5",
                    params![conversation.0, titled.title, titled.summary, by.word(), ended],
                )? > 0)
            })
        })
    }

    /// Gives a conversation a title of a person's own, which no end and no model changes again.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn rename_conversation(
        &self,
        conversation: ConversationId,
        title: &str,
    ) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("rename a conversation", |change| {
                let changed = change.execute(
                    "UPDATE conversation SET title = ?2, titled_by = ?3 WHERE id = ?1",
                    params![conversation.0, title, TitleOrigin::Person.word()],
                )?;
                let unknown = StoreError::Unknown { what: "conversation", number: conversation.0 };
                if changed > 0 { Ok(()) } else { Err(unknown) }
            })
        })
    }

    /// Keeps the look back at a conversation that ended at the time `ended`, or with `None` that there
    /// will be none; its number, if it was still wanted and the conversation did not go on since.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep_note(
        &self,
        conversation: ConversationId,
        ended: i64,
        note: Option<&NewItem>,
        time: i64,
    ) -> Result<Option<ItemNumber>, StoreError> {
        self.with_own(|database| {
            database.change("keep a look back", |change| {
                let wanted = change.execute(
                    "UPDATE conversation SET note_wanted = 0
                     WHERE id = ?1 AND ended = ?2 AND note_wanted",
                    params![conversation.0, ended],
                )?;
                match note.filter(|_| wanted > 0) {
                    Some(note) => append(change, conversation, None, time, note).map(Some),
                    None => Ok(None),
                }
            })
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
    pub fn delete_conversation(
        &self,
        conversation: ConversationId,
        but: &str,
    ) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("delete a conversation", |change| {
                let running = "SELECT EXISTS (SELECT 1 FROM turn WHERE conversation = ?1 \
                               AND state = 'running')";
                if change.query_row(running, [conversation.0], |row| row.get(0))? {
                    return Err(StoreError::Conflict { conversation: conversation.0 });
                }
                Ok(delete(change, &[conversation.0], but)? > 0)
            })
        })
    }

    /// Deletes every conversation that has ended; which.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn clear_conversations(&self, but: &str) -> Result<Vec<ConversationId>, StoreError> {
        self.delete_oldest("clear the conversations", i64::MAX, but)
    }

    /// Deletes the oldest ended conversations beyond the newest `kept`; which.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn trim_conversations(
        &self,
        kept: u32,
        but: &str,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let query = "SELECT count(*) FROM conversation";
        let count: i64 =
            self.with(|database| Ok(database.read().query_row(query, [], |row| row.get(0))?))?;
        match count - i64::from(kept) {
            beyond if beyond > 0 => self.delete_oldest("trim the conversations", beyond, but),
            _ => Ok(Vec::new()),
        }
    }

    fn delete_oldest(
        &self,
        name: &'static str,
        most: i64,
        but: &str,
    ) -> Result<Vec<ConversationId>, StoreError> {
        self.with_own(|database| {
            database.change(name, |change| {
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
        })
    }
}

/// Ends a conversation that has not ended.
pub(super) fn end(change: &Transaction<'_>, ending: &Ending) -> Result<bool, StoreError> {
    let changed = change.execute(
        "UPDATE conversation SET ended = ?2, end_kind = ?3, end_reason = ?4,
                title = CASE WHEN titled_by = 'person' THEN title ELSE ?5 END,
                titled_by = CASE WHEN titled_by = 'person' THEN titled_by ELSE ?7 END,
                summary = ?6, title_tries = ?8, note_wanted = ?9,
                waiting_since = NULL, question = NULL
         WHERE id = ?1 AND ended IS NULL",
        params![
            ending.conversation.0,
            ending.end.at,
            ending.end.kind.word(),
            ending.end.reason,
            ending.titled.title,
            ending.titled.summary,
            TitleOrigin::Extract.word(),
            ending.wants_title.then_some(0),
            ending.wants_note,
        ],
    )?;
    Ok(changed > 0)
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
        crate::store::usage::forget_conversation(change, *id)?;
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
