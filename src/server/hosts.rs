//! The clients that have the vault open, Obsidian with the plugin, and requests to them: always to the one
//! that had the focus last.
//!
//! Without an answer the outcome is unknown: the caller that requested a change checks the disk. No request is
//! repeated.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::outbox::Outbox;
use crate::locks::lock;
use crate::protocol::ServerRequestParams;
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::host::{HostCall, HostOperation, HostState};
use crate::vault::Cancel;

/// Prefix of the ids of requests to hosts.
const PREFIX: &str = "host-";

/// Maximum bytes of a path that a client reports.
const MAX_PATH_BYTES: usize = 4096;

/// How often a waiting thread checks whether it was cancelled.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Why a host did not do what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No connected client supports the operation.
    #[error("Obsidian is not connected, or cannot do `{}`", .operation.word())]
    Unavailable { operation: HostOperation },
    #[error("`{client}` could not do it: {message}")]
    Refused { client: String, message: String },
    /// The client's answer has the wrong form.
    #[error("`{client}` gave an answer that does not fit: {message}")]
    Nonsense { client: String, message: String },
    /// The client disconnected, or did not answer in time: it is not known whether the operation was done.
    #[error("`{client}` did not answer")]
    Unknown { client: String },
    #[error("the request was cancelled")]
    Cancelled,
}

/// Receives the client's answer, a result or an error message, at most once.
type Answers = Receiver<Result<Value, String>>;

/// The clients that have the vault open. Clones share them.
#[derive(Clone, Default)]
pub struct Hosts(Arc<Mutex<HostsState>>);

#[derive(Default)]
struct HostsState {
    /// Number of the last request, which is also its operation's id.
    last: u64,
    /// Counts changes of the focus.
    focused: u64,
    clients: HashMap<u64, Client>,
    waiting: BTreeMap<u64, Waiting>,
}

struct Client {
    outbox: Arc<Outbox>,
    name: String,
    operations: Vec<HostOperation>,
    /// Value of [`HostsState::focused`] when the client got the focus last; 0 if never.
    focused: u64,
    active_note: Option<String>,
    /// Whether the client has reported its active note.
    has_reported: bool,
}

struct Waiting {
    connection: u64,
    sender: SyncSender<Result<Value, String>>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("clients", &lock(&self.0).clients.len()).finish()
    }
}

impl Hosts {
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
            has_reported: false,
        };
        if !client.operations.is_empty() {
            lock(&self.0).clients.insert(connection, client);
            self.focus(connection, focused);
        }
    }

    /// Removes a client. Its pending requests may have been carried out.
    pub fn leave(&self, connection: u64) {
        let mut state = lock(&self.0);
        if state.clients.remove(&connection).is_some() {
            // Dropping the senders wakes the waiting threads.
            state.waiting.retain(|_, waiting| waiting.connection != connection);
        }
    }

    /// The client got the focus, or lost it: then it is still the last that had it.
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

    /// The client reports its active note.
    pub fn open_in(&self, connection: u64, path: Option<String>) {
        let path = path.filter(|path| path.len() <= MAX_PATH_BYTES);
        if let Some(client) = lock(&self.0).clients.get_mut(&connection) {
            client.active_note = path;
            client.has_reported = true;
        }
    }

    /// The client that requests would go to, and its active note if it reported one.
    pub fn state(&self) -> Option<HostState> {
        let state = lock(&self.0);
        let client = state.chosen(None)?.1;
        Some(HostState {
            client: client.name.clone(),
            operations: client.operations.clone(),
            active_note: client.active_note.clone(),
        })
    }

    pub fn can(&self, operation: HostOperation) -> bool {
        lock(&self.0).chosen(Some(operation)).is_some()
    }

    /// The active note as reported by the client that requests would go to; `None` if it has not reported
    /// it. The path is the client's and may lead anywhere.
    pub fn open_note(&self) -> Option<Option<String>> {
        let state = lock(&self.0);
        let (_, client) = state.chosen(Some(HostOperation::ActiveNote))?;
        client.has_reported.then(|| client.active_note.clone())
    }

    /// Sends a request to a client and waits for its answer for at most `timeout`, on a thread that may
    /// block. Returns the client's name and the answer.
    pub fn ask<P: ServerRequestParams, R: DeserializeOwned>(
        &self,
        operation: HostOperation,
        timeout: Duration,
        cancel: &Cancel,
        params: impl FnOnce(HostCall) -> P,
    ) -> Result<(String, R), HostError> {
        let (number, client, answer) = self.send(operation, timeout, params)?;
        let waited = wait(&answer, timeout, cancel);
        let was_waiting = self.cancel(number);
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

    fn send<P: ServerRequestParams>(
        &self,
        operation: HostOperation,
        timeout: Duration,
        params: impl FnOnce(HostCall) -> P,
    ) -> Result<(u64, String, Answers), HostError> {
        let mut state = lock(&self.0);
        state.last += 1;
        let number = state.last;
        let Some((connection, client)) = state.chosen(Some(operation)) else {
            return Err(HostError::Unavailable { operation });
        };
        let deadline_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let params = params(HostCall { op_id: number.to_string(), deadline_ms });
        client.outbox.push(Utf8Bytes::from(envelope::request(&id(number), &params)));
        let name = client.name.clone();
        let (sender, answer) = sync_channel(1);
        state.waiting.insert(number, Waiting { connection, sender });
        Ok((number, name, answer))
    }

    /// Cancels a request that was not answered. Returns whether there was one.
    fn cancel(&self, number: u64) -> bool {
        let mut state = lock(&self.0);
        let Some(waiting) = state.waiting.remove(&number) else { return false };
        if let Some(client) = state.clients.get(&waiting.connection) {
            let params = CancelParams { request_id: id(number) };
            client.outbox.push(Utf8Bytes::from(envelope::notification(&params)));
        }
        true
    }

    /// Handles a client's answer. One without a request to this client is ignored.
    pub fn answer(&self, connection: u64, id: &RequestId, answer: Result<Value, String>) {
        let RequestId::Text(id) = id else { return };
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse::<u64>().ok());
        let Some(number) = number else { return };
        let mut state = lock(&self.0);
        if state.waiting.get(&number).is_some_and(|waiting| waiting.connection == connection)
            && let Some(waiting) = state.waiting.remove(&number)
        {
            // The channel has room for the only answer.
            let _ = waiting.sender.try_send(answer);
        }
    }
}

impl HostsState {
    /// The client that had the focus last, among those that support the operation; the newest of equals.
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

fn wait(answer: &Answers, timeout: Duration, cancel: &Cancel) -> Wait {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(CHECK_EVERY)) {
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
