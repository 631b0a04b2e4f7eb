//! An MCP client for one server, over pipes or HTTP. Its only declared capability is elicitation.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::elicitation::Elicitation;
use super::fault::Fault;
use super::offer::Described;
use super::param_headers;
use super::process::{LineRead, MAX_LINE, Process};
use super::remote::{Remote, Target};
use super::replies::{Failure, Incoming, Reply, Shared};

/// How often a cancellation is checked for while waiting for an answer.
const POLL: Duration = Duration::from_millis(20);

/// A server is ended after this many consecutive timeouts.
const MAX_LATE: usize = 3;

/// The most pages of a list of tools.
const MAX_PAGES: usize = 16;

/// The most tools that are read, as many as a person can review; fewer are offered.
const MAX_LISTED: usize = 256;

/// Versions that begin with `initialize`, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version in which each request has its version.
const MODERN: &str = "2026-07-28";

/// How often a call is repeated with answers to the server's questions.
const MAX_ROUNDS: usize = 8;

/// The result type of a modern server that asks a question first.
const INPUT_REQUIRED: &str = "input_required";

/// The error for an unsupported protocol version.
const UNKNOWN_VERSION: i64 = -32_022;

/// The time limit of a request, and whether its caller still waits.
pub(super) struct WaitLimits<'a> {
    pub seconds: u64,
    pub withdrawn: &'a dyn Fn() -> bool,
}

/// A server that was started or reached, and has answered.
#[derive(Debug)]
pub(super) struct Connection {
    server: String,
    transport: Transport,
    shared: Arc<Shared>,
    next: AtomicU64,
    is_modern: AtomicBool,
}

/// The transport to a server.
#[derive(Debug)]
enum Transport {
    /// Over the pipes of a child process.
    Process(Arc<Process>),
    /// Over HTTP.
    Remote(Arc<Remote>),
}

impl Transport {
    /// Sends one message; `false` if the transport cannot accept it.
    fn send(&self, message: &Value, headers: Vec<(String, String)>) -> bool {
        match self {
            Self::Process(process) => process.send(message),
            Self::Remote(remote) => remote.send(message, headers),
        }
    }

    fn end(&self) {
        match self {
            Self::Process(process) => process.end(),
            Self::Remote(remote) => remote.end(),
        }
    }
}

impl Connection {
    /// Starts the command with this memory limit, and initialises the connection.
    ///
    /// # Errors
    /// The server cannot be started, or does not answer like an MCP server.
    pub fn open(
        server: &str,
        (command, memory_mb): (Command, u32),
        mark: String,
        log: &std::path::Path,
        limits: &WaitLimits<'_>,
    ) -> Result<Self, Fault> {
        let started = Process::start(command, mark, log);
        let (process, output) =
            started.map_err(|source| Fault::Start { server: server.to_owned(), source })?;
        let (process, shared) = (Arc::new(process), Arc::new(Shared::default()));
        let (weak, replies) = (Arc::downgrade(&process), Arc::clone(&shared));
        let end = {
            let (process, shared) = (weak.clone(), Arc::clone(&shared));
            move |why: &str| {
                shared.end(why);
                if let Some(process) = process.upgrade() {
                    process.end();
                }
            }
        };
        let end_large = end.clone();
        process.watch(u64::from(memory_mb) << 20, move || {
            end_large(&format!("it used more than {memory_mb} MB of memory, its `memory_mb`"));
        });
        output.follow(
            &process,
            move |received| {
                let Some(process) = weak.upgrade() else { return false };
                let ended = match received {
                    LineRead::Line(line) => {
                        replies.handle(line, None, |answer| process.send(&answer))
                    }
                    LineRead::TooLong => {
                        Err(format!("it wrote a line of more than {MAX_LINE} bytes"))
                    }
                    LineRead::Closed => Err("it closed its output".to_owned()),
                };
                if let Err(why) = &ended {
                    replies.end(why);
                    process.end();
                }
                ended.is_ok()
            },
            move || end("it exited"),
        );
        let connection = Self::new(server, Transport::Process(process), shared);
        connection.greet(limits)?;
        Ok(connection)
    }

    /// Initialises the connection to the server at an address.
    ///
    /// # Errors
    /// The server cannot be reached, or does not answer like an MCP server.
    pub fn reach(server: &str, target: Target, limits: &WaitLimits<'_>) -> Result<Self, Fault> {
        let shared = Arc::<Shared>::default();
        let remote = Remote::new(target, Arc::clone(&shared));
        let remote = remote.map_err(|why| {
            let server = server.to_owned();
            Fault::Unreachable { server, why }
        })?;
        let connection = Self::new(server, Transport::Remote(remote), shared);
        connection.greet_remote(limits)?;
        Ok(connection)
    }

    fn new(server: &str, transport: Transport, shared: Arc<Shared>) -> Self {
        let (next, is_modern) = (AtomicU64::new(1), AtomicBool::new(false));
        Self { server: server.to_owned(), transport, shared, next, is_modern }
    }

    /// Legacy servers and servers of both eras support `initialize`; modern ones reject it.
    fn greet(&self, limits: &WaitLimits<'_>) -> Result<(), Fault> {
        match self.initialize(limits) {
            Err(Fault::Refused { .. }) => {
                self.is_modern.store(true, Ordering::Relaxed);
                self.discover(limits)?
                    .map(|_| ())
                    .ok_or_else(|| self.protocol(format!("it does not know version {MODERN}")))
            }
            greeted => greeted.map(|_| ()),
        }
    }

    /// Over HTTP the modern version is tried first: legacy servers answer it with an error, while
    /// modern ones may answer a legacy request as if it belonged to a session.
    fn greet_remote(&self, limits: &WaitLimits<'_>) -> Result<(), Fault> {
        self.set_modern(true);
        match self.discover(limits) {
            Ok(Some(answer)) => {
                if let (true, Transport::Remote(remote)) =
                    (has_news_of_tools(&answer), &self.transport)
                {
                    let id = self.next.fetch_add(1, Ordering::Relaxed);
                    let params =
                        json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
                    remote.listen(Some(request(id, "subscriptions/listen", &params)), true);
                }
                return Ok(());
            }
            // It supports only legacy versions, or does not know the method.
            Ok(None) | Err(Fault::Refused { .. } | Fault::Protocol { .. }) => {}
            Err(Fault::Http { status, .. }) if is_no_answer_to_newer(status) => {}
            Err(fault) => return Err(fault),
        }
        self.set_modern(false);
        let answer = self.initialize(limits)?;
        if let Transport::Remote(remote) = &self.transport {
            // It may also carry questions to the user.
            remote.listen(None, has_news_of_tools(&answer));
        }
        Ok(())
    }

    fn set_modern(&self, is_modern: bool) {
        self.is_modern.store(is_modern, Ordering::Relaxed);
        if let Transport::Remote(remote) = &self.transport {
            remote.speak(is_modern.then_some(MODERN));
        }
    }

    fn initialize(&self, limits: &WaitLimits<'_>) -> Result<Value, Fault> {
        let hello = json!({
            "protocolVersion": LEGACY[0],
            "capabilities": capabilities(),
            "clientInfo": { "name": "vault-steward", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.request("initialize", hello, limits)?;
        let version = answer["protocolVersion"].as_str().unwrap_or_default();
        if !LEGACY.contains(&version) {
            let version: String = version.chars().take(40).collect();
            return Err(self.protocol(format!("its version is {version:?}")));
        }
        if let Transport::Remote(remote) = &self.transport {
            remote.speak(Some(version));
        }
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.transport.send(&notification, Vec::new());
        Ok(answer)
    }

    /// A modern server's description; `None` if it supports only other versions.
    fn discover(&self, limits: &WaitLimits<'_>) -> Result<Option<Value>, Fault> {
        let ask = || self.request_with("server/discover", json!({}), Vec::new(), limits, None);
        let answer = match ask() {
            // Some reject the first request and name this version.
            Ok(Err(Failure::Refused { code: UNKNOWN_VERSION, supported, .. }))
                if supported.iter().any(|one| one == MODERN) =>
            {
                ask()
            }
            answer => answer,
        };
        let answer = self.final_result("server/discover", answer?)?;
        let versions = answer["supportedVersions"].as_array();
        let is_known = versions.is_some_and(|known| known.iter().any(|one| one == MODERN));
        Ok(is_known.then_some(answer))
    }

    /// All its tools, as it describes them.
    pub fn tools(&self, limits: &WaitLimits<'_>) -> Result<Vec<Value>, Fault> {
        self.shared.is_listed();
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut answer = self.request("tools/list", params, limits)?;
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

    /// Calls a tool. The server may ask the user questions before it answers.
    pub fn call(
        &self,
        tool: &Described,
        arguments: &Value,
        limits: &WaitLimits<'_>,
        asking: &Elicitation<'_>,
    ) -> Result<Value, Fault> {
        let headers = match &self.transport {
            Transport::Remote(_) => param_headers::headers(&tool.tool["inputSchema"], arguments),
            Transport::Process(_) => Vec::new(),
        };
        let first = json!({ "name": tool.name, "arguments": arguments });
        let mut params = first.clone();
        for _ in 0..MAX_ROUNDS {
            let headers = headers.clone();
            let answer = self.request_with("tools/call", params, headers, limits, Some(asking))?;
            let mut result = self.result("tools/call", answer)?;
            if result["resultType"] != INPUT_REQUIRED {
                asking.note_in(&mut result);
                return self.complete(result);
            }
            params = first.clone();
            params["inputResponses"] = self.responses(&result["inputRequests"], asking)?;
            if let Some(state) = result.get_mut("requestState") {
                params["requestState"] = state.take();
            }
        }
        Err(self.protocol("it asks again and again".to_owned()))
    }

    /// The answers to a modern server's questions.
    fn responses(&self, requests: &Value, asking: &Elicitation<'_>) -> Result<Value, Fault> {
        let requests = requests.as_object().into_iter().flatten();
        let responses = requests.map(|(name, request)| match request["method"].as_str() {
            Some("elicitation/create") => {
                Ok((name.clone(), asking.answer(&request["params"], &|| false)))
            }
            _ => Err(self.protocol("it asks for something that was not offered".to_owned())),
        });
        responses.collect()
    }

    /// Whether it has reported a change of its tools since they were listed.
    pub fn is_stale(&self) -> bool {
        self.shared.is_stale()
    }

    /// Why it ended, if it did.
    pub fn ended(&self) -> Option<String> {
        self.shared.ended()
    }

    /// Asks it to end.
    fn close(&self) {
        self.shared.end("it is no longer needed");
        match &self.transport {
            Transport::Process(process) => process.close(),
            Transport::Remote(remote) => remote.end(),
        }
    }

    /// Waits for it to exit, then kills it.
    pub fn end(&self, timeout: Duration) {
        self.close();
        match &self.transport {
            Transport::Process(process) => {
                process.wait(timeout);
                process.end();
            }
            Transport::Remote(remote) => remote.wait(timeout),
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The server refuses, times out or exits; or the caller cancels.
    fn request(
        &self,
        method: &str,
        params: Value,
        limits: &WaitLimits<'_>,
    ) -> Result<Value, Fault> {
        let answer = self.request_with(method, params, Vec::new(), limits, None)?;
        self.final_result(method, answer)
    }

    /// The same, with these headers over HTTP and with questions before the answer. Returns the raw
    /// answer.
    fn request_with(
        &self,
        method: &str,
        mut params: Value,
        headers: Vec<(String, String)>,
        limits: &WaitLimits<'_>,
        asking: Option<&Elicitation<'_>>,
    ) -> Result<Reply, Fault> {
        let ended = |why| Fault::Ended { server: self.server.clone(), why };
        let late = || Fault::Late { server: self.server.clone(), seconds: limits.seconds };
        if self.is_modern.load(Ordering::Relaxed)
            && let Some(params) = params.as_object_mut()
        {
            params.insert("_meta".to_owned(), meta());
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let receiver = self.shared.expect(id, asking.is_some()).map_err(ended)?;
        let mut until = Instant::now() + Duration::from_secs(limits.seconds);
        if !self.transport.send(&request(id, method, &params), headers) {
            self.shared.forget(id);
            return Err(self.ended().map_or_else(late, ended));
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(POLL.min(left)) {
                Ok(Incoming::Reply(reply)) => return Ok(reply),
                Ok(Incoming::Asked { id: question, params }) => {
                    let begun = Instant::now();
                    let cancelled = || json!({ "action": "cancel" });
                    let is_over = || !self.shared.awaits(id);
                    let result =
                        asking.map_or_else(cancelled, |asking| asking.answer(&params, &is_over));
                    let answer = json!({ "jsonrpc": "2.0", "id": question, "result": result });
                    self.transport.send(&answer, Vec::new());
                    // The time that the person took does not count.
                    until += begun.elapsed();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let why = self.ended().unwrap_or_else(|| "it ended".to_owned());
                    return Err(ended(why));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_withdrawn = (limits.withdrawn)();
            if is_withdrawn || left.is_zero() {
                self.shared.forget(id);
                self.cancel(id);
                if is_withdrawn {
                    return Err(Fault::Withdrawn);
                }
                // A server that has stopped answering does not recover.
                if self.shared.count_late() >= MAX_LATE {
                    self.shared.end("it did not answer several calls in time");
                    self.transport.end();
                }
                return Err(late());
            }
        }
    }

    /// Tells the server that the request was cancelled.
    fn cancel(&self, id: u64) {
        if let Transport::Remote(remote) = &self.transport {
            // In the modern version this alone tells the server.
            remote.forget(id);
            if self.is_modern.load(Ordering::Relaxed) {
                return;
            }
        }
        let cancelled = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": "no longer awaited" },
        });
        self.transport.send(&cancelled, Vec::new());
    }

    /// The result of a reply to a request that allows no questions.
    fn final_result(&self, method: &str, reply: Reply) -> Result<Value, Fault> {
        self.result(method, reply).and_then(|result| self.complete(result))
    }

    fn result(&self, method: &str, reply: Reply) -> Result<Value, Fault> {
        let server = || self.server.clone();
        match reply {
            Ok(result) => Ok(result),
            Err(Failure::Refused { code, message, .. }) => {
                let (server, method) = (server(), method.to_owned());
                Err(Fault::Refused { server, method, code, message })
            }
            Err(Failure::Http { status, why }) => {
                Err(Fault::Http { server: server(), status, why })
            }
            Err(Failure::SignIn { status, why, challenge }) => {
                Err(Fault::SignIn { server: server(), status, why, challenge })
            }
            Err(Failure::Unreachable(why)) => Err(Fault::Unreachable { server: server(), why }),
            Err(Failure::Forgotten) => Err(Fault::Forgotten(server())),
        }
    }

    fn complete(&self, result: Value) -> Result<Value, Fault> {
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
        self.transport.end();
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Whether it sends notifications when its tools change.
fn has_news_of_tools(answer: &Value) -> bool {
    answer["capabilities"]["tools"]["listChanged"] == true
}

/// Whether a legacy server may answer a modern request with this status.
fn is_no_answer_to_newer(status: u16) -> bool {
    // These statuses do not depend on the version.
    !matches!(status, 300..=399 | 401 | 403 | 407 | 429)
}

/// Our client capabilities.
fn capabilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

/// The `_meta` of a modern request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
        "io.modelcontextprotocol/clientInfo":
            { "name": "vault-steward", "version": env!("CARGO_PKG_VERSION") },
    })
}
