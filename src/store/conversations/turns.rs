//! Turns and their entries. Each method is one durable commit.

use rusqlite::{OptionalExtension, params};

use super::ending::{self, Ending};
use super::rows::{self, Arrival, Delivery, NewConversation, NewItem, TURN};
use super::write::{append, begin, check_no_turn, reopen};
use crate::conversation::{ConversationId, ItemKind, ItemNumber, Turn, TurnId, TurnState, Waiting};
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::inbox;

#[derive(Debug, Clone, Copy)]
pub struct TurnEnd<'a> {
    pub state: TurnState,
    pub reason: &'a str,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    /// The turn's last items.
    pub items: &'a [NewItem],
    /// A question that the conversation waits to be answered.
    pub waiting: Option<&'a Waiting>,
    /// The end of the conversation, if it ends with the turn.
    pub ends: Option<&'a Ending>,
}

#[derive(Debug, Clone)]
pub struct Turns(pub(super) Database);

impl Turns {
    /// Stores a message and the turn that it begins, in the conversation `into` or in a new one; `ends`
    /// first ends an older conversation.
    ///
    /// Reopens a conversation that had ended, and answers its question. With `received`, the message's
    /// number in the inbox, the same commit marks it as delivered; a message that was delivered before
    /// changes nothing. A notice instead of a message begins a turn that continues with earlier messages,
    /// and answers no question.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]: a turn is running in it; [`StoreError::Unknown`]: there is no such
    /// conversation.
    pub fn arrive(
        &self,
        new: &NewConversation<'_>,
        into: Option<ConversationId>,
        ends: Option<&Ending>,
        message: &NewItem,
        received: Option<i64>,
    ) -> Result<Delivery, StoreError> {
        self.0.change("take a message", |change| {
            if message.kind == ItemKind::User
                && let Some(received) = received
                && let Some(turn) = inbox::delivered_to(change, received)?
            {
                return Ok(Delivery::Duplicate(turn));
            }
            if let Some(ending) = ends {
                ending::end(change, ending)?;
            }
            let conversation = match into {
                Some(id) => id,
                None => begin(change, new)?,
            };
            check_no_turn(change, conversation)?;
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
                inbox::note_delivered(change, received, turn)?;
            }
            Ok(Delivery::Began(Arrival { conversation, turn, item }))
        })
    }

    /// Appends a message that arrived while a turn was running, and marks it as delivered in the inbox.
    /// Returns `false` if it was delivered before, with nothing changed.
    pub fn append_message(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        time: i64,
        message: &NewItem,
        received: i64,
    ) -> Result<bool, StoreError> {
        self.0.change("deliver a message to a turn", |change| {
            if inbox::delivered_to(change, received)?.is_some() {
                return Ok(false);
            }
            append(change, conversation, Some(turn), time, message)?;
            inbox::note_delivered(change, received, turn)?;
            Ok(true)
        })
    }

    /// Appends items to the live branch of a conversation, in order, even if it has ended: a turn that
    /// ends its conversation is still recorded in it. Returns the number of the last.
    pub fn append_items(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        time: i64,
        items: &[NewItem],
    ) -> Result<Option<ItemNumber>, StoreError> {
        self.0.change("append an item", |change| {
            items
                .iter()
                .try_fold(None, |_, item| append(change, conversation, turn, time, item).map(Some))
        })
    }

    /// Stores the end of a turn with its last items, and a question or the end of the conversation. Returns
    /// `false` if the turn had ended, with nothing changed.
    pub fn finish(&self, turn: TurnId, end: &TurnEnd<'_>) -> Result<bool, StoreError> {
        self.0.change("finish a turn", |change| {
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
            if matches!(end.state, TurnState::Done | TurnState::Waiting | TurnState::Cancelled) {
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
    }

    pub fn running(&self) -> Result<Vec<(ConversationId, TurnId)>, StoreError> {
        let query = "SELECT conversation, id FROM turn WHERE state = 'running'
                     ORDER BY conversation, id";
        self.0.all(query, [], |row| Ok((ConversationId(row.get(0)?), TurnId(row.get(1)?))))
    }

    pub fn get(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.0.first(&format!("SELECT {TURN} FROM turn WHERE id = ?1"), [id.0], rows::turn)
    }

    /// The turns of a conversation, in order.
    pub fn list(&self, id: ConversationId) -> Result<Vec<Turn>, StoreError> {
        let query = format!("SELECT {TURN} FROM turn WHERE conversation = ?1 ORDER BY id");
        self.0.all(&query, [id.0], rows::turn)
    }
}
