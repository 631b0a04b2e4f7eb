//! What is recorded while a conversation goes on. Each method is one durable commit.

use rusqlite::{OptionalExtension, Transaction, params};

use super::ending::{self, Ending};
use super::indexing;
use super::rows::{self, Arrival, NewConversation, NewItem, Placed, TurnEnd};
use crate::conversation::{
    BranchId, ConversationId, Item, ItemKind, ItemNumber, TurnId, TurnState,
};
use crate::store::inbox;
use crate::store::{Store, StoreError};

impl Store {
    /// Begins a conversation in which nothing is said yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn begin_conversation(
        &self,
        new: &NewConversation<'_>,
    ) -> Result<ConversationId, StoreError> {
        self.with_own(|database| {
            database.change("begin a conversation", |change| begin(change, new))
        })
    }

    /// Records a message of a person and the turn it begins, in the conversation `into` or in a new
    /// one; `ends` ends first what no longer goes on. All of it or nothing.
    ///
    /// A conversation that had ended goes on by this, and a question in it counts as answered. With
    /// `received`, the message's number in the inbox, it is marked as heard there by the same commit;
    /// one that was heard before changes nothing. A notice in the place of a message begins a turn
    /// that goes on with what was heard before, and answers no question.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where a turn is at work in it; [`StoreError::Unknown`] where there
    /// is no such conversation.
    pub fn arrive(
        &self,
        new: &NewConversation<'_>,
        into: Option<ConversationId>,
        ends: Option<&Ending>,
        message: &NewItem,
        received: Option<i64>,
    ) -> Result<Placed, StoreError> {
        self.with_own(|database| {
            database.change("take a message", |change| {
                if message.kind == ItemKind::User
                    && let Some(received) = received
                    && let Some(turn) = inbox::heard_in(change, received)?
                {
                    return Ok(Placed::Heard(turn));
                }
                if let Some(ending) = ends {
                    ending::end(change, ending)?;
                }
                let conversation = match into {
                    Some(id) => id,
                    None => begin(change, new)?,
                };
                let query = "SELECT EXISTS (SELECT 1 FROM turn WHERE conversation = ?1 \
                             AND state = 'running')";
                if change.query_row(query, [conversation.0], |row| row.get(0))? {
                    return Err(StoreError::Conflict { conversation: conversation.0 });
                }
                reopen(change, conversation)?;
                if message.kind == ItemKind::User {
                    change.execute(
                        "UPDATE conversation SET waiting_since = NULL, question = NULL
                         WHERE id = ?1",
                        [conversation.0],
                    )?;
                }
                change.execute(
                    "INSERT INTO turn (conversation, began, state) VALUES (?1, ?2, 'running')",
                    params![conversation.0, new.began],
                )?;
                let turn = TurnId(change.last_insert_rowid());
                let item = append(change, conversation, Some(turn), new.began, message)?;
                if let Some(received) = received {
                    inbox::note_heard(change, received, turn)?;
                }
                Ok(Placed::Began(Arrival { conversation, turn, item }))
            })
        })
    }

    /// Appends a message that came while a turn was at work, and marks it as heard in the inbox, in
    /// one commit; `false` where it was heard before, and nothing has changed.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is no such conversation or message.
    pub fn append_heard(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        time: i64,
        message: &NewItem,
        received: i64,
    ) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("take a message into a turn", |change| {
                if inbox::heard_in(change, received)?.is_some() {
                    return Ok(false);
                }
                append(change, conversation, Some(turn), time, message)?;
                inbox::note_heard(change, received, turn)?;
                Ok(true)
            })
        })
    }

    /// Appends items to the live branch of a conversation, in order; the number of the last. Also
    /// to one that has ended: a turn that ends its conversation is still recorded in it.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is no such conversation.
    pub fn append_items(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        time: i64,
        items: &[NewItem],
    ) -> Result<Option<ItemNumber>, StoreError> {
        self.with_own(|database| {
            database.change("append an item", |change| {
                items.iter().try_fold(None, |_, item| {
                    append(change, conversation, turn, time, item).map(Some)
                })
            })
        })
    }

    /// Records the end of a turn with what came last in it, and the question that waits from now
    /// on or the end of the conversation. A turn that has ended stays as it is; whether it had not.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish_turn(&self, turn: TurnId, end: &TurnEnd<'_>) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("finish a turn", |change| {
                let query = "SELECT conversation FROM turn WHERE id = ?1 AND state = 'running'";
                let running: Option<i64> =
                    change.query_row(query, [turn.0], |row| row.get(0)).optional()?;
                let Some(conversation) = running else { return Ok(false) };
                for item in end.items {
                    append(change, ConversationId(conversation), Some(turn), end.time, item)?;
                }
                change.execute(
                    "UPDATE turn SET state = ?2, reason = ?3, ended = ?4 WHERE id = ?1",
                    params![turn.0, end.state.word(), end.reason, end.time],
                )?;
                if matches!(end.state, TurnState::Done | TurnState::Waiting | TurnState::Cancelled)
                {
                    inbox::note_answered(change, turn)?;
                }
                if let Some(waiting) = end.waiting {
                    change.execute(
                        "UPDATE conversation SET waiting_since = ?2, question = ?3
                         WHERE id = ?1 AND ended IS NULL",
                        params![conversation, waiting.since, waiting.question],
                    )?;
                }
                if let Some(ending) = end.ends {
                    ending::end(change, ending)?;
                }
                Ok(true)
            })
        })
    }

    /// Forgets the question that waits in a conversation; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn stop_waiting(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        self.with_own(|database| {
            database.change("forget a question", |change| {
                Ok(change.execute(
                    "UPDATE conversation SET waiting_since = NULL, question = NULL
                     WHERE id = ?1 AND waiting_since IS NOT NULL",
                    [conversation.0],
                )? > 0)
            })
        })
    }

    /// The turns that are at work.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn running_turns(&self) -> Result<Vec<(ConversationId, TurnId)>, StoreError> {
        self.with(|database| {
            let query = "SELECT conversation, id FROM turn WHERE state = 'running'
                         ORDER BY conversation, id";
            let mut statement = database.read().prepare_cached(query)?;
            let rows = statement
                .query_map([], |row| Ok((ConversationId(row.get(0)?), TurnId(row.get(1)?))))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Makes a conversation the one that was last active, and open again if it had ended. Its title
    /// stays until it ends anew.
    ///
    /// # Errors
    /// [`StoreError::Unknown`].
    pub fn resume_conversation(
        &self,
        conversation: ConversationId,
        time: i64,
    ) -> Result<(), StoreError> {
        self.with_own(|database| {
            database.change("resume a conversation", |change| {
                reopen(change, conversation)?;
                touch(change, conversation, time)
            })
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
        self.with_own(|database| {
            database.change("keep a context", |change| {
                change.execute(
                    "UPDATE conversation SET context = ?2 WHERE id = ?1 AND context IS NULL",
                    params![conversation.0, context],
                )?;
                let query = "SELECT context FROM conversation WHERE id = ?1";
                let kept =
                    change.query_row(query, [conversation.0], |row| row.get(0)).optional()?;
                kept.ok_or(StoreError::Unknown { what: "conversation", number: conversation.0 })
            })
        })
    }
}

fn begin(
    change: &Transaction<'_>,
    new: &NewConversation<'_>,
) -> Result<ConversationId, StoreError> {
    change.execute(
        "INSERT INTO conversation (began, last_active, activity, source, branch, branches)
         VALUES (?1, ?1, (SELECT coalesce(max(activity), 0) + 1 FROM conversation), ?2, 1, 1)",
        params![new.began, new.source],
    )?;
    let id = change.last_insert_rowid();
    change.execute(
        "INSERT INTO branch (conversation, number, began) VALUES (?1, 1, ?2)",
        params![id, new.began],
    )?;
    Ok(ConversationId(id))
}

/// Opens a conversation that has ended; one that has not stays as it is.
pub(super) fn reopen(change: &Transaction<'_>, id: ConversationId) -> Result<(), StoreError> {
    change.execute(
        "UPDATE conversation SET ended = NULL, end_kind = NULL, end_reason = NULL,
                title_tries = NULL, note_wanted = 0
         WHERE id = ?1 AND ended IS NOT NULL",
        [id.0],
    )?;
    Ok(())
}

/// Makes a conversation the current one.
pub(super) fn touch(
    change: &Transaction<'_>,
    id: ConversationId,
    time: i64,
) -> Result<(), StoreError> {
    let changed = change.execute(
        "UPDATE conversation SET last_active = ?2,
                activity = (SELECT coalesce(max(activity), 0) + 1 FROM conversation)
         WHERE id = ?1",
        params![id.0, time],
    )?;
    match changed {
        0 => Err(StoreError::Unknown { what: "conversation", number: id.0 }),
        _ => Ok(()),
    }
}

/// Appends one item. Only a person's words in a conversation that goes on make it the current one: a
/// turn that is still at work elsewhere draws no message to itself.
pub(super) fn append(
    change: &Transaction<'_>,
    conversation: ConversationId,
    turn: Option<TurnId>,
    time: i64,
    new: &NewItem,
) -> Result<ItemNumber, StoreError> {
    let mut count = change.prepare_cached(
        "UPDATE conversation SET items = items + 1 WHERE id = ?1
         RETURNING items, branch, ended IS NULL",
    )?;
    let counted = count
        .query_row([conversation.0], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
        })
        .optional()?;
    let Some((number, branch, is_open)) = counted else {
        return Err(StoreError::Unknown { what: "conversation", number: conversation.0 });
    };
    match new.kind {
        _ if !is_open => {}
        ItemKind::User => touch(change, conversation, time)?,
        ItemKind::Note => {}
        _ => {
            let mut active =
                change.prepare_cached("UPDATE conversation SET last_active = ?2 WHERE id = ?1")?;
            active.execute(params![conversation.0, time])?;
        }
    }
    let item = Item {
        number: ItemNumber(number),
        conversation,
        turn,
        branch: BranchId(branch),
        time,
        kind: new.kind,
        text: new.text.clone(),
        body: new.body.clone(),
    };
    let mut insert = change.prepare_cached(
        "INSERT INTO item (conversation, number, branch, turn, time, kind, text, body, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    insert.execute(params![
        conversation.0,
        number,
        branch,
        turn.map(|turn| turn.0),
        time,
        item.kind.word(),
        item.text,
        item.body,
        rows::checksum(&item),
    ])?;
    indexing::note_added(change, change.last_insert_rowid(), &item.text)?;
    Ok(item.number)
}
