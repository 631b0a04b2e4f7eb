//! The end of a conversation, and what it is called afterwards.

use rusqlite::{Transaction, params};

use super::rows::NewItem;
use super::write::append;
use crate::conversation::{ConversationId, End, ItemNumber, TitleOrigin, Titled};
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::query::all;

/// How a conversation is to end.
#[derive(Debug, Clone)]
pub struct Ending {
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
    pub conversation: ConversationId,
    /// Whether a title and a summary are wanted.
    pub title: bool,
    /// How often it was tried.
    pub tries: u32,
    /// Whether a look back is wanted.
    pub note: bool,
}

/// The ends of conversations, and what is still asked of a model about them.
#[derive(Debug, Clone)]
pub struct Endings(pub(super) Database);

impl Endings {
    /// Ends a conversation; one that has ended stays as it is. Whether it had not.
    pub fn end(&self, ending: &Ending) -> Result<bool, StoreError> {
        self.0.change("end a conversation", |change| end(change, ending))
    }

    /// Ended conversations for which something is to be asked of a model, oldest end first.
    pub fn untitled(&self, limit: u32) -> Result<Vec<Untitled>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT id, title_tries, note_wanted FROM conversation
                 WHERE ended IS NOT NULL AND (title_tries IS NOT NULL OR note_wanted)
                 ORDER BY activity LIMIT ?1";
            all(connection, query, [limit], |row| {
                let tries: Option<u32> = row.get(1)?;
                Ok(Untitled {
                    conversation: ConversationId(row.get(0)?),
                    title: tries.is_some(),
                    tries: tries.unwrap_or(0),
                    note: row.get(2)?,
                })
            })
        })
    }

    /// Counts one more time that a model was asked in vain; with `give_up` it is not asked again.
    /// Counts for the end at the time `ended` alone: one that went on and ended anew begins anew.
    pub fn count_title_try(
        &self,
        conversation: ConversationId,
        ended: i64,
        give_up: bool,
    ) -> Result<(), StoreError> {
        self.0.change("count a try", |change| {
            change.execute(
                "UPDATE conversation
                 SET title_tries = CASE WHEN ?2 THEN NULL ELSE title_tries + 1 END
                 WHERE id = ?1 AND ended = ?3",
                params![conversation.0, give_up, ended],
            )?;
            Ok(())
        })
    }

    /// Gives a conversation that ended at the time `ended` a title and a summary, unless it went on
    /// again since or is gone; whether it was given. A title of a person's own stays.
    pub fn title(
        &self,
        conversation: ConversationId,
        ended: i64,
        titled: &Titled,
        by: TitleOrigin,
    ) -> Result<bool, StoreError> {
        self.0.change("title a conversation", |change| {
            Ok(change.execute(
                "UPDATE conversation
                 SET title = CASE WHEN titled_by = 'person' THEN title ELSE ?2 END,
                     titled_by = CASE WHEN titled_by = 'person' THEN titled_by ELSE ?4 END,
                     summary = ?3, title_tries = NULL
                 WHERE id = ?1 AND ended = ?5",
                params![conversation.0, titled.title, titled.summary, by.word(), ended],
            )? > 0)
        })
    }

    /// Keeps the look back at a conversation that ended at the time `ended`, or with `None` that there
    /// will be none; its number, if it was still wanted and the conversation did not go on since.
    pub fn keep_note(
        &self,
        conversation: ConversationId,
        ended: i64,
        note: Option<&NewItem>,
        time: i64,
    ) -> Result<Option<ItemNumber>, StoreError> {
        self.0.change("keep a look back", |change| {
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
