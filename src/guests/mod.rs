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
//! In reading order: [`settings`], [`place`] (folders and rights), `process`, `acp` (messages),
//! `seat` (its calls), `live` (a session), `stored_sessions` (sessions that are loaded), `history`
//! (the conversation as text), `turn` (a turn of a guest), [`ask`] and `allowed` (a person's
//! permission).

mod acp;
mod allowed;
pub mod ask;
mod history;
mod live;
pub mod place;
mod process;
mod seat;
pub mod settings;
mod stored_sessions;
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
pub use live::VARIABLE;
use live::{Beginning, Live};
pub use place::Place;
use seat::Seat;
pub use settings::Guest;
use stored_sessions::StoredSessions;

/// The most guests that run at the same time; beyond it the longest idle one is ended.
const MAX_LIVE: usize = 4;

/// A guest without a turn for this long is ended; its next turn starts it again.
const IDLE: Duration = Duration::from_secs(600);

/// How often idle guests are looked for.
const LOOK: Duration = Duration::from_secs(30);

/// The guests of one vault. Clones share them.
#[derive(Clone)]
pub struct Guests(Arc<SharedGuests>);

struct SharedGuests {
    place: Place,
    allowed: Allowed,
    stored: Arc<StoredSessions>,
    asks: OnceLock<Arc<dyn Ask>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The sessions by conversation.
    live: HashMap<String, Arc<Live>>,
    /// The seats of all sessions, including those being started.
    seats: Vec<Arc<Seat>>,
    is_ending: bool,
    looks: bool,
}

impl Guests {
    /// Guests that run in `place`. Starts nothing.
    pub fn new(place: Place) -> Self {
        let allowed = Allowed::new(&place.folder);
        let stored = Arc::new(StoredSessions::new(&place.folder));
        let (asks, state) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(SharedGuests { place, allowed, stored, asks, state }))
    }

    /// Sets who asks a person. Only the first call has an effect.
    pub fn set_ask(&self, asks: Arc<dyn Ask>) {
        let _ = self.0.asks.set(asks);
    }

    /// Sets the daemon's port. Only the first call has an effect.
    pub fn set_port(&self, port: u16) {
        let _ = self.0.place.port.set(port);
    }

    /// Why this system cannot confine guests; `None` if it can.
    pub fn unconfined(&self) -> Option<&str> {
        self.0.place.unconfined.as_deref()
    }

    /// The guest for one turn of a conversation. Dropping it stops the guest's work for the turn.
    pub fn provider(&self, guest: Guest, conversation: String) -> Arc<dyn Provider> {
        Arc::new(turn::GuestTurn::new(self.clone(), guest, conversation))
    }

    /// The tokens of all sessions.
    pub fn secrets(&self) -> Vec<String> {
        lock(&self.0.state).seats.iter().map(|seat| seat.secret.clone()).collect()
    }

    /// The names of the tools of the session with this token; `None` if there is none.
    pub fn tools(&self, secret: &str) -> Option<Vec<String>> {
        self.seat(secret).map(|seat| seat.tools())
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
        let seat = self.seat(secret).ok_or(seat::NO_TURN)?;
        seat.call(tool, arguments)
    }

    /// Ends all guests and prevents new ones. Blocks briefly.
    pub fn end(&self) {
        let live: Vec<Arc<Live>> = {
            let mut state = lock(&self.0.state);
            state.is_ending = true;
            state.seats.drain(..).for_each(|seat| seat.close());
            state.live.drain().map(|(_, live)| live).collect()
        };
        for live in live {
            live.die(ending(&live.guest));
        }
    }

    fn seat(&self, secret: &str) -> Option<Arc<Seat>> {
        // The server has authenticated the token; this only finds the seat.
        lock(&self.0.state).seats.iter().find(|seat| seat.secret == secret).cloned()
    }

    /// The session for a conversation, if it runs with these settings.
    fn running(&self, guest: &Guest, conversation: &str) -> Option<Arc<Live>> {
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
    ) -> Result<Arc<Live>, LlmError> {
        self.remove(conversation).await;
        self.make_room().await;
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            let text = format!("could not get random bytes for a token: {error}");
            live::error(guest, ErrorKind::InvalidRequest, text)
        })?;
        let seat = Arc::new(Seat::new(blake3::Hash::from_bytes(bytes).to_hex().to_string()));
        seat.offer(tools);
        {
            let mut state = lock(&self.0.state);
            if state.is_ending {
                return Err(ending(guest));
            }
            state.seats.push(Arc::clone(&seat));
            if !std::mem::replace(&mut state.looks, true) {
                tokio::spawn(look_for_idle(Arc::downgrade(&self.0)));
            }
        }
        // Dropping this future ends the starting session.
        let mut taken = Taken { guests: self, seat: Some(Arc::clone(&seat)) };
        let (place, stored) = (&self.0.place, Arc::clone(&self.0.stored));
        let beginning = Beginning { guest, conversation, messages, place, stored, seat, asks };
        let live = Live::begin(beginning).await?;
        if lock(&self.0.state).is_ending {
            live.die(ending(guest));
            return Err(ending(guest));
        }
        taken.seat = None;
        lock(&self.0.state).live.insert(conversation.to_owned(), Arc::clone(&live));
        Ok(live)
    }

    /// Ends the session of a conversation.
    async fn remove(&self, conversation: &str) {
        let removed = lock(&self.0.state).live.remove(conversation);
        if let Some(live) = removed {
            self.vacate(&live.seat);
            let end =
                move || live.die(live::error(&live.guest, ErrorKind::Truncated, "it was ended"));
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

    fn vacate(&self, seat: &Arc<Seat>) {
        seat.close();
        lock(&self.0.state).seats.retain(|one| !Arc::ptr_eq(one, seat));
    }
}

/// A guest as the model behind an answer.
pub fn origin(name: &str) -> Origin {
    turn::origin(name)
}

/// Removes the seat of a session that did not start.
struct Taken<'a> {
    guests: &'a Guests,
    seat: Option<Arc<Seat>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(seat) = &self.seat {
            self.guests.vacate(seat);
        }
    }
}

fn ending(guest: &Guest) -> LlmError {
    live::error(guest, ErrorKind::Truncated, "the steward ends")
}

/// Removes guests that have had no turn for a while, and those whose process has ended.
async fn look_for_idle(guests: Weak<SharedGuests>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(inner) = guests.upgrade() else { return };
        let guests = Guests(inner);
        let old: Vec<String> = {
            let state = lock(&guests.0.state);
            let is_old = |live: &Arc<Live>| {
                live.is_dead() || live.idle_since().is_some_and(|since| since.elapsed() >= IDLE)
            };
            state.live.iter().filter(|(_, live)| is_old(live)).map(|(id, _)| id.clone()).collect()
        };
        for conversation in old {
            guests.remove(&conversation).await;
        }
    }
}
