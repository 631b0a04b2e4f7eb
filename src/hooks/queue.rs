//! The queue of events after the fact: one thread delivers them in order.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Event, SharedHooks};
use crate::locks::lock;

/// The queue's length; beyond it new events are dropped and that is logged.
const MAX_WAITING: usize = 1_000;

/// How long to wait at the end for a hook that is being killed.
const KILL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<SharedHooks>,
    state: Arc<(Mutex<QueueState>, Condvar)>,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Event>,
    /// Whether an event is being delivered.
    busy: bool,
    ended: bool,
    /// Cancels the running hook.
    given_up: bool,
    worker: Option<JoinHandle<()>>,
}

impl Queue {
    pub fn new(shared: Arc<SharedHooks>) -> Self {
        Self { shared, state: Arc::default() }
    }

    pub fn push(&self, event: Event) {
        let mut state = lock(&self.state.0);
        if state.ended || state.waiting.len() >= MAX_WAITING {
            tracing::warn!(
                event = event.kind().word(),
                "the hooks' queue is full or closed: event dropped"
            );
            return;
        }
        state.waiting.push_back(event);
        if state.worker.is_none() {
            let (shared, own) = (Arc::clone(&self.shared), Arc::clone(&self.state));
            let thread = std::thread::Builder::new().name("steward-hooks".to_owned());
            match thread.spawn(move || work(&shared, &own)) {
                Ok(worker) => state.worker = Some(worker),
                Err(error) => {
                    state.waiting.clear();
                    tracing::warn!(%error, "hooks cannot run: event dropped");
                }
            }
        }
        self.state.1.notify_all();
    }

    /// Waits until the queue is empty, at most `timeout`, and ends the thread.
    pub fn end(&self, timeout: Option<Duration>) {
        let mut state = lock(&self.state.0);
        state.ended = true;
        self.state.1.notify_all();
        let until = timeout.map(|timeout| Instant::now() + timeout);
        while state.busy || !state.waiting.is_empty() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            let left = left.unwrap_or(Duration::from_secs(1));
            let waited = self.state.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.waiting.is_empty() {
            let events = state.waiting.len();
            tracing::warn!(events, "the steward is shutting down before hooks received all events");
            state.waiting.clear();
        }
        state.given_up = true;
        let worker = state.worker.take();
        drop(state);
        self.state.1.notify_all();
        if let Some(worker) = worker {
            let until = Instant::now() + KILL;
            let mut state = lock(&self.state.0);
            while state.busy && Instant::now() < until {
                let waited = self.state.1.wait_timeout(state, KILL);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let busy = state.busy;
            drop(state);
            // A hook that cannot be killed must not block the end.
            if !busy {
                let _ = worker.join();
            }
        }
    }
}

fn work(shared: &SharedHooks, state: &(Mutex<QueueState>, Condvar)) {
    loop {
        let event = {
            let idle = |state: &mut QueueState| state.waiting.is_empty() && !state.ended;
            let locked = state.1.wait_while(lock(&state.0), idle);
            let mut locked = locked.unwrap_or_else(PoisonError::into_inner);
            let Some(event) = locked.waiting.pop_front() else { return };
            locked.busy = true;
            event
        };
        let settings = shared.settings.load_full();
        for (name, hook) in &settings.commands {
            let given_up = || lock(&state.0).given_up;
            if hook.wants(event.kind(), event.tool()) && !given_up() {
                let result = shared.run(name, hook, &event, &given_up);
                let _ = shared.record(name, hook, result.map(drop));
            }
        }
        lock(&state.0).busy = false;
        state.1.notify_all();
    }
}
