//! What the daemon keeps for a guest's session: its token, its tools, and the calls that it makes
//! by MCP.
//!
//! A call waits here until the turn takes it over, and then for its result.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};

use crate::llm::{ToolArgs, ToolCall, ToolResult};
use crate::locks::lock;

/// The most calls that may wait.
const MAX_WAITING: usize = 64;

/// Why a call was not made, for the guest.
pub(super) const NO_TURN: &str =
    "it was not made: tools can be called only while you answer a message of the user";

/// The state of one session.
pub(super) struct ToolSession {
    /// The token of the session.
    pub secret: String,
    /// Distinguishes its calls from those of other sessions in the same conversation.
    tag: String,
    state: Mutex<State>,
    called: Notify,
}

#[derive(Default)]
struct State {
    /// Whether a turn is running, so that calls are accepted.
    is_open: bool,
    tools: Vec<String>,
    number: u64,
    /// The calls that the turn has not taken yet.
    new: VecDeque<ToolCall>,
    waiting: HashMap<String, oneshot::Sender<Result<ToolResult, &'static str>>>,
}

impl ToolSession {
    pub fn new(secret: String) -> Self {
        let tag = blake3::hash(secret.as_bytes()).to_hex()[..8].to_owned();
        Self { secret, tag, state: Mutex::default(), called: Notify::new() }
    }

    /// The names of the tools.
    pub fn tools(&self) -> Vec<String> {
        lock(&self.state).tools.clone()
    }

    /// Replaces the tools.
    pub fn offer(&self, tools: Vec<String>) {
        lock(&self.state).tools = tools;
    }

    /// Accepts calls.
    pub fn open(&self) {
        lock(&self.state).is_open = true;
    }

    /// Ends all calls, and accepts no more.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_open = false;
        state.new.clear();
        for (_, sender) in state.waiting.drain() {
            let _ = sender.send(Err("the turn is over; what it did is in list_changes"));
        }
    }

    /// Makes a call. The receiver gets its result.
    pub fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<oneshot::Receiver<Result<ToolResult, &'static str>>, &'static str> {
        let mut state = lock(&self.state);
        if !state.is_open {
            return Err(NO_TURN);
        }
        if state.waiting.len() >= MAX_WAITING {
            return Err("it was not made: too many calls wait already");
        }
        state.number += 1;
        let id = format!("guest-{}-{}", self.tag, state.number);
        let (sender, result) = oneshot::channel();
        state.waiting.insert(id.clone(), sender);
        let (name, args) = (tool.to_owned(), ToolArgs::Object(arguments));
        state.new.push_back(ToolCall { id, name, args });
        drop(state);
        self.called.notify_one();
        Ok(result)
    }

    /// Waits for calls and takes them all.
    pub async fn take_calls(&self) -> Vec<ToolCall> {
        loop {
            let called = self.called.notified();
            let new: Vec<ToolCall> = lock(&self.state).new.drain(..).collect();
            if !new.is_empty() {
                return new;
            }
            called.await;
        }
    }

    /// Whether one of the results is that of a waiting call.
    pub fn waits_for(&self, results: &[ToolResult]) -> bool {
        let state = lock(&self.state);
        results.iter().any(|result| state.waiting.contains_key(&result.call_id))
    }

    /// Passes the results to the waiting calls.
    pub fn answer(&self, results: Vec<ToolResult>) {
        let mut state = lock(&self.state);
        for result in results {
            if let Some(sender) = state.waiting.remove(&result.call_id) {
                let _ = sender.send(Ok(result));
            }
        }
    }
}
