//! The clients that have the vault open, Obsidian with the plugin, and what is asked of them: of the
//! one that had the focus last, never of several.
//!
//! An answer that does not come says nothing about what was done: whoever asked for a change looks
//! at the disk. Nothing is asked twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::lock;
use super::outbox::Outbox;
use crate::protocol::ServerRequestParams;
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::host::{HostCall, HostOperation, HostState};
use crate::vault::Cancel;

/// What every id of such a request begins with.
const PREFIX: &str = "host-";

/// Bytes of a path that a client tells.
const MAX_PATH_BYTES: usize = 4096;

/// How often a wait looks whether its answer is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// Why a host did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nobody is there who could.
    #[error("Obsidian is not connected, or cannot do `{}`", .operation.word())]
    Unavailable {
        /// What was asked for.
        operation: HostOperation,
    },
    /// It said no.
    #[error("`{client}` could not do it: {message}")]
    Refused {
        /// The name it gave of itself.
        client: String,
        /// Why.
        message: String,
    },
    /// It answered with something else than an answer.
    #[error("`{client}` gave an answer that does not fit: {message}")]
    Nonsense {
        /// The name it gave of itself.
        client: String,
        /// What does not fit.
        message: String,
    },
    /// It went away, or did not answer in time: nobody knows whether it was done.
    #[error("`{client}` did not answer")]
    Unknown {
        /// The name it gave of itself.
        client: String,
    },
    /// Whoever asked does not want it any more.
    #[error("the request was given up")]
    Cancelled,
}

/// What a client answers: a result, or what its error says. One comes, or none.
type Answers = Receiver<Result<Value, String>>;

/// The clients that have the vault open. A clone is the same.
#[derive(Clone, Default)]
pub struct Hosts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Names requests and operations.
    last: u64,
    /// Orders what was focused when.
    focused: u64,
    clients: HashMap<u64, Client>,
    waiting: BTreeMap<u64, Waiting>,
}

struct Client {
    outbox: Arc<Outbox>,
    name: String,
    operations: Vec<HostOperation>,
    /// When it had the focus last, as a place in that order; 0 if never.
    focused: u64,
    active_note: Option<String>,
    /// Whether it has told what is open: before that nothing is known.
    has_told: bool,
}

struct Waiting {
    connection: u64,
    tell: SyncSender<Result<Value, String>>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("clients", &lock(&self.0).clients.len()).finish()
    }
}

impl Hosts {
    /// From now on this client can be asked for these operations.
    pub fn join(
        &self,
        connection: u64,
        outbox: &Arc<Outbox>,
        name: &str,
        operations: &[HostOperation],
        focused: bool,
    ) {
        let known = |operation: &&HostOperation| **operation != HostOperation::Unknown;
        let client = Client {
            outbox: Arc::clone(outbox),
            name: name.to_owned(),
            operations: operations.iter().filter(known).copied().collect(),
            focused: 0,
            active_note: None,
            has_told: false,
        };
        if !client.operations.is_empty() {
            lock(&self.0).clients.insert(connection, client);
            self.focus(connection, focused);
        }
    }

    /// The client is gone; what it was asked for may have been done.
    pub fn leave(&self, connection: u64) {
        let mut state = lock(&self.0);
        if state.clients.remove(&connection).is_some() {
            // Whoever waits hears of it, since nobody can tell them more.
            state.waiting.retain(|_, waiting| waiting.connection != connection);
        }
    }

    /// The client has the focus, or has it no longer: then it is the last that had it.
    pub fn focus(&self, connection: u64, focused: bool) {
        let mut state = lock(&self.0);
        if !focused || !state.clients.contains_key(&connection) {
            return;
        }
        state.focused += 1;
        let now = state.focused;
        if let Some(client) = state.clients.get_mut(&connection) {
            client.focused = now;
        }
    }

    /// The client tells which note is open in it.
    pub fn open_in(&self, connection: u64, path: Option<String>) {
        let path = path.filter(|path| path.len() <= MAX_PATH_BYTES);
        if let Some(client) = lock(&self.0).clients.get_mut(&connection) {
            client.active_note = path;
            client.has_told = true;
        }
    }

    /// The client that would be asked, and what is open in it as far as it told.
    #[must_use]
    pub fn state(&self) -> Option<HostState> {
        let state = lock(&self.0);
        let client = state.chosen(None)?.1;
        Some(HostState {
            client: client.name.clone(),
            operations: client.operations.clone(),
            active_note: client.active_note.clone(),
        })
    }

    /// Whether somebody can be asked for this.
    #[must_use]
    pub fn can(&self, operation: HostOperation) -> bool {
        lock(&self.0).chosen(Some(operation)).is_some()
    }

    /// What is open, as the client told that would be asked; none where none has told. The path is
    /// the client's own and may lead anywhere.
    #[must_use]
    pub fn open_note(&self) -> Option<Option<String>> {
        let state = lock(&self.0);
        let (_, client) = state.chosen(Some(HostOperation::ActiveNote))?;
        client.has_told.then(|| client.active_note.clone())
    }

    /// Asks one client, and waits for its answer at most `patience`, on a thread that may block; its
    /// name and its answer.
    pub fn ask<P: ServerRequestParams, R: DeserializeOwned>(
        &self,
        operation: HostOperation,
        patience: Duration,
        cancel: &Cancel,
        params: impl FnOnce(HostCall) -> P,
    ) -> Result<(String, R), HostError> {
        let (number, client, answer) = self.put(operation, patience, params)?;
        let waited = wait(&answer, patience, cancel);
        let was_waiting = self.give_up(number);
        let unknown = || HostError::Unknown { client: client.clone() };
        match waited {
            Wait::Answered(Ok(value)) => match serde_json::from_value(value) {
                Ok(answer) => Ok((client, answer)),
                Err(error) => Err(HostError::Nonsense { client, message: error.to_string() }),
            },
            Wait::Answered(Err(message)) => Err(HostError::Refused { client, message }),
            Wait::Cancelled if was_waiting => Err(HostError::Cancelled),
            Wait::Cancelled | Wait::Lost => Err(unknown()),
        }
    }

    fn put<P: ServerRequestParams>(
        &self,
        operation: HostOperation,
        patience: Duration,
        params: impl FnOnce(HostCall) -> P,
    ) -> Result<(u64, String, Answers), HostError> {
        let mut state = lock(&self.0);
        state.last += 1;
        let number = state.last;
        let Some((connection, client)) = state.chosen(Some(operation)) else {
            return Err(HostError::Unavailable { operation });
        };
        let deadline_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let params = params(HostCall { op_id: number.to_string(), deadline_ms });
        client.outbox.push(Utf8Bytes::from(envelope::request(&id(number), &params)));
        let name = client.name.clone();
        let (tell, answer) = sync_channel(1);
        state.waiting.insert(number, Waiting { connection, tell });
        Ok((number, name, answer))
    }

    /// Nobody waits for this answer any more; whether somebody did.
    fn give_up(&self, number: u64) -> bool {
        let mut state = lock(&self.0);
        let Some(waiting) = state.waiting.remove(&number) else { return false };
        if let Some(client) = state.clients.get(&waiting.connection) {
            let params = CancelParams { request_id: id(number) };
            client.outbox.push(Utf8Bytes::from(envelope::notification(&params)));
        }
        true
    }

    /// Takes a client's answer; one to a question that nobody asked it counts for nothing.
    pub fn answer(&self, connection: u64, id: &RequestId, answer: Result<Value, String>) {
        let RequestId::Text(id) = id else { return };
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse::<u64>().ok());
        let Some(number) = number else { return };
        let mut state = lock(&self.0);
        if state.waiting.get(&number).is_some_and(|waiting| waiting.connection == connection)
            && let Some(waiting) = state.waiting.remove(&number)
        {
            // There is room for one answer, and no other will come.
            let _ = waiting.tell.try_send(answer);
        }
    }
}

impl State {
    /// Of those who can do this the one that had the focus last; of equals the newest.
    fn chosen(&self, operation: Option<HostOperation>) -> Option<(u64, &Client)> {
        let can = |client: &Client| {
            operation.is_none_or(|operation| client.operations.contains(&operation))
        };
        let able = self.clients.iter().filter(|(_, client)| can(client));
        let chosen = able.max_by_key(|(connection, client)| (client.focused, **connection));
        chosen.map(|(connection, client)| (*connection, client))
    }
}

enum Wait {
    Answered(Result<Value, String>),
    Lost,
    Cancelled,
}

fn wait(answer: &Answers, patience: Duration, cancel: &Cancel) -> Wait {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(GLANCE)) {
            Ok(answer) => return Wait::Answered(answer),
            Err(RecvTimeoutError::Disconnected) => return Wait::Lost,
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return Wait::Cancelled,
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Wait::Lost,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn id(number: u64) -> RequestId {
    RequestId::Text(format!("{PREFIX}{number}"))
}
