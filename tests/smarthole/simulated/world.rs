//! The state that survives the program: the list that it adds to, SmartHole, the random generator.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use tokio::time::Instant;
use vault_steward::{agent, llm};

use super::stand_in::Desk;
use crate::chance::Chance;

/// Faults other than kills.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trouble {
    /// Connections break, hang and are refused; frames arrive twice.
    pub wire: bool,
    /// The model fails.
    pub model: bool,
    /// Conversations are deleted.
    pub deletes: bool,
    /// Someone types in the meantime.
    pub types: bool,
    /// Stored state cannot always be read.
    pub forgets: bool,
}

pub struct World {
    chance: Mutex<Chance>,
    faults: Mutex<Vec<String>>,
    pub trouble: Mutex<Trouble>,
    /// The added numbers, in order.
    list: Mutex<Vec<u32>>,
    pub desk: Mutex<Desk>,
    /// Woken when SmartHole has something to send.
    pub more: tokio::sync::Notify,
    /// The time that passed in earlier lives.
    past: Mutex<Duration>,
    pub seed: u64,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub fn new(seed: u64, trouble: Trouble) -> Arc<Self> {
        Arc::new(Self {
            chance: Mutex::new(Chance::new(seed)),
            faults: Mutex::default(),
            trouble: Mutex::new(trouble),
            list: Mutex::default(),
            desk: Mutex::default(),
            more: tokio::sync::Notify::new(),
            past: Mutex::default(),
            seed,
        })
    }

    pub fn below(&self, most: u64) -> u64 {
        lock(&self.chance).below(most)
    }

    pub fn once_in(&self, many: u64) -> bool {
        lock(&self.chance).once_in(many)
    }

    /// True once in this many times, if this kind of fault is enabled.
    pub fn troubles(&self, kind: impl Fn(&Trouble) -> bool, many: u64) -> bool {
        kind(&lock(&self.trouble)) && self.once_in(many)
    }

    pub fn fault(&self, text: impl Into<String>) {
        lock(&self.faults).push(text.into());
    }

    pub fn faults(&self) -> Vec<String> {
        lock(&self.faults).clone()
    }

    /// Prints what happens, if requested (`TALE=1`).
    pub fn tell(&self, what: impl FnOnce() -> String) {
        if std::env::var_os("TALE").is_some() {
            eprintln!("{}", what());
        }
    }

    pub fn add(&self, number: u32) {
        lock(&self.list).push(number);
    }

    pub fn has(&self, number: u32) -> bool {
        lock(&self.list).contains(&number)
    }

    pub fn list(&self) -> Vec<u32> {
        lock(&self.list).clone()
    }

    /// How often each was added.
    pub fn counts(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for number in self.list() {
            *counts.entry(number).or_default() += 1;
        }
        counts
    }

    pub fn pass_time(&self, time: Duration) {
        *lock(&self.past) += time;
    }
}

/// The clock of one life.
#[derive(Clone)]
pub struct Time {
    world: Arc<World>,
    past: Duration,
    begun: Instant,
}

impl Time {
    /// For a life that starts now.
    pub fn begin(world: &Arc<World>) -> Self {
        let past = *lock(&world.past);
        Self { world: Arc::clone(world), past, begun: Instant::now() }
    }

    fn passed(&self) -> Duration {
        self.past + self.begun.elapsed()
    }
}

impl Drop for Time {
    fn drop(&mut self) {
        let passed = self.passed();
        let mut past = lock(&self.world.past);
        *past = passed.max(*past);
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

impl agent::Clock for Time {
    fn wall(&self) -> DateTime<FixedOffset> {
        let epoch = DateTime::parse_from_rfc3339("2026-11-21T18:00:00+01:00").unwrap();
        epoch + self.passed()
    }

    fn running(&self) -> Duration {
        self.passed()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl llm::clock::Clock for Time {
    fn now(&self) -> Duration {
        self.passed()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }

    fn spread(&self) -> f64 {
        self.world.below(1_000) as f64 / 1_000.0
    }
}
