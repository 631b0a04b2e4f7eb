//! Decides whether a call may run, by its caller, its request and its changes.
//!
//! Floor 3. Pure: no I/O, and callers pass the time in. `calls` applies it to the
//! calls of all transports.
//!
//! The layers are evaluated in the order of `layers::enabled`; the first refusal ends it. A layer checks a
//! call before it runs (`admit`), what the call would change (`judge`), or both; it may require a person's
//! approval. Each except `standing` can be switched off in the settings. A new layer is one file in `layers/` and one line in
//! its list.
//!
//! In reading order: [`caller`], [`settings`], [`call`] (a layer's input and its decision),
//! [`layers`], [`schema`], [`active`] and `bucket` (used by some of them).

pub mod active;
mod bucket;
pub mod call;
pub mod caller;
pub mod layers;
pub mod schema;
pub mod settings;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use crate::locks::{read, write};
use crate::note::path::VaultPath;
pub use call::{Action, Call, Effect, ForeignCall, Reason, Refusal, RuleApproval, Verdict};
pub use caller::{Caller, Scope};
pub use layers::Layer;
pub use settings::{Mode, Permission, Settings};

/// A monotonic clock, as the time since a fixed moment.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

pub fn clock() -> Clock {
    let started = std::time::Instant::now();
    Arc::new(move || started.elapsed())
}

/// Notes that act as instructions from the person: others need approval to change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarded {
    /// The note with instructions to the agent, if the settings name one.
    pub instructions: Option<VaultPath>,
    /// The folder of prompts that the person sends as their own words.
    pub prompts: Option<VaultPath>,
}

type GuardedNotes = Arc<RwLock<Guarded>>;

/// The layers in effect. Clones share them.
#[derive(Clone)]
pub struct Policy {
    state: Arc<RwLock<Arc<PolicyState>>>,
    guarded: GuardedNotes,
    clock: Clock,
}

struct PolicyState {
    settings: Settings,
    layers: Vec<Box<dyn Layer>>,
}

impl Policy {
    pub fn new(settings: Settings, clock: Clock) -> Self {
        let guarded = GuardedNotes::default();
        let state = PolicyState { layers: layers::enabled(&settings, &guarded, &clock), settings };
        Self { state: Arc::new(RwLock::new(Arc::new(state))), guarded, clock }
    }

    /// Replaces the settings from the next call on, and resets the rate limits.
    pub fn replace(&self, settings: Settings) {
        let layers = layers::enabled(&settings, &self.guarded, &self.clock);
        let state = PolicyState { layers, settings };
        *write(&self.state) = Arc::new(state);
    }

    /// Sets the notes whose changes need approval unless a person makes them.
    pub fn guard(&self, guarded: Guarded) {
        *write(&self.guarded) = guarded;
    }

    pub fn settings(&self) -> Settings {
        self.state().settings.clone()
    }

    fn state(&self) -> Arc<PolicyState> {
        Arc::clone(&read(&self.state))
    }

    pub fn is_on(&self, layer: &str) -> bool {
        !self.state().settings.off.iter().any(|off| off.word() == layer)
    }

    /// Decides on a call before it runs.
    ///
    /// # Errors
    /// The first refusal. A refused call does not count against the rate limit.
    pub fn admit(&self, call: &Call) -> Result<(), Refusal> {
        let state = self.state();
        for (at, layer) in state.layers.iter().enumerate() {
            if let Verdict::Refuse(refusal) = layer.admit(call) {
                state.layers[..at].iter().for_each(|before| before.refund(call));
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Decides on what a call is about to change. Returns the reasons for which a person must approve.
    pub fn judge(&self, call: &Call, effects: &[Effect]) -> Result<Vec<Reason>, Refusal> {
        let mut reasons = Vec::new();
        for layer in &self.state().layers {
            match layer.judge(call, effects) {
                Verdict::Pass => {}
                Verdict::Ask(asked) => reasons.extend(asked),
                Verdict::Refuse(refusal) => return Err(refusal),
            }
        }
        if !self.is_on(layers::APPROVAL) {
            reasons.clear();
        }
        Ok(reasons)
    }

    /// Tells the layers that the judged changes were made.
    pub fn applied(&self, call: &Call, effects: &[Effect]) {
        self.state().layers.iter().for_each(|layer| layer.applied(call, effects));
    }

    /// Tells the layers that an admitted call changed nothing, so that it does not count against limits.
    pub fn refund(&self, call: &Call) {
        self.state().layers.iter().for_each(|layer| layer.refund(call));
    }
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
