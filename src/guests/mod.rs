//! Guests: agents that others wrote, such as Claude Code, Codex and Gemini CLI, which answer in our conversations with
//! our tools only.
//!
//! Floor 2: a guest is a [`Provider`] of `llm`, and `hooks` ends its processes. It knows no vault and no conversation.
//!
//! A guest is a child process that speaks the Agent Client Protocol. A turn requests answers from
//! it as from a model: a round begins with the history. The tools that the guest calls reach the
//! daemon by MCP with the token of its session, end the round, and become calls of the turn; the
//! next round gives it their results. So a guest's turn has the same limits, approvals, journal,
//! undo and audit as any other.
//!
//! Invariants: guests come from the settings file alone; a guest runs without a shell, with few environment variables,
//! in a folder of this program, with fewer rights where the system can do that; its token is valid for its session, at `/mcp`,
//! and only while a turn of its conversation runs; a person agrees before it first answers; everything that it sends is
//! bounded; it ends with all processes that it started.
//!
//! In reading order: [`settings`], [`sandbox`] (folders and rights), `process`, `acp` (messages),
//! `tool_session` (its calls), `session`, `stored_sessions` (sessions that are loaded), `history`
//! (the conversation as text), `turn` (a turn of a guest), [`ask`] and `allowed` (a person's
//! permission).

mod acp;
mod allowed;
pub mod ask;
mod history;
mod process;
pub mod sandbox;
mod session;
pub mod settings;
mod stored_sessions;
mod tool_session;
mod turn;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::llm::{ErrorKind, LlmError, Message, Origin, Provider, ToolResult};
use crate::locks::lock;
pub use allowed::Allowed;
pub use ask::{Ask, GuestQuestion};
pub use sandbox::GuestSandbox;
pub use session::VARIABLE;
use session::{GuestSession, NewSession};
pub use settings::Guest;
use stored_sessions::StoredSessions;
use tool_session::ToolSession;

/// The most guests that run at the same time; beyond it the longest idle one is ended.
const MAX_LIVE: usize = 4;

/// A guest without a turn for this long is ended; its next turn starts it again.
const IDLE: Duration = Duration::from_secs(600);

/// How often idle guests are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(30);

/// The guests of one vault. Clones share them.
#[derive(Clone)]
pub struct Guests(Arc<SharedGuests>);

struct SharedGuests {
    sandbox: GuestSandbox,
    allowed: Allowed,
    stored: Arc<StoredSessions>,
    asks: OnceLock<Arc<dyn Ask>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The sessions by conversation.
    live: HashMap<String, Arc<GuestSession>>,
    /// The tool sessions of all sessions, including those being started.
    tool_sessions: Vec<Arc<ToolSession>>,
    is_ending: bool,
    looks: bool,
}

impl Guests {
    /// Guests that run in `sandbox`. Starts nothing.
    pub fn new(sandbox: GuestSandbox) -> Self {
        let allowed = Allowed::new(&sandbox.folder);
        let stored = Arc::new(StoredSessions::new(&sandbox.folder));
        let (asks, state) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(SharedGuests { sandbox, allowed, stored, asks, state }))
    }

    /// Sets who asks a person. Only the first call has an effect.
    pub fn set_ask(&self, asks: Arc<dyn Ask>) {
        let _ = self.0.asks.set(asks);
    }

    /// Sets the daemon's port. Only the first call has an effect.
    pub fn set_port(&self, port: u16) {
        let _ = self.0.sandbox.port.set(port);
    }

    /// Why this system cannot confine guests; `None` if it can.
    pub fn unconfined(&self) -> Option<&str> {
        self.0.sandbox.unconfined.as_deref()
    }

    /// The guest for one turn of a conversation. Dropping it stops the guest's work for the turn.
    pub fn provider(&self, guest: Guest, conversation: String) -> Arc<dyn Provider> {
        Arc::new(turn::GuestTurn::new(self.clone(), guest, conversation))
    }

    /// The tokens of all sessions.
    pub fn secrets(&self) -> Vec<String> {
        lock(&self.0.state)
            .tool_sessions
            .iter()
            .map(|tool_session| tool_session.secret.clone())
            .collect()
    }

    /// The names of the tools of the session with this token; `None` if there is none.
    pub fn tools(&self, secret: &str) -> Option<Vec<String>> {
        self.tool_session(secret).map(|tool_session| tool_session.tools())
    }

    /// Makes a call for the session with this token. The receiver gets its result, or why there is none.
    ///
    /// # Errors
    /// Why the call was not made, for the guest.
    pub fn call(
        &self,
        secret: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<oneshot::Receiver<Result<ToolResult, &'static str>>, &'static str> {
        let tool_session = self.tool_session(secret).ok_or(tool_session::NO_TURN)?;
        tool_session.call(tool, arguments)
    }

    /// Ends all guests and prevents new ones. Blocks briefly.
    pub fn end(&self) {
        let live: Vec<Arc<GuestSession>> = {
            let mut state = lock(&self.0.state);
            state.is_ending = true;
            state.tool_sessions.drain(..).for_each(|tool_session| tool_session.close());
            state.live.drain().map(|(_, live)| live).collect()
        };
        for live in live {
            live.die(ending(&live.guest));
        }
    }

    fn tool_session(&self, secret: &str) -> Option<Arc<ToolSession>> {
        // The server has authenticated the token; this only finds the tool session.
        lock(&self.0.state)
            .tool_sessions
            .iter()
            .find(|tool_session| tool_session.secret == secret)
            .cloned()
    }

    /// The session for a conversation, if it runs with these settings.
    fn running(&self, guest: &Guest, conversation: &str) -> Option<Arc<GuestSession>> {
        let found = lock(&self.0.state).live.get(conversation).cloned()?;
        (found.guest == *guest && !found.is_dead()).then_some(found)
    }

    /// Begins a session for a conversation with these messages and tools; it replaces an existing
    /// one.
    async fn begin(
        &self,
        guest: &Guest,
        conversation: &str,
        (messages, tools): (&[Message], Vec<String>),
        asks: Arc<dyn Ask>,
    ) -> Result<Arc<GuestSession>, LlmError> {
        self.remove(conversation).await;
        self.make_room().await;
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            let text = format!("could not get random bytes for a token: {error}");
            session::error(guest, ErrorKind::InvalidRequest, text)
        })?;
        let tool_session =
            Arc::new(ToolSession::new(blake3::Hash::from_bytes(bytes).to_hex().to_string()));
        tool_session.offer(tools);
        {
            let mut state = lock(&self.0.state);
            if state.is_ending {
                return Err(ending(guest));
            }
            state.tool_sessions.push(Arc::clone(&tool_session));
            if !std::mem::replace(&mut state.looks, true) {
                tokio::spawn(remove_idle(Arc::downgrade(&self.0)));
            }
        }
        // Dropping this future ends the starting session.
        let mut unstarted =
            UnstartedSession { guests: self, tool_session: Some(Arc::clone(&tool_session)) };
        let (sandbox, stored) = (&self.0.sandbox, Arc::clone(&self.0.stored));
        let new_session =
            NewSession { guest, conversation, messages, sandbox, stored, tool_session, asks };
        let live = GuestSession::begin(new_session).await?;
        if lock(&self.0.state).is_ending {
            live.die(ending(guest));
            return Err(ending(guest));
        }
        unstarted.tool_session = None;
        lock(&self.0.state).live.insert(conversation.to_owned(), Arc::clone(&live));
        Ok(live)
    }

    /// Ends the session of a conversation.
    async fn remove(&self, conversation: &str) {
        let removed = lock(&self.0.state).live.remove(conversation);
        if let Some(live) = removed {
            self.remove_tool_session(&live.tool_session);
            let end =
                move || live.die(session::error(&live.guest, ErrorKind::Truncated, "it was ended"));
            let _ = tokio::task::spawn_blocking(end).await;
        }
    }

    async fn make_room(&self) {
        let oldest = {
            let state = lock(&self.0.state);
            if state.live.len() < MAX_LIVE {
                return;
            }
            let idle = state.live.iter().filter_map(|(id, live)| Some((live.idle_since()?, id)));
            idle.min().map(|(_, id)| id.clone())
        };
        if let Some(oldest) = oldest {
            self.remove(&oldest).await;
        }
    }

    fn remove_tool_session(&self, tool_session: &Arc<ToolSession>) {
        tool_session.close();
        lock(&self.0.state).tool_sessions.retain(|one| !Arc::ptr_eq(one, tool_session));
    }
}

/// A guest as the model behind an answer.
pub fn origin(name: &str) -> Origin {
    turn::origin(name)
}

/// Removes the tool session of a session that did not start.
struct UnstartedSession<'a> {
    guests: &'a Guests,
    tool_session: Option<Arc<ToolSession>>,
}

impl Drop for UnstartedSession<'_> {
    fn drop(&mut self) {
        if let Some(tool_session) = &self.tool_session {
            self.guests.remove_tool_session(tool_session);
        }
    }
}

fn ending(guest: &Guest) -> LlmError {
    session::error(guest, ErrorKind::Truncated, "the steward is shutting down")
}

/// Removes guests that have had no turn for a while, and those whose process has ended.
async fn remove_idle(guests: Weak<SharedGuests>) {
    loop {
        tokio::time::sleep(IDLE_CHECK).await;
        let Some(inner) = guests.upgrade() else { return };
        let guests = Guests(inner);
        let old: Vec<String> = {
            let state = lock(&guests.0.state);
            let is_old = |live: &Arc<GuestSession>| {
                live.is_dead() || live.idle_since().is_some_and(|since| since.elapsed() >= IDLE)
            };
            state.live.iter().filter(|(_, live)| is_old(live)).map(|(id, _)| id.clone()).collect()
        };
        for conversation in old {
            guests.remove(&conversation).await;
        }
    }
}
