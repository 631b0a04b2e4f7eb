//! Ending conversations, and their titles and notes.

use rusqlite::{Transaction, params};

use super::rows::NewItem;
use super::write::append;
use crate::conversation::{ConversationId, End, ItemNumber, TitleOrigin, Titled};
use crate::store::database::Database;
use crate::store::error::StoreError;

#[derive(Debug, Clone)]
pub struct Ending {
    pub conversation: ConversationId,
    pub end: End,
    /// The title until a model gives a better one: an ended conversation always has a title.
    pub titled: Titled,
    /// Whether a model is to be asked for a title and a summary.
    pub wants_title: bool,
    /// Whether a model is to be asked for a note on the conversation.
    pub wants_note: bool,
}

/// An ended conversation that waits for a model's title or note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untitled {
    pub conversation: ConversationId,
    /// Whether a title and a summary are wanted.
    pub title: bool,
    /// Number of failed attempts at the title.
    pub tries: u32,
    /// Whether a note on the conversation is wanted.
    pub note: bool,
}

/// The ends of conversations, with pending titles and notes.
#[derive(Debug, Clone)]
pub struct Endings(pub(super) Database);

impl Endings {
    /// Ends a conversation. Returns `false` if it had ended, with nothing changed.
    pub fn end(&self, ending: &Ending) -> Result<bool, StoreError> {
        self.0.change("end a conversation", |change| end(change, ending))
    }

    /// Ended conversations that wait for a model's title or note, oldest end first.
    pub fn untitled(&self, limit: u32) -> Result<Vec<Untitled>, StoreError> {
        let query = "SELECT id, title_tries, note_wanted FROM conversation
             WHERE ended IS NOT NULL AND (title_tries IS NOT NULL OR note_wanted)
             ORDER BY activity LIMIT ?1";
        self.0.all(query, [limit], |row| {
            let tries: Option<u32> = row.get(1)?;
            Ok(Untitled {
                conversation: ConversationId(row.get(0)?),
                title: tries.is_some(),
                tries: tries.unwrap_or(0),
                note: row.get(2)?,
            })
        })
    }

    /// Counts a failed attempt at a title; with `give_up` there are no more. Changes nothing if the
    /// conversation was resumed after it ended at `ended`.
    pub fn count_title_try(
        &self,
        conversation: ConversationId,
        ended: i64,
        give_up: bool,
    ) -> Result<(), StoreError> {
        let update = "UPDATE conversation
                              SET title_tries = CASE WHEN ?2 THEN NULL ELSE title_tries + 1 END
                              WHERE id = ?1 AND ended = ?3";
        self.0.execute("count a try", update, params![conversation.0, give_up, ended]).map(|_| ())
    }

    /// Stores the title and summary of a conversation that ended at `ended`. Returns `false` if it was resumed or
    /// deleted since. A title that a person gave stays.
    pub fn title(
        &self,
        conversation: ConversationId,
        ended: i64,
        titled: &Titled,
        by: TitleOrigin,
    ) -> Result<bool, StoreError> {
        let update = "UPDATE conversation
                              SET title = CASE WHEN titled_by = 'person' THEN title ELSE ?2 END,
                                  titled_by = CASE WHEN titled_by = 'person' THEN titled_by ELSE ?4 END,
                                  summary = ?3, title_tries = NULL
                              WHERE id = ?1 AND ended = ?5";
        let values = params![conversation.0, titled.title, titled.summary, by.word(), ended];
        Ok(self.0.execute("title a conversation", update, values)? > 0)
    }

    /// Stores the note on a conversation that ended at `ended`, or with `None` that there will be none. Returns the
    /// note's number, if it was still wanted and the conversation was not resumed.
    pub fn store_note(
        &self,
        conversation: ConversationId,
        ended: i64,
        note: Option<&NewItem>,
        time: i64,
    ) -> Result<Option<ItemNumber>, StoreError> {
        self.0.change("store a note", |change| {
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

/// Ends a conversation. Returns whether it had not ended.
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
