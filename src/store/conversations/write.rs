//! Functions that the transactions of conversations share.

use rusqlite::{OptionalExtension, Transaction, params};

use super::indexing;
use super::rows::{self, NewConversation, NewItem};
use crate::conversation::{BranchId, ConversationId, Item, ItemKind, ItemNumber, TurnId};
use crate::store::error::StoreError;

pub(super) fn begin(
    change: &Transaction<'_>,
    new: &NewConversation<'_>,
) -> Result<ConversationId, StoreError> {
    change.execute(
        "INSERT INTO conversation (began, last_active, activity, source, branch, branches, cwd)
         VALUES (?1, ?1, (SELECT coalesce(max(activity), 0) + 1 FROM conversation), ?2, 1, 1, ?3)",
        params![new.began, new.source, new.cwd],
    )?;
    let id = change.last_insert_rowid();
    change.execute(
        "INSERT INTO branch (conversation, number, began) VALUES (?1, 1, ?2)",
        params![id, new.began],
    )?;
    Ok(ConversationId(id))
}

/// Reopens a conversation that has ended; one that has not stays as it is.
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
    check_changed(changed, id)
}

/// Fails if a statement changed no row of the conversation.
pub(super) fn check_changed(rows: usize, id: ConversationId) -> Result<(), StoreError> {
    if rows == 0 { Err(unknown(id)) } else { Ok(()) }
}

pub(super) fn unknown(id: ConversationId) -> StoreError {
    StoreError::Unknown { what: "conversation", number: id.0 }
}

/// Appends an item. Only a person's message makes an open conversation the current one: a turn that is
/// still running elsewhere does not.
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
        return Err(unknown(conversation));
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

/// Fails if a turn is running in the conversation.
pub(super) fn check_no_turn(
    change: &rusqlite::Transaction<'_>,
    conversation: ConversationId,
) -> Result<(), StoreError> {
    let query = "SELECT EXISTS (SELECT 1 FROM turn WHERE conversation = ?1 AND state = 'running')";
    if change.query_row(query, [conversation.0], |row| row.get(0))? {
        Err(StoreError::Conflict { conversation: conversation.0 })
    } else {
        Ok(())
    }
}
