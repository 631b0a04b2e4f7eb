//! Messages as they came: kept before they are acknowledged, taken in order, each once.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::blobs::BlobHash;
use super::database::Database;
use super::error::StoreError;
use super::query::{all, column, fault, first};
use crate::conversation::TurnId;

/// The source of messages that a worker brings to the agent one after another, and settles itself.
pub const VOICE: &str = "voice";

/// A message that came in.
#[derive(Debug, Clone, Copy)]
pub struct NewMessage<'a> {
    /// Where from: `chat`, `voice`.
    pub source: &'a str,
    /// The sender's own name for it. Any text: it is never a path.
    pub message: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The rest of what the sender said, as JSON.
    pub body: Option<&'a str>,
    /// When, in milliseconds since the Unix epoch.
    pub received: i64,
}

/// What became of a message that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// It is kept.
    New(InboxRow),
    /// It was kept before, under the same name with the same text: as it stands by now.
    Known(InboxRow),
}

impl Received {
    /// The message as it is kept.
    pub fn row(&self) -> &InboxRow {
        match self {
            Self::New(row) | Self::Known(row) => row,
        }
    }
}

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its number; the order in which they came.
    pub id: i64,
    pub source: String,
    /// The sender's own name for it.
    pub message: String,
    /// What it says.
    pub text: String,
    /// The rest of what the sender said, as JSON.
    pub body: Option<String>,
    /// How it stands.
    pub state: InboxState,
    /// Whether another text had come under the same name.
    pub differs: bool,
    /// How often it was taken.
    pub attempts: u32,
    /// When, in milliseconds since the Unix epoch.
    pub received: i64,
    /// The turn that it began.
    pub turn: Option<TurnId>,
    /// What became of it, for people.
    pub reason: String,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxState {
    /// Not taken yet.
    New,
    /// Being worked on.
    Taken,
    /// All that it wanted is done; the answer is to be shown.
    Answered,
    /// Done, and shown.
    Done,
    /// Given up, since it failed too often.
    SetAside,
}

impl InboxState {
    /// The word that is kept.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Taken => "taken",
            Self::Answered => "answered",
            Self::Done => "done",
            Self::SetAside => "set_aside",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::New, Self::Taken, Self::Answered, Self::Done, Self::SetAside]
            .into_iter()
            .find(|state| state.word() == word)
    }
}

const COLUMNS: &str =
    "id, source, message, text, body, state, differs, attempts, received, turn, reason";

fn read(row: &Row) -> Result<InboxRow, StoreError> {
    const T: &str = "inbox";
    let state: String = column(row, T, 5)?;
    Ok(InboxRow {
        id: column(row, T, 0)?,
        source: column(row, T, 1)?,
        message: column(row, T, 2)?,
        text: column(row, T, 3)?,
        body: column(row, T, 4)?,
        state: InboxState::parse(&state)
            .ok_or_else(|| fault(row, T, format!("`{}` is no state", state.escape_debug())))?,
        differs: column(row, T, 6)?,
        attempts: column(row, T, 7)?,
        received: column(row, T, 8)?,
        turn: column::<Option<i64>>(row, T, 9)?.map(TurnId),
        reason: column(row, T, 10)?,
    })
}

fn one(connection: &Connection, id: i64) -> Result<InboxRow, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM inbox WHERE id = ?1");
    let found = first(connection, &query, [id], read)?;
    found.ok_or(StoreError::Unknown { what: "message", number: id })
}

/// The turn in which a message was heard, if it was.
pub(super) fn heard_in(connection: &Connection, id: i64) -> Result<Option<TurnId>, StoreError> {
    let query = "SELECT turn FROM inbox WHERE id = ?1";
    let turn: Option<Option<i64>> =
        connection.query_row(query, [id], |row| row.get(0)).optional()?;
    let turn = turn.ok_or(StoreError::Unknown { what: "message", number: id })?;
    Ok(turn.map(TurnId))
}

/// Notes in which turn a message is heard, and forgets its words, which stand in its conversation. One
/// of [`VOICE`] stays as it stands: its worker may have to go on with it, and settles it.
pub(super) fn note_heard(
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

/// What is said of a message whose turn came to its end.
pub const ANSWERED: &str = "answered; the answer is to be shown";

/// What is said of a message that was heard in a conversation that is gone.
pub const LOST: &str = "its conversation was deleted";

/// Notes that what was heard of [`VOICE`] in a turn wants nothing more done: it came to its end, and
/// this is part of the same commit, so that it is so even where the conversation is deleted.
pub(super) fn note_answered(change: &Transaction<'_>, turn: TurnId) -> Result<(), StoreError> {
    change
        .prepare_cached(
            "UPDATE inbox SET state = 'answered', reason = ?3
             WHERE turn = ?1 AND source = ?2 AND state IN ('new', 'taken')",
        )?
        .execute(params![turn.0, VOICE, ANSWERED])?;
    Ok(())
}

/// The messages that came in.
#[derive(Debug, Clone)]
pub struct Inbox(pub(super) Database);

impl Inbox {
    /// Whether a message of this name is kept, with this text where one is given.
    pub fn has(&self, source: &str, message: &str, text: Option<&str>) -> Result<bool, StoreError> {
        let hash = text.map(|text| BlobHash::of(text.as_bytes()).to_string());
        self.0.read(|connection| {
            let query = "SELECT EXISTS (SELECT 1 FROM inbox WHERE source = ?1 AND message = ?2
                             AND (?3 IS NULL OR hash = ?3))";
            let mut statement = connection.prepare_cached(query)?;
            Ok(statement.query_row(params![source, message, hash], |row| row.get(0))?)
        })
    }

    /// The turn in which a message was heard, if it was.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is no such message.
    pub fn heard_in(&self, id: i64) -> Result<Option<TurnId>, StoreError> {
        self.0.read(|connection| heard_in(connection, id))
    }

    /// Keeps a message; durable when this returns, and only then may it be acknowledged. One that
    /// was kept before is not kept twice; another text under the same name is, and marked.
    ///
    /// # Errors
    /// [`StoreError`]: it is not kept.
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

    /// Takes the oldest message of this source that nobody has taken, and counts the attempt.
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

    /// Forgets in which turn a message was heard, where that is gone with its conversation: it may be
    /// heard anew.
    pub fn forget_lost_turn(&self, id: i64) -> Result<(), StoreError> {
        self.0.change("forget a turn that is gone", |change| {
            change.execute(
                "UPDATE inbox SET turn = NULL, reason = ?2
                 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.id = inbox.turn)",
                params![id, LOST],
            )?;
            Ok(())
        })
    }

    /// Gives back what was taken of a source and not settled: nobody works on it any more. How many.
    pub fn give_back(&self, source: &str) -> Result<usize, StoreError> {
        self.0.change("give messages back to the inbox", |change| {
            let taken = "UPDATE inbox SET state = 'new' WHERE state = 'taken' AND source = ?1";
            Ok(change.execute(taken, [source])?)
        })
    }

    /// Gives one message back whose attempt does not count: it was not the message that ended it.
    pub fn release(&self, id: i64) -> Result<(), StoreError> {
        self.0.change("give a message back to the inbox", |change| {
            change.execute(
                "UPDATE inbox SET state = 'new', attempts = max(attempts - 1, 0)
                 WHERE id = ?1 AND state = 'taken'",
                [id],
            )?;
            Ok(())
        })
    }

    /// Has a message stand otherwise, by a person's wish and only if it stands in one of these
    /// states; whether it did. One that is new again has no attempt counted.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is no such message.
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

    /// A message as it stands.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is none.
    pub fn get(&self, id: i64) -> Result<InboxRow, StoreError> {
        self.0.read(|connection| one(connection, id))
    }

    /// The last messages of a source in whatever state, the newest first.
    pub fn last(&self, source: &str, limit: u32) -> Result<Vec<InboxRow>, StoreError> {
        self.0.read(|connection| {
            let query =
                format!("SELECT {COLUMNS} FROM inbox WHERE source = ?1 ORDER BY id DESC LIMIT ?2");
            all(connection, &query, params![source, limit], read)
        })
    }

    /// How many messages of a source stand so.
    pub fn count(&self, source: &str, state: InboxState) -> Result<u64, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT count(*) FROM inbox WHERE state = ?1 AND source = ?2";
            let mut statement = connection.prepare_cached(query)?;
            let count: i64 =
                statement.query_row(params![state.word(), source], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }

    /// Says how a message stands, and which turn it began. The words of one that is done stand in its
    /// conversation, so that they go with it; here stays what tells it from another.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is no such message.
    pub fn settle(
        &self,
        id: i64,
        state: InboxState,
        turn: Option<TurnId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.0.change("settle a message", |change| {
            let changed = change.execute(
                "UPDATE inbox SET state = ?2, turn = coalesce(?3, turn), reason = ?4,
                        text = CASE ?2 WHEN 'done' THEN '' ELSE text END,
                        body = CASE ?2 WHEN 'done' THEN NULL ELSE body END
                 WHERE id = ?1",
                params![id, state.word(), turn.map(|turn| turn.0), reason],
            )?;
            match changed {
                0 => Err(StoreError::Unknown { what: "message", number: id }),
                _ => Ok(()),
            }
        })
    }

    /// Messages that stand so, of one source or of all, in the order in which they came.
    pub fn list(
        &self,
        source: Option<&str>,
        state: InboxState,
        limit: u32,
    ) -> Result<Vec<InboxRow>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {COLUMNS} FROM inbox
                 WHERE state = ?1 AND (?2 IS NULL OR source = ?2) ORDER BY id LIMIT ?3"
            );
            all(connection, &query, params![state.word(), source, limit], read)
        })
    }

    /// Lets go of messages that were settled and came before `time`; how many.
    pub fn trim(&self, time: i64) -> Result<usize, StoreError> {
        const OLD: &str = "received < ?1 AND state IN ('done', 'set_aside')";
        // Most often there is none, and who only reads waits for nobody.
        let is_any = self.0.read(|connection| {
            let query = format!("SELECT EXISTS (SELECT 1 FROM inbox WHERE {OLD})");
            Ok(connection.query_row(&query, [time], |row| row.get::<_, bool>(0))?)
        })?;
        if !is_any {
            return Ok(0);
        }
        self.0.change("trim the inbox", |change| {
            Ok(change.execute(&format!("DELETE FROM inbox WHERE {OLD}"), [time])?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn message<'a>(message: &'a str, text: &'a str) -> NewMessage<'a> {
        NewMessage { source: "voice", message, text, body: None, received: 5 }
    }

    fn hear(inbox: &Inbox, id: i64, turn: i64) {
        inbox.0.change("hear", |change| note_heard(change, id, TurnId(turn))).unwrap();
    }

    #[test]
    fn what_nobody_finished_is_taken_again_before_what_came_later() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = Store::at(folder.path()).inbox;
        for name in ["a", "b"] {
            inbox.receive(&message(name, name)).unwrap();
        }
        let first = inbox.take("voice").unwrap().unwrap();
        hear(&inbox, first.id, 7);
        let inbox = Store::at(folder.path()).inbox;
        assert_eq!(inbox.give_back("prompt").unwrap(), 0);
        assert_eq!(inbox.give_back("voice").unwrap(), 1);
        let again = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*again.text, again.attempts, again.turn), ("a", 2, Some(TurnId(7))));
        inbox.release(again.id).unwrap();
        let again = inbox.take("voice").unwrap().unwrap();
        assert_eq!((&*again.text, again.attempts), ("a", 2), "the one given back counts for none");
        inbox.settle(again.id, InboxState::SetAside, None, "it failed").unwrap();
        let renew = |only| inbox.move_to(again.id, &[only], InboxState::New, "").unwrap();
        assert!(!renew(InboxState::Done));
        assert!(renew(InboxState::SetAside));
        assert_eq!(inbox.get(again.id).unwrap().attempts, 0);
        assert_eq!(inbox.count("voice", InboxState::New).unwrap(), 2);
        assert_eq!(inbox.last("voice", 1).unwrap()[0].text, "b");
        hear(&inbox, again.id, 8);
        let heard = inbox.get(again.id).unwrap();
        assert_eq!((heard.state, &*heard.text), (InboxState::New, "a"), "its worker settles it");
        assert_eq!(heard.turn, Some(TurnId(8)));
        inbox.forget_lost_turn(again.id).unwrap();
        assert_eq!(inbox.heard_in(again.id).unwrap(), None, "there is no such turn any more");
        let typed = inbox.receive(&NewMessage { source: "prompt", ..message("c", "c") }).unwrap();
        hear(&inbox, typed.row().id, 9);
        let heard = inbox.get(typed.row().id).unwrap();
        assert_eq!((heard.state, &*heard.text), (InboxState::Done, ""));
        assert!(inbox.get(99).is_err());
    }

    #[test]
    fn a_message_is_kept_once_and_taken_in_order() {
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
