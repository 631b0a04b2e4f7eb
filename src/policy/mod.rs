//! May this call run: decided here, from what is asked, who asks and what it would change.
//!
//! Floor 3, pure: imports `note` only, does no I/O and takes its clock from outside. `calls` asks
//! it for every door alike; it never calls a tool itself.
//!
//! Layers are asked in the order of [`layers::ALL`]; the first refusal ends it and names its layer
//! and its reason. A layer looks at a call before it runs, at what the call would change, or at
//! both; it may also say that a person has to agree. Each can be switched off in the settings. A
//! new layer is one file in `layers/` and one line in its list.
//!
//! In reading order: [`caller`], [`settings`], [`call`] (what a layer sees and says), [`layers`],
//! [`schema`] and [`active`] (what two of them need).

pub mod active;
mod bucket;
pub mod call;
pub mod caller;
pub mod layers;
pub mod schema;
pub mod settings;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::note::path::VaultPath;
pub use call::{Action, Agreement, Call, Effect, Reason, Refusal, Verdict};
pub use caller::{Caller, Scope};
pub use layers::Layer;
pub use settings::{Mode, Permission, Settings};

/// Time since some moment that stays the same; a test's own where it must not pass by itself.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The clock of this process.
pub fn clock() -> Clock {
    let started = std::time::Instant::now();
    Arc::new(move || started.elapsed())
}

/// The note that instructs the agent in the person's name, where the settings name one.
type Rules = Arc<RwLock<Option<VaultPath>>>;

/// The layers that hold now. Clones share them.
#[derive(Clone)]
pub struct Policy {
    state: Arc<RwLock<Arc<State>>>,
    rules: Rules,
    clock: Clock,
}

struct State {
    settings: Settings,
    layers: Vec<Box<dyn Layer>>,
}

impl Policy {
    /// The policy of these settings.
    pub fn new(settings: Settings, clock: Clock) -> Self {
        let rules = Rules::default();
        let state = State { layers: layers::of(&settings, &rules, &clock), settings };
        Self { state: Arc::new(RwLock::new(Arc::new(state))), rules, clock }
    }

    /// Takes other settings, from the next call on. What has been counted for rates begins anew.
    pub fn replace(&self, settings: Settings) {
        let layers = layers::of(&settings, &self.rules, &self.clock);
        let state = State { layers, settings };
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// Names the note that instructs the agent in the person's name, from the next call on: whoever
    /// is no person asks before changing it. `None` where there is none.
    pub fn guard(&self, note: Option<VaultPath>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = note;
    }

    /// The settings that hold now.
    pub fn settings(&self) -> Settings {
        self.state().settings.clone()
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a layer is on.
    pub fn is_on(&self, layer: &str) -> bool {
        !self.state().settings.off.iter().any(|off| off.word() == layer)
    }

    /// Decides on a call before anything is done for it.
    ///
    /// # Errors
    /// The first refusal. It does not count against the rate.
    pub fn admit(&self, call: &Call) -> Result<(), Refusal> {
        let state = self.state();
        for (at, layer) in state.layers.iter().enumerate() {
            if let Verdict::Refuse(refusal) = layer.admit(call) {
                state.layers[..at].iter().for_each(|before| before.give_back(call));
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Decides on what a call is about to change; the answer is what a person must agree to.
    ///
    /// # Errors
    /// The first refusal.
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

    /// Says that what was judged has been done.
    pub fn applied(&self, call: &Call, effects: &[Effect]) {
        self.state().layers.iter().for_each(|layer| layer.applied(call, effects));
    }

    /// Says that a call that was admitted did nothing after all, so that it counts for nothing.
    pub fn give_back(&self, call: &Call) {
        self.state().layers.iter().for_each(|layer| layer.give_back(call));
    }
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
