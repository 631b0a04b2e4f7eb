//! MCP with one running server, as its client. It declares no capability: a server can ask it for nothing.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::process::{Heard, MAX_LINE, Process};

/// How often a withdrawal is noticed while an answer is awaited.
const POLL: Duration = Duration::from_millis(20);

/// Messages between two answers that nobody asked for; a server that sends more is ended.
const MAX_UNASKED: usize = 1_000;

/// The same in bytes.
const MAX_UNASKED_BYTES: usize = 16 << 20;

/// Calls in a row without an answer in time, after which a server is ended.
const MAX_LATE: usize = 3;

/// The most pages of a list of tools.
const MAX_PAGES: usize = 16;

/// The most tools that are read, as many as a person can look at; fewer of them are offered.
const MAX_LISTED: usize = 256;

/// Versions that begin with `initialize`, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version in which each request has its version.
const MODERN: &str = "2026-07-28";

type Reply = Result<Value, (i64, String)>;

/// The time limit of a request, and whether its caller still waits.
pub(super) struct Patience<'a> {
    pub seconds: u64,
    pub withdrawn: &'a dyn Fn() -> bool,
}

/// A server that was started and has answered.
#[derive(Debug)]
pub(super) struct Connection {
    server: String,
    process: Arc<Process>,
    shared: Arc<Shared>,
    next: AtomicU64,
    is_modern: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Whether it said that its tools have changed.
    is_stale: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    replies: HashMap<u64, Sender<Reply>>,
    /// Why it ended.
    ended: Option<String>,
    unasked: usize,
    unasked_bytes: usize,
    /// Requests without an answer in time, since the last answer.
    late: usize,
}

impl Connection {
    /// Starts the command and greets the server.
    ///
    /// # Errors
    /// It cannot be started, or does not answer as a server does.
    pub fn open(
        server: &str,
        command: Command,
        mark: String,
        log: &std::path::Path,
        patience: &Patience<'_>,
    ) -> Result<Self, Fault> {
        let started = Process::start(command, mark, log);
        let (process, output) =
            started.map_err(|source| Fault::Start { server: server.to_owned(), source })?;
        let (process, shared) = (Arc::new(process), Arc::new(Shared::default()));
        let (ends, hears) = (Arc::downgrade(&process), Arc::clone(&shared));
        let (left, told) = (Arc::downgrade(&process), Arc::clone(&shared));
        output.follow(
            &process,
            move |heard| {
                let Some(process) = ends.upgrade() else { return false };
                let ended = match heard {
                    Heard::Line(line) => hears.hear(line, &process),
                    Heard::TooLong => Err(format!("it wrote a line of more than {MAX_LINE} bytes")),
                    Heard::Closed => Err("it closed its output".to_owned()),
                };
                if let Err(why) = &ended {
                    hears.end(why);
                    process.end();
                }
                ended.is_ok()
            },
            move || {
                told.end("it exited");
                if let Some(process) = left.upgrade() {
                    process.end();
                }
            },
        );
        let connection = Self {
            server: server.to_owned(),
            process,
            shared,
            next: AtomicU64::new(1),
            is_modern: AtomicBool::new(false),
        };
        connection.greet(patience)?;
        Ok(connection)
    }

    /// Servers of both eras and older ones know `initialize`; the others say that they do not.
    fn greet(&self, patience: &Patience<'_>) -> Result<(), Fault> {
        let hello = json!({
            "protocolVersion": LEGACY[0],
            "capabilities": {},
            "clientInfo": { "name": "vault-steward", "version": env!("CARGO_PKG_VERSION") },
        });
        match self.request("initialize", hello, patience) {
            Ok(answer) => {
                let version = answer["protocolVersion"].as_str().unwrap_or_default();
                if !LEGACY.contains(&version) {
                    let version: String = version.chars().take(40).collect();
                    return Err(self.protocol(format!("its version is {version:?}")));
                }
                let said = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                self.process.send(&said);
                Ok(())
            }
            Err(Fault::Refused { .. }) => {
                self.is_modern.store(true, Ordering::Relaxed);
                let answer = self.request("server/discover", json!({}), patience)?;
                let versions = answer["supportedVersions"].as_array();
                match versions.is_some_and(|known| known.iter().any(|one| one == MODERN)) {
                    true => Ok(()),
                    false => Err(self.protocol(format!("it does not know version {MODERN}"))),
                }
            }
            Err(fault) => Err(fault),
        }
    }

    /// All its tools, as it describes them.
    ///
    /// # Errors
    /// As [`Self::request`]; too many pages.
    pub fn tools(&self, patience: &Patience<'_>) -> Result<Vec<Value>, Fault> {
        self.shared.is_stale.store(false, Ordering::Relaxed);
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut answer = self.request("tools/list", params, patience)?;
            if let Some(Value::Array(page)) = answer.get_mut("tools").map(Value::take) {
                tools.extend(page);
            }
            cursor = answer["nextCursor"].as_str().map(str::to_owned);
            if tools.len() > MAX_LISTED {
                return Err(self.protocol(format!("it lists more than {MAX_LISTED} tools")));
            }
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(self.protocol(format!("its list of tools has more than {MAX_PAGES} pages")))
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub fn call(
        &self,
        tool: &str,
        arguments: &Value,
        patience: &Patience<'_>,
    ) -> Result<Value, Fault> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }), patience)
    }

    /// Whether it said that its tools have changed since they were listed.
    pub fn is_stale(&self) -> bool {
        self.shared.is_stale.load(Ordering::Relaxed)
    }

    /// Why it ended, if it did.
    pub fn ended(&self) -> Option<String> {
        self.shared.waiting().ended.clone()
    }

    /// Asks it to end.
    pub fn close(&self) {
        self.shared.end("it is no longer needed");
        self.process.close();
    }

    /// Gives it some time to end, then kills it.
    pub fn end(&self, patience: Duration) {
        self.close();
        self.process.wait(patience);
        self.process.end();
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// It refuses, is late or ends; the caller withdraws.
    fn request(
        &self,
        method: &str,
        mut params: Value,
        patience: &Patience<'_>,
    ) -> Result<Value, Fault> {
        let ended = |why| Fault::Ended { server: self.server.clone(), why };
        let late = || Fault::Late { server: self.server.clone(), seconds: patience.seconds };
        if self.is_modern.load(Ordering::Relaxed)
            && let Some(params) = params.as_object_mut()
        {
            params.insert("_meta".to_owned(), meta());
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        {
            let mut waiting = self.shared.waiting();
            if let Some(why) = &waiting.ended {
                return Err(ended(why.clone()));
            }
            waiting.replies.insert(id, sender);
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let until = Instant::now() + Duration::from_secs(patience.seconds);
        if !self.process.send(&message) {
            self.shared.waiting().replies.remove(&id);
            return Err(self.ended().map_or_else(late, ended));
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(POLL.min(left)) {
                Ok(Ok(result)) => return self.whole(result),
                Ok(Err((code, message))) => {
                    let (server, method) = (self.server.clone(), method.to_owned());
                    return Err(Fault::Refused { server, method, code, message });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let why = self.ended().unwrap_or_else(|| "it ended".to_owned());
                    return Err(ended(why));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_withdrawn = (patience.withdrawn)();
            if is_withdrawn || left.is_zero() {
                self.shared.waiting().replies.remove(&id);
                self.process.send(&json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": { "requestId": id, "reason": "no longer awaited" },
                }));
                if is_withdrawn {
                    return Err(Fault::Withdrawn);
                }
                // One that answers nobody any more will not begin to.
                if self.shared.count_late() >= MAX_LATE {
                    self.shared.end("it did not answer several calls in time");
                    self.process.end();
                }
                return Err(late());
            }
        }
    }

    /// A result that is none yet asks for something that was not offered.
    fn whole(&self, result: Value) -> Result<Value, Fault> {
        match result["resultType"].as_str() {
            None | Some("complete") => Ok(result),
            Some(_) => Err(self.protocol("it asks for something before it answers".to_owned())),
        }
    }

    fn protocol(&self, why: String) -> Fault {
        Fault::Protocol { server: self.server.clone(), why }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.process.end();
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the end of the server; the first reason counts.
    fn end(&self, why: &str) {
        let mut waiting = self.waiting();
        waiting.ended.get_or_insert_with(|| why.to_owned());
        // Whoever waits is told by the end of their channel.
        waiting.replies.clear();
    }

    /// Counts a request without an answer in time.
    fn count_late(&self) -> usize {
        let mut waiting = self.waiting();
        waiting.late += 1;
        waiting.late
    }

    /// Takes one line.
    ///
    /// # Errors
    /// Why the server has to be ended.
    fn hear(&self, line: &[u8], process: &Process) -> Result<(), String> {
        let message = serde_json::from_slice::<Map<String, Value>>(line).unwrap_or_default();
        let id = message.get("id");
        let mut waiting = self.waiting();
        if let (Some(id), false) = (id.and_then(Value::as_u64), message.contains_key("method"))
            && let Some(sender) = waiting.replies.remove(&id)
        {
            (waiting.unasked, waiting.unasked_bytes, waiting.late) = (0, 0, 0);
            let _ = sender.send(reply(message));
            return Ok(());
        }
        waiting.unasked += 1;
        waiting.unasked_bytes += line.len();
        if waiting.unasked > MAX_UNASKED || waiting.unasked_bytes > MAX_UNASKED_BYTES {
            return Err("it sent too much that nobody asked for".to_owned());
        }
        drop(waiting);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("ping"), Some(id)) => {
                process.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
            }
            // Sampling, roots and elicitation were not offered.
            (Some(_), Some(id)) => {
                let error = json!({ "code": -32601, "message": "not offered" });
                process.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            (Some("notifications/tools/list_changed"), None) => {
                self.is_stale.store(true, Ordering::Relaxed);
            }
            // Other notifications, and what is no message.
            _ => {}
        }
        Ok(())
    }
}

fn reply(mut message: Map<String, Value>) -> Reply {
    match message.remove("error") {
        Some(error) => {
            let text = error["message"].as_str().unwrap_or("no reason given");
            Err((error["code"].as_i64().unwrap_or_default(), text.chars().take(500).collect()))
        }
        None => Ok(message.remove("result").unwrap_or_default()),
    }
}

/// The `_meta` of a modern request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo":
            { "name": "vault-steward", "version": env!("CARGO_PKG_VERSION") },
    })
}
