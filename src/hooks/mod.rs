//! Commands of the user's own that hear of what happens, and may have a say in it.
//!
//! Floor 1: imports nothing of ours; knows no vault, no tool and no conversation. Whoever does
//! something that a hook may want to know of makes an [`Event`] and either asks ([`Hooks::ask`],
//! before it is done) or tells ([`Hooks::tell`], after it was).
//!
//! Invariants: a hook comes from the settings file and from nowhere else; its program, and what it
//! is given to run, does not lie in the vault; it is started without a shell, with an environment
//! of few variables, in a folder of ours; it ends within its time, and what it started with it; it
//! is shown no more than its `sees` says; what it answers is bounded, and checked like what any
//! caller says.
//!
//! In reading order: [`settings`], [`event`] (what is shown), `answer` (what may be said), `run`
//! (one command, once), [`program`] (any program, once), `children` (how it is ended), `queue` (those that nobody waits for).

mod answer;
#[cfg_attr(unix, path = "children/unix.rs")]
#[cfg_attr(not(unix), path = "children/elsewhere.rs")]
mod children;
pub mod event;
pub mod program;
mod queue;
mod run;
pub mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;

use answer::Answer;
pub use event::Event;
use queue::Queue;
use run::Fault;
pub use settings::{Hook, Kind, Sees, Settings};

/// The variable by which a program that a hook starts knows that it does; its value is the hook's
/// name.
pub const VARIABLE: &str = "STEWARD_HOOK";

/// Characters of a hook's reason that are passed on.
const MAX_REASON: usize = 500;

/// Numbers the runs of this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The hooks of one vault. Clones share them.
#[derive(Debug, Clone)]
pub struct Hooks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    queue: Queue,
}

/// What a run needs, on whatever thread.
#[derive(Debug)]
struct Shared {
    settings: ArcSwap<Settings>,
    /// The vault's folder, canonical.
    vault: PathBuf,
    /// A folder of ours in which hooks run and may leave things; made when the first one runs.
    place: PathBuf,
    /// The last fault of each hook since it last did well.
    complaints: Mutex<BTreeMap<String, String>>,
}

/// Why something is not to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub hook: String,
    /// In words, for the caller.
    pub reason: String,
    /// Whether the hook did not say so itself but failed, being `critical`.
    pub failed: bool,
}

impl Hooks {
    /// The hooks of the vault at `vault`, a canonical path; they run in `place`, which is made when
    /// it is needed. Touches nothing yet.
    pub fn new(settings: Settings, vault: PathBuf, place: PathBuf) -> Self {
        let shared = Arc::new(Shared {
            settings: ArcSwap::from_pointee(settings),
            vault,
            place,
            complaints: Mutex::default(),
        });
        Self(Arc::new(Inner { queue: Queue::new(Arc::clone(&shared)), shared }))
    }

    /// Takes other hooks, from the next event on.
    pub fn replace(&self, settings: Settings) {
        let mut complaints = self.0.shared.complaints();
        complaints.retain(|name, _| settings.commands.contains_key(name));
        drop(complaints);
        self.0.shared.settings.store(Arc::new(settings));
    }

    /// Whether any hook listens to such events: what is costly to find out for one need not be
    /// found out for none.
    pub fn hears(&self, kind: Kind) -> bool {
        self.0.shared.settings.load().commands.values().any(|hook| hook.on.contains(&kind))
    }

    /// Asks every hook that listens, in the order of their names, on a thread that may block; what
    /// is to take the place of the event's input, where one of them says so. `withdrawn` is looked
    /// at now and then: whoever wanted it done no longer does.
    ///
    /// # Errors
    /// The first refusal; a hook that fails refuses where it is `critical`, and is passed over
    /// where it is not.
    pub fn ask(
        &self,
        mut event: Event,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<Option<Value>, Refused> {
        let settings = self.0.shared.settings.load_full();
        let mut replaced = false;
        for (name, hook) in &settings.commands {
            if !hook.wants(event.kind(), event.tool()) {
                continue;
            }
            let answer = self
                .0
                .shared
                .run(name, hook, &event, withdrawn)
                .and_then(|said| Answer::read(&said, hook, event.kind()));
            match self.0.shared.noted(name, hook, answer) {
                Ok(Answer::Continue {}) => {}
                Ok(Answer::Refuse { reason }) => {
                    let reason: String = reason.chars().take(MAX_REASON).collect();
                    return Err(Refused { hook: name.clone(), reason, failed: false });
                }
                Ok(Answer::Replace { input }) => {
                    event.replace(input);
                    replaced = true;
                }
                Err(fault) if hook.critical => {
                    let (hook, reason) = (name.clone(), fault.to_string());
                    return Err(Refused { hook, reason, failed: true });
                }
                Err(_) => {}
            }
        }
        Ok(event.into_input().filter(|_| replaced))
    }

    /// Tells every hook that listens, some time soon and in the order of the events. Nobody waits
    /// for it and nothing comes of what they answer.
    pub fn tell(&self, event: Event) {
        if self.hears(event.kind()) {
            self.0.queue.push(event);
        }
    }

    /// What went wrong with a hook when it ran last, a sentence for each that did not do well.
    pub fn complaints(&self) -> Vec<String> {
        self.0.shared.complaints().values().cloned().collect()
    }

    /// Waits for what was told, at most `patience`; what is left then is ended and dropped. Nothing
    /// is told any more.
    pub fn end(&self, patience: Duration) {
        self.0.queue.end(Some(patience));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Each has its limit, so this has one.
        self.queue.end(None);
    }
}

impl Shared {
    fn complaints(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(
        &self,
        name: &str,
        hook: &Hook,
        event: &Event,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Fault> {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let now = chrono::Utc::now().timestamp_micros();
        let run = run::Run {
            name,
            hook,
            vault: &self.vault,
            place: &self.place,
            input: event.shown(name, hook.sees, &self.vault),
            mark: format!("{}-{now}-{number}", std::process::id()),
        };
        run.go(withdrawn)
    }

    /// Tells the log of a fault and remembers it for `status`, until the hook does well again.
    fn noted<T>(&self, name: &str, hook: &Hook, result: Result<T, Fault>) -> Result<T, Fault> {
        match &result {
            Ok(_) => {
                self.complaints().remove(name);
            }
            Err(Fault::Withdrawn) => {}
            Err(fault) => {
                if hook.critical {
                    tracing::error!(hook = name, %fault, "a hook failed");
                } else {
                    tracing::warn!(hook = name, %fault, "a hook failed");
                }
                let sentence = format!("the hook `{name}` failed: {fault}");
                self.complaints().insert(name.to_owned(), sentence);
            }
        }
        result
    }
}

#[cfg(all(test, unix))]
mod tests;
