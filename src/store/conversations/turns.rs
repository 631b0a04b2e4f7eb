//! Turns, and what is recorded while they go on. Each change is one durable commit.

use rusqlite::{OptionalExtension, params};

use super::ending::{self, Ending};
use super::rows::{self, Arrival, NewConversation, NewItem, Placed, TURN};
use super::write::{append, begin, check_quiet, reopen};
use crate::conversation::{ConversationId, ItemKind, ItemNumber, Turn, TurnId, TurnState, Waiting};
use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::inbox;
use crate::store::query::{all, first};

/// How a turn ended.
#[derive(Debug, Clone, Copy)]
pub struct TurnEnd<'a> {
    /// How it stands from now on.
    pub state: TurnState,
    /// Why, for people.
    pub reason: &'a str,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
    /// What came last in it.
    pub items: &'a [NewItem],
    /// The question that waits from now on.
    pub waiting: Option<&'a Waiting>,
    /// The end of the conversation, if it ends with the turn.
    pub ends: Option<&'a Ending>,
}

/// The turns of all conversations.
#[derive(Debug, Clone)]
pub struct Turns(pub(super) Database);

impl Turns {
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
        self.0.change("take a message", |change| {
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
            check_quiet(change, conversation)?;
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
        self.0.change("take a message into a turn", |change| {
            if inbox::heard_in(change, received)?.is_some() {
                return Ok(false);
            }
            append(change, conversation, Some(turn), time, message)?;
            inbox::note_heard(change, received, turn)?;
            Ok(true)
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
        self.0.change("append an item", |change| {
            items
                .iter()
                .try_fold(None, |_, item| append(change, conversation, turn, time, item).map(Some))
        })
    }

    /// Records the end of a turn with what came last in it, and the question that waits from now
    /// on or the end of the conversation. A turn that has ended stays as it is; whether it had not.
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

    /// The turns that are at work.
    pub fn running(&self) -> Result<Vec<(ConversationId, TurnId)>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT conversation, id FROM turn WHERE state = 'running'
                         ORDER BY conversation, id";
            all(connection, query, [], |row| Ok((ConversationId(row.get(0)?), TurnId(row.get(1)?))))
        })
    }

    /// One turn.
    pub fn get(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {TURN} FROM turn WHERE id = ?1");
            first(connection, &query, [id.0], rows::turn)
        })
    }

    /// The turns of a conversation, in order.
    pub fn of(&self, id: ConversationId) -> Result<Vec<Turn>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {TURN} FROM turn WHERE conversation = ?1 ORDER BY id");
            all(connection, &query, [id.0], rows::turn)
        })
    }
}
