//! Dispatches what a server sends to those who wait: answers, failures, and unsolicited messages.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use serde_json::{Map, Value, json};

use super::oauth::challenge::Challenge;
use crate::locks::lock;

/// The most unsolicited messages between two answers; a server that sends more is ended.
const MAX_UNASKED: usize = 1_000;

/// The same in bytes.
pub(super) const MAX_UNASKED_BYTES: usize = 16 << 20;

/// The answer to a request.
pub(super) type Reply = Result<Value, Failure>;

/// What a server sends for a request.
pub(super) enum Incoming {
    Reply(Reply),
    /// A question to the user before the answer, by its own id.
    Asked {
        id: Value,
        params: Value,
    },
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// A protocol error, with the versions that the server supports, if it names them.
    Refused {
        code: i64,
        message: String,
        supported: Vec<String>,
    },
    /// An HTTP error status.
    Http {
        status: u16,
        why: String,
    },
    /// It requires a sign-in, or one with more scopes.
    SignIn {
        status: u16,
        why: String,
        challenge: Box<Challenge>,
    },
    Unreachable(String),
    /// The session is gone; the request had no effect.
    Forgotten,
}

/// Received messages, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pending: Mutex<PendingRequests>,
    /// Whether it has reported a change of its tools.
    is_stale: AtomicBool,
}

#[derive(Debug, Default)]
struct PendingRequests {
    requests: HashMap<u64, Waiter>,
    /// Why it ended.
    ended: Option<String>,
    unasked: usize,
    unasked_bytes: usize,
    /// Requests without an answer in time, since the last answer.
    late: usize,
}

/// A pending request.
#[derive(Debug)]
struct Waiter {
    sender: Sender<Incoming>,
    /// Its user can be asked questions.
    may_be_asked: bool,
}

impl PendingRequests {
    /// The call that a question belongs to. Over pipes a question does not name its call; then it is the latest call.
    fn whom_to_ask(&self, of: Option<u64>) -> Option<&Sender<Incoming>> {
        let calls = self.requests.iter().filter(|(_, waiter)| waiter.may_be_asked);
        let mut calls = calls.filter(|(id, _)| of.is_none_or(|of| of == **id));
        let first = calls.next()?;
        let last = calls.fold(first, |last, one| if one.0 > last.0 { one } else { last });
        Some(&last.1.sender)
    }
}

impl Shared {
    /// Registers a request, which may get questions before its answer.
    ///
    /// # Errors
    /// Why the server has ended.
    pub fn expect(&self, id: u64, may_be_asked: bool) -> Result<Receiver<Incoming>, String> {
        let (sender, receiver) = mpsc::channel();
        let mut pending = lock(&self.pending);
        match &pending.ended {
            Some(why) => Err(why.clone()),
            None => {
                pending.requests.insert(id, Waiter { sender, may_be_asked });
                Ok(receiver)
            }
        }
    }

    /// Stops waiting for the answer.
    pub fn forget(&self, id: u64) {
        lock(&self.pending).requests.remove(&id);
    }

    /// Why it ended, if it did.
    pub fn ended(&self) -> Option<String> {
        lock(&self.pending).ended.clone()
    }

    /// Whether it has reported a change of its tools since they were listed.
    pub fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Marks the list that is being requested as current.
    pub fn is_listed(&self) {
        self.is_stale.store(false, Ordering::Relaxed);
    }

    /// Makes the next call list the tools again.
    pub fn suspect(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Whether this request is pending.
    pub fn awaits(&self, id: u64) -> bool {
        lock(&self.pending).requests.contains_key(&id)
    }

    /// Fails a request, and ends the server for all if `ends` gives a reason.
    pub fn fail(&self, id: Option<u64>, failure: Failure, ends: Option<&str>) {
        let mut pending = lock(&self.pending);
        let waiter = id.and_then(|id| pending.requests.remove(&id));
        if let Some(why) = ends {
            pending.ended.get_or_insert_with(|| why.to_owned());
            pending.requests.clear();
        }
        drop(pending);
        if let Some(waiter) = waiter {
            let _ = waiter.sender.send(Incoming::Reply(Err(failure)));
        }
    }

    /// Records the end of the server; the first reason counts.
    pub fn end(&self, why: &str) {
        let mut pending = lock(&self.pending);
        pending.ended.get_or_insert_with(|| why.to_owned());
        // Closing the channels wakes the waiting callers.
        pending.requests.clear();
    }

    /// Counts a request without an answer in time.
    pub fn count_late(&self) -> usize {
        let mut pending = lock(&self.pending);
        pending.late += 1;
        pending.late
    }

    /// Handles one message, answering with `answer`; `of` is the request that it belongs to, if
    /// known.
    ///
    /// # Errors
    /// Why the server must be ended.
    pub fn handle(
        &self,
        line: &[u8],
        of: Option<u64>,
        answer: impl Fn(Value) -> bool,
    ) -> Result<(), String> {
        let message = serde_json::from_slice::<Map<String, Value>>(line).unwrap_or_default();
        let id = message.get("id");
        let mut pending = lock(&self.pending);
        if let (Some(id), false) = (id.and_then(Value::as_u64), message.contains_key("method"))
            && let Some(waiter) = pending.requests.remove(&id)
        {
            (pending.unasked, pending.unasked_bytes, pending.late) = (0, 0, 0);
            let _ = waiter.sender.send(Incoming::Reply(reply(message)));
            return Ok(());
        }
        pending.unasked += 1;
        pending.unasked_bytes += line.len();
        if pending.unasked > MAX_UNASKED || pending.unasked_bytes > MAX_UNASKED_BYTES {
            return Err("it sent too many unsolicited messages".to_owned());
        }
        let method = message.get("method").and_then(Value::as_str);
        if let (Some("elicitation/create"), Some(id)) = (method, id)
            && let Some(sender) = pending.whom_to_ask(of)
        {
            let (id, params) = (id.clone(), message.get("params").cloned().unwrap_or_default());
            let _ = sender.send(Incoming::Asked { id, params });
            return Ok(());
        }
        drop(pending);
        match (method, id) {
            (Some("ping"), Some(id)) => {
                answer(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
            }
            // We offer no sampling, no roots and no questions outside a call.
            (Some(_), Some(id)) => {
                let error = json!({ "code": -32601, "message": "not offered" });
                answer(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            (Some("notifications/tools/list_changed"), None) => {
                self.is_stale.store(true, Ordering::Relaxed);
            }
            // Other notifications, and invalid messages.
            _ => {}
        }
        Ok(())
    }
}

fn reply(mut message: Map<String, Value>) -> Reply {
    match message.remove("error") {
        Some(error) => Err(refused(&error)),
        None => Ok(message.remove("result").unwrap_or_default()),
    }
}

/// An error object as a failure.
pub(super) fn refused(error: &Value) -> Failure {
    let message = error["message"].as_str().unwrap_or("no reason given");
    let supported = error["data"]["supported"].as_array().into_iter().flatten().take(20);
    Failure::Refused {
        code: error["code"].as_i64().unwrap_or_default(),
        message: message.chars().take(500).collect(),
        supported: supported.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
    }
}
