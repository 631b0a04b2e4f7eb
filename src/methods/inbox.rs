//! Voice messages, for clients and the command line.

use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::inbox::{
    InboxDiscardParams, InboxListParams, InboxListResult, InboxMessage, InboxMessageState,
    InboxResult, InboxRetryParams, SmartHoleState,
};
use crate::smarthole::frames::Delivery;
use crate::store::inbox::{InboxRow, InboxState, VOICE};
use crate::store::{Store, StoreError};

/// The part of the daemon that handles these messages.
pub trait Voice: Send + Sync {
    /// The state of the connection on which they arrive; may block.
    fn state(&self) -> SmartHoleState;

    /// A person retried or discarded this message; may block.
    fn moved(&self, number: i64);
}

/// The default and the largest number of listed messages.
const LISTED: (u32, u32) = (100, 1_000);

/// The states of messages that are not done.
const WAITING: [InboxState; 4] =
    [InboxState::New, InboxState::Taken, InboxState::Answered, InboxState::SetAside];

/// Lists messages, or shows the state of one.
pub fn list(store: &Store, params: &InboxListParams) -> Result<InboxListResult> {
    let limit = params.limit.unwrap_or(LISTED.0).clamp(1, LISTED.1);
    let rows = if let Some(id) = params.id {
        vec![one(store, id)?]
    } else if params.all {
        let mut rows = store.inbox.last(VOICE, limit)?;
        rows.reverse();
        rows
    } else {
        let mut rows = Vec::new();
        for state in WAITING {
            rows.extend(store.inbox.list(Some(VOICE), state, limit)?);
        }
        rows.sort_by_key(|row| row.id);
        let more = rows.len().saturating_sub(limit as usize);
        rows.split_off(more)
    };
    let messages: Result<Vec<_>, _> = rows.iter().map(|row| message(store, row)).collect();
    Ok(InboxListResult { messages: messages? })
}

pub fn retry(store: &Store, params: &InboxRetryParams) -> Result<InboxResult> {
    let only = [InboxState::SetAside, InboxState::New];
    move_message(store, params.id, &only, InboxState::New, "")
}

pub fn discard(store: &Store, params: &InboxDiscardParams) -> Result<InboxResult> {
    let only = [InboxState::SetAside, InboxState::New, InboxState::Answered];
    move_message(store, params.id, &only, InboxState::Done, "discarded by a person")
}

fn move_message(
    store: &Store,
    id: u64,
    only: &[InboxState],
    to: InboxState,
    reason: &str,
) -> Result<InboxResult> {
    let row = one(store, id)?;
    if !store.inbox.move_to(row.id, only, to, reason)? {
        let (text, hint) = match one(store, id)?.state {
            InboxState::Done => ("is done", "say it again, if it is to be done again"),
            InboxState::Answered => ("is done", "its answer waits to be shown"),
            _ => ("is being worked on", "stop its turn first, or wait for its end"),
        };
        let text = format!("message {id} {text}");
        return Err(ErrorObject::new(Kind::InvalidParams, text).hint(hint));
    }
    let row = one(store, id)?;
    Ok(InboxResult { message: message(store, &row)? })
}

fn one(store: &Store, id: u64) -> Result<InboxRow> {
    let unknown = || {
        let text = format!("there is no message {id} in the inbox");
        ErrorObject::new(Kind::NotFound, text).hint("`steward inbox list --all` names them")
    };
    let number = i64::try_from(id).map_err(|_| unknown())?;
    match store.inbox.get(number) {
        Ok(row) if row.source == VOICE => Ok(row),
        Ok(_) | Err(StoreError::Unknown { .. }) => Err(unknown()),
        Err(error) => Err(error.into()),
    }
}

/// A message as clients see it.
pub fn message(store: &Store, row: &InboxRow) -> Result<InboxMessage, StoreError> {
    let turn = row.turn.map(|turn| store.conversations.turns.get(turn)).transpose()?.flatten();
    let how = how(row);
    let time = chrono::DateTime::from_timestamp_millis(row.received).unwrap_or_default();
    let time = time.with_timezone(&chrono::Local);
    Ok(InboxMessage {
        id: u64::try_from(row.id).unwrap_or(0),
        text: row.text.clone(),
        state: match row.state {
            InboxState::New => InboxMessageState::New,
            // The reason says how far it got.
            InboxState::Taken | InboxState::Answered => InboxMessageState::Taken,
            InboxState::Done => InboxMessageState::Done,
            InboxState::SetAside => InboxMessageState::SetAside,
        },
        attempts: row.attempts,
        differs: row.differs,
        received: time.to_rfc3339_opts(chrono::SecondsFormat::Secs, false),
        reason: row.reason.clone(),
        typed: how.typed,
        direct: how.direct,
        routing_reason: how.reason,
        session_id: turn.as_ref().map(|turn| turn.conversation.to_string()),
        turn: turn.map(|turn| turn.id.to_string()),
    })
}

/// How a message arrived.
pub fn how(row: &InboxRow) -> Delivery {
    row.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default()
}
