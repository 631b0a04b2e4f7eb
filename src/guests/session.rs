//! A running session of a guest: its start, its messages, its requests, and its end.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};

use super::acp::{self, AgentMessage, AgentOutput, Permission, ToolCalls};
use super::ask::{Ask, GuestQuestion};
use super::history::KnownMessages;
use super::process::{Line, Process};
use super::sandbox::GuestSandbox;
use super::settings::Guest;
use super::stored_sessions::StoredSessions;
use super::tool_session::ToolSession;
use crate::llm::{ErrorKind, LlmError, Message, Stop, Usage};
use crate::locks::lock;

/// How long a guest may take to start and to begin a session. Some of them fetch a list of models first.
const START: Duration = Duration::from_secs(60);

/// How long a guest may take to end a cancelled prompt before it is killed.
const CANCEL: Duration = Duration::from_secs(10);

/// How long to wait for the standard error of a guest that has ended.
const STDERR_DRAIN: Duration = Duration::from_millis(100);

/// The most bytes that a guest may send during one prompt, and without one.
const MAX_BYTES: usize = 32 << 20;

/// The most bytes of text and thoughts of one prompt.
const MAX_SHOWN: usize = 1 << 20;

/// The most lines that are not messages: some programs print other text to standard output.
const MAX_MALFORMED: u32 = 20;

/// The most permissions that are asked for at the same time.
const MAX_ASKED: usize = 8;

/// The variable with the port and the token for `steward mcp`.
pub const VARIABLE: &str = "STEWARD_GUEST";

/// What happens during a prompt.
#[derive(Debug)]
pub(super) enum PromptEvent {
    Text {
        text: String,
        /// The id of the message that it belongs to.
        message: Option<String>,
    },
    Thought(String),
    Over {
        stop: Stop,
        usage: Option<Usage>,
    },
    Failed(LlmError),
}

pub(super) struct GuestSession {
    pub guest: Guest,
    pub conversation: String,
    pub tool_session: Arc<ToolSession>,
    process: Process,
    /// The agent's id of the session.
    session: String,
    /// Where it is stored, if the guest can load it.
    stored: Option<Arc<StoredSessions>>,
    pub has_images: bool,
    event_sender: mpsc::UnboundedSender<PromptEvent>,
    pub prompt_events: tokio::sync::Mutex<mpsc::UnboundedReceiver<PromptEvent>>,
    state: Mutex<State>,
    /// Notified when a prompt has ended.
    settled: Notify,
}

#[derive(Debug)]
struct State {
    /// The id of the last request.
    number: u64,
    /// The request in flight.
    prompt: Option<u64>,
    is_cancelled: bool,
    /// Whether the last prompt was refused.
    has_failed: bool,
    is_dead: bool,
    bytes: usize,
    shown: usize,
    malformed: u32,
    /// The messages that it has received; `None` for a new session.
    known_messages: Option<KnownMessages>,
    /// Its tool calls of this prompt.
    calls: ToolCalls,
    /// When its last turn ended.
    idle: Instant,
    /// Permission requests that wait for a person.
    pending_permissions: HashSet<String>,
}

pub(super) struct NewSession<'a> {
    pub guest: &'a Guest,
    pub conversation: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    pub sandbox: &'a GuestSandbox,
    pub stored: Arc<StoredSessions>,
    /// Already registered with the server, since the guest's MCP client calls before the session
    /// exists.
    pub tool_session: Arc<ToolSession>,
    pub asks: Arc<dyn Ask>,
}

/// A guest's error as a model's error.
pub(super) fn error(guest: &Guest, kind: ErrorKind, text: impl AsRef<str>) -> LlmError {
    LlmError { provider: guest.name.clone(), ..LlmError::new(kind, text) }
}

impl GuestSession {
    /// Starts a guest and a session, and handles its messages until the guest ends.
    pub async fn begin(new_session: NewSession<'_>) -> Result<Arc<Self>, LlmError> {
        let NewSession { guest, conversation, messages, sandbox, stored, tool_session, asks } =
            new_session;
        let fault = |kind, text: String| error(guest, kind, text);
        let port = sandbox.port.get().copied().unwrap_or_default();
        let way = format!("{port} {}", tool_session.secret);
        let (inherited, given) = if guest.passes_env {
            (Some((VARIABLE, way.as_str())), None)
        } else {
            (None, Some((VARIABLE, way.as_str())))
        };
        let (process, mut lines) = Process::start(guest, sandbox, inherited).map_err(|error| {
            fault(ErrorKind::InvalidRequest, format!("it cannot be started: {error}"))
        })?;
        let server = acp::server(&sandbox.steward.to_string_lossy(), given);
        let began = async {
            let known = ask(&process, &mut lines, 1, "initialize", acp::introduction()).await?;
            if known["protocolVersion"] != acp::VERSION {
                return Err(format!("it speaks version {} of ACP", known["protocolVersion"]));
            }
            let cwd = sandbox.work(&guest.name);
            let cwd = cwd.to_string_lossy();
            let can_load = known["agentCapabilities"]["loadSession"] == true;
            let has_images = known["agentCapabilities"]["promptCapabilities"]["image"] == true;
            let before = stored.find(conversation, guest);
            let before = before.filter(|before| can_load && before.heard.is_start_of(messages));
            let mut loaded = None;
            if let Some(before) = before {
                let params = acp::loaded(&before.id, &cwd, server.clone(), &guest.meta);
                // The replayed messages are already shown.
                match ask(&process, &mut lines, 2, "session/load", params).await {
                    Ok(it) => loaded = Some((before.id, it, Some(before.heard))),
                    Err(why) => tracing::info!(guest = guest.name, why, "a session is gone"),
                }
            }
            let (session, response, known_messages) = match loaded {
                Some(loaded) => loaded,
                None => {
                    let params = acp::session(&cwd, server, &guest.meta);
                    let new = ask(&process, &mut lines, 3, "session/new", params).await?;
                    let session = new["sessionId"].as_str().filter(|id| !id.is_empty());
                    (session.ok_or("it began no session")?.to_owned(), new, None)
                }
            };
            if let Some(mode) = &guest.session_mode {
                acp::has_mode(&response, mode)?;
                let params = acp::mode(&session, mode);
                ask(&process, &mut lines, 4, "session/set_mode", params).await?;
            }
            Ok::<_, String>((session, known_messages, can_load, has_images))
        };
        let began = timeout(START, began).await;
        let (session, known_messages, can_load, has_images) = match began {
            Ok(Ok(began)) => began,
            Ok(Err(why)) => {
                let error_line = process.error_line();
                let why = if error_line.is_empty() {
                    why
                } else {
                    format!("{why}; it said: {error_line}")
                };
                let why = process.fault().unwrap_or(why);
                return Err(fault(ErrorKind::InvalidRequest, why));
            }
            Err(_) => {
                let why = format!("it began no session in {} seconds", START.as_secs());
                return Err(fault(ErrorKind::Timeout, why));
            }
        };
        let (event_sender, prompt_events) = mpsc::unbounded_channel();
        let live = Arc::new(Self {
            guest: guest.clone(),
            conversation: conversation.to_owned(),
            tool_session,
            process,
            session,
            stored: can_load.then_some(stored),
            has_images,
            event_sender,
            prompt_events: tokio::sync::Mutex::new(prompt_events),
            state: Mutex::new(State {
                number: 4,
                prompt: None,
                is_cancelled: false,
                has_failed: false,
                is_dead: false,
                bytes: 0,
                shown: 0,
                malformed: 0,
                known_messages,
                calls: ToolCalls::default(),
                idle: Instant::now(),
                pending_permissions: HashSet::new(),
            }),
            settled: Notify::new(),
        });
        tokio::spawn(follow(Arc::clone(&live), lines, asks));
        Ok(live)
    }

    /// Whether it has ended.
    pub fn is_dead(&self) -> bool {
        lock(&self.state).is_dead
    }

    /// Since when no prompt is in flight.
    pub fn idle_since(&self) -> Option<Instant> {
        let state = lock(&self.state);
        state.prompt.is_none().then_some(state.idle)
    }

    /// Why it ended during a turn.
    pub async fn last_fault(&self) -> LlmError {
        let mut prompt_events = self.prompt_events.lock().await;
        while let Ok(event) = prompt_events.try_recv() {
            if let PromptEvent::Failed(fault) = event {
                return fault;
            }
        }
        self.fault(ErrorKind::Truncated, "it has ended")
    }

    /// The part of the conversation that it has received; `None` for a new session.
    pub fn known_messages(&self) -> Option<KnownMessages> {
        lock(&self.state).known_messages.clone()
    }

    pub fn record_delivered(&self, known: KnownMessages) {
        lock(&self.state).known_messages = Some(known);
    }

    /// Stores the session for a later run.
    fn store(&self) {
        let Some(stored) = &self.stored else { return };
        let (known_messages, has_failed) = {
            let state = lock(&self.state);
            (state.known_messages.clone(), state.has_failed)
        };
        match known_messages.filter(|_| !has_failed) {
            Some(known_messages) => {
                stored.store(&self.conversation, &self.guest, &self.session, known_messages)
            }
            None => stored.forget(&self.conversation),
        }
    }

    /// Waits for the end of a cancelled prompt.
    pub async fn settle(&self) {
        loop {
            let settled = self.settled.notified();
            if lock(&self.state).prompt.is_none() {
                return;
            }
            settled.await;
        }
    }

    /// Sends a prompt; returns its number.
    pub fn prompt(&self, blocks: Vec<Value>) -> Result<u64, LlmError> {
        let mut state = lock(&self.state);
        if state.is_dead {
            return Err(error(&self.guest, ErrorKind::Truncated, "it has ended"));
        }
        state.number += 1;
        let number = state.number;
        (state.prompt, state.is_cancelled, state.has_failed) = (Some(number), false, false);
        (state.bytes, state.shown) = (0, 0);
        state.calls.forget();
        drop(state);
        self.tool_session.open();
        let params = json!({ "sessionId": self.session, "prompt": blocks });
        if self.process.send(&acp::request(number, "session/prompt", params)) {
            Ok(number)
        } else {
            let fault = error(&self.guest, ErrorKind::Truncated, "it reads no messages");
            self.die(fault.clone());
            Err(fault)
        }
    }

    /// Ends the turn that sent the prompt with this number: cancels the prompt if it is in flight,
    /// and kills the guest if it continues regardless. A later turn's prompt is left alone.
    pub fn end_turn(self: &Arc<Self>, number: u64) {
        {
            let mut state = lock(&self.state);
            if state.number != number {
                return;
            }
            self.tool_session.close();
            state.idle = Instant::now();
            if state.prompt == Some(number) {
                state.is_cancelled = true;
                state.pending_permissions.clear();
            }
        }
        self.store();
        if lock(&self.state).prompt != Some(number) {
            return;
        }
        let cancel = json!({
            "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": self.session },
        });
        self.process.send(&cancel);
        let live = Arc::clone(self);
        let end_if_it_goes_on = async move {
            tokio::time::sleep(CANCEL).await;
            if lock(&live.state).prompt == Some(number) {
                let why = "it went on after it was cancelled, and was ended";
                let end = move || live.die(error(&live.guest, ErrorKind::Truncated, why));
                let _ = tokio::task::spawn_blocking(end).await;
            }
        };
        // When the daemon ends, the runtime is gone and all guests are ended.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(end_if_it_goes_on);
        }
    }

    /// Ends the guest; a prompt in flight fails with `fault`.
    pub fn die(&self, fault: LlmError) {
        self.tool_session.close();
        let (was_prompted, is_new) = {
            let mut state = lock(&self.state);
            let is_new = !std::mem::replace(&mut state.is_dead, true);
            (state.prompt.take().is_some() && !state.is_cancelled, is_new)
        };
        if is_new {
            tracing::info!(guest = self.guest.name, %fault, "a guest has ended");
        }
        if was_prompted {
            let _ = self.event_sender.send(PromptEvent::Failed(fault));
        }
        self.settled.notify_waiters();
        self.process.end();
    }

    /// Counts a line; an error if the limit is exceeded.
    fn count(&self, bytes: usize) -> Result<(), LlmError> {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_add(bytes);
        if state.bytes <= MAX_BYTES {
            Ok(())
        } else {
            Err(self.fault(ErrorKind::Truncated, "it sent too much and was ended"))
        }
    }

    fn fault(&self, kind: ErrorKind, text: &str) -> LlmError {
        error(&self.guest, kind, text)
    }

    fn show(&self, update: &Value) -> Result<(), LlmError> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if matches!(kind, "tool_call" | "tool_call_update") {
            lock(&self.state).calls.add(update);
        }
        let Some(shown) = acp::shown(update, &self.tool_session.tools()) else { return Ok(()) };
        let (AgentOutput::Text { text, .. } | AgentOutput::Thought(text)) = &shown;
        {
            let mut state = lock(&self.state);
            if state.prompt.is_none() || state.is_cancelled {
                return Ok(());
            }
            state.shown = state.shown.saturating_add(text.len());
            if state.shown > MAX_SHOWN {
                drop(state);
                return Err(self.fault(ErrorKind::Truncated, "it wrote too much and was ended"));
            }
        }
        let _ = self.event_sender.send(match shown {
            AgentOutput::Text { text, message } => PromptEvent::Text { text, message },
            AgentOutput::Thought(text) => PromptEvent::Thought(text),
        });
        Ok(())
    }

    fn answered(&self, id: u64, result: Result<Value, String>) {
        let mut state = lock(&self.state);
        if state.prompt != Some(id) {
            return;
        }
        state.prompt = None;
        state.has_failed = result.is_err();
        let is_cancelled = state.is_cancelled;
        drop(state);
        self.settled.notify_waiters();
        if is_cancelled {
            return;
        }
        let _ = self.event_sender.send(match result {
            Ok(result) => {
                let (stop, usage) = acp::stopped(&result);
                PromptEvent::Over { stop, usage }
            }
            Err(why) => PromptEvent::Failed(self.fault(ErrorKind::InvalidRequest, &why)),
        });
    }

    /// Answers a request: permissions for tools of the vault at once, others by a person.
    fn answer_request(
        self: &Arc<Self>,
        id: Value,
        method: &str,
        params: &Value,
        asks: &Arc<dyn Ask>,
    ) {
        if method != "session/request_permission" || params["sessionId"] != *self.session {
            self.process.send(&acp::unknown(&id, method));
            return;
        }
        let call = lock(&self.state).calls.add(&params["toolCall"]);
        let permission = Permission::read(params, &call, &self.tool_session.tools());
        let key = id.to_string();
        let is_known = {
            let mut state = lock(&self.state);
            let is_on = state.prompt.is_some() && !state.is_cancelled;
            is_on
                && (permission.is_ours
                    || (state.pending_permissions.len() < MAX_ASKED
                        && state.pending_permissions.insert(key.clone())))
        };
        if permission.is_ours || !is_known {
            self.process.send(&permission.answer(&id, permission.is_ours && is_known));
            return;
        }
        let question = GuestQuestion {
            guest: self.guest.name.clone(),
            conversation: self.conversation.clone(),
            title: format!(
                "`{}` wants to use a tool of its own: {}",
                self.guest.name, permission.title
            ),
            is_general: false,
            reasons: vec![
                "it is not a tool of the vault: what it does is not recorded and cannot be undone"
                    .to_owned(),
                format!("it says: {}", permission.input),
            ],
            details: permission.input.clone(),
        };
        let (live, asks) = (Arc::clone(self), Arc::clone(asks));
        tokio::spawn(async move {
            let agreed = asks.ask(question).await;
            // A yes after the end of the turn has no effect.
            let is_wanted = lock(&live.state).pending_permissions.remove(&key);
            live.process.send(&permission.answer(&id, agreed && is_wanted));
        });
    }
}

/// Sends a request before the message loop runs, and waits for its answer.
async fn ask(
    process: &Process,
    lines: &mut mpsc::Receiver<Line>,
    id: u64,
    method: &str,
    params: Value,
) -> Result<Value, String> {
    process.send(&acp::request(id, method, params));
    let (mut bytes, mut malformed) = (0, 0);
    loop {
        match lines.recv().await {
            None => return Err("it ended at its start".to_owned()),
            Some(Line::TooLong) => return Err("it sent too long a line".to_owned()),
            Some(Line::Text(line)) => {
                bytes += line.len();
                match acp::parse(&line) {
                    AgentMessage::Answer { id: of, result } if of == id => return result,
                    AgentMessage::Request { id, method, .. } => {
                        process.send(&acp::unknown(&id, &method));
                    }
                    AgentMessage::Malformed => malformed += u32::from(!line.trim().is_empty()),
                    _ => {}
                }
                if bytes > MAX_BYTES || malformed > MAX_MALFORMED {
                    return Err("what it sends is not the Agent Client Protocol".to_owned());
                }
            }
        }
    }
}

/// Handles a session's messages until the guest ends.
async fn follow(live: Arc<GuestSession>, mut lines: mpsc::Receiver<Line>, asks: Arc<dyn Ask>) {
    loop {
        let handled = match lines.recv().await {
            None => {
                // No new request may start; pending ones get its last error output, which may still
                // be arriving.
                let is_idle = {
                    let mut state = lock(&live.state);
                    let is_idle = state.prompt.is_none();
                    state.is_dead |= is_idle;
                    is_idle
                };
                if is_idle {
                    tracing::info!(guest = live.guest.name, "a guest has ended while idle")
                } else {
                    tokio::time::sleep(STDERR_DRAIN).await
                }
                let error_line = live.process.error_line();
                let why = match error_line.as_str() {
                    "" => "it has ended".to_owned(),
                    error_line => format!("it has ended and said: {error_line}"),
                };
                let why = live.process.fault().unwrap_or(why);
                Err(live.fault(ErrorKind::Truncated, &why))
            }
            Some(Line::TooLong) => {
                Err(live.fault(ErrorKind::Truncated, "it sent too long a line and was ended"))
            }
            Some(Line::Text(line)) => {
                live.count(line.len()).and_then(|()| handle(&live, &line, &asks))
            }
        };
        if let Err(fault) = handled {
            // Blocks until the system has ended its processes.
            let _ = tokio::task::spawn_blocking(move || live.die(fault)).await;
            return;
        }
        if live.is_dead() {
            return;
        }
    }
}

fn handle(live: &Arc<GuestSession>, line: &str, asks: &Arc<dyn Ask>) -> Result<(), LlmError> {
    match acp::parse(line) {
        AgentMessage::Answer { id, result } => live.answered(id, result),
        AgentMessage::Request { id, method, params } => {
            live.answer_request(id, &method, &params, asks)
        }
        AgentMessage::Update { session, update } if session == live.session => {
            return live.show(&update);
        }
        // Ignore messages of other sessions.
        AgentMessage::Update { .. } | AgentMessage::Other => {}
        AgentMessage::Malformed if line.trim().is_empty() => {}
        AgentMessage::Malformed => {
            let mut state = lock(&live.state);
            state.malformed += 1;
            if state.malformed > MAX_MALFORMED {
                drop(state);
                let why = "what it sends is not the Agent Client Protocol, and it was ended";
                return Err(live.fault(ErrorKind::Protocol, why));
            }
        }
    }
    Ok(())
}
