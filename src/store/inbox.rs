//! Messages as they arrived: stored before they are acknowledged, delivered in order, each once.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::blobs::BlobHash;
use super::database::Database;
use super::error::StoreError;
use super::query::{column, fault, first};
use crate::conversation::TurnId;

/// The source of voice messages, which a worker delivers to the agent one by one and settles itself.
pub const VOICE: &str = "voice";

#[derive(Debug, Clone, Copy)]
pub struct NewMessage<'a> {
    /// `chat` or `voice`.
    pub source: &'a str,
    /// The sender's id of the message. Any text: it is never used as a path.
    pub message: &'a str,
    pub text: &'a str,
    /// The rest of the message, as JSON.
    pub body: Option<&'a str>,
    /// Milliseconds since the Unix epoch.
    pub received: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    New(InboxRow),
    /// A message with the same id and text was stored before: its row as it is now.
    Known(InboxRow),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Increases in order of arrival.
    pub id: i64,
    pub source: String,
    /// The sender's id of the message.
    pub message: String,
    pub text: String,
    /// The rest of the message, as JSON.
    pub body: Option<String>,
    pub state: InboxState,
    /// Whether a message with the same id and another text had arrived before.
    pub differs: bool,
    /// Number of times that it was taken.
    pub attempts: u32,
    /// Milliseconds since the Unix epoch.
    pub received: i64,
    pub turn: Option<TurnId>,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxState {
    /// Not taken yet.
    New,
    Taken,
    /// The turn is over; the answer is still to be shown.
    Answered,
    /// Answered and shown.
    Done,
    /// Failed too often.
    SetAside,
}

words!(pub InboxState::word, parse {
    New => "new", Taken => "taken", Answered => "answered", Done => "done",
    SetAside => "set_aside",
});

const COLUMNS: &str =
    "id, source, message, text, body, state, differs, attempts, received, turn, reason";

fn read_row(row: &Row) -> Result<InboxRow, StoreError> {
    const T: &str = "inbox";
    let state: String = column(row, T, 5)?;
    Ok(InboxRow {
        id: column(row, T, 0)?,
        source: column(row, T, 1)?,
        message: column(row, T, 2)?,
        text: column(row, T, 3)?,
        body: column(row, T, 4)?,
        state: InboxState::parse(&state)
            .ok_or_else(|| fault(row, T, format!("`{}` is not a state", state.escape_debug())))?,
        differs: column(row, T, 6)?,
        attempts: column(row, T, 7)?,
        received: column(row, T, 8)?,
        turn: column::<Option<i64>>(row, T, 9)?.map(TurnId),
        reason: column(row, T, 10)?,
    })
}

fn one(connection: &Connection, id: i64) -> Result<InboxRow, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM inbox WHERE id = ?1");
    let found = first(connection, &query, [id], read_row)?;
    found.ok_or(StoreError::Unknown { what: "message", number: id })
}

/// The turn to which a message was delivered, if it was.
pub(super) fn delivered_to(connection: &Connection, id: i64) -> Result<Option<TurnId>, StoreError> {
    let query = "SELECT turn FROM inbox WHERE id = ?1";
    let turn: Option<Option<i64>> =
        connection.query_row(query, [id], |row| row.get(0)).optional()?;
    let turn = turn.ok_or(StoreError::Unknown { what: "message", number: id })?;
    Ok(turn.map(TurnId))
}

/// Records the turn to which a message is delivered, and clears its text, which the conversation has.
/// A [`VOICE`] message keeps its text and state: its worker may have to resume it, and settles it.
pub(super) fn note_delivered(
    change: &Transaction<'_>,
    id: i64,
    turn: TurnId,
) -> Result<(), StoreError> {
    change.execute(
        "UPDATE inbox SET state = 'done', turn = ?2, reason = '', text = '', body = NULL
         WHERE id = ?1 AND source <> ?3",
        params![id, turn.0, VOICE],
    )?;
    change.execute(
        "UPDATE inbox SET turn = ?2 WHERE id = ?1 AND source = ?3",
        params![id, turn.0, VOICE],
    )?;
    Ok(())
}

/// Reason of a voice message whose turn is over.
pub const ANSWERED: &str = "answered; the answer is to be shown";

/// Reason of a message that was delivered to a conversation which was deleted since.
pub const LOST: &str = "its conversation was deleted";

/// Marks the [`VOICE`] messages of a turn that ended as answered, in the commit that ends it: it holds even
/// if the conversation is deleted.
pub(super) fn note_answered(change: &Transaction<'_>, turn: TurnId) -> Result<(), StoreError> {
    change
        .prepare_cached(
            "UPDATE inbox SET state = 'answered', reason = ?3
             WHERE turn = ?1 AND source = ?2 AND state IN ('new', 'taken')",
        )?
        .execute(params![turn.0, VOICE, ANSWERED])?;
    Ok(())
}

#[derive(Debug, Clone)]
pub struct Inbox(pub(super) Database);

impl Inbox {
    /// Whether a message with this id is stored, and has this text if one is given.
    pub fn has(&self, source: &str, message: &str, text: Option<&str>) -> Result<bool, StoreError> {
        let hash = text.map(|text| BlobHash::of(text.as_bytes()).to_string());
        let query = "SELECT 1 FROM inbox WHERE source = ?1 AND message = ?2
                     AND (?3 IS NULL OR hash = ?3) LIMIT 1";
        Ok(self.0.first(query, params![source, message, hash], |_| Ok(()))?.is_some())
    }

    /// The turn to which a message was delivered, if it was.
    pub fn delivered_to(&self, id: i64) -> Result<Option<TurnId>, StoreError> {
        self.0.read(|connection| delivered_to(connection, id))
    }

    /// Stores a message; durable when this returns, and only then may it be acknowledged. The same id
    /// and text are stored once; another text with the same id is stored and marked.
    pub fn receive(&self, new: &NewMessage<'_>) -> Result<Received, StoreError> {
        let hash = BlobHash::of(new.text.as_bytes()).to_string();
        self.0.change("keep a message", |change| {
            let known = "SELECT id, hash FROM inbox WHERE source = ?1 AND message = ?2";
            let mut statement = change.prepare_cached(known)?;
            let known = statement.query_map(params![new.source, new.message], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            let known = known.collect::<Result<Vec<_>, _>>()?;
            if let Some((id, _)) = known.iter().find(|(_, other)| *other == hash) {
                return Ok(Received::Known(one(change, *id)?));
            }
            change
                .prepare_cached(
                    "INSERT INTO inbox (source, message, hash, text, body, state, differs,
                                        received)
                     VALUES (?1, ?2, ?3, ?4, ?5, 'new', ?6, ?7)",
                )?
                .execute(params![
                    new.source,
                    new.message,
                    hash,
                    new.text,
                    new.body,
                    !known.is_empty(),
                    new.received
                ])?;
            Ok(Received::New(one(change, change.last_insert_rowid())?))
        })
    }

    /// Takes the oldest new message of this source, and counts the attempt.
    pub fn take(&self, source: &str) -> Result<Option<InboxRow>, StoreError> {
        self.0.change("take a message from the inbox", |change| {
            let query = "SELECT id FROM inbox WHERE state = 'new' AND source = ?1
                         ORDER BY id LIMIT 1";
            let id: Option<i64> = change.query_row(query, [source], |row| row.get(0)).optional()?;
            let Some(id) = id else { return Ok(None) };
            change.execute(
                "UPDATE inbox SET state = 'taken', attempts = attempts + 1 WHERE id = ?1",
                [id],
            )?;
            one(change, id).map(Some)
        })
    }

    /// Clears a message's turn if that was deleted with its conversation, so that it can be delivered again.
    pub fn clear_deleted_turn(&self, id: i64) -> Result<(), StoreError> {
        let update = "UPDATE inbox SET turn = NULL, reason = ?2
                      WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.id = inbox.turn)";
        self.0.execute("forget a turn that is gone", update, params![id, LOST]).map(|_| ())
    }

    /// Makes all taken messages of a source new again, at startup. Returns how many.
    pub fn release_all(&self, source: &str) -> Result<usize, StoreError> {
        let update = "UPDATE inbox SET state = 'new' WHERE state = 'taken' AND source = ?1";
        self.0.execute("return messages to the inbox", update, [source])
    }

    /// Makes a taken message new again without counting the attempt: the message did not cause its end.
    pub fn release(&self, id: i64) -> Result<(), StoreError> {
        let update = "UPDATE inbox SET state = 'new', attempts = max(attempts - 1, 0)
                      WHERE id = ?1 AND state = 'taken'";
        self.0.execute("return a message to the inbox", update, [id]).map(|_| ())
    }

    /// Changes the state of a message at a person's request, if it is in one of the states `only`. Returns
    /// whether it was. A message that becomes new again has no attempt counted.
    pub fn move_to(
        &self,
        id: i64,
        only: &[InboxState],
        to: InboxState,
        reason: &str,
    ) -> Result<bool, StoreError> {
        self.0.change("move a message of the inbox", |change| {
            if !only.contains(&one(change, id)?.state) {
                return Ok(false);
            }
            change.execute(
                "UPDATE inbox SET state = ?2, reason = ?3,
                     attempts = CASE ?2 WHEN 'new' THEN 0 ELSE attempts END
                 WHERE id = ?1",
                params![id, to.word(), reason],
            )?;
            Ok(true)
        })
    }

    pub fn get(&self, id: i64) -> Result<InboxRow, StoreError> {
        self.0.read(|connection| one(connection, id))
    }

    /// The newest messages of a source in any state, newest first.
    pub fn last(&self, source: &str, limit: u32) -> Result<Vec<InboxRow>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM inbox WHERE source = ?1 ORDER BY id DESC LIMIT ?2");
        self.0.all(&query, params![source, limit], read_row)
    }

    pub fn count(&self, source: &str, state: InboxState) -> Result<u64, StoreError> {
        let query = "SELECT count(*) FROM inbox WHERE state = ?1 AND source = ?2";
        let count: Option<i64> =
            self.0.first(query, params![state.word(), source], |row| Ok(row.get(0)?))?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Sets the state of a message, and its turn. A message that is done loses its text, which the
    /// conversation has; its hash stays, to recognise a duplicate.
    pub fn settle(
        &self,
        id: i64,
        state: InboxState,
        turn: Option<TurnId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let update = "UPDATE inbox SET state = ?2, turn = coalesce(?3, turn), reason = ?4,
                                 text = CASE ?2 WHEN 'done' THEN '' ELSE text END,
                                 body = CASE ?2 WHEN 'done' THEN NULL ELSE body END
                          WHERE id = ?1";
        let values = params![id, state.word(), turn.map(|turn| turn.0), reason];
        match self.0.execute("settle a message", update, values)? {
            0 => Err(StoreError::Unknown { what: "message", number: id }),
            _ => Ok(()),
        }
    }

    /// Messages in this state, of one source or of all, in order of arrival.
    pub fn list(
        &self,
        source: Option<&str>,
        state: InboxState,
        limit: u32,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM inbox
                 WHERE state = ?1 AND (?2 IS NULL OR source = ?2) ORDER BY id LIMIT ?3"
        );
        self.0.all(&query, params![state.word(), source, limit], read_row)
    }

    /// Deletes settled messages that arrived before `time`. Returns how many.
    pub fn trim(&self, time: i64) -> Result<usize, StoreError> {
        const OLD: &str = "received < ?1 AND state IN ('done', 'set_aside')";
        // Usually there is none; then no write lock is needed.
        let old = format!("SELECT 1 FROM inbox WHERE {OLD} LIMIT 1");
        if self.0.first(&old, [time], |_| Ok(()))?.is_none() {
            return Ok(0);
        }
        self.0.execute("trim the inbox", &format!("DELETE FROM inbox WHERE {OLD}"), [time])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn message<'a>(message: &'a str, text: &'a str) -> NewMessage<'a> {
        NewMessage { source: "voice", message, text, body: None, received: 5 }
    }

    impl Received {
        fn row(&self) -> &InboxRow {
            match self {
                Self::New(row) | Self::Known(row) => row,
            }
        }
    }

    fn deliver(inbox: &Inbox, id: i64, turn: i64) {
        inbox.0.change("hear", |change| note_delivered(change, id, TurnId(turn))).unwrap();
    }

    #[test]
    fn a_message_that_was_not_settled_is_taken_again_before_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = Store::at(folder.path()).inbox;
        for name in ["a", "b"] {
            inbox.receive(&message(name, name)).unwrap();
        }
        let first = inbox.take("voice").unwrap().unwrap();
        deliver(&inbox, first.id, 7);
        let inbox = Store::at(folder.path()).inbox;
        assert_eq!(inbox.release_all("prompt").unwrap(), 0);
        assert_eq!(inbox.release_all("voice").unwrap(), 1);
        let again = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*again.text, again.attempts, again.turn), ("a", 2, Some(TurnId(7))));
        inbox.release(again.id).unwrap();
        let again = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*again.text, again.attempts), ("a", 2), "a released attempt does not count");
        inbox.settle(again.id, InboxState::SetAside, None, "it failed").unwrap();
        let renew = |only| inbox.move_to(again.id, &[only], InboxState::New, "").unwrap();
        assert!(!renew(InboxState::Done));
        assert!(renew(InboxState::SetAside));
        assert_eq!(inbox.get(again.id).unwrap().attempts, 0);
        assert_eq!(inbox.count("voice", InboxState::New).unwrap(), 2);
        assert_eq!(inbox.last("voice", 1).unwrap()[0].text, "b");
        deliver(&inbox, again.id, 8);
        let delivered = inbox.get(again.id).unwrap();
        assert_eq!(
            (delivered.state, &*delivered.text),
            (InboxState::New, "a"),
            "its worker settles it"
        );
        assert_eq!(delivered.turn, Some(TurnId(8)));
        inbox.clear_deleted_turn(again.id).unwrap();
        assert_eq!(inbox.delivered_to(again.id).unwrap(), None, "there is no such turn any more");
        let typed = inbox.receive(&NewMessage { source: "prompt", ..message("c", "c") }).unwrap();
        deliver(&inbox, typed.row().id, 9);
        let delivered = inbox.get(typed.row().id).unwrap();
        assert_eq!((delivered.state, &*delivered.text), (InboxState::Done, ""));
        assert!(inbox.get(99).is_err());
    }

    #[test]
    fn a_message_is_stored_once_and_taken_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = Store::at(folder.path()).inbox;
        let first = inbox.receive(&message("../../x\n", "one")).unwrap();
        assert!(matches!(first, Received::New(_)));
        let inbox = Store::at(folder.path()).inbox;
        let again = inbox.receive(&message("../../x\n", "one")).unwrap();
        assert_eq!(again, Received::Known(first.row().clone()));
        let other = inbox.receive(&message("../../x\n", "two")).unwrap();
        assert!(matches!(&other, Received::New(row) if row.differs));
        assert_eq!(inbox.take("chat").unwrap(), None);
        let taken = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*taken.text, taken.attempts, taken.state), ("one", 1, InboxState::Taken));
        inbox.settle(taken.id, InboxState::New, None, "the steward ended").unwrap();
        let taken = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*taken.text, taken.attempts), ("one", 2));
        inbox.settle(taken.id, InboxState::Done, Some(TurnId(4)), "").unwrap();
        let known = inbox.receive(&message("../../x\n", "one")).unwrap();
        assert_eq!((known.row().state, known.row().turn), (InboxState::Done, Some(TurnId(4))));
        assert_eq!(inbox.take("voice").unwrap().unwrap().text, "two");
        assert_eq!(inbox.take("voice").unwrap(), None);
        assert_eq!(inbox.list(None, InboxState::Taken, 9).unwrap().len(), 1);
        assert_eq!(inbox.trim(6).unwrap(), 1, "what is being worked on stays");
        assert!(inbox.settle(99, InboxState::Done, None, "").is_err());
    }
}
