//! Hooks: the user's own commands, which receive events and may refuse or change calls and changes.
//!
//! Floor 1. The code that performs an operation makes an [`Event`] and
//! calls [`Hooks::ask`] before it, or [`Hooks::notify`] after it.
//!
//! Invariants: hooks come from the settings file alone; neither the program nor its script is in
//! the vault; it runs without a shell, with few environment variables, in a folder of this program;
//! it is killed at its time limit, with all processes that it started; it sees no more than `sees`
//! allows; its answer is limited in size, and validated like any caller's input.
//!
//! In reading order: [`settings`], [`event`] (input), `answer` (output), `run` (one hook),
//! [`program`] (any program), [`children`] (killing it), [`program_path`], `queue` (events after the fact).

mod answer;
#[cfg_attr(unix, path = "children/unix.rs")]
#[cfg_attr(not(unix), path = "children/elsewhere.rs")]
pub mod children;
pub mod event;
pub mod program;
pub mod program_path;
mod queue;
mod run;
pub mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::locks::lock;

use arc_swap::ArcSwap;
use serde_json::Value;

use answer::Answer;
pub use event::Event;
use queue::Queue;
use run::Fault;
pub use settings::{Hook, Kind, Sees, Settings};

/// The least memory that a program can be limited to, in MB: many need as much to start.
pub const MIN_MEMORY: u32 = 64;

/// The environment variable with the hook's name, by which a program knows that a hook started it.
pub const VARIABLE: &str = "STEWARD_HOOK";

/// In characters; a longer reason is cut.
const MAX_REASON: usize = 500;

static RUNS: AtomicU64 = AtomicU64::new(0);

/// The hooks of one vault. Clones share them.
#[derive(Debug, Clone)]
pub struct Hooks(Arc<HookQueue>);

#[derive(Debug)]
struct HookQueue {
    shared: Arc<SharedHooks>,
    queue: Queue,
}

/// State shared with the queue's thread.
#[derive(Debug)]
struct SharedHooks {
    settings: ArcSwap<Settings>,
    /// Canonical.
    vault: PathBuf,
    /// The hooks' working directory; made when the first one runs.
    place: PathBuf,
    /// The error of each hook whose last run failed.
    failures: Mutex<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub hook: String,
    /// For the caller.
    pub reason: String,
    /// Whether it is the failure of a `critical` hook instead of its answer.
    pub failed: bool,
}

impl Hooks {
    /// The hooks of the vault at `vault`, a canonical path; they run in `place`, which is created
    /// when needed.
    pub fn new(settings: Settings, vault: PathBuf, place: PathBuf) -> Self {
        let shared = Arc::new(SharedHooks {
            settings: ArcSwap::from_pointee(settings),
            vault,
            place,
            failures: Mutex::default(),
        });
        Self(Arc::new(HookQueue { queue: Queue::new(Arc::clone(&shared)), shared }))
    }

    /// Replaces the settings, from the next event on.
    pub fn replace(&self, settings: Settings) {
        lock(&self.0.shared.failures).retain(|name, _| settings.commands.contains_key(name));
        self.0.shared.settings.store(Arc::new(settings));
    }

    /// Whether any hook listens to this kind: check it before collecting costly facts.
    pub fn receives(&self, kind: Kind) -> bool {
        self.0.shared.settings.load().commands.values().any(|hook| hook.on.contains(&kind))
    }

    /// Asks every hook that listens, in the order of their names; returns the new input if one
    /// replaced it. Blocks. `withdrawn` is polled and cancels the hook.
    ///
    /// # Errors
    /// The first refusal, or the failure of a `critical` hook; other failures are only logged.
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
                .and_then(|output| Answer::read(&output, hook, event.kind()));
            match self.0.shared.record(name, hook, answer) {
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

    /// Queues the event for every hook that listens. Events are delivered in order; answers are
    /// ignored.
    pub fn notify(&self, event: Event) {
        if self.receives(event.kind()) {
            self.0.queue.push(event);
        }
    }

    /// One sentence for each hook whose last run failed.
    pub fn failures(&self) -> Vec<String> {
        lock(&self.0.shared.failures).values().cloned().collect()
    }

    /// Waits until the queue is empty, at most `timeout`, then kills and drops the rest. Later
    /// events are not delivered.
    pub fn end(&self, timeout: Duration) {
        self.0.queue.end(Some(timeout));
    }
}

impl Drop for HookQueue {
    fn drop(&mut self) {
        // Bounded, since each hook has a time limit.
        self.queue.end(None);
    }
}

impl SharedHooks {
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
        run.execute(withdrawn)
    }

    /// Logs a failure and keeps it for `status`, until the hook succeeds again.
    fn record<T>(&self, name: &str, hook: &Hook, result: Result<T, Fault>) -> Result<T, Fault> {
        match &result {
            Ok(_) => {
                lock(&self.failures).remove(name);
            }
            Err(Fault::Withdrawn) => {}
            Err(fault) => {
                if hook.critical {
                    tracing::error!(hook = name, %fault, "a hook failed");
                } else {
                    tracing::warn!(hook = name, %fault, "a hook failed");
                }
                let sentence = format!("the hook `{name}` failed: {fault}");
                lock(&self.failures).insert(name.to_owned(), sentence);
            }
        }
        result
    }
}

#[cfg(all(test, unix))]
mod tests;
